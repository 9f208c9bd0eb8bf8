"""From the bytes of an OTLP/JSON document to span records: fast, and tolerant where it must be."""

from __future__ import annotations

import base64
import binascii
import gc
import json
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from spanwitness.archive.any_value import plain_attributes
from spanwitness.archive.otlp_types import (
    RawRequest,
    RawResourceSpans,
    Request,
    Resource,
    ResourceSpans,
    Scope,
    Span,
)
from spanwitness.model import SpanEvent, SpanRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model.span import StatusWord

__all__ = ["Decoded", "decode_document", "decode_raw"]

_request = msgspec.json.Decoder(Request, strict=False)
_requests = msgspec.json.Decoder(list[Request], strict=False)
_raw_request = msgspec.json.Decoder(RawRequest)
_DECODING = (msgspec.DecodeError, UnicodeDecodeError)
_STATUS: dict[int | str, StatusWord] = {
    1: "ok", "1": "ok", "STATUS_CODE_OK": "ok",
    2: "error", "2": "error", "STATUS_CODE_ERROR": "error",
}  # fmt: skip
_NO_PARENT = frozenset({"", "0" * 16})
_SNAKE = re.compile(r"_([a-z])")
T = TypeVar("T")
_NO_EVENTS: tuple[SpanEvent, ...] = ()


class Decoded(NamedTuple):
    """What one document held."""

    spans: list[SpanRecord]
    problems: tuple[str, ...] = ()
    """What could not be read; all else was."""
    note: str | None = None
    """What the document held instead of spans."""

    @property
    def n_rejected(self) -> int:
        """How many spans stood in the document and could not be read."""
        return sum(problem.startswith("span ") for problem in self.problems)


def decode_document(data: bytes) -> Decoded:
    """Read one document: an export request, or a list of them.

    Never raises: a document or a span that cannot be read becomes a problem.
    """
    # Decoding makes ten thousand containers a document and no cycle: the collector would walk them
    # again and again, which doubles the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _decode(data)
    finally:
        if was_enabled:
            gc.enable()


def _decode(data: bytes) -> Decoded:
    try:
        requests = _requests.decode(data) if _is_list(data) else [_request.decode(data)]
    except _DECODING:
        return _decode_slowly(data)
    spans: list[SpanRecord] = []
    problems: list[str] = []
    note: str | None = None
    for request in requests:
        if request.resource_spans is None:
            note = _other_signal(request)
            if b'"resource_spans"' in data:
                return _decode_slowly(data)
            if note is None and data.strip() != b"{}":
                problems.append(_NO_SPANS)
        else:
            for group in request.resource_spans:
                _add_spans(group, spans, problems)
    return Decoded(spans, tuple(problems), note)


def decode_raw(data: bytes) -> list[RawResourceSpans] | None:
    """Split one export request into its spans without decoding them; `None` = use the other way."""
    if _is_list(data):
        return None
    try:
        return _raw_request.decode(data).resource_spans
    except _DECODING:
        return None


_NO_SPANS = 'no OTLP/JSON: an object with "resourceSpans" was expected'


def _is_list(data: bytes) -> bool:
    return data[:1] == b"[" or (data[:1].isspace() and data.lstrip()[:1] == b"[")


def _other_signal(request: Request) -> str | None:
    if request.resource_logs:
        return "log records, not spans"
    if request.resource_metrics:
        return "metrics, not spans"
    if bytes(request.schema).startswith(b'"spanwitness.finding/'):
        return "findings, not spans"
    return None


def _add_spans(group: ResourceSpans, spans: list[SpanRecord], problems: list[str]) -> None:
    resource = plain_attributes(group.resource.attributes) if group.resource else {}
    for scoped in (*group.scope_spans, *group.library_spans):
        scope = scoped.scope or scoped.instrumentation_library
        name = scope.name if scope is not None else ""
        for span in scoped.spans:
            try:
                spans.append(_record(span, resource, name))
            except ValueError as error:
                problems.append(f"span {span.name!r}: {error}")


