"""Rates of the fixed JSON form as rows of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Dot

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["rate_dot"]


def rate_dot(label: str, rate: Mapping[str, Any], *, series: int = 0) -> Dot:
    """Return a rate as a row: its raw value, its interval, its units at risk.

    Args:
        label: What it is of.
        rate: A rate of the fixed JSON form.
        series: Which colour, from 0.
    """
    return Dot(
        label=label,
        value=rate["raw"],
        low=rate["ci_low"],
        high=rate["ci_high"],
        n=rate["n"],
        series=series,
    )
