"""Rates by group, and what they predict for another mixture of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.stats.counts import CountError
from spanwitness.stats.paired import PairedCounts, predicted_change

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "HeldOutError",
    "MixturePrediction",
    "Sensitivity",
    "held_out_error",
    "mixture_of",
    "pooled",
    "predict_mixture",
    "sensitivity",
]

Smoothing = Literal["raw", "jeffreys"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MixturePrediction:
    """The predicted change of the success rate under a mixture of groups."""

    p_before: float
    """The baseline of the mixture, from the groups' baselines."""
    pooled: float | None
    """With one correction and one corruption rate for all; `None`: a rate it needs is unknown."""
    conditioned: float | None
    """With each group's own rates; `None`: a rate it needs is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutError:
    """Predictions from one part of the items against what another part did."""

    observed: float
    """The change in the held-out part."""
    pooled: float | None
    """Predicted minus observed, pooled rates."""
    conditioned: float | None
    """Predicted minus observed, rates by group."""
    unseen_groups: tuple[str, ...]
    """Held-out groups without items to learn from: with any, nothing is predicted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """How the predicted change moves when one group gets more weight."""

    group: str
    change: float | None
    """The predicted change under the shifted weights."""
    shift: float
    """The weight moved to the group, taken from the others in proportion."""


def pooled(groups: Mapping[str, PairedCounts]) -> PairedCounts:
    """Return the counts of all groups together.

    Args:
        groups: Counts by group, of one operation and one success rule.
    """
    total = PairedCounts(n_corrected=0, n_corrupted=0, n_kept_right=0, n_kept_wrong=0)
    for counts in groups.values():
        total += counts
    return total


def mixture_of(groups: Mapping[str, PairedCounts]) -> dict[str, float]:
    """Return each group's share of the items.

    Args:
        groups: Counts by group.

    Raises:
        CountError: There are no items.
    """
    total = sum(counts.n_pairs for counts in groups.values())
    if total == 0:
        raise CountError("no mixture without items")
    return {name: counts.n_pairs / total for name, counts in groups.items()}


def predict_mixture(
    groups: Mapping[str, PairedCounts],
    mixture: Mapping[str, float],
    *,
    baselines: Mapping[str, float] | None = None,
    smoothing: Smoothing = "jeffreys",
) -> MixturePrediction:
    """Predict the change of the success rate when groups come in another mixture.

    Assumes that a group's correction and corruption rates stay what they were (conditioned), or
    that one pair of rates holds for all (pooled); which of the two held is what `held_out_error`
    tells.

    Args:
        groups: Counts by group.
        mixture: Weight by group; the weights sum to 1.
        baselines: Success rate before, by group; by default the groups' own.
        smoothing: `jeffreys` rates as in the study, or `raw`.

    Raises:
        CountError: The weights do not sum to 1, or a group has no items.
    """
    _check_mixture(groups, mixture)
    before = {
        name: (baselines or {}).get(name, groups[name].p_before or 0.0)
        for name, weight in mixture.items()
        if weight > 0
    }
    p_before = sum(mixture[name] * p for name, p in before.items())
    changes = [(mixture[name], _change(groups[name], p, smoothing)) for name, p in before.items()]
    known = [weight * change for weight, change in changes if change is not None]
    return MixturePrediction(
        p_before=p_before,
        pooled=_change(pooled(groups), min(1.0, p_before), smoothing),
        conditioned=sum(known) if len(known) == len(changes) else None,
    )


def held_out_error(
    learned: Mapping[str, PairedCounts],
    held_out: Mapping[str, PairedCounts],
    *,
    smoothing: Smoothing = "jeffreys",
) -> HeldOutError:
    """Predict the change of held-out items from the rates of others, and tell the error.

    Args:
        learned: Counts by group to take the rates from.
        held_out: Counts by group of other items, with their baselines and their mixture.
        smoothing: As in `predict_mixture`.

    Raises:
        CountError: The held-out part has no items.
    """
    target = {name: counts for name, counts in held_out.items() if counts.n_pairs}
    accounting = pooled(target).accounting()
    if accounting is None:
        raise CountError("no held-out items")
    absent = tuple(name for name in target if name not in learned or learned[name].n_pairs == 0)
    if absent:
        return HeldOutError(
            observed=accounting.change, pooled=None, conditioned=None, unseen_groups=absent
        )
    baselines = {name: counts.p_before or 0.0 for name, counts in target.items()}
    predicted = predict_mixture(
        learned, mixture_of(target), baselines=baselines, smoothing=smoothing
    )
    return HeldOutError(
        observed=accounting.change,
        pooled=_minus(predicted.pooled, accounting.change),
        conditioned=_minus(predicted.conditioned, accounting.change),
        unseen_groups=(),
    )


def sensitivity(
    groups: Mapping[str, PairedCounts], *, shift: float = 0.1, smoothing: Smoothing = "jeffreys"
) -> tuple[Sensitivity, ...]:
    """Return the predicted change when each group in turn gets more weight.

    Args:
        groups: Counts by group.
        shift: Weight to move to the group, 0 to 1; at 1 the group stands alone.
        smoothing: As in `predict_mixture`.

    Raises:
        CountError: The shift is outside of 0 to 1, or there are no items.
    """
    if not 0 <= shift <= 1:
        raise CountError(f"shift is a weight between 0 and 1, not {shift!r}")
    base = mixture_of({name: counts for name, counts in groups.items() if counts.n_pairs})
    found = []
    for name in base:
        weights = {other: weight * (1 - shift) for other, weight in base.items()}
        weights[name] += shift
        predicted = predict_mixture(groups, weights, smoothing=smoothing)
        found.append(Sensitivity(group=name, change=predicted.conditioned, shift=shift))
    return tuple(found)


def _change(counts: PairedCounts, p_before: float, smoothing: Smoothing) -> float | None:
    if smoothing == "raw":
        return predicted_change(p_before, counts.correction_rate_raw, counts.corruption_rate_raw)
    return predicted_change(
        p_before,
        _smoothed(counts.n_corrected, counts.n_wrong_before),
        _smoothed(counts.n_corrupted, counts.n_right_before),
    )


def _smoothed(k: int, n: int) -> float | None:
    return (k + 0.5) / (n + 1) if n else None


def _check_mixture(groups: Mapping[str, PairedCounts], mixture: Mapping[str, float]) -> None:
    total = sum(mixture.values())
    if abs(total - 1) > 1e-6 or any(weight < 0 for weight in mixture.values()):
        raise CountError(f"the weights of a mixture are from 0 and sum to 1, not to {total!r}")
    for name, weight in mixture.items():
        if weight > 0 and (name not in groups or groups[name].n_pairs == 0):
            raise CountError(f"the mixture has group {name!r}, of which there are no items")


def _minus(value: float | None, other: float) -> float | None:
    return None if value is None else value - other
