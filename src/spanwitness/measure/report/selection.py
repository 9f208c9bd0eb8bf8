"""The page of a choice among candidates: what the order does, and what there was to gain."""

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
    share,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["selection_sections"]

_RATES = ("first_chosen", "anchor_chosen", "anchor_chosen_if_right", "anchor_chosen_if_wrong")
_RATE_NAMES = (
    "first presented was chosen",
    "anchor was chosen",
    "anchor, where it was right",
    "anchor, where it was wrong",
)
_STRATA = ("no_diversity", "diversity_without_headroom", "headroom")
_STRATUM_NAMES = ("no diversity", "diversity, no headroom", "headroom")


def selection_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.selection/1`.

    Args:
        document: The fixed JSON form.
    """
    return [
        _retention(document),
        *_changes(document),
        _headroom(document),
        _strata(document),
    ]


def _audits(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Give (group, order, audit), all items first."""
    for order, audit in document["orders"].items():
        yield "all", order, audit
    for group, orders in document["groups"].items():
        for order, audit in orders.items():
            yield group, order, audit


def _retention(document: Mapping[str, Any]) -> Section:
    orders = list(document["orders"])
    n_items = ", ".join(
        f"{name} {audit['n_items']:,}" for name, audit in document["orders"].items()
    )
    lone = (
        "There is one order only, so what it does cannot be told apart from what the judge prefers;"
        " present the same items shuffled as well."
    )
    return Section(
        title="What the order does",
        says="How often the judge took what was presented first, and the anchor: what would stand "
        "without the choice. An anchor that is kept in the standard order and not when shuffled was"
        f" taken for its place, not for its answer. Items: {n_items}.",
        svg=dots(
            [
                rate_dot(told, audit[key], series=orders.index(order))
                for key, told in zip(_RATES, _RATE_NAMES, strict=True)
                for order, audit in document["orders"].items()
            ],
            x_label="rate, with interval",
            series=orders,
        ),
        alt="How often the first and the anchor were chosen, by order of presentation.",
        table=Table(
            columns=("group", "order", "what", "rate", "interval", "items"),
            rows=tuple(
                (group, order, told, *rate_cells(audit[key]))
                for group, order, audit in _audits(document)
                for key, told in zip(_RATES, _RATE_NAMES, strict=True)
            ),
        ),
        notes=(lone,) if len(orders) == 1 else (),
    )


def _changes(document: Mapping[str, Any]) -> list[Section]:
    rows = document["changes"]
    if not rows:
        return []
    return [
        Section(
            title="What moved between orders",
            says="The same items under two orders, and the mean of the differences: what the order "
            "alone does to the success of the choice, and to the choice of the anchor.",
            svg=dots(
                [
                    Dot(
                        label=f"{_measure(row)}: {row['second']}", value=row["difference"],
                        low=row["ci_low"], high=row["ci_high"], n=row["n_items"],
                        series=int(row["measure"] != "success"),
                    )
                    for row in rows
                ],
                x_label="change, with interval",
                reference=0.0,
                x_range=None,
            ),
            alt="Changes of success and of anchor retention between orders, with intervals.",
            table=Table(
                columns=(
                    "measure", "from", "to", "change", "interval", "items", "McNemar p",
                    "in one order only",
                ),
                rows=tuple(
                    (
                        _measure(row),
                        row["first"],
                        row["second"],
                        change_text(row["difference"]),
                        interval_text(row["ci_low"], row["ci_high"]),
                        number(row["n_items"]),
                        f"{row['mcnemar_p_value']:.3g}",
                        number(row["n_unmatched"]),
                    )
                    for row in rows
                ),
            ),
        )
    ]  # fmt: skip


def _measure(row: Mapping[str, Any]) -> str:
    return str(row["measure"]).replace("_", " ")


def _headroom(document: Mapping[str, Any]) -> Section:
    first = next(iter(document["orders"].values()), None)
    room = None if first is None else first["headroom"]
    return Section(
        title="What there was to gain",
        says="The oracle is right where some candidate is: no choice does better. Headroom is the "
        f"oracle less the anchor ({share(room)} in the first order); a choice can gain that much "
        "and no more, whoever judges.",
        svg=dots(
            [
                dot
                for group, order, audit in _audits(document)
                if group == "all"
                for dot in (
                    Dot(label=f"anchor, {order}", value=audit["p_before"], n=audit["n_items"]),
                    Dot(
                        label=f"choice, {order}", value=audit["p_after"], n=audit["n_items"],
                        series=1,
                    ),
                    rate_dot(f"oracle, {order}", audit["oracle"], series=2),
                )
            ],
            x_label="success rate",
            series=("anchor", "choice", "oracle, with interval"),
        ),
        alt="Success of the anchor, of the choice and of the oracle, by order.",
        table=Table(
            columns=(
                "group", "order", "items", "anchor", "choice", "oracle", "interval", "headroom",
                "corrected", "corrupted",
            ),
            rows=tuple(
                (
                    group,
                    order,
                    number(audit["n_items"]),
                    share(audit["p_before"]),
                    share(audit["p_after"]),
                    *rate_cells(audit["oracle"])[:2],
                    share(audit["headroom"]),
                    _flow(audit, "n_corrected", "correction_rate"),
                    _flow(audit, "n_corrupted", "corruption_rate"),
                )
                for group, order, audit in _audits(document)
            ),
        ),
    )  # fmt: skip


def _strata(document: Mapping[str, Any]) -> Section:
    return Section(
        title="Where a choice could matter",
        says="No diversity: all candidates are one answer. Diversity without headroom: they differ "
        "and none betters the anchor, so a choice can only lose. Headroom: the anchor is wrong and "
        "a right candidate was there.",
        svg=bars(
            [
                Bar(
                    label=order,
                    parts=tuple(audit["strata"][name]["n_items"] for name in _STRATA),
                )
                for order, audit in document["orders"].items()
            ],
            parts=_STRATUM_NAMES,
            x_label="share of items",
            colours=(5, 3, 0),
        ),
        alt="Items without diversity, with diversity but no headroom, and with headroom, by order.",
        table=Table(
            columns=(
                "group", "order", "stratum", "items", "anchor", "choice", "corrected", "corrupted",
            ),
            rows=tuple(
                (
                    group,
                    order,
                    told,
                    number(found["n_items"]),
                    share(found["p_before"]),
                    share(found["p_after"]),
                    _flow(found, "n_corrected", "correction_rate"),
                    _flow(found, "n_corrupted", "corruption_rate"),
                )
                for group, order, audit in _audits(document)
                for name, told in zip(_STRATA, _STRATUM_NAMES, strict=True)
                for found in (audit["strata"][name],)
            ),
        ),
        notes=("Where an order or group has no items of a stratum, nothing was at risk there.",),
    )  # fmt: skip


def _flow(audit: Mapping[str, Any], count: str, rate: str) -> str:
    n = audit[rate]["n"]
    return f"{audit[count]:,} of {n:,}" if n else "not at risk"
