"""Spans as OTLP/JSON: the body of an `http/json` request, and the lines of the local files."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from spanwitness.export.repair import attributes_of, repaired

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext

__all__ = ["encode_json"]

_encoder = msgspec.json.Encoder()


def encode_json(spans: Iterable[ReadableSpan]) -> bytes:
    """Encode spans as one `ExportTraceServiceRequest` in OTLP/JSON, without a line break in it."""
    # Grouped by identity: hashing a resource serialises its attributes.
    groups: dict[int, _Group] = {}
    for original in spans:
        span = repaired(original)
        group = groups.get(id(span.resource))
        if group is None:
            group = groups[id(span.resource)] = _Group(span.resource)
        group.scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    return _encoder.encode(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": _attributes(group.resource)},
                    "scopeSpans": [
                        {"scope": _scope(scope), "spans": encoded, **_schema(scope)}
                        for scope, encoded in group.scopes.items()
                    ],
                    **_schema(group.resource),
                }
                for group in groups.values()
            ]
        }
    )


class _Group:
    """Encoded spans of one resource, by scope."""

    __slots__ = ("resource", "scopes")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.scopes: dict[InstrumentationScope | None, list[object]] = {}


def _schema(owner: Resource | InstrumentationScope | None) -> dict[str, object]:
    return {} if owner is None or not owner.schema_url else {"schemaUrl": owner.schema_url}


def _scope(scope: InstrumentationScope | None) -> dict[str, object]:
    if scope is None:
        return {}
    out: dict[str, object] = {"name": scope.name}
    if scope.version:
        out["version"] = scope.version
    if scope.attributes:
        out["attributes"] = _attributes(scope)
    return out


def _span(span: ReadableSpan) -> dict[str, object]:
    context = span.get_span_context()
    out: dict[str, object] = {} if context is None else _ids(context)
    if span.parent is not None:
        out["parentSpanId"] = f"{span.parent.span_id:016x}"
    out["name"] = span.name
    out["kind"] = span.kind.value + 1
    out["startTimeUnixNano"] = str(span.start_time or 0)
    out["endTimeUnixNano"] = str(span.end_time or 0)
    out["attributes"] = _attributes(span)
    if span.events:
        out["events"] = [_event(event) for event in span.events]
    if span.links:
        out["links"] = [_link(link) for link in span.links]
    status: dict[str, object] = {"code": span.status.status_code.value}
    if span.status.description:
        status["message"] = span.status.description
    out["status"] = status
    dropped = {
        "droppedAttributesCount": span.dropped_attributes,
        "droppedEventsCount": span.dropped_events,
        "droppedLinksCount": span.dropped_links,
    }
    out.update({key: n_dropped for key, n_dropped in dropped.items() if n_dropped})
    out["flags"] = _flags(span.parent)
    return out


def _ids(context: SpanContext) -> dict[str, object]:
    out: dict[str, object] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
    }
    if context.trace_state:
        out["traceState"] = ",".join(f"{k}={v}" for k, v in context.trace_state.items())
    return out


def _flags(parent: SpanContext | None) -> int:
    # Bit 8: it is known whether the parent is remote; bit 9: it is.
    return 0x300 if parent is not None and parent.is_remote else 0x100


def _event(event: Event) -> dict[str, object]:
    out: dict[str, object] = {"timeUnixNano": str(event.timestamp), "name": event.name}
    out["attributes"] = _attributes(event)
    return out


def _link(link: Link) -> dict[str, object]:
    return {**_ids(link.context), "attributes": _attributes(link), "flags": _flags(link.context)}


def _attributes(owner: object) -> list[object]:
    return [{"key": key, "value": _value(value)} for key, value in attributes_of(owner).items()]


def _value(value: object) -> dict[str, object]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _special(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        pairs = [{"key": str(k), "value": _value(v)} for k, v in value.items()]
        return {"kvlistValue": {"values": pairs}}
    if isinstance(value, Sequence):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {}


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
