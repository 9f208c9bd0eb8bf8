"""Steps that choose among candidates: what the order of presentation does to the choice.

Method: the judge-of-K audit of arXiv 2604.18245. The anchor is the candidate that would stand
without the step; its success is the success before.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spanwitness.stats.counts import CountError, Rate, rate
from spanwitness.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "Choice",
    "SelectionAudit",
    "Shuffle",
    "Stratum",
    "StratumAudit",
    "audit_selection",
    "shuffle_candidates",
]


class Stratum(StrEnum):
    """What a choice could have made of an item."""

    no_diversity = "no_diversity"
    """All candidates are the same answer."""
    diversity_without_headroom = "diversity_without_headroom"
    """They differ, and no choice betters the anchor."""
    headroom = "headroom"
    """The anchor is wrong and some candidate is right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One item: the candidates as they were presented, and which was chosen.

    Raises:
        CountError: A position is not among the candidates, or the candidates and their success
            bits differ in number.
    """

    item_id: str
    candidates: tuple[str, ...]
    """Digests of the answers, in the order presented; equal answers have equal digests."""
    is_right: tuple[bool, ...]
    """Success of each, in the same order."""
    anchor: int
    """Position of the anchor in that order, from 0."""
    chosen: int
    """Position of the choice, from 0."""

    def __post_init__(self) -> None:
        n = len(self.candidates)
        if n != len(self.is_right):
            raise CountError(
                f"item {self.item_id!r}: {n} candidates and {len(self.is_right)} success bits"
            )
        for name, at in (("anchor", self.anchor), ("chosen", self.chosen)):
            if not 0 <= at < n:
                raise CountError(f"item {self.item_id!r}: {name} {at!r} is none of {n} candidates")

    @property
    def stratum(self) -> Stratum:
        """What a choice could have made of the item."""
        if len(set(self.candidates)) == 1:
            return Stratum.no_diversity
        if not self.is_right[self.anchor] and any(self.is_right):
            return Stratum.headroom
        return Stratum.diversity_without_headroom


@dataclass(frozen=True, kw_only=True, slots=True)
class StratumAudit:
    """The audit of one stratum."""

    counts: PairedCounts
    """Anchor against choice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionAudit:
    """What a selection step did, under one order of presentation."""

    counts: PairedCounts
    """Success of the anchor against success of the choice."""
    first_chosen: Rate
    """First-position retention: the candidate presented first was chosen."""
    anchor_chosen: Rate
    """Anchor retention over all items."""
    anchor_chosen_if_right: Rate
    """Anchor retention where the anchor was right."""
    anchor_chosen_if_wrong: Rate
    """Anchor retention where the anchor was wrong."""
    oracle: Rate
    """Items of which some candidate is right: what the best choice would reach."""
    strata: Mapping[Stratum, StratumAudit]
    """The three strata, each with its counts, empty ones too."""

    @property
    def headroom(self) -> float | None:
        """Oracle minus anchor success rate; `None` without items."""
        before = self.counts.p_before
        return None if before is None or self.oracle.raw is None else self.oracle.raw - before


def audit_selection(choices: Iterable[Choice], *, level: float = 0.95) -> SelectionAudit:
    """Audit the choices of a selection step made under one order of presentation.

    Audit the standard order and a recorded shuffle apart: what moves between them is the order's
    doing. The items are the units.

    Args:
        choices: One choice an item.
        level: Probability inside the intervals.

    Raises:
        CountError: An item comes twice.
    """
    rows = list(choices)
    seen: set[str] = set()
    for choice in rows:
        if choice.item_id in seen:
            raise CountError(f"item {choice.item_id!r} comes twice: audit each order by itself")
        seen.add(choice.item_id)
    right = [choice for choice in rows if choice.is_right[choice.anchor]]
    wrong = [choice for choice in rows if not choice.is_right[choice.anchor]]
    n_first = sum(choice.chosen == 0 for choice in rows)
    n_oracle = sum(any(choice.is_right) for choice in rows)
    return SelectionAudit(
        counts=_counts(rows),
        first_chosen=rate(n_first, len(rows), level=level),
        anchor_chosen=_retention(rows, level),
        anchor_chosen_if_right=_retention(right, level),
        anchor_chosen_if_wrong=_retention(wrong, level),
        oracle=rate(n_oracle, len(rows), level=level),
        strata={
            stratum: StratumAudit(counts=_counts([row for row in rows if row.stratum == stratum]))
            for stratum in Stratum
        },
    )


def _counts(rows: Sequence[Choice]) -> PairedCounts:
    return PairedCounts.from_bits(
        (row.is_right[row.anchor], row.is_right[row.chosen]) for row in rows
    )


def _retention(rows: Sequence[Choice], level: float) -> Rate:
    return rate(sum(row.chosen == row.anchor for row in rows), len(rows), level=level)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shuffle:
    """A recorded order of presentation."""

    order: tuple[int, ...]
    """At each presented position, the position the candidate had before."""

    def presented(self, candidates: Sequence[str]) -> tuple[str, ...]:
        """Return the candidates in the order to present.

        Args:
            candidates: In the order before the shuffle.
        """
        return tuple(candidates[at] for at in self.order)

    def original(self, position: int) -> int:
        """Map a choice among the presented candidates back.

        Args:
            position: Position among the presented ones, from 0.

        Raises:
            CountError: There is no such position.
        """
        if not 0 <= position < len(self.order):
            raise CountError(f"{position!r} is none of {len(self.order)} positions")
        return self.order[position]


def shuffle_candidates(n_candidates: int, *, item_id: str, seed: int) -> Shuffle:
    """Return an order of presentation that depends on the item and the seed alone.

    Args:
        n_candidates: Candidates of the item.
        item_id: The item: another item gets another order.
        seed: Seed of the audit.

    Raises:
        CountError: There is no candidate.
    """
    if n_candidates < 1:
        raise CountError("a selection has at least one candidate")
    order = list(range(n_candidates))
    random.Random(f"{seed}:{item_id}").shuffle(order)  # noqa: S311  an order, not a secret
    return Shuffle(order=tuple(order))
