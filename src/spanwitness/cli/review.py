"""`spanwitness review`: the queue from a terminal."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.cli.review_deliver import deliver
from spanwitness.cli.review_options import (
    Agent,
    By,
    Format,
    ItemId,
    QueueUrl,
    Rule,
    Service,
    SeverityWord,
    StateWord,
    VerdictWord,
    login,
    make_filter,
    opened,
    read_moment,
    read_span,
)
from spanwitness.cli.review_serve import serve_page
from spanwitness.cli.review_token import token
from spanwitness.cli.review_upkeep import audit, export, prune, stats
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from spanwitness.model import AssessedClaim
    from spanwitness.review import Item, Queue
    from spanwitness.review.store.values import Snapshot

SCHEMA = "spanwitness.queue/1"

review = typer.Typer(
    name="review",
    help="Work through the review queue: flagged runs, and what people say of them.",
    no_args_is_help=True,
    add_completion=False,
)
review.command("serve")(serve_page)
review.command()(stats)
review.command()(export)
review.command()(prune)
review.command()(deliver)
review.add_typer(audit)
review.add_typer(token)


@review.command("list")
def list_items(  # noqa: PLR0913  one option each
    *,
    queue: QueueUrl = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,  # noqa: A002
    state: Annotated[
        list[StateWord] | None,
        typer.Option(help="Only in this state; may be repeated. Text shows unresolved ones."),
    ] = None,
    rule: Rule = None,
    agent: Agent = None,
    service: Service = None,
    severity: Annotated[
        SeverityWord, typer.Option(help="Lowest severity shown.")
    ] = SeverityWord.info,
    search: Annotated[str, typer.Option(help="Part of any name or reason, or a trace id.")] = "",
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many at most. Default: 50 as text, else all.")
    ] = None,
) -> None:
    """List items by severity, due time and age. JSON holds the resolved ones too."""
    wanted = state
    if wanted is None and format is Format.text:
        wanted = [StateWord.open, StateWord.claimed, StateWord.snoozed]
    only = make_filter(
        state=wanted or (), rule=rule, agent=agent, service=service, severity=severity, text=search
    )
    with opened(queue) as found:
        if format is Format.text:
            from rich.console import Console

            from spanwitness.cli.review_text import print_items

            page = found.items(only, limit=limit or 50)
            counts = found.counts()
            console = Console(highlight=False)
            print_items(console, page.rows, counts, is_cut=page.after is not None)
            return
        from spanwitness.review.store.exporting import item_row

        sys.stdout.write(f'{{"schema": {json.dumps(SCHEMA)}, "items": [')
        separator = "\n  "
        after: str | None = None
        left = limit if limit is not None else sys.maxsize
        while left > 0:
            page = found.items(only, limit=min(left, 500), after=after)
            for item in page.rows:
                sys.stdout.write(separator + json.dumps(item_row(item)))
                separator = ",\n  "
            left -= len(page.rows)
            after = page.after
            if after is None:
                break
        sys.stdout.write("]}\n")


@review.command("next")
def claim_next(
    *,
    queue: QueueUrl = None,
    by: By = None,
    lease: Annotated[str, typer.Option(help="How long it is yours: 15m, 4h.")] = "15m",
    rule: Rule = None,
    agent: Agent = None,
    service: Service = None,
) -> None:
    """Take the next open item and show it. Exit status 3 when none is open."""
    lease_s = read_span(lease, option="--lease").total_seconds()
    with opened(queue) as found:
        only = make_filter(rule=rule, agent=agent, service=service)
        item = found.claim_next(by or login(), lease_s=lease_s, only=only)
        if item is None:
            print("nothing is open")
            raise typer.Exit(3)
        _show(found, item.id, None)


@review.command()
def show(
    item_id: ItemId,
    *,
    queue: QueueUrl = None,
    trace: Annotated[
        str | None, typer.Option(help="The trace to show; default: the latest sample.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,  # noqa: A002
) -> None:
    """Show an item: the claim in a sentence, ledger, receipts, history."""
    with opened(queue) as found:
        if format is Format.json:
            import msgspec

            print(json.dumps(msgspec.to_builtins(found.item(item_id)), indent=2))
        else:
            _show(found, item_id, trace)


def _show(queue: Queue, item_id: int, trace: str | None) -> None:
    from rich.console import Console

    from spanwitness.cli.review_text import print_item

    detail = queue.item(item_id)
    samples = [s for s in detail.item.samples if trace in (None, s.trace_id)]
    if trace is not None and not samples:
        raise SettingsError(f"--trace {trace!r}: it is no sample of item {item_id}")
    run = snapshot = None
    if samples:
        run = queue.run(samples[-1].trace_id, samples[-1].run_id)
        snapshot = queue.snapshot(samples[-1].trace_id, samples[-1].run_id)
    console = Console(highlight=False)
    print_item(console, detail, run, snapshot, _claims(snapshot))


def _claims(snapshot: Snapshot | None) -> tuple[AssessedClaim, ...]:
    """Return what the answer of a kept run claims, with its receipts."""
    if snapshot is None or snapshot.content != "on":
        return ()
    from spanwitness.normalize import build_runs
    from spanwitness.rules.facts import Facts

    for run in build_runs(snapshot.spans):
        if run.run_id == snapshot.run_id:
            return tuple(Facts(run).claims)
    return ()


@review.command()
def verdict(  # noqa: PLR0913  one option each
    item_id: ItemId,
    *,
    verdict: Annotated[VerdictWord, typer.Option(help="What you say of it.")],
    queue: QueueUrl = None,
    by: By = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None,
    trace: Annotated[
        str | None, typer.Option(help="The trace you judged; default: the latest sample.")
    ] = None,
    fault: Annotated[
        str | None, typer.Option(help="The fault, where the rule names a wrong one.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of reasoning fault.")] = None,
    version: Annotated[
        int | None, typer.Option(help="The version you saw: refused if it has changed since.")
    ] = None,
) -> None:
    """Judge an item: it is resolved."""
    with opened(queue) as found:
        item = found.verdict(
            item_id,
            verdict=verdict.value,
            by=by or login(),
            reason=reason,
            trace_id=trace,
            fault=fault,  # type: ignore[arg-type]  # the queue refuses words it does not know
            kind=kind,  # type: ignore[arg-type]
            version=version,
        )
    _tell(item)


@review.command()
def snooze(
    item_id: ItemId,
    until: Annotated[str, typer.Argument(metavar="UNTIL", help="A date, a time, or 4h, 7d, 2w.")],
    *,
    queue: QueueUrl = None,
    by: By = None,
) -> None:
    """Let an item rest."""
    moment = read_moment(until, option="UNTIL", is_ahead=True)
    with opened(queue) as found:
        _tell(found.snooze(item_id, moment, by or login()))


@review.command()
def note(
    item_id: ItemId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note.")],
    *,
    queue: QueueUrl = None,
    by: By = None,
) -> None:
    """Add a note to an item's history."""
    with opened(queue) as found:
        found.note(item_id, text, by or login())


