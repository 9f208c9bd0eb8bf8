"""The page of bounds from totals: what the flows of a step can have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Dot, dots
from spanwitness.measure.report.section import DASH, Section, Table, change_text, number

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["totals_sections"]

_FLOWS = ("corrected", "corrupted")
_RATES = ("correction_rate", "corruption_rate")


def totals_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.totals/1`.

    Args:
        document: The fixed JSON form.
    """
    n, before = document["n_pairs"], document["n_right_before"]
    says = (
        f"Of {n:,} items {before:,} were right before and {document['n_right_after']:,} after: a "
        f"change of {change_text(document['change'])}. "
    )
    says += (
        "The totals leave one possibility, so both flows are exact."
        if document["is_exact"]
        else "Totals do not tell how many were corrected and how many corrupted, only their "
        "difference: each bar spans what is possible. These are bounds, no intervals."
    )
    at_risk = {"corrected": n - before, "corrupted": before}
    return [
        Section(
            title="What the step can have done",
            says=says,
            svg=dots(
                [
                    _range(document, rate, flow, at_risk[flow], series)
                    for series, (flow, rate) in enumerate(zip(_FLOWS, _RATES, strict=True))
                ],
                x_label="possible rates",
            ),
            alt="The possible rates of correction and of corruption, as ranges.",
            table=Table(
                columns=("flow", "fewest", "most", "lowest rate", "highest rate", "at risk"),
                rows=tuple(
                    (
                        flow,
                        number(document[f"n_{flow}_low"]),
                        number(document[f"n_{flow}_high"]),
                        _rate(document[f"{rate}_low"]),
                        _rate(document[f"{rate}_high"]),
                        DASH if document[f"{rate}_low"] is None else number(at_risk[flow]),
                    )
                    for flow, rate in zip(_FLOWS, _RATES, strict=True)
                ),
            ),
            notes=("A rate with nothing at risk has no value; that is not zero.",),
        )
    ]


def _range(document: Mapping[str, Any], rate: str, flow: str, at_risk: int, series: int) -> Dot:
    low, high = document[f"{rate}_low"], document[f"{rate}_high"]
    is_point = low is not None and low == high
    return Dot(
        label=flow,
        value=low if is_point else None,
        low=None if is_point else low,
        high=None if is_point else high,
        n=None if low is None else at_risk,
        series=series,
    )


def _rate(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, (int, float)) else "not at risk"
