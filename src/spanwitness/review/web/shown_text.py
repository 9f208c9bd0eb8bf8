"""Text of a trace as the page shows it.

It is hostile: it is shown as plain text, what has no shape of its own (control characters, marks
that turn the direction of writing, invisible ones) is spelled out, and its length is bounded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import msgspec

from spanwitness.model.shapeless import SHAPELESS, spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMIT_CHARS = 2_000
"""How much of one text stands on a page that shows many."""
LIMIT_ALONE_CHARS = 100_000
"""How much of one text stands on the page of one model call."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A stretch of a text that stands out."""

    start: int
    end: int
    tone: str
    """A word of the style sheet: `good`, `bad`, `weak` or `unknown`."""
    label: str = ""
    """What it is, for those who do not see colours."""


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A stretch of text of one kind."""

    text: str
    kind: Literal["plain", "mark", "control"] = "plain"
    tone: str = ""
    label: str = ""


class ShownText(msgspec.Struct, frozen=True):
    """A text, cut to a bound, in pieces."""

    pieces: tuple[Piece, ...]
    n_chars: int
    """Of the whole text."""
    n_hidden: int = 0
    """Characters that are not shown."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return self.n_chars == 0


def shown(text: str, *, limit: int = LIMIT_CHARS, marks: Sequence[Mark] = ()) -> ShownText:
    """Cut a text to a bound, and part it into plain stretches, marked ones and spelled-out ones.

    Args:
        text: Any text.
        limit: Characters that are shown at most. A mark behind the bound is not shown.
        marks: Stretches that stand out; of two that overlap the first counts.
    """
    kept = text[:limit]
    pieces: list[Piece] = []
    at = 0
    for mark in sorted(marks, key=lambda m: (m.start, -m.end)):
        start, end = max(mark.start, at), min(mark.end, len(kept))
        if start >= end or mark.start < at:
            continue
        pieces.extend(_spelled(kept[at:start], Piece("")))
        pieces.extend(_spelled(kept[start:end], Piece("", "mark", mark.tone, mark.label)))
        at = end
    pieces.extend(_spelled(kept[at:], Piece("")))
    return ShownText(tuple(pieces), len(text), len(text) - len(kept))


def _spelled(text: str, like: Piece) -> Iterator[Piece]:
    text = text.replace("\r\n", "\n")
    at = 0
    for match in SHAPELESS.finditer(text):
        if match.start() > at:
            yield Piece(text[at : match.start()], like.kind, like.tone, like.label)
        yield Piece(f"U+{ord(match.group()):04X}", "control")
        at = match.end()
    if at < len(text):
        yield Piece(text[at:], like.kind, like.tone, like.label)


def one_line(text: str, *, limit: int = 300) -> str:
    """Return a text for a place that holds one line: a title, a cell, an attribute."""
    cut = text[: limit + 1]
    line = spelled_out(" ".join(cut.split()))
    return line if len(cut) <= limit else line[: limit - 1] + "…"


def readable(value: object) -> str:
    """Return a recorded value as a person reads it: text as it is, the rest as indented JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)
