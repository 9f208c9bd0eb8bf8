"""The page of a chain of steps: whether rates of adjacent steps may be chained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Dot, dots
from spanwitness.measure.report.rates import rate_dot
from spanwitness.measure.report.section import (
    DASH,
    Section,
    Table,
    change_text,
    number,
    rate_cells,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["composition_sections"]

_RATES = ("correction_rate", "corruption_rate")
_RATE_NAMES = ("correction", "corruption")


def composition_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.composition/1`.

    Args:
        document: The fixed JSON form.
    """
    return [
        _tests(document),
        _transitions(document),
        _gaps(document),
        *_residuals(document),
    ]


def _tests(document: Mapping[str, Any]) -> Section:
    tests = document["tests"]
    words = " ".join(dict.fromkeys(test["words"] for test in tests))
    return Section(
        title="May the rates be chained",
        says=f"{document['n_pairs']:,} sequences of {document['n_items']:,} items through "
        f"{', '.join(document['stages'])}{_steps(document)}. Rates may be "
        "chained only if the last outcome does not depend on the first given the one between. "
        f"{words}",
        svg=dots(
            [
                Dot(
                    label=f"{test['last']}, {test['between']} {told}",
                    value=test[key],
                    series=series,
                    missing="no items of both kinds",
                )
                for test in tests
                for series, (key, told) in enumerate(
                    (("effect_if_wrong", "wrong"), ("effect_if_right", "right"))
                )
            ],
            x_label="success after a right first, less after a wrong one",
            reference=0.0,
            x_range=(-1.0, 1.0),
        ),
        alt="How the last outcome depends on the first, given the one between.",
        table=Table(
            columns=(
                "first", "between", "last", "effect where wrong between", "where right between",
                "G-squared", "df", "p", "method", "items",
            ),
            rows=tuple(
                (
                    test["first"],
                    test["between"],
                    test["last"],
                    _effect(test["effect_if_wrong"]),
                    _effect(test["effect_if_right"]),
                    share(test["g_squared"]),
                    number(test["degrees_of_freedom"]),
                    DASH if test["p_value"] is None else f"{test['p_value']:.3g}",
                    str(test["method"]).replace("_", " "),
                    number(test["n_items"]),
                )
                for test in tests
            ),
        ),
        notes=(
            "The size of the effect comes first, without an interval; the test is on one run each.",
        ),
    )  # fmt: skip


def _steps(document: Mapping[str, Any]) -> str:
    """Say which steps the stages stand for, where they are from traces."""
    told = (document.get("identity") or {}).get("step")
    return "" if told is None else f" (success before and after each of {told})"


def _effect(value: object) -> str:
    return "no items" if value is None else change_text(value)


def _transitions(document: Mapping[str, Any]) -> Section:
    found = document["transitions"]
    whole = [row for row in found if row["group"] is None]
    return Section(
        title="Step by step, chained, and direct",
        says="What each step corrects and corrupts, then what the chain of these rates says of the "
        "way from the first to the last, and what was seen there. Where the last two differ, "
        "chaining misleads.",
        svg=dots(
            [
                rate_dot(_way(row), row[key], series=series)
                for row in whole
                for series, key in enumerate(_RATES)
            ],
            x_label="rate, with interval",
            series=_RATE_NAMES,
        ),
        alt="Correction and corruption of adjacent, chained and direct transitions.",
        table=Table(
            columns=("transition", "group", "flow", "rate", "interval", "at risk"),
            rows=tuple(
                (_way(row), row["group"] or "all", told, *rate_cells(row[key]))
                for row in found
                for key, told in zip(_RATES, _RATE_NAMES, strict=True)
            ),
        ),
        notes=(
            "A chained rate is a product of rates: it has no items of its own and no interval.",
        ),
    )


def _way(row: Mapping[str, Any]) -> str:
    way = f"{row['from']} to {row['to']}"
    return way if row["kind"] == "adjacent" else f"{row['kind']}, {way}"


def _gaps(document: Mapping[str, Any]) -> Section:
    rows = [document["within"], *document["groups"], *document["held_out"]]
    weighed = (("mean_jeffreys", "mean"), ("support_weighted_jeffreys", "support-weighted"))
    return Section(
        title="How far chained is from direct",
        says="The mean distance of the two rows of the transition matrix, and the distance weighted"
        " by the items in each row. Held out, the chain is learned from other items than the direct"
        " transition.",
        svg=dots(
            [
                Dot(label=_of(row), value=row[key], n=row["n_pairs"], series=series)
                for row in rows
                for series, (key, _) in enumerate(weighed)
            ],
            x_label="gap, smoothed rates (0 = chained equals direct)",
            series=[told for _, told in weighed],
            x_range=None,
            reference=0.0,
        ),
        alt="Gaps between chained and direct transitions, within the sample and held out.",
        table=Table(
            columns=(
                "items of", "sequences", "mean", "largest", "support-weighted", "mean, raw",
                "largest, raw", "support-weighted, raw",
            ),
            rows=tuple(
                (
                    _of(row),
                    number(row["n_pairs"]),
                    *(
                        _gap(row[f"{name}_{kind}"])
                        for kind in ("jeffreys", "raw")
                        for name in ("mean", "max", "support_weighted")
                    ),
                )
                for row in rows
            ),
        ),
        notes=(
            "A gap is a distance: never below zero, larger where items are few, with no interval.",
        ),
    )  # fmt: skip


def _of(row: Mapping[str, Any]) -> str:
    if row["fold"] is not None:
        return f"{row['fold']}, held out"
    return "all" if row["group"] is None else str(row["group"])


def _gap(value: object) -> str:
    return "not at risk" if value is None else f"{value:.4f}"


def _residuals(document: Mapping[str, Any]) -> list[Section]:
    rows: Sequence[Mapping[str, Any]] = document["residuals"]
    if not rows:
        return []
    mean = document["mean_absolute_residual"]
    return [
        Section(
            title="Final success of held-out items",
            says="Predicted less observed final success of each held-out group, with pooled rates "
            "and with the group's own. Mean absolute residual: pooled "
            f"{share(mean['pooled'])}, by group {share(mean['conditioned'])}.",
            svg=dots(
                [
                    Dot(
                        label=f"{row['group']}, {row['fold']}", value=row[key], n=row["n_items"],
                        series=series, missing="nothing was learned",
                    )
                    for row in rows
                    for series, key in enumerate(("pooled", "conditioned"))
                ],
                x_label="predicted less observed",
                series=("pooled rates", "rates of the group"),
                reference=0.0,
                x_range=None,
            ),
            alt="Residuals of the final success of each held-out group.",
            table=Table(
                columns=("group", "fold", "observed", "pooled", "by group", "sequences"),
                rows=tuple(
                    (
                        str(row["group"]),
                        str(row["fold"]),
                        share(row["observed"]),
                        change_text(row["pooled"]),
                        change_text(row["conditioned"]),
                        number(row["n_items"]),
                    )
                    for row in rows
                ),
            ),
        )
    ]  # fmt: skip
