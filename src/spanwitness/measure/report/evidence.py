"""The page of an evidence audit: what became of the cases, and what each condition changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Bar, Dot, bars, dots
from spanwitness.measure.report.section import (
    Section,
    Table,
    change_text,
    interval_text,
    number,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["evidence_sections"]

_COLOURS = {
    "preserved_success": 0, "recovered": 2, "detected_but_unrecovered": 3, "parser_failure": 1,
    "audit_false_assurance": 4, "silent": 6, "incomplete": 5,
}  # fmt: skip
_DRAWN = ("parser_validity", "stage_success", "reliability_layer_divergence")


def evidence_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.evidence/1`.

    Args:
        document: The fixed JSON form.
    """
    return [_families(document), _cells(document), *_changes(document), _accounting(document)]


def _families(document: Mapping[str, Any]) -> Section:
    by_condition: Mapping[str, Mapping[str, int]] = document["families_by_condition"]
    names = tuple(name for name, n in document["families"].items() if n)
    rows = [
        Bar(label=condition, parts=tuple(found[name] for name in names))
        for condition, found in by_condition.items()
    ]
    n_silent = document["families"].get("silent", 0)
    says = (
        "What became of each case, by the first family that fits. Silent is the one to fear: "
        f"complete, parsed, unsuccessful, and nobody told ({n_silent:,} here)."
    )
    return Section(
        title="What became of the cases",
        says=says,
        svg=bars(
            rows,
            parts=[name.replace("_", " ") for name in names],
            x_label="share of cases",
            colours=[_COLOURS.get(name, 5) for name in names],
        )
        if rows and names
        else None,
        alt="Families of sequences by condition.",
        table=Table(
            columns=("condition", *(name.replace("_", " ") for name in names), "cases", "failed"),
            rows=tuple(
                (
                    condition,
                    *(number(found[name]) for name in names),
                    number(sum(found.values())),
                    share(document["failure_rate_by_condition"][condition]),
                )
                for condition, found in by_condition.items()
            ),
        ),
        notes=(
            f"Deferred: {document['n_deferred']:,} cases. A deferral is no failure, no recovery.",
            *_optional(document["optional_stages"]),
        ),
    )


def _optional(stages: Sequence[str]) -> tuple[str, ...]:
    return (f"Complete without: {', '.join(stages)}.",) if stages else ()


def _cells(document: Mapping[str, Any]) -> Section:
    measures = list(document["cells"][0]["counts"]) if document["cells"] else []
    rows = tuple(
        (
            cell["condition"],
            cell["stage"],
            name.replace("_", " "),
            "not applicable" if cell[name] is None else share(cell[name]),
            interval_text(*(cell["intervals"][name] or (None, None))),
            f"{cell['counts'][name][0]:,} of {cell['counts'][name][1]:,}",
        )
        for cell in document["cells"]
        for name in measures
        if cell["counts"][name][1]
    )
    drawn = [
        Dot(
            label=f"{cell['condition']}, {cell['stage']}",
            value=cell[name],
            low=(cell["intervals"][name] or (None, None))[0],
            high=(cell["intervals"][name] or (None, None))[1],
            n=cell["counts"][name][1],
            series=series,
        )
        for cell in document["cells"]
        for series, name in enumerate(("parser_validity", "stage_success"))
    ]
    return Section(
        title="What parses, and what succeeds",
        says="The gap between the two is what the format lets pass: an answer that parses and is "
        "not right.",
        svg=dots(drawn, x_label="rate, with interval", series=("parser validity", "stage success"))
        if drawn
        else None,
        alt="Parser validity and stage success by condition and stage.",
        table=Table(
            columns=("condition", "stage", "measure", "rate", "interval", "counts"), rows=rows
        ),
    )


def _changes(document: Mapping[str, Any]) -> list[Section]:
    found = document["paired"]
    if not found:
        return []
    there = {change["measure"] for change in found}
    measures = [name for name in _DRAWN if name in there]
    drawn = [
        Dot(
            label=f"{change['condition']}, {change['stage']}",
            value=change["mean_change"],
            low=change["ci_low"],
            high=change["ci_high"],
            n=change["n"],
            series=measures.index(change["measure"]),
            missing="no matched case",
        )
        for change in found
        if change["measure"] in measures
    ]
    return [
        Section(
            title=f"What each condition changed, against {document['baseline']}",
            says="The same case under both conditions, and the mean of the differences; intervals "
            "by cases drawn again. The divergence is the change of parsing less that of success: "
            "where parsing stays and success goes, the format says that all is well.",
            svg=dots(
                drawn,
                x_label="mean change, with interval",
                series=[name.replace("_", " ") for name in measures],
                reference=0.0,
                x_range=(-1.0, 1.0),
            )
            if drawn
            else None,
            alt="Matched changes by condition, stage and measure.",
            table=Table(
                columns=("condition", "stage", "measure", "mean change", "interval", "cases"),
                rows=tuple(
                    (
                        change["condition"],
                        change["stage"],
                        change["measure"].replace("_", " "),
                        change_text(change["mean_change"]),
                        interval_text(change["ci_low"], change["ci_high"]),
                        number(change["n"]),
                    )
                    for change in found
                ),
            ),
        )
    ]


def _accounting(document: Mapping[str, Any]) -> Section:
    account = document["accounting"]
    missing = account["missing"]
    return Section(
        title="What was planned, and what is here",
        says=f"{_planned(account['planned'])} {account['attempted']:,} rows were attempted, "
        f"{account['retained']:,} retained; {len(missing):,} are missing.",
        table=Table(
            columns=("case", "condition", "stage", "why"),
            rows=tuple(
                (each["case_id"], each["condition"], each["stage"], each["status"])
                for each in missing
            ),
        )
        if missing
        else None,
        notes=("Nothing is imputed: a missing row is in no rate.",) if missing else (),
    )


def _planned(n: int | None) -> str:
    return "No plan was given." if n is None else f"{n:,} rows were planned."
