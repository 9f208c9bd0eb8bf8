"""How items, their history and the figures of the queue look in a terminal.

Names and texts come from traces and people: they are shown as plain text, with control characters
made visible, and cut.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spanwitness.cli.terminal import ledger_table, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from spanwitness.model import AssessedClaim
    from spanwitness.review.store.values import (
        Counts,
        Event,
        Item,
        ItemDetail,
        MissRate,
        RuleStats,
        RunSummary,
        Snapshot,
    )
    from spanwitness.stats.agreement import Agreement

_SEVERITY_STYLE: Final = {
    "info": "cyan",
    "warning": "yellow",
    "error": "bold red",
    "critical": "bold white on red",
}
_MAX_TRACES: Final = 3
_MAX_EVENTS: Final = 30


def print_items(console: Console, items: Iterable[Item], counts: Counts, *, is_cut: bool) -> None:
    """Print a list of items, the first in turn at the top."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in ("id", "severity", "rule", "agent", "count", "state", "due"):
        if column in ("rule", "agent", "state"):  # what is long goes on below, and is not cut
            table.add_column(column, overflow="fold", max_width=40)
        else:
            table.add_column(column, no_wrap=True)
    now = datetime.now(UTC)
    n_items = 0
    for item in items:
        n_items += 1
        state = item.state if item.owner is None else f"{item.state} by {item.owner}"
        if item.verdict is not None:
            state = f"{state}, {item.verdict}"
        table.add_row(
            Text(str(item.id)),
            Text(item.severity, style=_SEVERITY_STYLE[item.severity]),
            Text(visible(item.rule, limit=40)),
            Text(visible(item.agent or "", limit=40)),
            Text(str(item.count)),
            Text(visible(state, limit=40)),
            _due(item, now),
        )
    if n_items:
        console.print(table)
    if is_cut:
        console.print(Text("more items follow (--limit shows more)", style="dim"))
    told = f"{counts.open} open, {counts.claimed} claimed, {counts.snoozed} snoozed, "
    console.print(Text(f"{told}{counts.resolved} resolved, {counts.overdue} overdue", style="bold"))


def _due(item: Item, now: datetime) -> Text:
    if item.state == "resolved":
        return Text("-", style="dim")
    if item.state == "snoozed" and item.until is not None:
        return Text(f"rests until {item.until:%Y-%m-%d %H:%M}", style="dim")
    style = "bold red" if item.due_at < now else ""
    return Text(f"{item.due_at:%Y-%m-%d %H:%M}", style=style)


def print_item(
    console: Console,
    detail: ItemDetail,
    run: RunSummary | None,
    snapshot: Snapshot | None,
    claims: tuple[AssessedClaim, ...],
) -> None:
    """Print one item: its claim, the ledger and receipts of one trace, its history."""
    item = detail.item
    console.print(_headline(item), soft_wrap=True)
    console.print(Padding(Text(visible(item.reason)), (0, 0, 0, 2), expand=False))
    _print_facts(console, item)
    if run is not None and run.ledger:
        console.print(ledger_table(run.ledger))
    elif run is not None and run.ledger == ():
        console.print(Text("  no tool was offered or called", style="dim"))
    if claims:
        from spanwitness.cli.claims_text import print_claims

        print_claims(console, claims)
    elif snapshot is None:
        console.print(Text("  the spans of this trace are not kept, or no longer", style="dim"))
    elif snapshot.content != "on":
        console.print(Text("  kept without content: no receipts", style="dim"))
    console.print(Text("  history", style="bold"))
    for event in detail.events[-_MAX_EVENTS:]:
        console.print(_event_line(event), soft_wrap=True)


