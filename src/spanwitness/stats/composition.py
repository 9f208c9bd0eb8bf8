"""Whether transition rates of adjacent steps may be chained.

With success bits E0, E1, E2 of the same items after three steps, chaining the rates of 0 to 1 and
1 to 2 gives those of 0 to 2 exactly when E2 does not depend on E0 given E1. The gaps are those of
arXiv 2604.18245; the test of that independence is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.stats.counts import CountError
from spanwitness.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "CompositionGap",
    "FinalResidual",
    "Transition",
    "chain",
    "composition_gap",
    "final_residuals",
    "gap_of_sequences",
    "transition",
]

Smoothing = Literal["raw", "jeffreys"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A row-stochastic 2x2 matrix from success before to success after.

    A row without items is unknown (`None`), not zero.
    """

    right_from_wrong: float | None
    """P(right after | wrong before): the correction rate."""
    right_from_right: float | None
    """P(right after | right before): one minus the corruption rate."""

    @property
    def is_known(self) -> bool:
        """Whether both rows are known."""
        return self.right_from_wrong is not None and self.right_from_right is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class CompositionGap:
    """How far the chained matrix is from the direct one."""

    mean: float | None
    """Mean over the two rows of the l1 distance of the row (twice the distance in one entry)."""
    max: float | None
    """Largest difference in an entry."""
    support_weighted: float | None
    """The l1 distances weighted by the rows' shares of the direct observations."""
    n_items: int
    """Direct observations."""
    reason: Literal["not_at_risk"] | None = None
    """Why there is no gap: a row without items."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalResidual:
    """Predicted final success rate of a group minus the observed one."""

    group: str
    n_items: int
    observed: float
    pooled: float | None
    """With the rates of all groups together; `None`: a rate it needs is unknown."""
    conditioned: float | None
    """With the group's own rates; `None`: unknown, or nothing was learned of the group."""


def transition(counts: PairedCounts, *, smoothing: Smoothing = "jeffreys") -> Transition:
    """Return the transition matrix of paired counts.

    Args:
        counts: Pairs from one step to a later one.
        smoothing: `jeffreys`, (k + 1/2) / (n + 1), as in the study; or `raw`.
    """
    extra, more = (0.5, 1) if smoothing == "jeffreys" else (0.0, 0)
    wrong, right = counts.n_wrong_before, counts.n_right_before
    return Transition(
        right_from_wrong=(counts.n_corrected + extra) / (wrong + more) if wrong else None,
        right_from_right=(counts.n_kept_right + extra) / (right + more) if right else None,
    )


def chain(transitions: Sequence[Transition]) -> Transition:
    """Return the product of transition matrices, first step first.

    Args:
        transitions: At least one.

    Raises:
        CountError: There is none.
    """
    if not transitions:
        raise CountError("nothing to chain")
    chained = transitions[0]
    for following in transitions[1:]:
        chained = Transition(
            right_from_wrong=_step(chained.right_from_wrong, following),
            right_from_right=_step(chained.right_from_right, following),
        )
    return chained


def _step(p_right: float | None, following: Transition) -> float | None:
    if p_right is None:
        return None
    up, stay = following.right_from_wrong, following.right_from_right
    parts = [(1 - p_right, up), (p_right, stay)]
    if any(value is None and weight > 0 for weight, value in parts):
        return None
    return sum(weight * value for weight, value in parts if value is not None)


