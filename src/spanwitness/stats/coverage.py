"""How often an interval holds the true proportion: computed exactly, not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.stats.counts import needs_extra
from spanwitness.stats.intervals import clopper_pearson, jeffreys, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.stats.intervals import Interval

__all__ = ["METHODS", "Coverage", "coverage", "coverage_table"]

METHODS: dict[str, Callable[[int, int], Interval]] = {
    "wilson": wilson,
    "jeffreys": jeffreys,
    "clopper_pearson": clopper_pearson,
    "upper_bound": lambda k, n: clopper_pearson(k, n, sides="upper"),
}
"""The intervals whose coverage the docs show, at level 0.95; `upper_bound` is one-sided exact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """The probability that an interval holds p, for one n and one p."""

    method: str
    n: int
    p: float
    coverage: float
    """Sum of the binomial probabilities of all k whose interval holds p."""


def coverage(method: Callable[[int, int], Interval], n: int, p: float) -> float:
    """Return the exact coverage of an interval: the binomial summed over the k that hold p.

    Args:
        method: Makes the interval of (k, n).
        n: Units.
        p: The true proportion, 0 to 1.
    """
    return coverages(method, n, [p])[0]


def coverages(
    method: Callable[[int, int], Interval], n: int, proportions: Sequence[float]
) -> list[float]:
    """Return the exact coverage for many true proportions, making each interval once.

    Args:
        method: Makes the interval of (k, n).
        n: Units.
        proportions: True proportions.
    """
    try:
        import numpy as np
        from scipy.stats import binom
    except ImportError as error:
        raise needs_extra(error) from None
    intervals = [method(k, n) for k in range(n + 1)]
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    k = np.arange(n + 1)
    return [
        float(np.sum(binom.pmf(k, n, p)[(low <= p) & (p <= high)], dtype=float))
        for p in proportions
    ]


def coverage_table(ns: Sequence[int], proportions: Sequence[float]) -> list[Coverage]:
    """Return the coverage of every method of `METHODS` over a grid.

    Args:
        ns: Numbers of units.
        proportions: True proportions.
    """
    return [
        Coverage(method=name, n=n, p=p, coverage=value)
        for name, method in METHODS.items()
        for n in ns
        for p, value in zip(proportions, coverages(method, n, proportions), strict=True)
    ]
