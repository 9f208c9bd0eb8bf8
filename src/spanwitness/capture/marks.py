"""Marks on a span for attributes that were cut or repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanwitness.semconv import spanwitness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.capture.content import Encoded
    from spanwitness.model.span import AttributeValue


class Mark(NamedTuple):
    """What was done to one attribute."""

    key: str
    encoded: Encoded


def marks(marked: Iterable[Mark]) -> dict[str, AttributeValue]:
    """Return the attributes that tell of cuts (with original length and digest) and repairs."""
    items = list(marked)
    cut = [mark for mark in items if mark.encoded.is_truncated]
    repaired = [mark.key for mark in items if mark.encoded.is_repaired]
    out: dict[str, AttributeValue] = {}
    if cut:
        out[spanwitness.TRUNCATED] = tuple(mark.key for mark in cut)
        out[spanwitness.TRUNCATED_CHARS] = tuple(mark.encoded.chars for mark in cut)
        out[spanwitness.TRUNCATED_DIGESTS] = tuple(mark.encoded.digest for mark in cut)
    if repaired:
        out[spanwitness.REPLACED] = tuple(repaired)
    return out
