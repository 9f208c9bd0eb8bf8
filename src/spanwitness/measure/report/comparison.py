"""The page of two configurations on the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Bar, Dot, bars, dots
from spanwitness.measure.report.rates import rate_dot
from spanwitness.measure.report.section import (
    Section,
    Table,
    change_text,
    interval_text,
    number,
    rate_cells,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["comparison_sections"]

_EVENTS = {
    "success": "success after",
    "corrupted": "corruption of right answers",
    "corrected": "correction of wrong answers",
}
_CELLS = ("n_both", "n_first_only", "n_second_only", "n_neither")


def comparison_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.comparison/1`.

    Args:
        document: The fixed JSON form.
    """
    return [_rates(document), _pairs(document), *_unmatched(document)]


def _rates(document: Mapping[str, Any]) -> Section:
    first, second = document["first"], document["second"]
    event = _EVENTS.get(document["event"], document["event"])
    low, high = document["ci_low"], document["ci_high"]
    rates = ((first, document["first_rate"]), (second, document["second_rate"]))
    is_open = low is None or low <= 0 <= high
    says = (
        f"The rate of {event} of {second} less that of {first}: "
        f"{change_text(document['difference'])} ({interval_text(low, high)}), on the same "
        f"{document['n_items']:,} items, drawn again as items. "
        + ("These items do not tell the two apart." if is_open else "The interval leaves out zero.")
    )
    return Section(
        title=f"{second} against {first}",
        says=says,
        svg=dots(
            [rate_dot(name, rate, series=at) for at, (name, rate) in enumerate(rates)]
            + [
                Dot(
                    label="difference", value=document["difference"], low=low, high=high,
                    n=document["n_items"], series=2,
                )
            ],
            x_label=f"rate of {event}, with interval",
            reference=0.0,
            x_range=None,
        ),
        alt="The two rates and their paired difference with intervals.",
        table=Table(
            columns=(document["by"], "rate", "interval", "items"),
            rows=(
                *((name, *rate_cells(rate)) for name, rate in rates),
                (
                    "difference",
                    change_text(document["difference"]),
                    interval_text(low, high),
                    number(document["n_items"]),
                ),
            ),
        ),
        notes=(
            f"{document['n_not_at_risk']:,} items were not at risk under both: in neither rate.",
        ),
    )  # fmt: skip


def _pairs(document: Mapping[str, Any]) -> Section:
    cells = document["discordant"]
    names = ("both", f"{document['first']} only", f"{document['second']} only", "neither")
    p_value = document["mcnemar_p_value"]
    return Section(
        title="Item by item",
        says="Only the items on which the two differ tell them apart. Exact McNemar test on those: "
        f"p = {p_value:.3g}, of {cells['n_first_only'] + cells['n_second_only']:,} such items.",
        svg=bars(
            [Bar(label="items", parts=tuple(cells[key] for key in _CELLS))],
            parts=names,
            x_label="share of items",
            colours=(0, 1, 2, 5),
        ),
        alt="Items with the event under both, one, or neither configuration.",
        table=Table(
            columns=("items", *names), rows=(("count", *(number(cells[key]) for key in _CELLS)),)
        ),
    )


def _unmatched(document: Mapping[str, Any]) -> list[Section]:
    rows = document["unmatched"]
    if not rows:
        return []
    return [
        Section(
            title="Tried under one only",
            says=f"{len(rows):,} items were tried under one of the two configurations, and are in "
            "neither rate.",
            table=Table(
                columns=("item", "configuration"),
                rows=tuple((str(row["item_id"]), str(row["configuration"])) for row in rows),
            ),
        )
    ]
