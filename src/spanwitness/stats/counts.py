"""Counts and rates that are checked, and rates that may have no denominator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.errors import MissingExtraError, SpanwitnessError

if TYPE_CHECKING:
    from spanwitness.stats.intervals import Interval

__all__ = ["CountError", "Rate", "check_counts", "check_level", "needs_extra", "rate"]


class CountError(SpanwitnessError, ValueError):
    """Counts, a level or a unit of independence from which no figure can be made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share with its denominator; without a denominator it has no value."""

    k: int
    """Events."""
    n: int
    """Units at risk."""
    raw: float | None
    """k / n, or `None` where nothing was at risk."""
    jeffreys: float | None
    """(k + 1/2) / (n + 1), or `None` where nothing was at risk."""
    interval: Interval | None
    """Its interval, or `None` where nothing was at risk."""
    reason: Literal["not_at_risk"] | None = None
    """Why there is no value."""


def rate(k: int, n: int, *, level: float = 0.95) -> Rate:
    """Return a share with its Jeffreys estimate and equal-tailed Jeffreys interval.

    The interval holds the middle `level` of Beta(k + 1/2, n - k + 1/2) and assumes independent
    units. Where n is 0 the event was not at risk: there is no value, and that is not 0.

    Args:
        k: Events, 0 to n.
        n: Independent units at risk.
        level: Probability inside the interval.

    Raises:
        CountError: k is not in 0..n, or the level not in (0, 1).
    """
    from spanwitness.stats.intervals import jeffreys

    check_counts(k, n)
    if n == 0:
        return Rate(k=0, n=0, raw=None, jeffreys=None, interval=None, reason="not_at_risk")
    return Rate(
        k=k,
        n=n,
        raw=k / n,
        jeffreys=(k + 0.5) / (n + 1),
        interval=jeffreys(k, n, level=level),
    )


def check_counts(k: int, n: int) -> None:
    """Refuse a count that is negative or above its total.

    Raises:
        CountError: It is, or one of the two is no whole number.
    """
    for name, value in (("k", k), ("n", n)):
        if isinstance(value, bool) or value != int(value):
            raise CountError(f"{name} is a count, so a whole number, not {value!r}")
    if not 0 <= k <= n:
        raise CountError(f"a count is between 0 and its total: {k!r} of {n!r} is not")


def check_level(level: float) -> None:
    """Refuse a confidence level outside of (0, 1).

    Raises:
        CountError: It is outside.
    """
    if not 0 < level < 1:
        raise CountError(f"a level is between 0 and 1, as 0.95, not {level!r}")


def needs_extra(error: ImportError) -> MissingExtraError:
    """Return the error that says how to install what a statistic needs.

    Args:
        error: What the import raised.
    """
    return MissingExtraError((error.name or "scipy").partition(".")[0], extra="measure")
