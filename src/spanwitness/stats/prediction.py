"""A registered prediction, checked against what came: it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.stats.intervals import newcombe

if TYPE_CHECKING:
    from spanwitness.stats.intervals import Interval

__all__ = ["PredictionCheck", "check_prediction"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionCheck:
    """What became of a registered prediction that a rate would fall to a threshold."""

    is_supported: bool
    before: float
    after: float
    change: float
    """After minus before."""
    interval: Interval
    """Newcombe interval of the change."""
    reasons: tuple[str, ...]
    """Why it is not supported."""


def check_prediction(
    *,
    threshold: float,
    k_before: int,
    n_before: int,
    k_after: int,
    n_after: int,
    level: float = 0.95,
) -> PredictionCheck:
    """Check a prediction, registered before the data, that a rate falls to a threshold or below.

    It is supported only when the later rate is at or below the threshold and the interval of the
    change lies below zero.

    Args:
        threshold: The registered threshold.
        k_before: Events before the intervention.
        n_before: Units before.
        k_after: Events after it.
        n_after: Units after.
        level: Nominal coverage.

    Raises:
        CountError: The counts cannot be used.
    """
    found = newcombe(k_after, n_after, k_before, n_before, level=level)
    after = k_after / n_after
    reasons = []
    if after > threshold:
        reasons.append("after is above the threshold")
    if found.interval.low <= 0 <= found.interval.high:
        reasons.append("the change's interval contains zero")
    elif found.interval.low > 0:
        reasons.append("the rate rose")
    return PredictionCheck(
        is_supported=not reasons,
        before=k_before / n_before,
        after=after,
        change=found.difference,
        interval=found.interval,
        reasons=tuple(reasons),
    )
