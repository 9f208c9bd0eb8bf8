"""How measures look in a terminal: every figure with its n and interval, every gap told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from spanwitness.cli.measure_cells import ends_text, grid, rate_text, share_text
from spanwitness.cli.measure_text_steps import (
    print_comparison,
    print_composition,
    print_selection,
)
from spanwitness.cli.terminal import visible
from spanwitness.measure.audits import Audits
from spanwitness.measure.comparison import ComparisonResult
from spanwitness.measure.composition import CompositionResult
from spanwitness.measure.evidence import EvidenceResult
from spanwitness.measure.paired import PairedResult
from spanwitness.measure.provenance import ProvenanceResult
from spanwitness.measure.selection import SelectionResult
from spanwitness.measure.stability import StabilityResult
from spanwitness.measure.totals import TotalsResult
from spanwitness.measure.verdicts import VerdictsResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.measure import MeasureResult, StepAudit
    from spanwitness.measure.audits import StepAccounting
    from spanwitness.measure.registered import CheckedPrediction
    from spanwitness.stats.reliability import Transfer
    from spanwitness.stats.stability import Contrast, UnstablePairs

_DECISION_STYLE = {"apply": "bold green", "suppress": "bold red", "insufficient": "yellow"}
_MAX_MISSING = 20


def print_text(result: MeasureResult) -> None:
    """Print a result of `spanwitness.measure`.

    Args:
        result: The result.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if isinstance(result, Audits):
        _audits(console, result)
    elif isinstance(result, TotalsResult):
        _totals(console, result)
    elif isinstance(result, PairedResult):
        _paired(console, result)
    elif isinstance(result, VerdictsResult):
        _verdicts(console, result)
    elif isinstance(result, ComparisonResult):
        print_comparison(console, result)
    elif isinstance(result, SelectionResult):
        print_selection(console, result)
    elif isinstance(result, CompositionResult):
        print_composition(console, result)
    elif isinstance(result, EvidenceResult):
        _evidence(console, result)
    elif isinstance(result, StabilityResult):
        _stability(console, result)
    elif isinstance(result, ProvenanceResult):
        _provenance(console, result)


def _audits(console: Console, result: Audits[Any]) -> None:
    for at, audit in enumerate(result.audits):
        if at:
            console.print()
        told = [f"{name} {visible(value, limit=60)}" for name, value in audit.identity.items()
                if value is not None]  # fmt: skip
        if told:
            console.print(Text(", ".join(told), style="bold"))
        print_text(audit.result)
        if audit.accounting is not None:
            _accounting(console, audit.accounting)
    if result.pooled:
        console.print(Text(f"pooled on demand: {', '.join(result.pooled)}", style="dim"))


def _accounting(console: Console, accounting: StepAccounting) -> None:
    n_missing = len(accounting.missing)
    console.print(
        f"{accounting.n_rows} measured, {n_missing} missing,"
        f" {accounting.n_retried} failed and tried again"
    )
    for each in accounting.missing[:_MAX_MISSING]:
        place = "no span" if each.span_id is None else f"span {each.span_id}"
        what = f"run {each.run_id}, {each.step}, {place}: {each.reason}"
        console.print(Text(f"  missing {visible(what)}", style="yellow"))
    if n_missing > _MAX_MISSING:
        more = n_missing - _MAX_MISSING
        console.print(Text(f"  and {more} more (--format csv --part missing)", style="dim"))
    for note in accounting.notes:
        console.print(Text(f"  note: {note}", style="dim"))


def _totals(console: Console, result: TotalsResult) -> None:
    found = result.bounds
    table = grid("", "at least", "at most")
    table.add_row("corrected", str(found.n_corrected_low), str(found.n_corrected_high))
    table.add_row("corrupted", str(found.n_corrupted_low), str(found.n_corrupted_high))
    console.print(table)
    change = "no items" if result.change is None else f"{result.change:+.3f}"
    told = "the totals leave one possibility" if found.is_exact else "only pairs can tell more"
    risk = "" if result.corruption_possible else "; corruption is not at risk"
    console.print(f"{result.n_pairs} items, change {change}; {told}{risk}")


