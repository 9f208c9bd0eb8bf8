"""How runs, ledgers and findings look in a terminal.

Text of a trace is hostile: it is shown as plain text (never as markup), control characters and
bidirectional marks are made visible, and its length is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spanwitness.findings.fingerprint import fingerprint
from spanwitness.model.shapeless import spelled_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from spanwitness.cli.report import Summary
    from spanwitness.model import LedgerRow, Run, Verdict
    from spanwitness.model.verdict import Suppressed
    from spanwitness.rules.engine import Evaluation

_COLUMNS = ("configured", "offered", "requested", "executed", "returned", "delivered", "cited")
_GOOD = {"yes", "span", "provider", "messages", "value", "whole", "cache", "cached", "empty"}
_BAD = {"no", "error", "altered", "cancelled"}
_SEVERITY_STYLE = {
    "info": "cyan",
    "warning": "yellow",
    "error": "bold red",
    "critical": "bold white on red",
}
Standing: TypeAlias = Literal[
    "FLAGGED", "INCOMPLETE", "CANNOT TELL", "NOTED", "SUPPRESSED", "NO FINDING"
]
_STANDING_STYLE: dict[Standing, str] = {
    "FLAGGED": "bold white on red",
    "INCOMPLETE": "bold black on yellow",
    "CANNOT TELL": "bold black on yellow",
    "NOTED": "bold black on cyan",
    "SUPPRESSED": "bold black on cyan",
    "NO FINDING": "bold black on green",
}
_MAX_ROWS = 40
_ALONE = "a tool outside of any run: in a thread without its context? (sw.bind_context)"
_NO_MODEL_CALL = "no model call is recorded; was the client given to sw.wrap_client?"
_MAX_NAME = 48
_MAX_CALL_ID = 20


def visible(text: str, *, limit: int = 400) -> str:
    """Return text with what has no shape spelled out, on one line of at most `limit` characters."""
    shown = spelled_out(text[: limit + 1].replace("\n", " ").replace("\t", " "))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def print_run(
    console: Console,
    run: Run,
    evaluation: Evaluation,
    *,
    with_ledger: bool,
    show_all: bool,
    with_claims: bool = False,
) -> None:
    """Print one run: a headline, its ledger, its verdicts, and what its answer rests on.

    Args:
        console: Where to.
        run: The run.
        evaluation: What rules say of it.
        with_ledger: Whether the ledger is printed.
        show_all: Whether the verdicts that are no finding are named.
        with_claims: Whether the claims are printed of a run that is not flagged too.
    """
    console.print(_headline(run, evaluation), soft_wrap=True)
    if with_ledger and evaluation.ledger:
        console.print(ledger_table(evaluation.ledger))
    elif with_ledger:
        console.print(Text(f"  {_no_tools(run)}", style="dim"))
    if run.tools and not run.chats and "spanwitness" in run.dialects:
        is_alone = any(tool.span_id == run.root_span_id for tool in run.tools)
        console.print(Text(f"  {_ALONE if is_alone else _NO_MODEL_CALL}", style="dim"))
    for verdict in evaluation.verdicts:
        if verdict.verdict == "violated":
            _print_violation(console, run, verdict)
    if evaluation.is_flagged or with_claims or show_all:
        from spanwitness.cli.claims_text import print_claims

        print_claims(console, evaluation.claims)
    _print_not_assessed(console, evaluation.verdicts, show_all=show_all)
    if show_all:
        for word in ("holds", "not_applicable"):
            rules = [v.rule for v in evaluation.verdicts if v.verdict == word]
            if rules:
                console.print(Text(f"  {word.replace('_', ' ')}: {', '.join(rules)}", style="dim"))
    console.print()


def standing(run: Run, evaluation: Evaluation) -> Standing:
    """Return how a run stands, in the word that its headline begins with."""
    if evaluation.is_flagged:
        return "FLAGGED"
    if not run.is_complete:
        return "INCOMPLETE"
    if _is_mostly_blind(run, evaluation):
        return "CANNOT TELL"
    if evaluation.findings:
        return "NOTED"
    is_suppressed = any(verdict.suppressed is not None for verdict in evaluation.verdicts)
    return "SUPPRESSED" if is_suppressed else "NO FINDING"


def _headline(run: Run, evaluation: Evaluation) -> Text:
    word = standing(run, evaluation)
    line = Text()
    line.append(f" {word} ", style=_STANDING_STYLE[word])
    name = run.workflow or run.agent or run.name
    line.append(f" {visible(name, limit=60)}", style="bold")
    if run.agent and run.agent != name:
        line.append(f"  agent {visible(run.agent, limit=60)}")
    line.append(f"  trace {visible(run.trace_id, limit=32)}", style="dim")
    if evaluation.contract:
        line.append(f"  contract {visible(evaluation.contract, limit=60)}", style="dim")
    if run.error_type is not None:
        line.append(f"  ended with {visible(run.error_type, limit=60)}", style="bold yellow")
    elif run.is_cancelled:
        line.append("  cancelled", style="bold yellow")
    return line


def _is_mostly_blind(run: Run, evaluation: Evaluation) -> bool:
    """Say whether silence means nothing: no model call is recorded, or few rules could judge."""
    if not run.chats and not evaluation.findings:
        return True
    words = [verdict.verdict for verdict in evaluation.verdicts]
    return words.count("not_assessed") > words.count("holds") + words.count("violated")


def ledger_table(rows: Sequence[LedgerRow]) -> Table:
    """Return the dispatch ledger as a table: one row a call, the broken cells in red.

    Call ids are shown of tools whose calls fared differently.
    """
    mixed = _mixed_tools(rows)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    table.add_column("tool", no_wrap=True, overflow="ellipsis", max_width=_MAX_NAME)
    if mixed:
        table.add_column("call id", no_wrap=True, overflow="ellipsis", max_width=_MAX_CALL_ID)
    for column in _COLUMNS:
        table.add_column(column, no_wrap=True, min_width=len(column))
    for row in rows[:_MAX_ROWS]:
        never = row.requested == "no" and row.executed == "no"
        cells = [_cell(str(getattr(row, column)), quiet=never) for column in _COLUMNS]
        name = visible(row.tool, limit=_MAX_NAME)
        if row.side != "client":
            name = f"{name} ({row.side})"
        if mixed:
            shown = row.call_id or "" if row.tool in mixed else ""
            cells.insert(0, Text(visible(shown, limit=_MAX_CALL_ID), style="dim"))
        table.add_row(Text(name, style="dim" if never else ""), *cells)
    if len(rows) > _MAX_ROWS:
        table.add_row(Text(f"… {len(rows) - _MAX_ROWS} more calls", style="dim"))
    return table


def _mixed_tools(rows: Sequence[LedgerRow]) -> frozenset[str]:
    """Return the tools whose rows differ in some column."""
    first: dict[str, tuple[str, ...]] = {}
    found: set[str] = set()
    for row in rows:
        cells = tuple(getattr(row, column) for column in _COLUMNS)
        if first.setdefault(row.tool, cells) != cells:
            found.add(row.tool)
    return frozenset(found)


def print_content_note(console: Console, run: Run) -> None:
    """Say before a run without content that most rules cannot judge it."""
    kept = "digests only" if run.content == "digests" else "off"
    line = f"content {kept}: rules that read text cannot judge"
    console.print(Text(line, style="yellow"))


def _no_tools(run: Run) -> str:
    if not run.chats:
        return "no model call and no tool is recorded"
    if all(chat.offered == () for chat in run.chats):
        return "no tool was offered"
    return "this trace does not record which tools were offered or called"


def _cell(word: str, *, quiet: bool) -> Text:
    shown = {"not_applicable": "-", "unknown": "?"}.get(word, word)
    if word in _BAD and not quiet:
        return Text(shown, style="bold red")
    if word in _GOOD:
        return Text(shown, style="green")
    return Text(shown, style="dim")


def _print_violation(console: Console, run: Run, verdict: Verdict) -> None:
    if verdict.explained_by is not None:
        console.print(Text(f"  ↳ {verdict.rule}: explained by {verdict.explained_by}", style="dim"))
        return
    if verdict.suppressed is not None:
        console.print(Text(f"  ↷ {verdict.rule}: {_suppressed(verdict.suppressed)}", style="dim"))
        return
    line = Text("  ✗ ", style="bold red" if verdict.severity != "info" else "cyan")
    line.append(verdict.severity, style=_SEVERITY_STYLE[verdict.severity])
    line.append(f"  {verdict.rule}", style="bold")
    fault = verdict.fault if verdict.kind is None else f"{verdict.fault}/{verdict.kind}"
    line.append(f"  fault: {fault}", style="magenta")
    console.print(line)
    console.print(Padding(Text(visible(verdict.reason)), (0, 0, 0, 4), expand=False))
    if verdict.span_ids:
        shown = ", ".join(verdict.span_ids[:4])
        more = f" and {len(verdict.span_ids) - 4} more" if len(verdict.span_ids) > 4 else ""
        console.print(Text(f"    spans {shown}{more}", style="dim"))
    console.print(Text(f"    fingerprint {fingerprint(run, verdict)[:12]}", style="dim"))


def _suppressed(mark: Suppressed) -> str:
    until = f" until {mark.expires}" if mark.expires is not None else ""
    return f"suppressed{until}: {visible(mark.reason)}"


def _print_not_assessed(console: Console, verdicts: Sequence[Verdict], *, show_all: bool) -> None:
    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.verdict == "not_assessed":
            by_reason.setdefault(verdict.reason, []).append(verdict.rule)
    if not by_reason:
        return
    if show_all:
        for reason, rules in by_reason.items():
            console.print(
                Text(f"  ? not assessed: {', '.join(rules)}: {visible(reason)}", style="yellow dim")
            )
        return
    n_rules = sum(len(rules) for rules in by_reason.values())
    reason = max(by_reason, key=lambda each: len(by_reason[each]))
    noun = "rule" if n_rules == 1 else "rules"
    mostly = visible(reason, limit=120)
    line = f"  ? {n_rules} {noun} not assessed, mostly: {mostly} (--all lists them)"
    console.print(Text(line, style="dim"))


def print_summary(console: Console, summary: Summary, *, hidden: Mapping[Standing, int]) -> None:
    """Print the closing lines of `check`; `hidden` counts the runs not shown by how they stand."""
    if hidden:
        counts = ", ".join(f"{n} {word.lower()}" for word, n in sorted(hidden.items()))
        console.print(Text(f"more runs not shown (--all shows them): {counts}", style="dim"))
    noun = "run" if summary.n_runs == 1 else "runs"
    line = Text(f"{summary.n_runs} {noun}, {summary.n_flagged} flagged", style="bold")
    if summary.by_rule:
        counts = ", ".join(f"{rule} {n}" for rule, n in sorted(summary.by_rule.items()))
        line.append(f": {counts}", style="")
    if summary.n_suppressed:
        line.append(f"; {summary.n_suppressed} suppressed or known", style="dim")
    console.print(line)
