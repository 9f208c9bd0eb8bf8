"""The rows that every benchmark gives, and the table that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD = ("what", "figure", "bar", "met")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    what: str
    figure: str
    bar: str = ""
    """What was promised; empty = shown beside the others, nothing promised."""
    is_met: bool | None = None
    """`None` = there is no bar, or it could not be judged here."""

    @property
    def met(self) -> str:
        return {None: "", True: "yes", False: "NO"}[self.is_met]


def at_most(what: str, value: float, limit: float, *, figure: str, bar: str) -> Row:
    """Make a row whose bar is an upper limit."""
    return Row(what=what, figure=figure, bar=bar, is_met=value <= limit)


def lines(rows: Iterable[Row], *, as_markdown: bool = False) -> list[str]:
    """Lay rows out in columns."""
    cells = [_HEAD, *((row.what, row.figure, row.bar, row.met) for row in rows)]
    widths = [max(len(cell[i]) for cell in cells) for i in range(len(_HEAD))]
    texts = [
        [cell.ljust(width) for cell, width in zip(each, widths, strict=True)] for each in cells
    ]
    if as_markdown:
        rule = ["-" * width for width in widths]
        return ["| " + " | ".join(each) + " |" for each in (texts[0], rule, *texts[1:])]
    rule = ["-" * width for width in widths]
    return ["  ".join(each).rstrip() for each in (texts[0], rule, *texts[1:])]
