"""How often an interval holds the true proportion: computed exactly, not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.stats.counts import needs_extra
from spanwitness.stats.intervals import clopper_pearson, jeffreys, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.stats.intervals import Interval

__all__ = ["METHODS", "Coverage", "coverage", "coverage_markdown", "coverage_table", "coverages"]

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
    true = np.asarray(proportions, dtype=float)[:, None]
    holds = (low <= true) & (true <= high)
    covered = np.where(holds, binom.pmf(k, n, true), 0.0).sum(axis=1)
    return [float(each) for each in covered]


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


def coverage_markdown(method: str, ns: Sequence[int], proportions: Sequence[float]) -> str:
    """Return the coverage of one method as a Markdown table, as `docs/measures.md` shows it.

    Args:
        method: A name of `METHODS`.
        ns: Numbers of units, one a row.
        proportions: True proportions, one a column; below 0.93 a figure is set in bold.
    """
    lines = [
        "| n | " + " | ".join(f"p={p:g}" for p in proportions) + " | mean |",
        "| ---: " * (len(proportions) + 2) + "|",
    ]
    grid = [at / 100 for at in range(1, 100)]
    for n in ns:
        found = coverages(METHODS[method], n, [*proportions, *grid])
        shown = [f"**{c:.3f}**" if c < 0.93 else f"{c:.3f}" for c in found[: len(proportions)]]
        mean = sum(found[len(proportions) :]) / len(grid)
        lines.append(f"| {n} | " + " | ".join(shown) + f" | {mean:.3f} |")
    return "\n".join(lines) + "\n"
