"""A prediction about flagged records, registered before the data and checked against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.measure.result import ends
from spanwitness.measure.table import as_table
from spanwitness.stats.intervals import wilson
from spanwitness.stats.prediction import PredictionCheck, check_prediction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.provenance import RecordProvenance
    from spanwitness.measure.table import Table

__all__ = ["CheckedPrediction", "check_registered"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedPrediction:
    """What became of the prediction that the outcome rate of the flagged records would fall."""

    threshold: float
    k_before: int
    k_after: int
    n_items: int
    """Flagged records, the same before and after."""
    check: PredictionCheck
    level: float

    def to_dict(self) -> dict[str, object]:
        """Return it for the JSON form."""
        found = self.check
        return {
            "threshold": self.threshold,
            "n_items": self.n_items,
            "n_outcome_before": self.k_before,
            "n_outcome_after": self.k_after,
            "before": found.before,
            "ci_before": ends(wilson(self.k_before, self.n_items, level=self.level)),
            "after": found.after,
            "ci_after": ends(wilson(self.k_after, self.n_items, level=self.level)),
            "change": found.change,
            "ci_newcombe": ends(found.interval),
            "is_supported": found.is_supported,
            "reasons": list(found.reasons),
        }


def check_registered(
    records: Sequence[RecordProvenance],
    after: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    threshold: float,
    level: float,
) -> CheckedPrediction:
    """Check that the outcome rate of the flagged records fell to a threshold or below.

    Args:
        records: The records before, with outcomes.
        after: `item_id` and `outcome` of the same items after what was to make the rate fall, such
            as windows cut anew.
        threshold: The rate that was predicted, registered before.
        level: Probability inside the interval of the change.

    Raises:
        TableError: An item comes twice; a flagged record has no outcome after, or none before; no
            record is flagged.
    """
    source = as_table(after)
    source.require("item_id", "outcome")
    found: dict[str, bool] = {}
    for row in source:
        item = row.text("item_id")
        if item in found:
            raise row.refuse(f"item {item!r} comes twice")
        found[item] = row.bit("outcome")
    flagged = [record for record in records if record.is_flagged]
    if not flagged:
        raise source.refuse("no record was flagged before: there is nothing to predict of")
    for record in flagged:
        if record.outcome is None:
            raise source.refuse("the records before have no `outcome`, so no rate to fall from")
        if record.item_id not in found:
            raise source.refuse(f"flagged item {record.item_id!r} is not among the items after")
    n = len(flagged)
    k_before = sum(bool(record.outcome) for record in flagged)
    k_after = sum(found[record.item_id] for record in flagged)
    return CheckedPrediction(
        threshold=threshold,
        k_before=k_before,
        k_after=k_after,
        n_items=n,
        check=check_prediction(
            threshold=threshold, k_before=k_before, n_before=n, k_after=k_after, n_after=n,
            level=level,
        ),
        level=level,
    )  # fmt: skip
