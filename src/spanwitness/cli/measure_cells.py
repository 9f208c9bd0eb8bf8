"""How a figure looks in a cell: with its denominator and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from spanwitness.stats.counts import Rate
    from spanwitness.stats.intervals import Interval

__all__ = ["ends_text", "grid", "rate_text", "share_text"]

_MOST_HEADING: Final = 10
"""A longer word of a heading is folded, so that all columns find room in 80."""


def grid(*columns: str) -> Table:
    """Return an empty table.

    Args:
        columns: Its headings.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for column in columns:
        longest = max(map(len, column.split()), default=0)
        table.add_column(column, overflow="fold", min_width=min(longest, _MOST_HEADING))
    return table


def rate_text(found: Rate, *, raw: bool = False) -> Text:
    """Return a rate with interval and counts; `not at risk` without a denominator.

    Args:
        found: The rate.
        raw: Show k/n instead of the Jeffreys estimate.
    """
    value = found.raw if raw else found.jeffreys
    if value is None:
        return Text("not at risk", style="dim")
    return Text(f"{value:.3f} {ends_text(found.interval)} {found.k}/{found.n}")


def ends_text(interval: Interval | None) -> str:
    """Return the two ends of an interval.

    Args:
        interval: The interval; `None` = there is none.
    """
    return "[no interval]" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def share_text(value: float | None) -> str:
    """Return a share; `?` where it is not known.

    Args:
        value: The share.
    """
    return "?" if value is None else f"{value:.3f}"
