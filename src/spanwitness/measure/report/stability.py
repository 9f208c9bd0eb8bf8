"""The pages of stability and of provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Dot, dots
from spanwitness.measure.report.section import (
    Section,
    Table,
    change_text,
    interval_text,
    number,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["provenance_sections", "stability_sections"]


def stability_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.stability/1`.

    Args:
        document: The fixed JSON form.
    """
    found = document["configurations"]
    n_runs = sorted({each["n_runs"] for each in found})
    wobble = Section(
        title="How often repeated runs disagree",
        says="Wobble is the share of items whose answers are not the same in all runs. It grows "
        f"with the number of runs ({', '.join(map(str, n_runs))} here), so compare it at equal "
        "numbers only.",
        svg=dots(
            [
                Dot(
                    label=each["configuration"], value=each["wobble"], low=each["ci_low"],
                    high=each["ci_high"], n=each["n_items"],
                )
                for each in found
            ],
            x_label="wobble, with interval",
        )
        if found
        else None,
        alt="Wobble of each configuration with its interval.",
        table=Table(
            columns=(
                "configuration", "wobble", "interval", "unstable", "items", "runs", "dispersion",
                "accuracy", "unparsed",
            ),
            rows=tuple(
                (
                    each["configuration"],
                    share(each["wobble"]),
                    interval_text(each["ci_low"], each["ci_high"]),
                    number(each["n_unstable"]),
                    number(each["n_items"]),
                    number(each["n_runs"]),
                    share(each["dispersion"]),
                    share(each["accuracy"]),
                    number(each["n_unparsed"]),
                )
                for each in found
            ),
        ),
        notes=("An answer that was not parsed counts as an answer of its own kind.",),
    )  # fmt: skip
    return [wobble, *_contrast(document, "wobble"), *_against_label(document)]


def provenance_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.provenance/1`.

    Args:
        document: The fixed JSON form.
    """
    classes = document["classes"]
    n = document["n_records"]
    section = Section(
        title="Where the evidence is",
        says=f"Of {n:,} records: whether the text that a model was shown holds what the label "
        f"rests on. The two readings, by quotation and by label, differ in "
        f"{document['n_readings_differ']:,}.",
        svg=dots(
            [
                Dot(
                    label=each["provenance"].replace("_", " "), value=each["share"],
                    low=each["ci_low"], high=each["ci_high"], n=each["n"],
                )
                for each in classes
            ],
            x_label="share of records, with interval",
        ),
        alt="Share of the records in each class of provenance.",
        table=Table(
            columns=("class", "share", "interval", "records", "by quotation", "by label"),
            rows=tuple(
                (
                    each["provenance"].replace("_", " "),
                    share(each["share"]),
                    interval_text(each["ci_low"], each["ci_high"]),
                    number(each["n"]),
                    number(each["n_by_quote"]),
                    number(each["n_by_label"]),
                )
                for each in classes
            ),
        ),
    )  # fmt: skip
    return [section, *_contrast(document, "outcome rate")]


def _contrast(document: Mapping[str, Any], what: str) -> list[Section]:
    found = document["contrast"]
    if found is None:
        return []
    groups = {name: found[name] for name in ("flagged", "clean")}
    values = {name: _value(group) for name, group in groups.items()}
    return [
        Section(
            title="Flagged against clean",
            says=f"The {what} of flagged items less that of clean ones is "
            f"{change_text(found['difference'])}; by items drawn again "
            f"{_ends(found['ci_item_bootstrap'])}, by Newcombe "
            f"{_ends(found['ci_newcombe'])}. The bootstrap over items is the one to trust: runs of "
            "one item are not independent.",
            svg=dots(
                [
                    Dot(
                        label=name, value=values[name], low=group.get("ci_low"),
                        high=group.get("ci_high"), n=group.get("n_items"),
                        series=int(name == "clean"),
                    )
                    for name, group in groups.items()
                ],
                x_label=f"{what}, with interval",
            ),
            alt=f"The {what} of flagged and of clean items.",
        )
    ]  # fmt: skip


def _value(group: Mapping[str, Any]) -> float | None:
    for key in ("wobble", "rate", "share", "raw"):
        value = group.get(key)
        if isinstance(value, (int, float)):
            return float(value)
    return None


def _ends(interval: object) -> str:
    if isinstance(interval, list) and len(interval) == 2:
        return f"{interval[0]:+.3f} to {interval[1]:+.3f}"
    return "no interval"


def _against_label(document: Mapping[str, Any]) -> list[Section]:
    rows = document["agreed_against_label"]
    if not rows:
        return []
    return [
        Section(
            title="Where all agree against the label",
            says="Items on which every configuration gives one answer and the label is another: "
            "candidates for a look at the label, never a correction by themselves.",
            table=Table(
                columns=("item", "label", "answer"),
                rows=tuple((str(r["item_id"]), str(r["label"]), str(r["answer"])) for r in rows),
            ),
        )
    ]
