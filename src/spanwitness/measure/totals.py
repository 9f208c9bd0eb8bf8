"""`measure paired --totals`: what the flows of a step can be, when only totals are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanwitness.measure.result import choose_part, frame_of
from spanwitness.stats.paired import FlowBounds, bounds_from_totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SCHEMA", "TotalsResult", "measure_totals"]

SCHEMA: Final = "spanwitness.totals/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class TotalsResult:
    """Bounds on the two flows of a step and on its rates."""

    n_pairs: int
    n_right_before: int
    n_right_after: int
    corruption_possible: bool
    bounds: FlowBounds

    @property
    def change(self) -> float | None:
        """Success rate after minus before; `None` without items."""
        return (self.n_right_after - self.n_right_before) / self.n_pairs if self.n_pairs else None

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.totals/1`; a rate that was not at risk is `null`."""
        return {"schema": SCHEMA, **self._row()}

    def _row(self) -> dict[str, object]:
        found = self.bounds
        wrong, right = self.n_pairs - self.n_right_before, self.n_right_before
        at_risk = right if self.corruption_possible else 0
        return {
            "n_pairs": self.n_pairs,
            "n_right_before": self.n_right_before,
            "n_right_after": self.n_right_after,
            "change": self.change,
            "n_corrected_low": found.n_corrected_low,
            "n_corrected_high": found.n_corrected_high,
            "n_corrupted_low": found.n_corrupted_low,
            "n_corrupted_high": found.n_corrupted_high,
            "is_exact": found.is_exact,
            "correction_rate_low": _share(found.n_corrected_low, wrong),
            "correction_rate_high": _share(found.n_corrected_high, wrong),
            "corruption_rate_low": _share(found.n_corrupted_low, at_risk),
            "corruption_rate_high": _share(found.n_corrupted_high, at_risk),
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """One table of one row, `bounds`."""
        return {"bounds": [self._row()]}

    def to_frame(self, part: str | None = None) -> object:
        """Return the row as a data frame.

        Args:
            part: `bounds`, or `None`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_totals(
    *, n_pairs: int, n_right_before: int, n_right_after: int, corruption_possible: bool = True
) -> TotalsResult:
    """Bound the corrections and corruptions of a step from totals alone.

    Args:
        n_pairs: Items.
        n_right_before: Successes before.
        n_right_after: Successes after.
        corruption_possible: Whether the protocol may revise a right answer; where it may not, both
            flows are exact and corruption was not at risk.

    Raises:
        CountError: The totals contradict each other, or the protocol.
    """
    return TotalsResult(
        n_pairs=n_pairs,
        n_right_before=n_right_before,
        n_right_after=n_right_after,
        corruption_possible=corruption_possible,
        bounds=bounds_from_totals(
            n_pairs=n_pairs,
            n_right_before=n_right_before,
            n_right_after=n_right_after,
            corruption_possible=corruption_possible,
        ),
    )


def _share(k: int, n: int) -> float | None:
    return k / n if n else None