def _record(span: Span, resource: dict[str, object], scope: str) -> SpanRecord:
    trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != 32 or len(span_id) != 16 or (parent and len(parent) != 16):
        trace_id = _hex_id(trace_id, 16, "traceId")
        span_id = _hex_id(span_id, 8, "spanId")
        parent = _hex_id(parent, 8, "parentSpanId") if parent else None
    attributes: dict[str, object] = {}
    if span.attributes:
        attributes = plain_attributes(span.attributes)
    status = span.status
    return SpanRecord(
        trace_id=trace_id.lower(),
        span_id=span_id.lower(),
        parent_span_id=None if parent is None or parent in _NO_PARENT else parent.lower(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status="unset" if status is None or not status.code else _STATUS.get(status.code, "unset"),
        status_message="" if status is None else status.message,
        attributes=attributes,
        events=_events(span) if span.events else _NO_EVENTS,
        resource=resource,
        scope=scope,
        dropped_attributes=span.dropped_attributes_count,
    )


def _events(span: Span) -> tuple[SpanEvent, ...]:
    return tuple(
        SpanEvent(
            name=event.name,
            time_ns=event.time_unix_nano,
            attributes=plain_attributes(event.attributes),
        )
        for event in span.events
    )


def _hex_id(text: str, size: int, field: str) -> str:
    """Return an id as hex: it is hex already, or base64 as protobuf's own JSON writes bytes."""
    if len(text) == 2 * size:
        return text
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != size:
        raise ValueError(f"{field} {text!r} is no id of {size} bytes, in hex or base64")
    return data.hex()


# --- the tolerant way: one bad span must not take its neighbours with it


def _decode_slowly(data: bytes) -> Decoded:
    try:
        document = json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError as error:
        return Decoded([], (f"no JSON: {error}",))
    except RecursionError:
        return Decoded([], ("JSON nested too deeply",))
    spans: list[SpanRecord] = []
    problems: list[str] = []
    notes: list[str] = []
    for request in document if isinstance(document, list) else [document]:
        _decode_request(request, spans, problems, notes)
    return Decoded(spans, tuple(problems), notes[0] if notes else None)


def _decode_request(
    request: object, spans: list[SpanRecord], problems: list[str], notes: list[str]
) -> None:
    if isinstance(request, dict) and "resource_spans" in request:
        request = _camel(request)
    if isinstance(request, dict) and "resourceLogs" in request:
        notes.append("log records, not spans")
        return
    if not isinstance(request, dict) or not isinstance(request.get("resourceSpans"), list):
        problems.append(_NO_SPANS)
        return
    for group in request["resourceSpans"]:
        if not isinstance(group, dict):
            problems.append('an entry of "resourceSpans" is no object')
            continue
        resource = _convert(group.get("resource") or {}, Resource, Resource(), problems)
        plain = plain_attributes(resource.attributes)
        for scoped in _objects(group.get("scopeSpans"), group.get("instrumentationLibrarySpans")):
            named = scoped.get("scope") or scoped.get("instrumentationLibrary") or {}
            scope = _convert(named, Scope, Scope(), problems)
            for number, item in enumerate(_objects(scoped.get("spans")), 1):
                try:
                    span = msgspec.convert(item, Span, strict=False)
                    spans.append(_record(span, plain, scope.name))
                except (msgspec.ValidationError, ValueError) as error:
                    problems.append(f"span {number} of scope {scope.name!r}: {error}")


def _convert(value: object, kind: type[T], default: T, problems: list[str]) -> T:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        problems.append(f"{kind.__name__.lower()}: {error}")
        return default


def _objects(*lists: object) -> Iterator[dict[str, object]]:
    for items in lists:
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))


def _camel(value: object) -> object:
    """Rename the keys of a document that was written with protobuf's own field names."""
    if isinstance(value, dict):
        return {_SNAKE.sub(lambda m: m[1].upper(), str(k)): _camel(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_camel(item) for item in value]
    return value
