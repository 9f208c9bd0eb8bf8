"""Writing spans as OTLP/JSON: one export request a line, as the collector's file exporter does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from spanwitness.archive.any_value import encoded_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwitness.model import SpanRecord

__all__ = ["encode", "encode_request"]

_STATUS = {"unset": 0, "ok": 1, "error": 2}
_to_json = msgspec.json.Encoder().encode


def encode(spans: Iterable[SpanRecord], *, batch: int = 512) -> Iterator[bytes]:
    """Write spans as OTLP/JSON lines, without line ends.

    Args:
        spans: Any spans, in any order; read back, they are equal.
        batch: How many spans stand in one line at most.
    """
    pending: list[SpanRecord] = []
    for span in spans:
        pending.append(span)
        if len(pending) >= batch:
            yield encode_request(pending)
            pending = []
    if pending:
        yield encode_request(pending)


def encode_request(spans: Iterable[SpanRecord]) -> bytes:
    """Write spans as one `ExportTraceServiceRequest`."""
    groups: dict[tuple[bytes, str], list[SpanRecord]] = {}
    for span in spans:
        groups.setdefault((_dumps(span.resource), span.scope), []).append(span)
    return _dumps({"resourceSpans": [_group(items) for items in groups.values()]})


def _group(spans: list[SpanRecord]) -> dict[str, Any]:
    first = spans[0]
    scoped = {"scope": {"name": first.scope}, "spans": [_span(span) for span in spans]}
    return {
        "resource": {"attributes": encoded_attributes(first.resource)},
        "scopeSpans": [scoped],
    }


def _span(span: SpanRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_span_id is not None:
        found["parentSpanId"] = span.parent_span_id
    found |= {
        "name": span.name,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": encoded_attributes(span.attributes),
    }
    if span.events:
        found["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_ns),
                "attributes": encoded_attributes(event.attributes),
            }
            for event in span.events
        ]
    status: dict[str, Any] = {}
    if span.status != "unset":
        status["code"] = _STATUS[span.status]
    if span.status_message:
        status["message"] = span.status_message
    found["status"] = status
    if span.dropped_attributes:
        found["droppedAttributesCount"] = span.dropped_attributes
    return found


def _dumps(value: object) -> bytes:
    try:
        return _to_json(value)
    except (TypeError, ValueError):  # lone surrogates, foreign objects, huge integers
        return json.dumps(value, default=str, separators=(",", ":")).encode("utf-8", "replace")
