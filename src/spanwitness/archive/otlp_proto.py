"""Span records from OTLP protobuf, and back: the wire form of a receiver and of a forwarder."""

from __future__ import annotations

import base64
import importlib
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from spanwitness.archive.decode import Decoded
from spanwitness.model import SpanEvent, SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

    from spanwitness.model.span import StatusWord

__all__ = ["decode_proto", "encode_proto_request"]

# By name, since "google" is also the name of a provider's SDK, which is imported nowhere.
_DecodeError: Final[type[Exception]] = importlib.import_module(
    "google.protobuf.message"
).DecodeError
_STATUS: Final[dict[int, StatusWord]] = {1: "ok", 2: "error"}
_CODES: Final = {"unset": 0, "ok": 1, "error": 2}
_INT64: Final = 1 << 63
_NO_EVENTS: Final[tuple[SpanEvent, ...]] = ()


def decode_proto(data: bytes) -> Decoded:
    """Read one `ExportTraceServiceRequest`.

    Never raises: a request or a span that cannot be read becomes a problem.
    """
    try:
        request = ExportTraceServiceRequest.FromString(data)
    except _DecodeError as error:
        return Decoded([], (f"no OTLP protobuf: {error}",))
    spans: list[SpanRecord] = []
    problems: list[str] = []
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            scope = scoped.scope.name
            for span in scoped.spans:
                if len(span.trace_id) == 16 and len(span.span_id) == 8:
                    spans.append(_record(span, resource, scope))
                else:
                    problems.append(
                        f"span {span.name!r}: ids of {len(span.trace_id)} and "
                        f"{len(span.span_id)} bytes, not 16 and 8"
                    )
    return Decoded(spans, tuple(problems))


def _record(span: Span, resource: dict[str, object], scope: str) -> SpanRecord:
    parent = span.parent_span_id
    status = span.status
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=parent.hex() if len(parent) == 8 and any(parent) else None,
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=_STATUS.get(status.code, "unset"),
        status_message=status.message,
        attributes=_attributes(span.attributes),
        events=tuple(
            SpanEvent(
                name=event.name,
                time_ns=event.time_unix_nano,
                attributes=_attributes(event.attributes),
            )
            for event in span.events
        )
        if span.events
        else _NO_EVENTS,
        resource=resource,
        scope=scope,
        dropped_attributes=span.dropped_attributes_count,
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        value = pair.value
        kind = value.WhichOneof("value")
        key = intern(pair.key)
        if kind == "string_value":
            found[key] = value.string_value
        elif kind == "int_value":
            found[key] = value.int_value
        else:
            found[key] = _plain(value, kind)
    return found


def _plain(value: AnyValue, kind: str | None) -> object:
    """Return a value in plain Python; bytes as base64 text, as OTLP/JSON has them."""
    if kind is None:
        return None
    if kind == "array_value":
        return [_plain(item, item.WhichOneof("value")) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode("ascii")
    held: object = getattr(value, kind)
    return held


def encode_proto_request(spans: Iterable[SpanRecord]) -> bytes:
    """Write spans as one `ExportTraceServiceRequest`; those of one resource and scope together."""
    groups: dict[tuple[int, str], ResourceSpans] = {}
    request = ExportTraceServiceRequest()
    for span in spans:
        group = groups.get((id(span.resource), span.scope))
        if group is None:
            group = groups[id(span.resource), span.scope] = request.resource_spans.add()
            _fill(group.resource.attributes, span.resource)
            group.scope_spans.add().scope.name = _text(span.scope)
        _fill_span(group.scope_spans[0].spans.add(), span)
    body: bytes = request.SerializeToString()
    return body


def _fill_span(target: Span, span: SpanRecord) -> None:
    target.trace_id = bytes.fromhex(span.trace_id)
    target.span_id = bytes.fromhex(span.span_id)
    if span.parent_span_id is not None:
        target.parent_span_id = bytes.fromhex(span.parent_span_id)
    target.name = _text(span.name)
    target.kind = Span.SPAN_KIND_INTERNAL
    target.start_time_unix_nano = span.start_ns
    target.end_time_unix_nano = span.end_ns
    target.dropped_attributes_count = span.dropped_attributes
    _fill(target.attributes, span.attributes)
    for event in span.events:
        added = target.events.add(name=_text(event.name), time_unix_nano=event.time_ns)
        _fill(added.attributes, event.attributes)
    if span.status != "unset" or span.status_message:
        target.status.code = _CODES[span.status]  # type: ignore[assignment]
        target.status.message = _text(span.status_message)


def _fill(target: Any, attributes: dict[str, object]) -> None:  # noqa: ANN401  a repeated field
    for key, value in attributes.items():
        _set(target.add(key=_text(key)).value, value)


def _set(target: AnyValue, value: object) -> None:
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int) and -_INT64 <= value < _INT64:
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        _fill(target.kvlist_value.values, value)
    elif isinstance(value, (list, tuple)):
        target.array_value.SetInParent()
        for item in value:
            _set(target.array_value.values.add(), item)
    elif value is not None:
        target.string_value = _text(value)


def _text(value: object) -> str:
    """Return text without lone surrogates, which protobuf refuses."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
