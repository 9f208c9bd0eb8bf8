"""Attributes on their way onto a span or a record: clean texts, exceptions."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final, cast

from spanwitness.capture.content import clean, encode_text
from spanwitness.capture.open_spans import SCOPE
from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import Span

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.context import RunState
    from spanwitness.capture.spans import Handle
    from spanwitness.model.span import AttributeValue

__all__ = ["cleaned", "exception_event", "has_exception", "record_of"]

_TRACE_FRAMES: Final = 20


def cleaned(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    """Return the attributes that are not `None`, with texts that UTF-8 can hold."""
    out: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            out[key] = clean(value)
        elif isinstance(value, list):
            items = tuple(clean(item) if isinstance(item, str) else item for item in value)
            out[key] = cast("AttributeValue", items)
        elif value is not None:
            out[key] = value
    return out


def exception_event(
    error: BaseException, kind: str, message: str | None, policy: ContentPolicy
) -> dict[str, AttributeValue]:
    """Return the attributes of an exception's event; without a message no content at all."""
    event: dict[str, AttributeValue] = {"exception.type": kind}
    if message is not None:
        event["exception.message"] = message
        # The frames only: the last line of a formatted exception is its message, given above.
        frames = "".join(traceback.format_tb(error.__traceback__, limit=-_TRACE_FRAMES))
        event["exception.stacktrace"] = encode_text(frames, policy).text or ""
    return event


def has_exception(otel: Span | None, kind: str) -> bool:
    """Say whether a span has an event for an exception of this type already."""
    for event in getattr(otel, "events", ()):
        if event.name == "exception":
            recorded = str((event.attributes or {}).get("exception.type", ""))
            if recorded.rpartition(".")[2] == kind.rpartition(".")[2]:
                return True
    return False


def record_of(handle: Handle, state: RunState, end_ns: int) -> SpanRecord:
    """Make the structural record of a span of an unsampled run."""
    return SpanRecord(
        trace_id=state.trace_id,
        span_id=handle.span_id,
        parent_span_id=f"{handle.parent_id:016x}" if handle.parent_id else None,
        name=handle.name,
        start_ns=handle.start_ns,
        end_ns=end_ns,
        status=handle.status,
        attributes=dict(handle.attributes),
        events=handle.events,
        scope=SCOPE,
    )
