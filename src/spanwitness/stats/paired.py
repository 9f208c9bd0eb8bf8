"""The paired counts of a protocol step: what it corrected, what it corrupted, what that is worth.

Method: "Correction and Corruption: A Two-Rate View of Error Flow in LLM Protocols"
(arXiv 2604.18245). Success before and after are bits given by one rule for the same item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.stats.counts import CountError, Rate, rate

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Accounting",
    "BreakEven",
    "FlowBounds",
    "PairedCounts",
    "bounds_from_totals",
    "break_even",
    "break_even_multiplier",
    "predicted_change",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accounting:
    """The change of the success rate as its two flows: an identity, no prediction."""

    change: float
    """Success rate after minus before."""
    from_corrections: float
    """n_corrected / n_pairs."""
    from_corruptions: float
    """-n_corrupted / n_pairs; the two flows sum to the change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedCounts:
    """How many items went which way through a step; the four counts sum to `n_pairs`.

    Raises:
        CountError: A count is negative or not whole.
    """

    n_corrected: int
    """Wrong before, right after."""
    n_corrupted: int
    """Right before, wrong after."""
    n_kept_right: int
    """Right before and after."""
    n_kept_wrong: int
    """Wrong before and after."""

    def __post_init__(self) -> None:
        for name in ("n_corrected", "n_corrupted", "n_kept_right", "n_kept_wrong"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CountError(f"{name} is a count, so a whole number from 0, not {value!r}")

    @classmethod
    def from_bits(cls, pairs: Iterable[tuple[bool, bool]]) -> PairedCounts:
        """Count pairs of (right before, right after).

        Args:
            pairs: One pair an item, both bits by one success rule.
        """
        cells = [0, 0, 0, 0]
        for before, after in pairs:
            cells[2 * bool(before) + bool(after)] += 1
        return cls(
            n_kept_wrong=cells[0], n_corrected=cells[1], n_corrupted=cells[2], n_kept_right=cells[3]
        )

    @classmethod
    def from_flows(
        cls, *, n_wrong_before: int, n_right_before: int, n_corrected: int, n_corrupted: int
    ) -> PairedCounts:
        """Build the counts from what was at risk and what moved.

        Args:
            n_wrong_before: Items that were wrong before.
            n_right_before: Items that were right before.
            n_corrected: Those of the wrong ones that became right.
            n_corrupted: Those of the right ones that became wrong.

        Raises:
            CountError: More moved than was at risk.
        """
        return cls(
            n_corrected=n_corrected,
            n_corrupted=n_corrupted,
            n_kept_right=n_right_before - n_corrupted,
            n_kept_wrong=n_wrong_before - n_corrected,
        )

    def __add__(self, other: PairedCounts) -> PairedCounts:
        """Return both together; the caller answers for pooling them."""
        return PairedCounts(
            n_corrected=self.n_corrected + other.n_corrected,
            n_corrupted=self.n_corrupted + other.n_corrupted,
            n_kept_right=self.n_kept_right + other.n_kept_right,
            n_kept_wrong=self.n_kept_wrong + other.n_kept_wrong,
        )

    @property
    def n_pairs(self) -> int:
        """All items."""
        return self.n_wrong_before + self.n_right_before

    @property
    def n_wrong_before(self) -> int:
        """Items that a correction could reach."""
        return self.n_corrected + self.n_kept_wrong

    @property
    def n_right_before(self) -> int:
        """Items that a corruption could reach."""
        return self.n_corrupted + self.n_kept_right

    @property
    def n_right_after(self) -> int:
        """Items that are right after the step."""
        return self.n_corrected + self.n_kept_right

    @property
    def p_before(self) -> float | None:
        """Success rate before; `None` without items."""
        return self.n_right_before / self.n_pairs if self.n_pairs else None

    @property
    def p_after(self) -> float | None:
        """Success rate after; `None` without items."""
        return self.n_right_after / self.n_pairs if self.n_pairs else None

    def correction_rate(self, *, level: float = 0.95) -> Rate:
        """Return c: corrected among those that were wrong before (`spanwitness.stats.counts.rate`).

        Args:
            level: Probability inside the interval.
        """
        return rate(self.n_corrected, self.n_wrong_before, level=level)

    def corruption_rate(self, *, level: float = 0.95) -> Rate:
        """Return gamma: corrupted among those that were right before.

        Args:
            level: Probability inside the interval.
        """
        return rate(self.n_corrupted, self.n_right_before, level=level)

    def accounting(self) -> Accounting | None:
        """Return the change of the success rate as its two flows; `None` without items."""
        n = self.n_pairs
        if n == 0:
            return None
        return Accounting(
            change=(self.n_corrected - self.n_corrupted) / n,
            from_corrections=self.n_corrected / n,
            from_corruptions=-self.n_corrupted / n,
        )

    def break_even(self) -> BreakEven:
        """Return the correction rate that would just pay for the corruption seen here.

        With the raw rates, as the accounting: the step did no harm exactly when c reaches it.
        """
        p0, gamma = self.p_before, self.corruption_rate_raw
        if p0 is None or gamma is None:
            return BreakEven(
                multiplier=break_even_multiplier(p0) if p0 is not None else None,
                rate=None,
                attainable=None,
                reason="not_at_risk",
            )
        return break_even(p0, gamma)

    @property
    def corruption_rate_raw(self) -> float | None:
        """n_corrupted / n_right_before, without an interval; `None` where nothing was at risk."""
        return self.n_corrupted / self.n_right_before if self.n_right_before else None

    @property
    def correction_rate_raw(self) -> float | None:
        """n_corrected / n_wrong_before, without an interval; `None` where nothing was at risk."""
        return self.n_corrected / self.n_wrong_before if self.n_wrong_before else None


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakEven:
    """What a step must correct to pay for what it corrupts at a baseline."""

    multiplier: float | None
    """p0 / (1 - p0): corrections needed per corruption rate; `None` where p0 is 1 or unknown."""
    rate: float | None
    """gamma * multiplier; above 1 no correction rate is enough. `None`: undefined."""
    attainable: bool | None
    """Whether `rate` is at most 1; `None` where it is undefined."""
    reason: Literal["not_at_risk", "nothing_to_correct"] | None = None
    """Why it is undefined: no item was right before, or none was wrong."""


def break_even_multiplier(p_before: float) -> float | None:
    """Return p0 / (1 - p0), or `None` at p0 = 1, where nothing is left to correct.

    Args:
        p_before: Success rate before the step, 0 to 1.

    Raises:
        CountError: It is outside of 0 to 1.
    """
    _check_share("p_before", p_before)
    return None if p_before == 1 else p_before / (1 - p_before)


def break_even(p_before: float, corruption_rate: float) -> BreakEven:
    """Return the break-even correction rate gamma * p0 / (1 - p0).

    A step is not harmful when c is at least that rate; a gain needs more than it.

    Args:
        p_before: Success rate before the step.
        corruption_rate: gamma, raw or smoothed.

    Raises:
        CountError: One of the two is outside of 0 to 1.
    """
    _check_share("corruption_rate", corruption_rate)
    multiplier = break_even_multiplier(p_before)
    if multiplier is None:
        return BreakEven(multiplier=None, rate=None, attainable=None, reason="nothing_to_correct")
    needed = corruption_rate * multiplier
    return BreakEven(multiplier=multiplier, rate=needed, attainable=needed <= 1)


def predicted_change(
    p_before: float, correction_rate: float | None, corruption_rate: float | None
) -> float | None:
    """Return (1 - p0) * c - p0 * gamma: the change at a baseline if the two rates stay.

    A prediction, and only as good as that assumption; the accounting of counts is none.

    Args:
        p_before: The baseline.
        correction_rate: c; `None` (unknown) matters only where something is wrong before.
        corruption_rate: gamma; `None` matters only where something is right before.

    Returns:
        The change, or `None` where a rate that matters is unknown.
    """
    _check_share("p_before", p_before)
    gain = _product(1 - p_before, correction_rate)
    loss = _product(p_before, corruption_rate)
    return None if gain is None or loss is None else gain - loss


def _product(weight: float, value: float | None) -> float | None:
    if weight == 0:
        return 0.0
    return None if value is None else weight * value


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowBounds:
    """What the two flows can be, when only totals are known."""

    n_corrected_low: int
    n_corrected_high: int
    n_corrupted_low: int
    n_corrupted_high: int

    @property
    def is_exact(self) -> bool:
        """Whether the totals leave one possibility."""
        return self.n_corrected_low == self.n_corrected_high


def bounds_from_totals(
    *, n_pairs: int, n_right_before: int, n_right_after: int, corruption_possible: bool = True
) -> FlowBounds:
    """Return the bounds of the flows from totals alone.

    n_corrected - n_corrupted is the change of the totals; n_corrected lies in
    [max(0, change), min(wrong before, right after)]. A protocol that never revises right answers
    forbids corruption: then both flows are exact, and the corruption rate was not at risk.

    Args:
        n_pairs: Items.
        n_right_before: Successes before.
        n_right_after: Successes after.
        corruption_possible: Whether the protocol may revise a right answer.

    Raises:
        CountError: The totals contradict each other, or the protocol.
    """
    for name, value in (("n_right_before", n_right_before), ("n_right_after", n_right_after)):
        if not 0 <= value <= n_pairs:
            raise CountError(f"{name} is between 0 and n_pairs ({n_pairs}), not {value!r}")
    change = n_right_after - n_right_before
    if not corruption_possible:
        if change < 0:
            raise CountError(
                f"successes fell by {-change}, so right answers were revised: the protocol does "
                "not forbid corruption"
            )
        return FlowBounds(
            n_corrected_low=change, n_corrected_high=change, n_corrupted_low=0, n_corrupted_high=0
        )
    low = max(0, change)
    high = min(n_pairs - n_right_before, n_right_after)
    return FlowBounds(
        n_corrected_low=low,
        n_corrected_high=high,
        n_corrupted_low=low - change,
        n_corrupted_high=high - change,
    )


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise CountError(f"{name} is a share between 0 and 1, not {value!r}")