def _headline(item: Item) -> Text:
    line = Text(f"#{item.id} ", style="bold")
    line.append(item.severity, style=_SEVERITY_STYLE[item.severity])
    line.append(f"  {visible(item.rule, limit=60)}", style="bold")
    if item.subject is not None:
        line.append(f"  {visible(item.subject, limit=60)}")
    fault = item.fault if item.kind is None else f"{item.fault}/{item.kind}"
    line.append(f"  fault: {fault}", style="magenta")
    line.append(f"  {item.state}", style="bold")
    if item.is_regressed:
        line.append(
            f", back {item.regressions} time{'' if item.regressions == 1 else 's'}",
            style="bold red",
        )
    return line


def _print_facts(console: Console, item: Item) -> None:
    facts = [
        ("agent", item.agent),
        ("service", item.service),
        ("contract", item.contract),
        ("seen", f"{item.count} time{'' if item.count == 1 else 's'}, {_span(item)}"),
        ("held by", _held(item)),
        ("traces", ", ".join(s.trace_id for s in item.samples[:_MAX_TRACES])),
    ]
    for name, value in facts:
        if value:
            console.print(Text(f"  {name}: {visible(value, limit=160)}", style="dim"))
    if item.verdict is not None and item.verdict_at is not None:
        line = f"  verdict: {item.verdict} by {item.verdict_by}, {item.verdict_at:%Y-%m-%d %H:%M}"
        console.print(Text(visible(line)))
        if item.verdict_reason:
            console.print(Text(f"    {visible(item.verdict_reason)}"))


def _span(item: Item) -> str:
    return f"{item.first_seen:%Y-%m-%d %H:%M} to {item.last_seen:%Y-%m-%d %H:%M} UTC"


def _held(item: Item) -> str | None:
    if item.owner is None or item.until is None:
        return None
    return f"{item.owner} until {item.until:%Y-%m-%d %H:%M} UTC"


def _event_line(event: Event) -> Text:
    line = Text(f"    {event.at:%Y-%m-%d %H:%M:%S}  ", style="dim")
    line.append(visible(event.actor, limit=40))
    word = event.action.replace("_", " ")
    if event.action == "verdict" and event.data is not None:
        word = f"verdict {event.data['verdict']}"
    line.append(f"  {word}", style="bold")
    if event.note:
        line.append(f"  {visible(event.note)}")
    return line


def print_stats(
    console: Console,
    rules: Iterable[RuleStats],
    agreed: Agreement | None,
    missed: MissRate,
) -> None:
    """Print the precision of each rule, and what audit mode says."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("rule", overflow="fold")
    for column in (
        "ver.", "precision\n95 % interval", "n", "confirmed", "false\npositive", "expected",
        "cannot\ntell",
    ):  # fmt: skip
        table.add_column(column, no_wrap=True)
    is_empty = True
    for stats in rules:
        is_empty = False
        counts = (stats.confirmed, stats.false_positive, stats.expected, stats.cannot_tell)
        table.add_row(
            Text(visible(stats.rule, limit=40)),
            str(stats.version),
            f"{_share(stats.precision)}\n{_interval(stats.ci_low, stats.ci_high)}",
            str(stats.n),
            *map(str, counts),
        )
    if is_empty:
        console.print("no verdicts yet")
    else:
        console.print(table)
        note = "among what was reviewed, the worst first: no random sample; a bulk verdict is one"
        console.print(Text(note, style="dim"))
    if missed.n_judged:
        console.print(
            f"audit: {missed.n_judged} runs judged; missed {_share(missed.miss_rate)} of unsound "
            f"runs {_interval(missed.ci_low, missed.ci_high)}, flagged "
            f"{_share(missed.false_alarm_rate)} of sound runs; {missed.n_cannot_tell} cannot tell"
        )
    if agreed is not None:
        kappa = "undefined" if agreed.kappa is None else f"{agreed.kappa:.2f}"
        told = f"{agreed.agreed.k} of {agreed.n_cases} alike, kappa {kappa}"
        console.print(f"second reviewers: {told} {_interval(agreed.ci_low, agreed.ci_high)}")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