def composition_gap(
    steps: Sequence[PairedCounts], direct: PairedCounts, *, smoothing: Smoothing = "jeffreys"
) -> CompositionGap:
    """Compare the chain of adjacent transitions with the direct one.

    Held out: take `steps` from one part of the items and `direct` from another.

    Args:
        steps: Counts from each step to the next.
        direct: Counts from the first to the last.
        smoothing: As in `transition`.

    Raises:
        CountError: There are no steps.
    """
    chained = chain([transition(counts, smoothing=smoothing) for counts in steps])
    observed = transition(direct, smoothing=smoothing)
    n = direct.n_pairs
    rows = [
        (chained.right_from_wrong, observed.right_from_wrong, direct.n_wrong_before),
        (chained.right_from_right, observed.right_from_right, direct.n_right_before),
    ]
    gaps = [
        (abs(one - two), weight) for one, two, weight in rows if one is not None and two is not None
    ]
    if len(gaps) < 2:
        return CompositionGap(
            mean=None, max=None, support_weighted=None, n_items=n, reason="not_at_risk"
        )
    return CompositionGap(
        mean=sum(2 * gap for gap, _ in gaps) / 2,
        max=max(gap for gap, _ in gaps),
        support_weighted=sum(2 * gap * weight for gap, weight in gaps) / n,
        n_items=n,
    )


def gap_of_sequences(
    sequences: Iterable[Sequence[bool]],
    *,
    held_out: Iterable[Sequence[bool]] | None = None,
    smoothing: Smoothing = "jeffreys",
) -> CompositionGap:
    """Compare chained and direct transitions of success sequences.

    Args:
        sequences: The success bits of each item after each step, all of one length, at least 3.
        held_out: Sequences of other items for the direct transition; by default the same.
        smoothing: As in `transition`.

    Raises:
        CountError: Sequences are missing, shorter than 3, or of unequal length.
    """
    rows = _checked(sequences)
    direct_rows = rows if held_out is None else _checked(held_out)
    if len(direct_rows[0]) != len(rows[0]):
        raise CountError("held-out sequences have another number of steps")
    direct = PairedCounts.from_bits((row[0], row[-1]) for row in direct_rows)
    return composition_gap(_steps(rows), direct, smoothing=smoothing)


def final_residuals(
    learned: Mapping[str, Iterable[Sequence[bool]]],
    target: Mapping[str, Iterable[Sequence[bool]]],
    *,
    smoothing: Smoothing = "jeffreys",
) -> tuple[FinalResidual, ...]:
    """Chain learned rates from each target group's baseline and compare with its final success.

    Learn from other items than the target's: on the same items, chained raw rates of a group give
    its final success rate whatever the steps remember, as an identity.

    Args:
        learned: Success sequences by group to take the rates from.
        target: Success sequences by group to predict.
        smoothing: As in `transition`.

    Raises:
        CountError: As `gap_of_sequences`.
    """
    by_group = {name: _checked(rows) for name, rows in learned.items()}
    everything = _checked([row for rows in by_group.values() for row in rows])
    found = []
    for name, given in target.items():
        rows = _checked(given)
        if len(rows[0]) != len(everything[0]):
            raise CountError(f"group {name!r} has another number of steps than those learned from")
        before = sum(row[0] for row in rows) / len(rows)
        observed = sum(row[-1] for row in rows) / len(rows)
        pooled = _final(before, everything, smoothing)
        own = _final(before, by_group[name], smoothing) if name in by_group else None
        found.append(
            FinalResidual(
                group=name,
                n_items=len(rows),
                observed=observed,
                pooled=None if pooled is None else pooled - observed,
                conditioned=None if own is None else own - observed,
            )
        )
    return tuple(found)


def _final(before: float, learned: list[tuple[bool, ...]], smoothing: Smoothing) -> float | None:
    p_right: float | None = before
    for counts in _steps(learned):
        p_right = _step(p_right, transition(counts, smoothing=smoothing))
    return p_right


def _steps(rows: list[tuple[bool, ...]]) -> list[PairedCounts]:
    return [
        PairedCounts.from_bits((row[at], row[at + 1]) for row in rows)
        for at in range(len(rows[0]) - 1)
    ]


def _checked(sequences: Iterable[Sequence[bool]]) -> list[tuple[bool, ...]]:
    rows = [tuple(bool(bit) for bit in row) for row in sequences]
    if not rows:
        raise CountError("no sequences")
    for at, row in enumerate(rows):
        if len(row) < 3 or len(row) != len(rows[0]):
            raise CountError(
                f"sequence {at} has {len(row)} steps: all need the same number, at least 3"
            )
    return rows
