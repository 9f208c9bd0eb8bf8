"""Attributes on their way onto a span: clean texts, exceptions."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from spanwitness.capture.content import clean, encode_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.model.span import AttributeValue

__all__ = ["cleaned", "exception_event"]

_TRACE_FRAMES: Final = 20


def cleaned(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    """Return the attributes that are not `None`, with texts that UTF-8 can hold."""
    out: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            out[key] = clean(value)
        elif isinstance(value, list):
            out[key] = tuple(clean(item) if isinstance(item, str) else item for item in value)
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
