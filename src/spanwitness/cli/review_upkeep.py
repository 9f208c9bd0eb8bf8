"""Figures, exports, retention and audit mode of the queue, from a terminal."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spanwitness.cli.review_options import By, Format, QueueUrl, login, opened, read_moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from spanwitness.review.store.values import RuleStats

_STATS_KEYS: Final = (
    "rule", "version", "confirmed", "false_positive", "expected", "cannot_tell", "precision",
    "ci_low", "ci_high", "n",
)  # fmt: skip

audit = typer.Typer(
    name="audit",
    help="Judge runs that were drawn at random, without knowing what rules found in them.",
    no_args_is_help=True,
    add_completion=False,
)


class _Interval(StrEnum):
    wilson = "wilson"
    exact = "exact"


class _What(StrEnum):
    items = "items"
    findings = "findings"
    verdicts = "verdicts"
    audit = "audit"
    labels = "labels"


class _File(StrEnum):
    jsonl = "jsonl"
    csv = "csv"


class _AuditWord(StrEnum):
    sound = "sound"
    unsound = "unsound"
    cannot_tell = "cannot_tell"


def stats(
    *,
    queue: QueueUrl = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,  # noqa: A002
    interval: Annotated[
        _Interval, typer.Option(help="Wilson, or exact (Clopper-Pearson).")
    ] = _Interval.wilson,
) -> None:
    """Print the precision of each rule and version by people's verdicts, always with n."""
    with opened(queue) as found:
        rules = found.rule_stats(method=interval.value)
        if format is Format.json:
            print(json.dumps({"rules": [_stats_row(each) for each in rules]}, indent=1))
            return
        from rich.console import Console

        from spanwitness.cli.review_text import print_stats

        console = Console(highlight=False)
        print_stats(console, rules, found.agreement(), found.miss_rate())


def _stats_row(stats: RuleStats) -> dict[str, object]:
    return {name: getattr(stats, name) for name in _STATS_KEYS}


def export(
    *,
    what: Annotated[
        _What,
        typer.Option(
            help="Items, findings, verdicts, audited runs, or labels of runs for `measure`."
        ),
    ] = _What.items,
    format: Annotated[_File, typer.Option(help="JSON lines or CSV.")] = _File.jsonl,  # noqa: A002
    queue: QueueUrl = None,
) -> None:
    """Write the queue as rows to standard output."""
    with opened(queue) as found:
        rows = found.export(what.value)
        if format is _File.jsonl:
            for row in rows:
                sys.stdout.write(json.dumps(row) + "\n")
        else:
            _write_csv(rows)


def _write_csv(rows: Iterable[dict[str, object]]) -> None:
    import csv

    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: object) -> object:
    text = json.dumps(value) if isinstance(value, list | dict) else value
    # A spreadsheet would run a text that begins like a formula.
    if isinstance(text, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{text}"
    return text


def prune(
    *,
    content_before: Annotated[
        str | None, typer.Option(help="Drop spans and evidence kept before: a date, or 30d.")
    ] = None,
    runs_before: Annotated[
        str | None, typer.Option(help="Drop runs without a finding, and messages that are out.")
    ] = None,
    items_before: Annotated[
        str | None, typer.Option(help="Drop items resolved before; their verdicts stay.")
    ] = None,
    queue: QueueUrl = None,
    by: By = None,
) -> None:
    """Forget what is old: content first. Verdicts and history are never dropped."""
    moments: dict[str, datetime] = {
        name: read_moment(text, option=f"--{name.replace('_', '-')}", is_ahead=False)
        for name, text in (
            ("content_before", content_before),
            ("runs_before", runs_before),
            ("items_before", items_before),
        )
        if text is not None
    }
    if not moments:
        raise typer.BadParameter("say what to forget: --content-before, --runs-before, ...")
    with opened(queue) as found:
        done = found.prune(by or login(), **moments)
    print(
        f"dropped {done.snapshots} snapshots, evidence of {done.evidence} findings, "
        f"{done.runs} runs, {done.items} items, {done.messages} messages"
    )


@audit.command("sampling")
def sampling(
    *,
    flagged: Annotated[float | None, typer.Option(help="Share of flagged runs.")] = None,
    unflagged: Annotated[float | None, typer.Option(help="Share of unflagged runs.")] = None,
    second: Annotated[
        float | None, typer.Option(help="Share of audited runs for a second reviewer.")
    ] = None,
    queue: QueueUrl = None,
    by: By = None,
) -> None:
    """Set the shares of runs that are drawn from now on, and print them."""
    import msgspec

    given = {"flagged": flagged, "unflagged": unflagged, "second": second}
    changes = {name: share for name, share in given.items() if share is not None}
    with opened(queue) as found:
        wanted = msgspec.structs.replace(found.sampling(), **changes)
        if changes:
            found.set_sampling(wanted, by or login())
    print(f"flagged {wanted.flagged:g}, unflagged {wanted.unflagged:g}, second {wanted.second:g}")


@audit.command("next")
def audit_next(*, queue: QueueUrl = None, by: By = None) -> None:
    """Take the next drawn run and show its ledger, not what rules say. Exit status 3: none."""
    from rich.console import Console

    from spanwitness.cli.terminal import ledger_table, visible

    with opened(queue) as found:
        run = found.audit_next(by or login())
        if run is None:
            print("nothing is drawn")
            raise typer.Exit(3)
        summary = found.run(run.trace_id, run.run_id)
    console = Console(highlight=False)
    console.print(
        f"audit {run.id}  trace {visible(run.trace_id)}  agent {visible(run.agent or '?')}",
        markup=False,
        soft_wrap=True,
    )
    if summary is not None and summary.ledger:
        console.print(ledger_table(summary.ledger))
    console.print("Is the account of this run sound? (review audit verdict)", markup=False)


@audit.command("verdict")
def audit_verdict(
    audit_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the drawn run.")],
    *,
    verdict: Annotated[_AuditWord, typer.Option(help="Whether its account is sound.")],
    queue: QueueUrl = None,
    by: By = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None,
) -> None:
    """Say whether the account of a drawn run is sound."""
    with opened(queue) as found:
        found.audit_verdict(audit_id, word=verdict.value, by=by or login(), reason=reason)
