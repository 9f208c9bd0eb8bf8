"""Whether instability is a property of the items: split-half reliability and transfer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.counts import CountError, check_level, needs_extra
from spanwitness.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import numpy
    import numpy.typing

    _Array: TypeAlias = numpy.typing.NDArray[numpy.float64]

__all__ = ["SplitHalf", "Transfer", "split_half", "transfer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitHalf:
    """How well one half of the runs tells the items' order in the other half."""

    correlation: float | None
    """Mean Pearson correlation of the halves over the splits; `None` where a half never varies."""
    reliability: float | None
    """The correlation stepped up to all runs, 2 r / (1 + r) (Spearman 1910, Brown 1910)."""
    n_items: int
    n_runs: int
    n_splits: int
    """Splits that had a correlation."""


def split_half(
    values: Mapping[str, Sequence[float]], *, n_splits: int = 200, seed: int = SEED
) -> SplitHalf:
    """Return the split-half reliability of a per-run value, for instance success bits.

    The runs of each item are split at random into two halves (of an odd number one run is left
    out), each half is averaged, and the averages are correlated over the items.

    Args:
        values: By item, one value a run; all items with the same number of runs, at least 2.
        n_splits: Random splits to average over.
        seed: Seed of the splits.

    Raises:
        CountError: There are fewer than 3 items, or unequal or too few runs.
    """
    try:
        import numpy as np
        from scipy.stats import pearsonr
    except ImportError as error:
        raise needs_extra(error) from None
    numbers = {len(runs) for runs in values.values()}
    if len(values) < 3 or len(numbers) != 1 or min(numbers) < 2:
        raise CountError(
            "a split half needs at least 3 items with the same number of runs, at least 2; "
            f"there are {len(values)} items with {sorted(numbers)} runs"
        )
    table = np.array([list(runs) for runs in values.values()], dtype=float)
    half = table.shape[1] // 2
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(n_splits):
        mixed = generator.permuted(table, axis=1)
        one, two = mixed[:, :half].mean(axis=1), mixed[:, half : 2 * half].mean(axis=1)
        if np.ptp(one) > 0 and np.ptp(two) > 0:
            found.append(float(cast("Any", pearsonr(one, two)).statistic))
    correlation = float(np.mean(found)) if found else None
    return SplitHalf(
        correlation=correlation,
        reliability=_stepped_up(correlation),
        n_items=table.shape[0],
        n_runs=table.shape[1],
        n_splits=len(found),
    )


def _stepped_up(correlation: float | None) -> float | None:
    if correlation is None or correlation <= -1:
        return None
    return 2 * correlation / (1 + correlation)


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """Whether the items that are unstable under one configuration are so under others."""

    k: int
    n_items: int
    """Items that every configuration has."""
    n_ordered_pairs: int
    """Ordered pairs of configurations that have an unstable item."""
    n_truncated: int
    """Those in which the first configuration has fewer than k unstable items."""
    mean_share: float | None
    """Mean over pairs of the share of A's least stable items among B's; `None` without pairs."""
    chance: float | None
    """Mean over pairs of the share expected by chance, 2 k / n_items at the effective k."""
    ratio: float | None
    """Observed hits over expected hits."""
    max_ratio: float | None
    """The structural maximum: every one of A's items found."""
    p_value: float | None
    """Permutation of each configuration's values among its own items, one-sided."""
    interval: Interval | None
    """Percentile bootstrap of the ratio over configurations; `None` with fewer than 3."""