def _verdicts(console: Console, result: VerdictsResult) -> None:
    audits = [("all", result.overall)]
    audits += [(visible(name, limit=40), audit) for name, audit in result.groups.items()]
    table = grid(visible(result.group_column or "", limit=40), "verdicts", "accepted",
                   "false positive", "false negative")  # fmt: skip
    for name, audit in audits:
        table.add_row(
            Text(name),
            str(audit.counts.n_items),
            rate_text(audit.acceptance),
            rate_text(audit.false_positive),
            rate_text(audit.false_negative),
        )
    console.print(table)
    console.print(
        Text(
            f"positive means accepted; Jeffreys estimates with {result.level:.0%} intervals",
            style="dim",
        )
    )


def _paired(console: Console, result: PairedResult) -> None:
    audits = [("all", result.overall)]
    audits += [(visible(name, limit=40), audit) for name, audit in result.groups.items()]
    table = grid(visible(result.group_column or "", limit=40), "pairs", "before", "after",
                   "corrected", "corrupted", "break-even", "decision")  # fmt: skip
    table.padding = (0, 1, 0, 0)
    table.columns[0].min_width = None
    for column in table.columns:  # where room is short only names and rates take more lines
        column.no_wrap = column.header in ("pairs", "before", "after", "break-even", "decision")
    for name, audit in audits:
        counts = audit.counts
        table.add_row(
            Text(name),
            str(counts.n_pairs),
            share_text(counts.p_before),
            share_text(counts.p_after),
            rate_text(audit.correction),
            rate_text(audit.corruption),
            _break_even(audit),
            Text(audit.decision.word, style=_DECISION_STYLE[audit.decision.word])
            + Text(f"\nP={share_text(audit.decision.probability)}", style="dim"),
        )
    console.print(table)
    is_repeated = result.overall.n_items < result.overall.counts.n_pairs
    unit = "bootstrap over items" if is_repeated else "Jeffreys, pairs as units"
    console.print(
        Text(
            f"rates are Jeffreys estimates with {result.level:.0%} intervals ({unit}); "
            f"P is that of a gain above {result.cost:g}",
            style="dim",
        )
    )
    if result.mixture is not None:
        told = result.mixture.prediction
        console.print(
            Text(
                f"declared mixture: predicted change {_change(told.conditioned)} by group,"
                f" {_change(told.pooled)} pooled, from {told.p_before:.3f}"
            )
        )
    for fold in result.held_out:
        error = fold.error
        console.print(
            Text(
                f"{fold.fold} held out: change {error.observed:+.3f}, predicted minus observed"
                f" {_change(error.conditioned)} by group, {_change(error.pooled)} pooled",
                style="dim",
            )
        )


def _change(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.3f}"


def _break_even(audit: StepAudit) -> str:
    needed = audit.break_even
    if needed.rate is None:
        return "not at risk" if needed.reason == "not_at_risk" else "undefined"
    return f"{needed.rate:.3f}" + ("" if needed.attainable else " not attainable")


def _evidence(console: Console, result: EvidenceResult) -> None:
    table = grid("condition", "stage", "n", "parsed", "success", "false assurance", "detected")
    for cell in result.cells:
        table.add_row(
            visible(cell.condition, limit=40),
            visible(cell.stage, limit=40),
            str(cell.n),
            rate_text(cell.parser_validity, raw=True),
            rate_text(cell.stage_success, raw=True),
            rate_text(cell.audit_false_assurance, raw=True),
            rate_text(cell.detection, raw=True),
        )
    console.print(table)
    changes = grid("condition", "stage", f"change from {visible(result.baseline)}", "n", "mean")
    for change in result.changes:
        changes.add_row(
            visible(change.condition, limit=40),
            visible(change.stage, limit=40),
            change.measure,
            str(change.n),
            f"{change.mean_change:+.3f} {ends_text(change.interval)}",
        )
    console.print(changes)
    by_condition = result.parts["families"]
    names = [visible(str(row["condition"]), limit=40) for row in by_condition]
    families = grid("what became of cases", *names)
    for family in by_condition[0]:
        if family != "condition":
            told = family.replace("_", " ")
            families.add_row(told, *(str(row[family]) for row in by_condition))
    console.print(families)
    if result.optional:
        console.print(f"complete without {visible(', '.join(result.optional))}", style="dim")
    accounting = result.accounting
    planned = "no plan given" if accounting.planned is None else f"{accounting.planned} planned"
    console.print(
        f"{planned}, {accounting.attempted} attempted, {accounting.retained} retained, "
        f"{len(accounting.missing)} missing"
    )
    for key, status in accounting.missing[:_MAX_MISSING]:
        what = f"{key.case_id} / {key.condition} / {key.stage}: {status}"
        console.print(Text(f"  missing {visible(what)}", style="yellow"))
    if len(accounting.missing) > _MAX_MISSING:
        more = len(accounting.missing) - _MAX_MISSING
        console.print(Text(f"  and {more} more (--format csv --part missing)", style="dim"))


