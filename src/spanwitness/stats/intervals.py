"""Intervals of one proportion and of the difference of two, by SciPy and statsmodels.

All of them take the n units to be independent. Repeated runs of one item are not: count items, or
take a bootstrap over items (`spanwitness.stats.bootstrap`). `docs/measures.md` shows how often each
interval holds the true value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spanwitness.stats.counts import CountError, check_counts, check_level, needs_extra

__all__ = [
    "Difference",
    "Interval",
    "clopper_pearson",
    "jeffreys",
    "newcombe",
    "wilson",
    "zero_event_bound",
]

Sides = Literal["two", "lower", "upper"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An interval of a proportion, or of a difference, with how it was made."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    level: float
    """Nominal probability, 0.95 unless asked for otherwise."""
    method: str
    """`wilson`, `jeffreys`, `clopper_pearson`, `newcombe`, `percentile_bootstrap` ..."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The difference of two shares, first minus second."""

    difference: float
    """k1 / n1 - k2 / n2."""
    interval: Interval
    """Its interval."""


def wilson(k: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the Wilson score interval (Wilson 1927), by `scipy.stats.binomtest`.

    Args:
        k: Events, 0 to n.
        n: Independent units, at least 1.
        level: Nominal coverage.

    Raises:
        CountError: The counts or the level cannot be used.
    """
    return _binomial(k, n, level, method="wilson", sides="two")


def clopper_pearson(k: int, n: int, *, level: float = 0.95, sides: Sides = "two") -> Interval:
    """Return the exact interval (Clopper and Pearson 1934), by `scipy.stats.binomtest`.

    Its coverage is never below the level; for small n it is well above.

    Args:
        k: Events, 0 to n.
        n: Independent units, at least 1.
        level: Least coverage.
        sides: `two`, or one bound alone: `upper` (low is 0) or `lower` (high is 1).

    Raises:
        CountError: The counts, the level or the sides cannot be used.
    """
    return _binomial(k, n, level, method="exact", sides=sides)


_ALTERNATIVES = {"two": "two-sided", "upper": "less", "lower": "greater"}


def _binomial(k: int, n: int, level: float, *, method: str, sides: Sides) -> Interval:
    _check(k, n, level)
    if sides not in _ALTERNATIVES:
        raise CountError(f"sides is one of {', '.join(_ALTERNATIVES)}, not {sides!r}")
    try:
        from scipy.stats import binomtest
    except ImportError as error:
        raise needs_extra(error) from None
    found = binomtest(k, n, alternative=_ALTERNATIVES[sides]).proportion_ci(level, method)
    name = "wilson" if method == "wilson" else "clopper_pearson"
    return Interval(low=float(found.low), high=float(found.high), level=level, method=name)


def jeffreys(k: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the equal-tailed Jeffreys credible interval, by `scipy.special.betaincinv`.

    The middle `level` of Beta(k + 1/2, n - k + 1/2), as the study of correction and corruption has
    it: at k = 0 the lower end is small and not 0.

    Args:
        k: Events, 0 to n.
        n: Independent units, at least 1.
        level: Probability inside.

    Raises:
        CountError: The counts or the level cannot be used.
    """
    _check(k, n, level)
    return beta_interval(k, n, level=level)


def beta_interval(k: float, n: float, *, level: float = 0.95) -> Interval:
    """Return the Jeffreys interval of counts that need not be whole (deflated by repeats).

    Args:
        k: Events, 0 to n.
        n: Effective number of units, above 0.
        level: Probability inside.
    """
    try:
        from scipy.special import betaincinv
    except ImportError as error:
        raise needs_extra(error) from None
    low, high = (
        float(betaincinv(k + 0.5, n - k + 0.5, tail)) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    return Interval(low=low, high=high, level=level, method="jeffreys")


def zero_event_bound(n: int, *, level: float = 0.95) -> float:
    """Return the one-sided exact upper bound of a rate of which no event was seen.

    1 - (1 - level) ** (1 / n), the Clopper-Pearson bound at k = 0.

    Args:
        n: Independent units without an event: groups or claims, never repeats of them as if each
            were a unit of its own.
        level: Least coverage.

    Raises:
        CountError: n is below 1, or the level cannot be used.
    """
    return clopper_pearson(0, n, level=level, sides="upper").high


def newcombe(k1: int, n1: int, k2: int, n2: int, *, level: float = 0.95) -> Difference:
    """Return the difference of two independent shares with Newcombe's interval.

    Newcombe 1998, method 10 (from two Wilson intervals), by statsmodels. All n1 + n2 units are
    taken to be independent.

    Args:
        k1: Events of the first group.
        n1: Units of the first group, at least 1.
        k2: Events of the second group.
        n2: Units of the second group, at least 1.
        level: Nominal coverage.

    Raises:
        CountError: The counts or the level cannot be used.
    """
    _check(k1, n1, level)
    _check(k2, n2, level)
    try:
        from statsmodels.stats.proportion import confint_proportions_2indep
    except ImportError as error:
        raise needs_extra(error) from None
    low, high = confint_proportions_2indep(
        k1, n1, k2, n2, method="newcomb", compare="diff", alpha=1 - level
    )
    interval = Interval(low=float(low), high=float(high), level=level, method="newcombe")
    return Difference(difference=k1 / n1 - k2 / n2, interval=interval)


def _check(k: int, n: int, level: float) -> None:
    check_counts(k, n)
    check_level(level)
    if n == 0:
        raise CountError("no interval without units: n is 0, so nothing was at risk")
