"""The page of a paired audit: where a step stands against break-even, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Bar, bars, dots, phase
from spanwitness.measure.report.rates import rate_dot
from spanwitness.measure.report.section import (
    Section,
    Table,
    change_text,
    number,
    rate_cells,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["paired_sections"]

_FLOWS = ("n_kept_right", "n_corrected", "n_corrupted", "n_kept_wrong")
_FLOW_NAMES = ("kept right", "corrected", "corrupted", "kept wrong")
_WORDS = {
    "apply": "It pays: the gain is above the cost with at least 95 % probability.",
    "suppress": "It does not pay: the gain is above the cost with at most 5 % probability.",
    "insufficient": "These items do not settle whether it pays.",
}


def paired_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.paired/1`.

    Args:
        document: The fixed JSON form.
    """
    overall = document["overall"]
    audits: dict[str, Mapping[str, Any]] = {"all": overall, **document["groups"]}
    return [
        _phase(audits, document),
        _rates(audits),
        _flows(audits),
        *([_sensitivity(document)] if document.get("sensitivity") else []),
        *([_mixture(document["mixture"])] if document.get("mixture") else []),
        *([_held_out(document["held_out"])] if document.get("held_out") else []),
    ]


def _phase(audits: Mapping[str, Mapping[str, Any]], document: Mapping[str, Any]) -> Section:
    points = []
    untold = []
    for name, audit in audits.items():
        needed = audit["break_even_correction_rate"]
        correction = audit["correction_rate"]
        if needed is None or correction["raw"] is None:
            untold.append(name)
        else:
            points.append((rate_dot(name, correction, series=int(name != "all")), float(needed)))
    overall = audits["all"]
    says = (
        "Each point is the step on a group of items: what it corrects, against what it would have "
        "to correct to make up for what it corrupts at this baseline. Above the line it helps. "
        f"{_WORDS.get(overall['decision'], '')}"
    )
    rows = tuple(
        (
            name,
            number(audit["n_pairs"]),
            share(audit["p_before"]),
            share(audit["p_after"]),
            share(audit["correction_rate"]["raw"]),
            share(audit["break_even_correction_rate"]),
            str(audit["decision"]),
            share(audit["decision_probability"]),
        )
        for name, audit in audits.items()
    )
    notes = [f"Cost: {document['cost']:g} of the success rate."]
    if untold:
        notes.append(
            f"Not drawn: {', '.join(untold)} (break-even is undefined, or nothing was at risk)."
        )
    return Section(
        title="Where the step stands",
        says=says,
        svg=phase(
            points,
            x_label="correction rate needed to break even",
            y_label="correction rate",
        )
        if points
        else None,
        alt="Correction rate of each group against the rate needed to break even.",
        table=Table(
            columns=(
                "group", "pairs", "right before", "right after", "correction rate", "needed",
                "decision", "P(gain > cost)",
            ),
            rows=rows,
        ),
        notes=tuple(notes),
    )  # fmt: skip


def _rates(audits: Mapping[str, Mapping[str, Any]]) -> Section:
    rows = [
        rate_dot(name, audit[key], series=series)
        for name, audit in audits.items()
        for series, key in enumerate(("correction_rate", "corruption_rate"))
    ]
    cells = tuple(
        (name, *rate_cells(audit["correction_rate"]), *rate_cells(audit["corruption_rate"]))
        for name, audit in audits.items()
    )
    methods = {
        str(audit[key]["interval"])
        for audit in audits.values()
        for key in ("correction_rate", "corruption_rate")
        if audit[key].get("interval")
    }
    return Section(
        title="What it corrects, what it corrupts",
        says="Correction: of the items that were wrong, the share that it made right. Corruption: "
        "of the items that were right, the share that it made wrong. The two have different "
        "denominators, and do not add up to the change.",
        svg=dots(rows, x_label="rate, with interval", series=("correction", "corruption")),
        alt="Correction and corruption rate of each group with intervals.",
        table=Table(
            columns=(
                "group", "correction", "interval", "wrong before", "corruption", "interval",
                "right before",
            ),
            rows=cells,
        ),
        notes=(
            f"Intervals: {', '.join(sorted(methods)) or 'none'}.",
            "Rates are as counted (k of n), not smoothed.",
            "A rate with nothing at risk has no value; that is not zero.",
        ),
    )  # fmt: skip


def _flows(audits: Mapping[str, Mapping[str, Any]]) -> Section:
    rows = [
        Bar(label=name, parts=tuple(audit[key] for key in _FLOWS)) for name, audit in audits.items()
    ]
    return Section(
        title="Where the items went",
        says="The change in success is what was corrected less what was corrupted: an identity, "
        "no prediction.",
        svg=bars(rows, parts=_FLOW_NAMES, x_label="share of pairs", colours=(0, 2, 1, 5)),
        alt="Kept right, corrected, corrupted and kept wrong of each group.",
        table=Table(
            columns=("group", *_FLOW_NAMES, "pairs", "items", "change"),
            rows=tuple(
                (
                    name,
                    *(f"{audit[key]:,}" for key in _FLOWS),
                    f"{audit['n_pairs']:,}",
                    f"{audit['n_items']:,}",
                    change_text(audit["change"]),
                )
                for name, audit in audits.items()
            ),
        ),
    )


def _sensitivity(document: Mapping[str, Any]) -> Section:
    rows = document["sensitivity"]
    return Section(
        title="If the mixture were another",
        says="The predicted change in success if a tenth of the weight moved to each group in "
        "turn. A pooled rate does not carry over to another mixture of items.",
        table=Table(
            columns=("to group", "weight moved", "predicted change"),
            rows=tuple(
                (
                    str(row["group"]),
                    share(row["shift"]),
                    change_text(row["predicted_change"]),
                )
                for row in rows
            ),
        ),
    )


def _mixture(found: Mapping[str, Any]) -> Section:
    weights = ", ".join(f"{name} {weight:g}" for name, weight in found["weights"].items())
    return Section(
        title="For the declared mixture",
        says=f"Weights: {weights}. The baseline there would be {share(found['p_before'])}. With "
        f"the rates of the groups the predicted change is {change_text(found['conditioned'])}, "
        f"with pooled rates {change_text(found['pooled'])}.",
        notes=("A prediction from these rates, without an interval.",),
    )


def _held_out(rows: Sequence[Mapping[str, Any]]) -> Section:
    return Section(
        title="On items that were held out",
        says="Each half of the items predicted from the other half: predicted minus observed "
        "change, with the rates of the groups and with pooled ones. The smaller error predicts "
        "better.",
        table=Table(
            columns=(
                "predicted", "pairs", "observed change", "error, pooled", "error, by group",
                "groups not seen before",
            ),
            rows=tuple(
                (
                    str(row["fold"]),
                    number(row["n_pairs"]),
                    change_text(row["observed_change"]),
                    change_text(row["error_pooled"]),
                    change_text(row["error_conditioned"]),
                    str(row["unseen_groups"]) or "none",
                )
                for row in rows
            ),
        ),
    )  # fmt: skip