def transfer(
    instability: Mapping[str, Mapping[str, float]],
    *,
    k: int,
    n_resamples: int = N_RESAMPLES,
    n_permutations: int = 2000,
    seed: int = SEED,
    level: float = 0.95,
) -> Transfer:
    """Return how far instability transfers between configurations.

    For each ordered pair: the share of A's k least stable items that are among B's 2 k least
    stable. Where A has fewer than k unstable items, its effective k is that many. Items tied at an
    end are counted by the probability that a random order would put them inside, so that the
    result depends on no order of the items. Chance and the null come from the same lists.

    Args:
        instability: By configuration, by item: a value that is 0 where all runs agree.
        k: Length of A's list.
        n_resamples: Resamples of the configurations.
        n_permutations: Permutations.
        seed: Seed of both.
        level: Probability inside the interval.

    Raises:
        CountError: There are fewer than two configurations, k cannot be used, or the common items
            are fewer than 2 k.
    """
    check_level(level)
    try:
        import numpy as np
    except ImportError as error:
        raise needs_extra(error) from None
    if len(instability) < 2:
        raise CountError("transfer needs at least two configurations")
    common = sorted(set.intersection(*(set(items) for items in instability.values())))
    if k < 1 or len(common) < 2 * k:
        raise CountError(f"k is from 1 to half of the {len(common)} common items, not {k!r}")
    values = np.array([[items[name] for name in common] for items in instability.values()])
    if (values < 0).any():
        raise CountError("instability is not negative")
    sizes = np.minimum(k, (values > 0).sum(axis=1))
    observed = _Hits.of(values, sizes)
    if not observed.pairs.any():
        return Transfer(
            k=k, n_items=len(common), n_ordered_pairs=0, n_truncated=0, mean_share=None,
            chance=None, ratio=None, max_ratio=None, p_value=None, interval=None,
        )  # fmt: skip
    generator = np.random.default_rng(seed)
    null = [
        _Hits.of(generator.permuted(values, axis=1), sizes).ratio for _ in range(n_permutations)
    ]
    at_least = sum(ratio >= observed.ratio - 1e-12 for ratio in null)
    n_pairs = int(observed.pairs.sum())
    return Transfer(
        k=k,
        n_items=len(common),
        n_ordered_pairs=n_pairs,
        n_truncated=int(((sizes < k) & (sizes > 0)).sum()) * (len(sizes) - 1),
        mean_share=float(observed.shares[observed.pairs].mean()),
        chance=float(observed.chances[observed.pairs].mean()),
        ratio=observed.ratio,
        max_ratio=float(observed.possible[observed.pairs].sum() / observed.expected_sum),
        p_value=(1 + at_least) / (1 + n_permutations),
        interval=_over_configurations(observed, generator, n_resamples, level),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hits:
    """Hits of each ordered pair of configurations, as matrices."""

    hits: _Array
    possible: _Array
    chances: _Array
    pairs: numpy.typing.NDArray[numpy.bool_]

    @classmethod
    def of(cls, values: _Array, sizes: numpy.typing.NDArray[numpy.int64]) -> _Hits:
        import numpy as np

        n_configurations, n_items = values.shape
        hits = np.zeros((n_configurations, n_configurations))
        for size in np.unique(sizes[sizes > 0]):
            inside = _membership(values, int(size))
            beside = _membership(values, 2 * int(size))
            rows = sizes == size
            hits[rows] = inside[rows] @ beside.T
        pairs = np.broadcast_to((sizes > 0)[:, None], hits.shape) & ~np.eye(
            n_configurations, dtype=bool
        )
        possible = np.broadcast_to(sizes[:, None].astype(float), hits.shape)
        return cls(hits=hits, possible=possible, chances=2 * possible / n_items, pairs=pairs)

    @property
    def shares(self) -> _Array:
        import numpy as np

        return np.divide(self.hits, self.possible, out=np.zeros_like(self.hits), where=self.pairs)

    @property
    def expected_sum(self) -> float:
        return float((self.possible * self.chances)[self.pairs].sum())

    @property
    def ratio(self) -> float:
        return float(self.hits[self.pairs].sum()) / self.expected_sum


def _membership(values: _Array, size: int) -> _Array:
    """Return, row by row, the probability that each item is among the `size` largest."""
    import numpy as np

    threshold = -np.partition(-values, size - 1, axis=1)[:, size - 1 : size]
    above, tied = values > threshold, values == threshold
    left = size - above.sum(axis=1, keepdims=True)
    member: _Array = above + tied * (left / tied.sum(axis=1, keepdims=True))
    return member


def _over_configurations(
    observed: _Hits, generator: numpy.random.Generator, n_resamples: int, level: float
) -> Interval | None:
    """Resample configurations; a pair of one configuration with itself is no pair."""
    import numpy as np

    n = observed.hits.shape[0]
    if n < 3:
        return None
    expected = observed.possible * observed.chances
    ratios = []
    for _ in range(n_resamples):
        weight = np.bincount(generator.integers(n, size=n), minlength=n)
        times = np.outer(weight, weight) * observed.pairs
        total = float((times * expected).sum())
        if total > 0:
            ratios.append(float((times * observed.hits).sum()) / total)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method="percentile_bootstrap")
