"""Which forms have a page, and what every form may carry besides its own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanwitness.measure.report.comparison import comparison_sections
from spanwitness.measure.report.composition import composition_sections
from spanwitness.measure.report.evidence import evidence_sections
from spanwitness.measure.report.paired import paired_sections
from spanwitness.measure.report.section import DASH, Section, Table
from spanwitness.measure.report.selection import selection_sections
from spanwitness.measure.report.stability import provenance_sections, stability_sections
from spanwitness.measure.report.totals import totals_sections
from spanwitness.measure.report.verdicts import verdict_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["KINDS", "Kind", "sections_of", "subject_of"]


class Kind(NamedTuple):
    """A form that has a page."""

    title: str
    sections: Callable[[Mapping[str, Any]], list[Section]]


KINDS: Final[dict[str, Kind]] = {
    "spanwitness.paired/1": Kind("Paired audit of a step", paired_sections),
    "spanwitness.totals/1": Kind("Bounds from totals", totals_sections),
    "spanwitness.verdicts/1": Kind("Verdicts of a step", verdict_sections),
    "spanwitness.comparison/1": Kind("Two configurations on the same items", comparison_sections),
    "spanwitness.selection/1": Kind("A choice among candidates", selection_sections),
    "spanwitness.composition/1": Kind("A chain of steps", composition_sections),
    "spanwitness.evidence/1": Kind("Evidence state of a pipeline", evidence_sections),
    "spanwitness.stability/1": Kind("Stability of repeated runs", stability_sections),
    "spanwitness.provenance/1": Kind("Provenance of a benchmark", provenance_sections),
}


def sections_of(document: Mapping[str, Any]) -> list[Section]:
    """Return the sections of one result, and what is missing of it.

    Args:
        document: A form of `KINDS`; from traces, with `accounting`.
    """
    found = KINDS[document["schema"]].sections(document)
    accounting = document.get("accounting")
    if accounting is not None and "n_rows" in accounting:
        found.append(_accounting(accounting))
    return found


def subject_of(document: Mapping[str, Any]) -> str:
    """Return what an audit is of, in words; empty where it does not say.

    Args:
        document: A form that may carry `identity` and `pooled`.
    """
    identity: Mapping[str, str | None] = document.get("identity") or {}
    told = [f"{name} {value}" for name, value in identity.items() if value is not None]
    pooled = document.get("pooled")
    if pooled:
        told.append(f"pooled on demand: {', '.join(pooled)}")
    return "; ".join(told)


def _accounting(found: Mapping[str, Any]) -> Section:
    missing = found["missing"]
    notes = [f"Note: {note}" for note in found["notes"]]
    if missing:
        notes.insert(0, "Nothing is put in the place of what is missing: it is in no rate.")
    return Section(
        title="What was measured, and what is missing",
        says=f"{found['n_rows']:,} measured; {len(missing):,} missing; {found['n_retried']:,} "
        "failed and were tried again with success, which are neither.",
        table=Table(
            columns=("run", "item", "step", "span", "why"),
            rows=tuple(
                (
                    str(each["run_id"]),
                    str(each["item_id"]),
                    str(each["step"]),
                    DASH if each["span_id"] is None else str(each["span_id"]),
                    str(each["reason"]),
                )
                for each in missing
            ),
        )
        if missing
        else None,
        notes=tuple(notes),
    )
