"""Agreement of two who judged the same cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spanwitness.stats.counts import CountError, Rate, needs_extra, rate

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far a classifier and an adjudicator agree."""

    n_cases: int
    agreed: Rate
    kappa: float | None
    """Cohen's kappa; `None` where both gave one and the same word throughout."""
    ci_low: float | None
    """Lower end of kappa's large-sample interval; `None` where it has none."""
    ci_high: float | None
    """Upper end."""
    sensitivity: Mapping[str, Rate]
    """By word of the adjudicator: how often the classifier said it too."""


def agreement(counts: Mapping[tuple[str, str], int], *, level: float = 0.95) -> Agreement:
    """Return Cohen's kappa (1960, by statsmodels) and the sensitivity to each word.

    Assumes that cases are independent and judged without knowing the other's word.

    Args:
        counts: Cases by (classifier's word, adjudicator's word).
        level: Probability inside the intervals.

    Raises:
        CountError: There are no cases, or a count is negative.
    """
    words = sorted({word for pair in counts for word in pair})
    table = [[counts.get((one, two), 0) for two in words] for one in words]
    n = sum(map(sum, table))
    if n == 0 or any(cell < 0 for row in table for cell in row):
        raise CountError("agreement needs cases, and counts from 0")
    on_diagonal = [table[at][at] for at in range(len(words))]
    totals = [sum(row[at] for row in table) for at in range(len(words))]
    kappa, low, high = _kappa(table, level) if len(words) > 1 else (None, None, None)
    return Agreement(
        n_cases=n,
        agreed=rate(sum(on_diagonal), n, level=level),
        kappa=kappa,
        ci_low=low,
        ci_high=high,
        sensitivity={
            word: rate(on_diagonal[at], totals[at], level=level) for at, word in enumerate(words)
        },
    )


def _kappa(table: list[list[int]], level: float) -> tuple[float | None, float | None, float | None]:
    n = sum(map(sum, table))
    rows = [sum(row) for row in table]
    columns = [sum(row[at] for row in table) for at in range(len(table))]
    if n in rows and n in columns and rows.index(n) == columns.index(n):
        return None, None, None
    try:
        from scipy.stats import norm
        from statsmodels.stats.inter_rater import cohens_kappa
    except ImportError as error:
        raise needs_extra(error) from None
    found = cast("Any", cohens_kappa(table))
    half = float(norm.ppf((1 + level) / 2)) * float(found.std_kappa)
    kappa = float(found.kappa)
    return kappa, max(-1.0, kappa - half), min(1.0, kappa + half)
