"""What a span weighs in the queue: an estimate on the caller's path, so a cheap one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from spanwitness.export.repair import attributes_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["estimate_bytes"]

_SPAN_BYTES: Final = 300
"""What a span weighs without its attributes."""
_ATTRIBUTE_BYTES: Final = 40


def estimate_bytes(span: ReadableSpan) -> int:
    """Estimate the bytes of a span: what its long texts weigh, in characters."""
    # On the caller's path: the dict inside the SDK's bounded mapping, not the slow proxy around it.
    held = getattr(getattr(span, "_attributes", None), "_dict", None)
    if held is None:
        held = attributes_of(span)
    size = _SPAN_BYTES
    for value in held.values():
        if type(value) is str:
            size += len(value)
        elif not isinstance(value, int):
            size += _weigh(value)
    events = getattr(span, "_events", None)
    if events:
        for event in events:
            size += _SPAN_BYTES + sum(map(_weigh, attributes_of(event).values()))
    return size + _ATTRIBUTE_BYTES * len(held)


def _weigh(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, tuple | list):
        return sum(map(_weigh, value)) + 8 * len(value)
    if isinstance(value, Mapping):
        return sum(len(str(k)) + _weigh(v) for k, v in value.items())
    return 8
