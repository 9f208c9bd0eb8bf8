"""A live span in the form that every source of spans is brought to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.export.repair import attributes_of
from spanwitness.live.buffer import id_of, trace_id_of
from spanwitness.model import SpanEvent, SpanRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.model.span import StatusWord

_STATUS: Final[Mapping[int, StatusWord]] = {0: "unset", 1: "ok", 2: "error"}


def to_record(
    span: ReadableSpan,
    *,
    resource: dict[str, object] | None = None,
    extra: Mapping[str, object] | None = None,
    end_ns: int | None = None,
) -> SpanRecord:
    """Convert a span, ended or still open.

    Args:
        span: The SDK's span.
        resource: Its resource's attributes, shared between the records of one trace; `None` = read
            from the span.
        extra: Attributes that it will have when it ends.
        end_ns: Its end where it is still open; `None` and open = 0.
    """
    status = span.status
    attributes = _plain(attributes_of(span))
    if extra:
        attributes.update(_plain(extra))
    return SpanRecord(
        trace_id=f"{trace_id_of(span):032x}",
        span_id=f"{id_of(span):016x}",
        parent_span_id=f"{span.parent.span_id:016x}" if span.parent is not None else None,
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time or end_ns or 0,
        status=_STATUS[status.status_code.value],
        status_message=status.description or "",
        attributes=attributes,
        events=tuple(
            SpanEvent(name=e.name, time_ns=e.timestamp, attributes=_plain(attributes_of(e)))
            for e in span.events
        ),
        resource=resource_of(span) if resource is None else resource,
        scope=span.instrumentation_scope.name if span.instrumentation_scope else "",
        dropped_attributes=span.dropped_attributes,
    )


def resource_of(span: ReadableSpan) -> dict[str, object]:
    """Return the attributes of a span's resource."""
    return _plain(attributes_of(span.resource))


def _plain(attributes: Mapping[str, object] | None) -> dict[str, object]:
    """Copy attributes with lists for tuples: a stored array is read back as a list."""
    if not attributes:
        return {}
    return {k: list(v) if type(v) is tuple else v for k, v in attributes.items()}
