"""How much repeated runs of one item disagree.

Method: "What the Window Does Not Contain" (arXiv 2609.06147). An item is unstable under a
configuration when its answers are not identical across all runs; the wobble is the share of such
items, and it depends on the number of runs. An unparsed answer (`None`) is an answer of its own
kind, and told.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.stats.bootstrap import N_RESAMPLES, SEED, ratio_difference_interval
from spanwitness.stats.counts import CountError
from spanwitness.stats.intervals import newcombe, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanwitness.stats.intervals import Interval

__all__ = [
    "AgreedAgainstLabel",
    "ConfigurationStability",
    "Contrast",
    "ItemStability",
    "SuccessBand",
    "UnstablePairs",
    "agreed_against_label",
    "configuration_stability",
    "contrast",
    "item_stability",
    "max_dispersion",
    "success_band",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemStability:
    """The runs of one item under one configuration."""

    n_runs: int
    modal_answer: str | None
    """The most frequent answer, the first in order among equals; `None` is the unparsed one."""
    is_modal_tied: bool
    """Whether another answer is as frequent."""
    n_disagreeing: int
    """Runs that do not give the modal answer."""
    n_unparsed: int
    """Runs without a parsed answer."""

    @property
    def is_unstable(self) -> bool:
        """Whether the answers are not identical across all runs."""
        return self.n_disagreeing > 0

    @property
    def dispersion(self) -> float:
        """Share of runs that disagree with the modal answer."""
        return self.n_disagreeing / self.n_runs


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigurationStability:
    """The items of one configuration."""

    n_items: int
    n_runs: int
    """Runs of each item: wobble grows with it, so compare only equal numbers."""
    n_unstable: int
    wobble: float
    """n_unstable / n_items."""
    interval: Interval
    """Wilson interval over items."""
    dispersion: float
    """Mean over items of the share of runs that disagree with the modal answer."""
    accuracy: float | None
    """Share of runs that give the label, over labelled items; `None` without labels."""
    n_labelled: int
    n_unparsed: int
    """Runs without a parsed answer, each counted as an answer of its own kind."""
    n_runs_dropped: int
    """Runs left out so that all items have as many."""


def item_stability(answers: Sequence[str | None]) -> ItemStability:
    """Return how far the runs of one item agree.

    Args:
        answers: One answer a run; `None` where none was parsed.

    Raises:
        CountError: There is no run.
    """
    if not answers:
        raise CountError("an item needs at least one run")
    counts = Counter(answers)
    most = max(counts.values())
    modal = [answer for answer, n in counts.items() if n == most]
    parsed = sorted(answer for answer in modal if answer is not None)
    return ItemStability(
        n_runs=len(answers),
        modal_answer=parsed[0] if parsed else None,
        is_modal_tied=len(modal) > 1,
        n_disagreeing=len(answers) - most,
        n_unparsed=counts[None],
    )


def equal_runs(
    items: Mapping[str, Sequence[str | None]],
    *,
    unequal: Literal["refuse", "rarefy"] = "refuse",
    seed: int = SEED,
) -> dict[str, list[str | None]]:
    """Return the answers with the same number of runs for every item.

    Args:
        items: Answers by item, one a run.
        unequal: What to do when items have unequal numbers of runs: `refuse`, or `rarefy`, which
            draws as many runs of each item as the item with the fewest has.
        seed: Seed of that draw.

    Raises:
        CountError: There is no item or run, or numbers are unequal and to be refused.
    """
    numbers = {len(answers) for answers in items.values()}
    if not items or 0 in numbers:
        raise CountError("stability needs items, each with at least one run")
    if len(numbers) > 1 and unequal == "refuse":
        few, many = min(numbers), max(numbers)
        name = next(item for item, answers in items.items() if len(answers) == few)
        raise CountError(
            f"item {name!r} has {few} runs where others have up to {many}: wobble depends on the "
            "number of runs; complete the runs, or rarefy"
        )
    n_runs = min(numbers)
    drawn = {}
    for item, answers in items.items():
        generator = random.Random(f"{seed}:{item}")  # noqa: S311  a draw, not a secret
        is_longer = len(answers) > n_runs
        drawn[item] = generator.sample(list(answers), n_runs) if is_longer else list(answers)
    return drawn


def configuration_stability(
    items: Mapping[str, Sequence[str | None]],
    *,
    labels: Mapping[str, str] | None = None,
    unequal: Literal["refuse", "rarefy"] = "refuse",
    seed: int = SEED,
    level: float = 0.95,
) -> ConfigurationStability:
    """Return wobble, dispersion and accuracy of one configuration.

    The items are the units of the Wilson interval.

    Args:
        items: Answers by item, one a run.
        labels: The right answer by item, where there is one.
        unequal: As in `equal_runs`.
        seed: Seed of the draw of `rarefy`.
        level: Nominal coverage.

    Raises:
        CountError: As `equal_runs`.
    """
    answers = equal_runs(items, unequal=unequal, seed=seed)
    stabilities = [item_stability(runs) for runs in answers.values()]
    n_items, n_runs = len(stabilities), stabilities[0].n_runs
    n_unstable = sum(each.is_unstable for each in stabilities)
    labelled = [(runs, labels[item]) for item, runs in answers.items() if labels and item in labels]
    n_right = sum(runs.count(label) for runs, label in labelled)
    return ConfigurationStability(
        n_items=n_items,
        n_runs=n_runs,
        n_unstable=n_unstable,
        wobble=n_unstable / n_items,
        interval=wilson(n_unstable, n_items, level=level),
        dispersion=sum(each.dispersion for each in stabilities) / n_items,
        accuracy=n_right / (n_runs * len(labelled)) if labelled else None,
        n_labelled=len(labelled),
        n_unparsed=sum(each.n_unparsed for each in stabilities),
        n_runs_dropped=sum(map(len, items.values())) - n_runs * n_items,
    )


def max_dispersion(n_runs: int) -> float:
    """Return the largest dispersion that a number of runs can show: every run its own answer.

    Args:
        n_runs: Runs of the item, at least 1.

    Raises:
        CountError: There is no run.
    """
    if n_runs < 1:
        raise CountError("dispersion needs at least one run")
    return 1 - 1 / n_runs


@dataclass(frozen=True, kw_only=True, slots=True)
class UnstablePairs:
    """Pairs of configuration and item in one group of items."""

    n_items: int
    n_pairs: int
    n_unstable: int
    wobble: float | None
    """n_unstable / n_pairs; `None` without pairs."""
    interval: Interval | None
    """Wilson interval with pairs as units: narrower than items as units would have it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """Wobble of flagged items against that of the clean ones."""

    flagged: UnstablePairs
    clean: UnstablePairs
    difference: float | None
    """Flagged minus clean; `None` where one group is empty."""
    newcombe: Interval | None
    """Takes every pair of configuration and item to be independent, which repeats of an item are
    not."""
    item_bootstrap: Interval | None
    """Percentile bootstrap over items: the headline."""


