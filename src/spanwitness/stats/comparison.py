"""Two configurations, or two readings, on the same items: discordant pairs and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spanwitness.stats.bootstrap import N_RESAMPLES, SEED, mean_interval
from spanwitness.stats.counts import CountError, Rate, needs_extra, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.stats.intervals import Interval

__all__ = ["DiscordantTable", "PairedComparison", "compare_on_same_items"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscordantTable:
    """An event on the same items under two configurations: how often under which."""

    n_both: int
    """Under both."""
    n_first_only: int
    n_second_only: int
    n_neither: int

    @property
    def n_items(self) -> int:
        """All items."""
        return self.n_both + self.n_first_only + self.n_second_only + self.n_neither

    @property
    def difference(self) -> float | None:
        """Rate under the second minus the first; `None` without items."""
        n = self.n_items
        return (self.n_second_only - self.n_first_only) / n if n else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedComparison:
    """Two rates of one event on the same items, and their paired difference."""

    table: DiscordantTable
    first: Rate
    second: Rate
    difference: float
    """Second minus first, raw."""
    interval: Interval | None
    """Percentile bootstrap over items; `None` with fewer than two items."""
    mcnemar_p_value: float
    """Exact McNemar test: the discordant items are as often the one as the other."""


def compare_on_same_items(
    first: Sequence[bool],
    second: Sequence[bool],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> PairedComparison:
    """Compare an event under two configurations on the same items, for instance two corruptions.

    A one-sided audit, where only items that were right before are tried, is this with the event
    "wrong after": the two corruption rates and their paired increase. The items are the units; the
    interval is a paired bootstrap, the test McNemar's exact one (statsmodels).

    Args:
        first: The event under the first configuration, one bit an item.
        second: The event under the second, the same items in the same order.
        level: Probability inside the intervals.
        n_resamples: Resamples.
        seed: Seed of the resampling.

    Raises:
        CountError: The two differ in length, or there are no items.
    """
    if len(first) != len(second):
        raise CountError(
            f"the same items under two configurations: {len(first)} and {len(second)} bits differ"
        )
    if not first:
        raise CountError("nothing to compare without items")
    pairs = [(bool(one), bool(two)) for one, two in zip(first, second, strict=True)]
    table = DiscordantTable(
        n_both=pairs.count((True, True)),
        n_first_only=pairs.count((True, False)),
        n_second_only=pairs.count((False, True)),
        n_neither=pairs.count((False, False)),
    )
    n = len(pairs)
    changes = [float(two) - float(one) for one, two in pairs]
    return PairedComparison(
        table=table,
        first=rate(table.n_both + table.n_first_only, n, level=level),
        second=rate(table.n_both + table.n_second_only, n, level=level),
        difference=(table.n_second_only - table.n_first_only) / n,
        interval=mean_interval(changes, level=level, n_resamples=n_resamples, seed=seed),
        mcnemar_p_value=_mcnemar(table),
    )


def _mcnemar(table: DiscordantTable) -> float:
    if table.n_first_only + table.n_second_only == 0:
        return 1.0
    try:
        from statsmodels.stats.contingency_tables import mcnemar
    except ImportError as error:
        raise needs_extra(error) from None
    cells = [[table.n_both, table.n_first_only], [table.n_second_only, table.n_neither]]
    return float(cast("Any", mcnemar(cells, exact=True)).pvalue)
