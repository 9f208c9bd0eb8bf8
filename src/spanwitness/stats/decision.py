"""Whether a step is worth running: apply, suppress, or not enough evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.stats.counts import CountError, needs_extra

if TYPE_CHECKING:
    from spanwitness.stats.paired import PairedCounts

__all__ = ["Decision", "decide", "gain_probability"]

_SURE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A decision on a step, with the probability it rests on."""

    word: Literal["apply", "suppress", "insufficient"]
    """`apply` from 0.95, `suppress` up to 0.05, else `insufficient`."""
    probability: float | None
    """P(gain > cost); `None` without items."""
    cost: float
    """What the gain must exceed, as a share of items (0.02 = two points)."""


def decide(
    counts: PairedCounts,
    *,
    cost: float = 0.0,
    repeats: float = 1.0,
    corruption_possible: bool = True,
) -> Decision:
    """Decide by the posterior probability that the step gains more than it costs.

    The gain is (1 - p0) c - p0 gamma with p0 as observed and c and gamma independent
    Beta(k + 1/2, n - k + 1/2). A baseline other than the observed one asks another question.
    Where only gains, or only losses, are possible, their sign is settled before any item is seen:
    then, at no cost, a decision needs at least one item that moved.

    Args:
        counts: The pairs of one operation, input configuration and success rule.
        cost: What the gain must exceed, as a share of items.
        repeats: Runs per item: counts are divided by it, as if repeats of an item were copies of
            one run. That is the careful end; 1 where items are not repeated.
        corruption_possible: Whether the protocol may revise a right answer; where it may not,
            gamma is 0 by design, and nothing is estimated.

    Raises:
        CountError: The cost is no share, or repeats is below 1.
    """
    probability = gain_probability(
        counts, cost=cost, repeats=repeats, corruption_possible=corruption_possible
    )
    word: Literal["apply", "suppress", "insufficient"] = "insufficient"
    if probability is None or _is_settled_beforehand(counts, cost, corruption_possible):
        pass
    elif probability >= _SURE:
        word = "apply"
    elif probability <= 1 - _SURE:
        word = "suppress"
    return Decision(word=word, probability=probability, cost=cost)


def _is_settled_beforehand(
    counts: PairedCounts,
    cost: float,
    corruption_possible: bool,  # noqa: FBT001
) -> bool:
    one_sided = not corruption_possible or not counts.n_right_before or not counts.n_wrong_before
    return one_sided and cost == 0 and counts.n_corrected == counts.n_corrupted == 0


def gain_probability(
    counts: PairedCounts,
    *,
    cost: float = 0.0,
    repeats: float = 1.0,
    corruption_possible: bool = True,
) -> float | None:
    """Return P((1 - p0) c - p0 gamma > cost), by numerical integration over c.

    `scipy.integrate.quad` over the quantiles of c, absolute error below 1e-6. No sampling, no seed.

    Args:
        counts: The pairs.
        cost: What the gain must exceed.
        repeats: As in `decide`.
        corruption_possible: As in `decide`.

    Returns:
        The probability, or `None` without items.

    Raises:
        CountError: The cost is no share, or repeats is below 1.
    """
    if not -1 <= cost <= 1:
        raise CountError(
            f"a cost is a share of items between -1 and 1 (0.02 = two points), not {cost!r}"
        )
    if not repeats >= 1:
        raise CountError(f"repeats is the number of runs per item, at least 1, not {repeats!r}")
    p0 = counts.p_before
    if p0 is None:
        return None
    try:
        from scipy.integrate import quad
        from scipy.special import betainc, betaincinv
    except ImportError as error:
        raise needs_extra(error) from None
    right = (counts.n_corrected / repeats + 0.5, counts.n_kept_wrong / repeats + 0.5)
    wrong = (counts.n_corrupted / repeats + 0.5, counts.n_kept_right / repeats + 0.5)
    if p0 == 0:
        return 1 - float(betainc(*right, _share(cost)))
    if not corruption_possible:
        return float(cost < 0) if p0 == 1 else 1 - float(betainc(*right, _share(cost / (1 - p0))))
    if p0 == 1:
        return float(betainc(*wrong, _share(-cost)))

    def enough(quantile: float) -> float:
        gain = (1 - p0) * betaincinv(*right, quantile)
        return float(betainc(*wrong, _share((gain - cost) / p0)))

    # With many right items `enough` is nearly a step; quad is told where.
    at_step = (cost + p0 * betaincinv(*wrong, 0.5)) / (1 - p0)
    value, _error = quad(
        enough,
        0.0,
        1.0,
        points=[float(betainc(*right, _share(at_step)))],
        limit=400,
        epsabs=1e-7,
        epsrel=1e-7,
    )
    return min(1.0, max(0.0, float(value)))


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
