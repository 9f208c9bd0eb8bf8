"""The pages of stability and of provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwitness.measure.report.charts import Dot, dots
from spanwitness.measure.report.section import (
    DASH,
    Section,
    Table,
    change_text,
    interval_text,
    number,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    return [
        wobble,
        *_contrast(document, "wobble"),
        *_band(found),
        *_transfer(document.get("transfer")),
        *_against_label(document),
    ]


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
                    low=each["ci_low"], high=each["ci_high"], n=n,
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
    return [
        section,
        *_readings(document),
        *_contrast(document, "outcome rate"),
        *_prediction(document.get("prediction")),
    ]


def _readings(document: Mapping[str, Any]) -> list[Section]:
    rows = document["readings"]
    labels = list(dict.fromkeys(row["by_label"] for row in rows))
    counts = {(row["by_quote"], row["by_label"]): row["n"] for row in rows}
    return [
        Section(
            title="The two readings side by side",
            says="A row is what the quotation says, a column what the label says: is the quoted "
            "passage in the window; are the label's own values in it. A short label can be in a "
            "window by chance, and a quotation can be absent for its wording.",
            table=Table(
                columns=("by quotation", *(name.replace("_", " ") for name in labels)),
                rows=tuple(
                    (
                        quote.replace("_", " "),
                        *(number(counts.get((quote, label), 0)) for label in labels),
                    )
                    for quote in dict.fromkeys(row["by_quote"] for row in rows)
                ),
            ),
        )
    ]


def _prediction(found: Mapping[str, Any] | None) -> list[Section]:
    if found is None:
        return []
    n, threshold = found["n_items"], found["threshold"]
    verdict = (
        "It is supported."
        if found["is_supported"]
        else f"It is not supported: {' and '.join(found['reasons'])}."
    )
    rows = (("before", "before", 0), ("after", "after", 1))
    return [
        Section(
            title="The registered prediction",
            says=f"Registered before: the outcome rate of the {n:,} flagged records falls to "
            f"{threshold:g} or below. {verdict} The change is {change_text(found['change'])} "
            f"({_ends(found['ci_newcombe'])}).",
            svg=dots(
                [
                    Dot(
                        label=label,
                        value=found[key],
                        low=found[f"ci_{key}"][0],
                        high=found[f"ci_{key}"][1],
                        n=n,
                        series=series,
                    )
                    for label, key, series in rows
                ],
                x_label="outcome rate, with interval; the line is the prediction",
                reference=threshold,
            ),
            alt="The outcome rate of flagged records before and after, and the threshold.",
            table=Table(
                columns=(
                    "flagged records",
                    "outcome rate",
                    "interval",
                    "with the outcome",
                    "records",
                ),
                rows=tuple(
                    (
                        label,
                        share(found[key]),
                        interval_text(*found[f"ci_{key}"]),
                        number(found[f"n_outcome_{label}"]),
                        number(n),
                    )
                    for label, key, _ in rows
                ),
            ),
            notes=("The interval of the change is Newcombe's, as if the two were independent.",),
        )
    ]


def _band(found: Sequence[Mapping[str, Any]]) -> list[Section]:
    scored = [each for each in found if each["n_labelled"]]
    if not scored:
        return []
    return [
        Section(
            title="Where instability can be seen",
            says="Only items that succeed in some runs and fail in others can show it well: those "
            "with a success rate from 0.3 to 0.7. Split-half reliability (stepped up by "
            "Spearman-Brown) says how well one half of the runs tells the order of the items in "
            "the other.",
            table=Table(
                columns=(
                    "configuration", "scored items", "runs", "in the band", "right in every run",
                    "split-half reliability",
                ),
                rows=tuple(
                    (
                        each["configuration"],
                        number(each["n_labelled"]),
                        number(each["n_runs"]),
                        share(each["share_in_observable_band"]),
                        share(each["share_always_right"]),
                        share(each["split_half_reliability"]),
                    )
                    for each in scored
                ),
            ),
            notes=("A dash: too few runs or items, or success never varies.",),
        )
    ]  # fmt: skip


def _transfer(found: Mapping[str, Any] | None) -> list[Section]:
    if found is None:
        return []
    low, high = found["ci"] or (None, None)
    p_value = found["p_value"]
    return [
        Section(
            title="Whether the same items are unstable elsewhere",
            says=f"Of the {found['k']:,} least stable items of one configuration, those among the "
            f"{2 * found['k']:,} least stable of another: observed hits over the hits that chance "
            "would give. One is chance; the structural maximum is every item found.",
            svg=dots(
                [
                    Dot(
                        label="ratio", value=found["ratio"], low=low, high=high,
                        n=found["n_ordered_pairs"], missing="no unstable item",
                    ),
                    Dot(label="maximum", value=found["max_ratio"], series=1),
                ],
                x_label="observed hits over expected hits, with interval",
                reference=1.0,
                x_range=None,
            ),
            alt="The transfer ratio with its interval, and its structural maximum.",
            table=Table(
                columns=(
                    "ratio", "interval", "maximum", "share found", "by chance", "p", "items",
                    "ordered pairs", "cut short",
                ),
                rows=(
                    (
                        share(found["ratio"]),
                        interval_text(low, high),
                        share(found["max_ratio"]),
                        share(found["mean_share"]),
                        share(found["chance"]),
                        DASH if p_value is None else f"{p_value:.3g}",
                        number(found["n_items"]),
                        number(found["n_ordered_pairs"]),
                        number(found["n_truncated"]),
                    ),
                ),
            ),
            notes=(
                "n counts ordered pairs of configurations; the interval draws configurations anew.",
            ),
        )
    ]  # fmt: skip


def _contrast(document: Mapping[str, Any], what: str) -> list[Section]:
    found = document["contrast"]
    if found is None:
        return []
    groups = {name: found[name] for name in ("flagged", "clean")}
    values = {name: _value(group) for name, group in groups.items()}
    return [
        Section(
            title="Flagged against clean",
            says=_difference(found, what),
            svg=dots(
                [
                    Dot(
                        label=name, value=values[name], low=group.get("ci_low"),
                        high=group.get("ci_high"), n=_items(group),
                        series=int(name == "clean"),
                    )
                    for name, group in groups.items()
                ],
                x_label=f"{what}, with interval",
            ),
            alt=f"The {what} of flagged and of clean items.",
            table=Table(
                columns=("items", what, "interval", "with it", "out of", "items"),
                rows=tuple(
                    (
                        name,
                        share(values[name]),
                        interval_text(group["ci_low"], group["ci_high"]),
                        number(group.get("n_unstable", group.get("n_outcome"))),
                        number(group.get("n_pairs", group.get("n"))),
                        number(_items(group)),
                    )
                    for name, group in groups.items()
                ),
            ),
        )
    ]  # fmt: skip


def _items(group: Mapping[str, Any]) -> int | None:
    found = group.get("n_items", group.get("n"))
    return found if isinstance(found, int) else None


def _difference(found: Mapping[str, Any], what: str) -> str:
    if found["difference"] is None:
        return f"The {what} cannot be compared: one of the two groups has no items."
    return (
        f"The {what} of flagged items less that of clean ones is "
        f"{change_text(found['difference'])}; by items drawn again "
        f"{_ends(found['ci_item_bootstrap'])}, by Newcombe {_ends(found['ci_newcombe'])}. The "
        "bootstrap over items is the one to trust: runs of one item are not independent."
    )


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
