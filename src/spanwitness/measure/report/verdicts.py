"""The page of a verdict step: what it accepts and what it rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Bar, bars, dots
from spanwitness.measure.report.rates import rate_dot
from spanwitness.measure.report.section import Section, Table, number, rate_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["verdict_sections"]

_RATES = ("false_positive_rate", "false_negative_rate", "acceptance_rate")
_RATE_NAMES = ("false positive", "false negative", "acceptance")
_CELLS = ("n_right_accepted", "n_wrong_rejected", "n_wrong_accepted", "n_right_rejected")
_CELL_NAMES = ("right, accepted", "wrong, rejected", "wrong, accepted", "right, rejected")


def verdict_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.verdicts/1`.

    Args:
        document: The fixed JSON form.
    """
    audits: dict[str, Mapping[str, Any]] = {"all": document["overall"], **document["groups"]}
    return [_rates(audits), _counts(audits)]


def _rates(audits: Mapping[str, Mapping[str, Any]]) -> Section:
    return Section(
        title="What it accepts",
        says="False positive: of the wrong answers, the share accepted. False negative: of the "
        "right answers, the share rejected. A verdict changes nothing by itself, so these are no "
        "corrections and no corruptions.",
        svg=dots(
            [
                rate_dot(name, audit[key], series=series)
                for name, audit in audits.items()
                for series, key in enumerate(_RATES)
            ],
            x_label="rate, with interval",
            series=_RATE_NAMES,
        ),
        alt="False-positive, false-negative and acceptance rate of each group with intervals.",
        table=Table(
            columns=("group", "rate", "value", "interval", "out of"),
            rows=tuple(
                (name, told, *rate_cells(audit[key]))
                for name, audit in audits.items()
                for key, told in zip(_RATES, _RATE_NAMES, strict=True)
            ),
        ),
        notes=("A rate with nothing at risk has no value; that is not zero.",),
    )


def _counts(audits: Mapping[str, Mapping[str, Any]]) -> Section:
    return Section(
        title="Verdicts and truth",
        says="Every verdict that could be read, by whether the answer was right. Verdicts that "
        "could not be read are missing, never a pass.",
        svg=bars(
            [
                Bar(label=name, parts=tuple(audit[key] for key in _CELLS))
                for name, audit in audits.items()
            ],
            parts=_CELL_NAMES,
            x_label="share of verdicts",
            colours=(0, 2, 1, 3),
        ),
        alt="Right and wrong answers, accepted and rejected, of each group.",
        table=Table(
            columns=("group", *_CELL_NAMES, "verdicts", "items"),
            rows=tuple(
                (
                    name,
                    *(number(audit[key]) for key in _CELLS),
                    number(audit["n"]),
                    number(audit["n_items"]),
                )
                for name, audit in audits.items()
            ),
        ),
    )
