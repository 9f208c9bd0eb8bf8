"""The page of several audits side by side: all steps in one picture, then each by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from spanwitness.measure.report.charts import dots, phase
from spanwitness.measure.report.kinds import KINDS, sections_of, subject_of
from spanwitness.measure.report.rates import rate_dot
from spanwitness.measure.report.section import DASH, Section, Table, number, rate_cells, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["audits_sections"]

_MOST_NAMED: Final = 4
"""Points of a picture that are called by name; more of them by number."""
_MOST_CHARS: Final = 14
_DIGEST: Final = 10


def audits_sections(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of `spanwitness.audits/1`.

    Args:
        document: The fixed JSON form.
    """
    audits: Sequence[Mapping[str, Any]] = document["audits"]
    names = _names(audits)
    found = [_overview(audits, names)]
    for name, audit in zip(names, audits, strict=True):
        subject = subject_of({**audit, "pooled": document["pooled"]})
        found += [replace(each, part=name, subject=subject) for each in sections_of(audit)]
    return found


def _names(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Number each audit, and call it by its step and by what tells it from others of that step."""
    identities: list[Mapping[str, str | None]] = [audit["identity"] for audit in audits]
    names = []
    for at, identity in enumerate(identities, start=1):
        alike = [each for each in identities if each.get("step") == identity.get("step")]
        told = [
            _told(key, value)
            for key, value in identity.items()
            if key == "step" or len({each.get(key) for each in alike}) > 1
        ]
        names.append(f"{at}. {', '.join(told) or 'audit'}")
    return names


def _told(key: str, value: str | None) -> str:
    if value is None:
        return f"no {key}"
    if key == "step":
        return value
    return f"{key} {value if len(value) <= 2 * _DIGEST else value[:_DIGEST] + '…'}"


def _overview(audits: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Section:
    schemas = {audit["schema"] for audit in audits}
    if schemas == {"spanwitness.paired/1"}:
        return _phase(audits, names)
    if schemas == {"spanwitness.verdicts/1"}:
        return _verdicts(audits, names)
    return Section(
        title="All audits",
        says="Side by side, and never pooled: each is of one step, operation, input configuration,"
        " success rule and stack.",
        table=Table(
            columns=("audit", "kind", "measured", "missing"),
            rows=tuple(
                (name, KINDS[audit["schema"]].title, *_counted(audit))
                for name, audit in zip(names, audits, strict=True)
            ),
        ),
    )


def _phase(audits: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Section:
    points, undrawn = [], []
    is_few = len(names) <= _MOST_NAMED and all(len(name) <= _MOST_CHARS for name in names)
    for at, (name, audit) in enumerate(zip(names, audits, strict=True)):
        found = audit["overall"]
        needed = found["break_even_correction_rate"]
        if needed is None or found["correction_rate"]["raw"] is None:
            undrawn.append(name)
        else:
            label = name if is_few else str(at + 1)
            points.append((rate_dot(label, found["correction_rate"], series=at), float(needed)))
    notes = ["Rates of different audits are never pooled."]
    if undrawn:
        notes.append(
            f"Not drawn: {'; '.join(undrawn)} (break-even is undefined, or nothing was at risk)."
        )
    return Section(
        title="Where the steps stand",
        says="Each point is a step over all its items: what it corrects, against what it would "
        "have to correct to make up for what it corrupts at its baseline. Above the line it "
        "helps, below it harms.",
        svg=phase(
            points, x_label="correction rate needed to break even", y_label="correction rate"
        )
        if points
        else None,
        alt="Correction rate of each step against the rate it needs to break even.",
        table=Table(
            columns=(
                "audit", "pairs", "missing", "decision", "before", "after", "correction",
                "interval", "of wrong", "corruption", "interval", "of right", "needed",
            ),
            rows=tuple(
                (
                    name,
                    number(found["n_pairs"]),
                    _counted(audit)[1],
                    str(found["decision"]),
                    share(found["p_before"]),
                    share(found["p_after"]),
                    *rate_cells(found["correction_rate"]),
                    *rate_cells(found["corruption_rate"]),
                    share(found["break_even_correction_rate"]),
                )
                for name, audit in zip(names, audits, strict=True)
                for found in (audit["overall"],)
            ),
        ),
        notes=tuple(notes),
    )  # fmt: skip


def _verdicts(audits: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Section:
    rates = ("false_positive_rate", "false_negative_rate")
    return Section(
        title="What the steps accept",
        says="False positives (wrong answers accepted) and false negatives (right answers "
        "rejected) of each step over all its items.",
        svg=dots(
            [
                rate_dot(name, audit["overall"][key], series=series)
                for name, audit in zip(names, audits, strict=True)
                for series, key in enumerate(rates)
            ],
            x_label="rate, with interval",
            series=("false positive", "false negative"),
        ),
        alt="False-positive and false-negative rate of each step with intervals.",
        table=Table(
            columns=(
                "audit", "verdicts", "false positive", "interval", "wrong", "false negative",
                "interval", "right", "missing",
            ),
            rows=tuple(
                (
                    name,
                    number(audit["overall"]["n"]),
                    *rate_cells(audit["overall"]["false_positive_rate"]),
                    *rate_cells(audit["overall"]["false_negative_rate"]),
                    _counted(audit)[1],
                )
                for name, audit in zip(names, audits, strict=True)
            ),
        ),
    )  # fmt: skip


def _counted(audit: Mapping[str, Any]) -> list[str]:
    """Return how many rows were measured and how many are missing; a dash for a table's."""
    found = audit.get("accounting")
    return [DASH, DASH] if found is None else [f"{found['n_rows']:,}", f"{found['n_missing']:,}"]