def _stability(console: Console, result: StabilityResult) -> None:
    table = grid("configuration", "items", "runs", "unstable", "wobble", "dispersion",
                   "accuracy", "unparsed")  # fmt: skip
    for each in result.configurations:
        found = each.stability
        table.add_row(
            visible(each.configuration, limit=60),
            str(found.n_items),
            str(found.n_runs),
            str(found.n_unstable),
            f"{found.wobble:.3f} {ends_text(found.interval)}",
            f"{found.dispersion:.3f}",
            "no label" if found.accuracy is None else f"{found.accuracy:.3f}",
            str(found.n_unparsed),
        )
    console.print(table)
    _contrast(console, result.contrast, what="wobble")
    if result.transferred is not None:
        _transfer(console, result.transferred)
    n_against = len(result.against_label)
    if n_against:
        console.print(
            f"{n_against} items on which all configurations agree against the label: review them "
            "(--format csv --part agreed_against_label)"
        )


def _transfer(console: Console, found: Transfer) -> None:
    if found.ratio is None:
        console.print("transfer: no configuration has an unstable item, or chance is nothing")
        return
    p_value = "no p value" if found.p_value is None else f"p={found.p_value:.3g}"
    most = "" if found.max_ratio is None else f", at most {found.max_ratio:.2f}"
    console.print(
        Text(
            f"transfer of the {found.k} least stable of {found.n_items} items:"
            f" {found.ratio:.2f} times chance {ends_text(found.interval)}{most}, {p_value};"
            f" {found.n_truncated} of {found.n_ordered_pairs} ordered pairs have fewer than"
            f" {found.k} unstable"
        )
    )


def _provenance(console: Console, result: ProvenanceResult) -> None:
    table = grid("provenance", "records", "share", "by quote", "by label")
    for row in result.parts["classes"]:
        low, high = row["ci_low"], row["ci_high"]
        share = f"{row['share']:.3f} [{low:.3f}, {high:.3f}]"
        table.add_row(
            str(row["provenance"]), str(row["n"]), Text(share), str(row["n_by_quote"]),
            str(row["n_by_label"]),
        )  # fmt: skip
    console.print(table)
    n_differ = sum(not record.readings_agree for record in result.records)
    console.print(f"quote and label tell different things for {n_differ} records")
    _contrast(console, result.contrast, what="outcome")
    if result.prediction is not None:
        _prediction(console, result.prediction)


def _prediction(console: Console, found: CheckedPrediction) -> None:
    check, n = found.check, found.n_items
    why = "" if check.is_supported else f": {' and '.join(check.reasons)}"
    console.print(
        Text(
            f"registered prediction, flagged records at or below {found.threshold:g}:"
            f" {'supported' if check.is_supported else 'not supported'}{why}"
        )
    )
    console.print(
        Text(
            f"  before {check.before:.3f} {found.k_before}/{n}, after {check.after:.3f}"
            f" {found.k_after}/{n}, change {check.change:+.3f} {ends_text(check.interval)}"
        )
    )


def _contrast(console: Console, found: Contrast | None, *, what: str) -> None:
    if found is None:
        return
    table = grid("", "items", what)
    groups: Sequence[tuple[str, UnstablePairs]] = [
        ("flagged", found.flagged),
        ("clean", found.clean),
    ]
    for name, group in groups:
        wobble = "no items" if group.wobble is None else f"{group.wobble:.3f}"
        table.add_row(name, str(group.n_items), Text(f"{wobble} {ends_text(group.interval)}"))
    console.print(table)
    if found.difference is not None:
        console.print(
            Text(
                f"difference {found.difference:+.3f}, over items {ends_text(found.item_bootstrap)},"
                f" Newcombe over pairs {ends_text(found.newcombe)}"
            )
        )
