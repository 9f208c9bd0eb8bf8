"""Transitions between steps beside each other: adjacent ones, their chain, and the direct one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from spanwitness.measure.item_rates import rate_json, rate_over_items
from spanwitness.stats.composition import Transition, chain, transition
from spanwitness.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.stats.counts import Rate

__all__ = ["ItemSequence", "StageTransition", "transitions_of"]

Kind: TypeAlias = Literal["adjacent", "direct", "chained"]


class ItemSequence(NamedTuple):
    """Success of one run of an item after each stage."""

    item: str
    bits: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StageTransition:
    """From success after one stage to success after a later one."""

    group: str | None
    """`None` = all items."""
    first: str
    last: str
    kind: Kind
    jeffreys: Transition
    """Smoothed, as in the study; of a chain, the product of smoothed ones."""
    raw: Transition
    correction: Rate | None
    """Wrong before, right after, with its interval; `None` of a chain, which has no units."""
    corruption: Rate | None

    def to_dict(self) -> dict[str, object]:
        """Return it as a row."""
        return {
            "group": self.group,
            "from": self.first,
            "to": self.last,
            "kind": self.kind,
            "correction_rate": _rate(
                self.correction, self.raw.right_from_wrong, self.jeffreys.right_from_wrong
            ),
            "corruption_rate": _rate(
                self.corruption, _less(self.raw.right_from_right),
                _less(self.jeffreys.right_from_right),
            ),
        }  # fmt: skip


def transitions_of(
    rows: Sequence[ItemSequence],
    stages: Sequence[str],
    *,
    group: str | None,
    level: float,
    n_resamples: int,
    seed: int,
) -> Iterator[StageTransition]:
    """Give each adjacent transition, then their chain, then the direct one.

    Args:
        rows: Success after each stage.
        stages: Their names.
        group: The group that the rows are of; `None` = all.
        level: Probability inside the intervals.
        n_resamples: Resamples of items, where they repeat.
        seed: Of the resampling.
    """
    last = len(stages) - 1

    def observed(first: int, last: int, kind: Kind) -> StageTransition:
        def over_items(*, before: bool) -> Rate:
            return rate_over_items(
                [(row.item, row.bits[last] is not before) for row in rows
                 if row.bits[first] is before],
                level=level, n_resamples=n_resamples, seed=seed,
            )  # fmt: skip

        counts = _pairs(rows, first, last)
        return StageTransition(
            group=group,
            first=stages[first],
            last=stages[last],
            kind=kind,
            jeffreys=transition(counts),
            raw=transition(counts, smoothing="raw"),
            correction=over_items(before=False),
            corruption=over_items(before=True),
        )

    adjacent = [_pairs(rows, at, at + 1) for at in range(last)]
    for at in range(last):
        yield observed(at, at + 1, "adjacent")
    yield StageTransition(
        group=group,
        first=stages[0],
        last=stages[last],
        kind="chained",
        jeffreys=chain([transition(counts) for counts in adjacent]),
        raw=chain([transition(counts, smoothing="raw") for counts in adjacent]),
        correction=None,
        corruption=None,
    )
    yield observed(0, last, "direct")


def _pairs(rows: Sequence[ItemSequence], first: int, last: int) -> PairedCounts:
    return PairedCounts.from_bits((row.bits[first], row.bits[last]) for row in rows)


def _rate(found: Rate | None, raw: float | None, jeffreys: float | None) -> dict[str, object]:
    if found is not None:
        return rate_json(found)
    told: dict[str, object] = {"raw": raw, "jeffreys": jeffreys, "ci_low": None, "ci_high": None,
                               "n": None, "interval": None}  # fmt: skip
    if raw is None:
        told["reason"] = "not_at_risk"
    return told


def _less(value: float | None) -> float | None:
    return None if value is None else 1 - value
