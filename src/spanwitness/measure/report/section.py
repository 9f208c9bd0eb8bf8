"""A part of the page: what is shown, in words, as a picture and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DASH: Final = "\N{EN DASH}"
"""Stands where there is no figure."""

__all__ = [
    "DASH",
    "Section",
    "Table",
    "change_text",
    "interval_text",
    "number",
    "rate_cells",
    "share",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table of the page: every cell is a text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One figure with its title, what it says, and the numbers behind it."""

    title: str
    says: str
    """What is to be seen, in one to three sentences."""
    svg: str | None = None
    """The picture; `None` where there is nothing to draw."""
    alt: str = ""
    """The picture in words, for those who do not see it."""
    table: Table | None = None
    notes: tuple[str, ...] = ()
    """What was not assessed, and how the figure can mislead."""
    part: str = ""
    """The audit that it belongs to, where a page holds several."""
    subject: str = ""
    """What that audit is of, in full."""


def share(value: object) -> str:
    """Return a share as a text with three decimals; a dash where there is none."""
    return f"{value:.3f}" if isinstance(value, (int, float)) else DASH


def number(value: object) -> str:
    """Return a count as a text; a dash where there is none."""
    return f"{value:,}" if isinstance(value, int) else DASH


def interval_text(low: object, high: object) -> str:
    """Return an interval as a text; a dash where there is none."""
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return DASH
    return f"{low:.3f} to {high:.3f}"


def change_text(value: object) -> str:
    """Return a change as a text with its sign; a dash where there is none."""
    return f"{value:+.3f}" if isinstance(value, (int, float)) else DASH


def rate_cells(rate: Mapping[str, object]) -> Sequence[str]:
    """Return the cells of a rate: value, interval, units at risk.

    Args:
        rate: A rate of the fixed JSON form.
    """
    if rate.get("raw") is None:
        return ("not at risk", DASH, number(rate.get("n")))
    return (
        share(rate["raw"]),
        interval_text(rate.get("ci_low"), rate.get("ci_high")),
        number(rate.get("n")),
    )