@review.command()
def release(item_id: ItemId, *, queue: QueueUrl = None, by: By = None) -> None:
    """Give an item back that you hold."""
    with opened(queue) as found:
        _tell(found.release(item_id, by or login()))


@review.command()
def reopen(
    item_id: ItemId,
    *,
    queue: QueueUrl = None,
    by: By = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None,
) -> None:
    """Open a resolved or resting item again."""
    with opened(queue) as found:
        _tell(found.reopen(item_id, by or login(), reason=reason))


@review.command()
def undo(item_id: ItemId, *, queue: QueueUrl = None, by: By = None) -> None:
    """Take back your latest verdict, rest or reopening of an item."""
    with opened(queue) as found:
        _tell(found.undo(item_id, by or login()))


@review.command()
def bulk(
    *,
    verdict: Annotated[VerdictWord, typer.Option(help="What you say of all of them.")],
    rule: Rule = None,
    agent: Agent = None,
    service: Service = None,
    search: Annotated[str, typer.Option(help="Part of any name or reason.")] = "",
    queue: QueueUrl = None,
    by: By = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None,
) -> None:
    """Judge every unresolved item of a group; in statistics that is one verdict."""
    only = make_filter(rule=rule, agent=agent, service=service, text=search)
    with opened(queue) as found:
        done = found.bulk_verdict(only, verdict=verdict.value, by=by or login(), reason=reason)
    print(f"{len(done)} items resolved: {verdict.value}")


def _tell(item: Item) -> None:
    told = f"item {item.id} is {item.state}"
    if item.state == "resolved":
        told = f"{told}: {item.verdict}"
    elif item.until is not None:
        told = f"{told} until {item.until:%Y-%m-%d %H:%M} UTC"
    print(told)
