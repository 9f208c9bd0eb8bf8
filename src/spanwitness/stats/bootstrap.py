"""Percentile bootstraps over named units, by `scipy.stats.bootstrap`.

The unit is what was sampled: a base case, an item, a configuration. Rows of one unit are summed
before they come here, so that a unit is drawn whole.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from spanwitness.stats.counts import CountError, check_level, needs_extra
from spanwitness.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    import numpy.typing

    Array: TypeAlias = numpy.typing.NDArray[numpy.float64]

__all__ = ["bootstrap_interval", "mean_interval", "ratio_difference_interval", "ratio_interval"]

N_RESAMPLES = 2000
"""Resamples where none are asked for; the study of evidence states has as many."""
SEED = 5205
"""Seed where none is given; the study of evidence states has it."""
_MAX_DRAWN = 4_000_000
"""Draws held in memory at once."""


def mean_interval(
    changes: Sequence[float],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Return the percentile interval of a mean over units, one value a unit.

    Args:
        changes: One value a unit: the matched change of a base case, the paired difference of an
            item.
        level: Probability inside.
        n_resamples: Resamples.
        seed: Seed of the resampling.

    Returns:
        The interval, or `None` with fewer than two units.

    Raises:
        CountError: The level cannot be used.
    """
    return bootstrap_interval(
        [changes], _mean, level=level, n_resamples=n_resamples, seed=seed, is_paired=False
    )


def ratio_interval(
    events: Sequence[float],
    at_risk: Sequence[float],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Return the percentile interval of sum(events) / sum(at_risk), drawing whole units.

    The cluster bootstrap: a unit with its repeats is one cluster. Resamples in which nothing is at
    risk are left out. Where every unit tells the same there is no spread to resample: `None`.

    Args:
        events: Events of each unit.
        at_risk: What was at risk in each unit, in the same order.
        level: Probability inside.
        n_resamples: Resamples.
        seed: Seed of the resampling.

    Returns:
        The interval, or `None` where it cannot be told.

    Raises:
        CountError: The two differ in length, or the level cannot be used.
    """
    units = [(k, n) for k, n in zip(events, at_risk, strict=True) if n > 0]
    k, n = [unit[0] for unit in units], [unit[1] for unit in units]
    if len({a / b for a, b in units}) < 2:
        return None
    return bootstrap_interval(
        [k, n], _ratio, level=level, n_resamples=n_resamples, seed=seed, is_paired=True
    )


def ratio_difference_interval(
    first: Sequence[tuple[float, float]],
    second: Sequence[tuple[float, float]],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """Return the percentile interval of the difference of two ratios over separate sets of units.

    Each set is resampled by itself, whole units at a time.

    Args:
        first: (events, at risk) of each unit of the first set.
        second: The same of the second set.
        level: Probability inside.
        n_resamples: Resamples.
        seed: Seed of the resampling.

    Returns:
        The interval, or `None` with fewer than two units in a set.

    Raises:
        CountError: The level cannot be used.
    """
    if min(len(first), len(second)) < 2:
        check_level(level)
        return None
    try:
        import numpy as np
    except ImportError as error:
        raise needs_extra(error) from None
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)

    def difference(at_one: Array, at_two: Array, axis: int) -> Array:
        drawn_one = one[at_one.astype(int)].sum(axis=axis - 1)
        drawn_two = two[at_two.astype(int)].sum(axis=axis - 1)
        shares: Array = (
            drawn_one[..., 0] / drawn_one[..., 1] - drawn_two[..., 0] / drawn_two[..., 1]
        )
        return shares

    return bootstrap_interval(
        [range(len(first)), range(len(second))],
        difference,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        is_paired=False,
    )


def bootstrap_interval(
    samples: Sequence[Sequence[float]],
    statistic: Callable[..., Array],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    is_paired: bool = False,
) -> Interval | None:
    """Return the percentile bootstrap interval of any statistic of one or more samples.

    Args:
        samples: One value a unit; with `is_paired` all samples have the same units in one order.
        statistic: Takes as many arrays as there are samples and `axis`, and reduces along it.
        level: Probability inside.
        n_resamples: Resamples.
        seed: Seed of the resampling.
        is_paired: Whether a unit is drawn with all its values.

    Returns:
        The interval, or `None` with fewer than two units in a sample.

    Raises:
        CountError: The level or the number of resamples cannot be used.
    """
    check_level(level)
    if n_resamples < 1:
        raise CountError(f"a bootstrap needs at least 1 resample, not {n_resamples!r}")
    if min(len(sample) for sample in samples) < 2:
        return None
    try:
        import numpy as np
        from scipy.stats import bootstrap
    except ImportError as error:
        raise needs_extra(error) from None
    data = tuple(np.asarray(sample, dtype=float) for sample in samples)
    n_drawn = sum(len(sample) for sample in data)
    # SciPy renamed the argument in 1.15; both take a seed.
    seed_name = "rng" if "rng" in inspect.signature(bootstrap).parameters else "random_state"
    seeded: dict[str, Any] = {seed_name: np.random.default_rng(seed)}
    found = bootstrap(
        data,
        statistic,
        n_resamples=n_resamples,
        batch=max(1, min(n_resamples, _MAX_DRAWN // n_drawn)),
        vectorized=True,
        paired=is_paired,
        confidence_level=level,
        method="percentile",
        **seeded,
    ).confidence_interval
    return Interval(
        low=float(found.low), high=float(found.high), level=level, method="percentile_bootstrap"
    )


def _mean(values: Array, axis: int) -> Array:
    mean: Array = values.mean(axis=axis)
    return mean


def _ratio(events: Array, at_risk: Array, axis: int) -> Array:
    ratio: Array = events.sum(axis=axis) / at_risk.sum(axis=axis)
    return ratio