def contrast(
    flagged: Mapping[str, tuple[int, int]],
    clean: Mapping[str, tuple[int, int]],
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Contrast:
    """Contrast the instability of flagged and of clean items, with items as the units.

    Args:
        flagged: By item: (configurations under which it is unstable, configurations).
        clean: The same for the items without a flag.
        level: Probability inside the intervals.
        n_resamples: Resamples of the items.
        seed: Seed of the resampling.

    Raises:
        CountError: More is unstable than there are pairs.
    """
    one, two = _pairs(flagged, level), _pairs(clean, level)
    if one.wobble is None or two.wobble is None:
        return Contrast(flagged=one, clean=two, difference=None, newcombe=None, item_bootstrap=None)
    found = newcombe(one.n_unstable, one.n_pairs, two.n_unstable, two.n_pairs, level=level)
    return Contrast(
        flagged=one,
        clean=two,
        difference=found.difference,
        newcombe=found.interval,
        item_bootstrap=ratio_difference_interval(
            list(flagged.values()),
            list(clean.values()),
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        ),
    )


def _pairs(items: Mapping[str, tuple[int, int]], level: float) -> UnstablePairs:
    k, n = sum(k for k, _ in items.values()), sum(n for _, n in items.values())
    return UnstablePairs(
        n_items=len(items),
        n_pairs=n,
        n_unstable=k,
        wobble=k / n if n else None,
        interval=wilson(k, n, level=level) if n else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SuccessBand:
    """Where the items' success rates over runs lie."""

    n_items: int
    n_in_band: int
    """Items with a rate in the band: only there can instability of success be seen well."""
    n_always_right: int
    n_always_wrong: int

    @property
    def share_in_band(self) -> float:
        """n_in_band / n_items."""
        return self.n_in_band / self.n_items

    @property
    def share_always_right(self) -> float:
        """Share of items that are right in every run."""
        return self.n_always_right / self.n_items


def success_band(
    success_rates: Iterable[float], *, low: float = 0.3, high: float = 0.7
) -> SuccessBand:
    """Count the items whose success rate over runs lies in the observable band.

    Args:
        success_rates: One rate an item, 0 to 1.
        low: Lower end, inside.
        high: Upper end, inside.

    Raises:
        CountError: There are no items, or a rate is no share.
    """
    rates = list(success_rates)
    if not rates or not all(0 <= rate <= 1 for rate in rates):
        raise CountError("a band needs items, each with a rate between 0 and 1")
    return SuccessBand(
        n_items=len(rates),
        n_in_band=sum(low <= rate <= high for rate in rates),
        n_always_right=sum(rate == 1 for rate in rates),
        n_always_wrong=sum(rate == 0 for rate in rates),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreedAgainstLabel:
    """An item on which all configurations give one answer that is not the label.

    A candidate for review of the label; never a correction by itself.
    """

    item_id: str
    label: str
    answer: str


def agreed_against_label(
    modal_answers: Mapping[str, Mapping[str, str | None]], labels: Mapping[str, str]
) -> tuple[AgreedAgainstLabel, ...]:
    """Return the items on which all configurations agree against the label.

    Args:
        modal_answers: Modal answer by configuration, by item; at least two configurations.
        labels: Label by item.
    """
    found = []
    for item, by_configuration in modal_answers.items():
        answers = set(by_configuration.values())
        answer = next(iter(answers), None)
        if len(by_configuration) < 2 or len(answers) != 1 or answer is None or item not in labels:
            continue
        if answer != labels[item]:
            found.append(AgreedAgainstLabel(item_id=item, label=labels[item], answer=answer))
    return tuple(found)
