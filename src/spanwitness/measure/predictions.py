"""What the rates of groups predict: for another mixture, and for items that were held out."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.stats.groups import HeldOutError, MixturePrediction, held_out_error
from spanwitness.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.measure.item_rows import ItemPair

__all__ = ["DeclaredMixture", "HeldOutFold", "held_out_halves"]

_HALVES = ("half 1", "half 2")


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredMixture:
    """The predicted change under a mixture of groups that was declared."""

    weights: Mapping[str, float]
    prediction: MixturePrediction

    def to_dict(self) -> dict[str, object]:
        """Return it for the JSON form."""
        found = self.prediction
        return {
            "weights": dict(self.weights),
            "p_before": found.p_before,
            "pooled": found.pooled,
            "conditioned": found.conditioned,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutFold:
    """What the other half of the items predicted of one half."""

    fold: str
    n_pairs: int
    error: HeldOutError

    def to_dict(self) -> dict[str, object]:
        """Return it as a row; errors are predicted minus observed change."""
        return {
            "fold": self.fold,
            "n_pairs": self.n_pairs,
            "observed_change": self.error.observed,
            "error_pooled": self.error.pooled,
            "error_conditioned": self.error.conditioned,
            "unseen_groups": ", ".join(self.error.unseen_groups),
        }


def held_out_halves(rows: Sequence[ItemPair], *, seed: int) -> tuple[HeldOutFold, ...]:
    """Predict the change of each half of the items from the other half, pooled and by group.

    Args:
        rows: Pairs with their groups; an item is in one half with all its runs.
        seed: Decides the halves.

    Returns:
        Two folds; none where there is one item only.
    """
    items = sorted({row.item for row in rows})
    if len(items) < 2:
        return ()
    random.Random(seed).shuffle(items)  # noqa: S311  a split, not a secret
    first = set(items[: (len(items) + 1) // 2])
    halves = [
        [row for row in rows if (row.item in first) is is_first] for is_first in (True, False)
    ]
    return tuple(
        HeldOutFold(
            fold=name,
            n_pairs=len(own),
            error=held_out_error(_counts(other), _counts(own)),
        )
        for name, own, other in zip(_HALVES, halves, reversed(halves), strict=True)
    )


def _counts(rows: Sequence[ItemPair]) -> dict[str, PairedCounts]:
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append((row.before, row.after))
    return {name: PairedCounts.from_bits(pairs) for name, pairs in groups.items()}
