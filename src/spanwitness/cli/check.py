"""`spanwitness check`: the rules over stored traces."""

from __future__ import annotations

import json
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.cli.judging import JudgedRuns
    from spanwitness.cli.queue_filing import QueueFiling
    from spanwitness.cli.report import Summary
    from spanwitness.cli.terminal import Standing
    from spanwitness.contracts import Contract

_N_SHOWN_QUIET = 5
"""Runs without a finding that are shown one by one; the others are counted."""


class _Format(StrEnum):
    text = "text"
    json = "json"
    sarif = "sarif"
    junit = "junit"


class _Severity(StrEnum):
    info = "info"
    warning = "warning"
    error = "error"
    critical = "critical"


def check(  # noqa: PLR0913  one option each
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Trace files, folders of them, or - for stdin."),
    ],
    *,
    contract: Annotated[
        list[Path] | None,
        typer.Option(help="A contract file (YAML), or pack:NAME; may be repeated."),
    ] = None,
    format: Annotated[_Format, typer.Option(help="How to print.")] = _Format.text,  # noqa: A002
    fail_on: Annotated[
        _Severity, typer.Option(help="Lowest severity of a violation that makes the exit status 1.")
    ] = _Severity.warning,
    suppressions: Annotated[
        Path | None,
        typer.Option(help="Findings that do not count (YAML). Default: .spanwitness.yaml, if any."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Known findings: only new ones count.")
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(help="Write the findings as known ones; they do not fail this check."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Also file every run in this review queue: sqlite:///PATH, postgresql://..., or "
            "default for the one of the settings.",
        ),
    ] = None,
    all: Annotated[  # noqa: A002
        bool,
        typer.Option(
            "--all",
            help="Also list what holds, what does not apply, and receipts of unflagged runs.",
        ),
    ] = False,
) -> None:
    """Judge stored traces: OTLP/JSON files as a collector, an SDK or spanwitness wrote them.

    Exit status: 2 when an input was unusable, else 1 when an unexplained violation stands at or
    above --fail-on, else 3 when nothing could be assessed, else 0. Suppressed findings and those of
    the baseline stay in the output and count for nothing.
    """
    from spanwitness.cli.judging import JudgedRuns
    from spanwitness.cli.report import Summary
    from spanwitness.findings.accepted import Accepted

    accepted = Accepted(
        suppressions=suppressions, baseline=baseline, keeps=write_baseline is not None
    )
    summary = Summary(fail_on=fail_on.value)
    contracts = _load(contract or ())
    judged = JudgedRuns(paths, contracts, summary, accepted, filing=_open_queue(queue))
    _PRINTERS[format](judged, summary, show_all=all)
    status = summary.exit_code(n_unusable=len(judged.problems))
    if write_baseline is not None:
        n_known = accepted.write(write_baseline)
        print(f"spanwitness: {n_known} known findings: {write_baseline}", file=sys.stderr)
        status = 0 if status == 1 else status
    raise typer.Exit(status)


def _open_queue(url: str | None) -> QueueFiling | None:
    if url is None:
        return None
    from spanwitness.cli.queue_filing import QueueFiling
    from spanwitness.settings import read

    return QueueFiling(read().queue if url == "default" else url)


def _load(paths: Sequence[Path]) -> list[Contract]:
    if not paths:
        return []
    from spanwitness.contracts import load

    return [load(path) for path in paths]


def _print_json(judged: JudgedRuns, summary: Summary, *, show_all: bool) -> None:
    from spanwitness.cli.report import SCHEMA, run_report

    write = sys.stdout.write
    write(f'{{"schema": {json.dumps(SCHEMA)},\n "runs": [')
    separator = "\n  "
    for run, evaluation in judged:
        write(separator + json.dumps(run_report(run, evaluation, show_all=show_all)))
        separator = ",\n  "
    write(f'],\n "summary": {json.dumps(summary.as_dict())}}}\n')


def _print_text(judged: JudgedRuns, summary: Summary, *, show_all: bool) -> None:
    from rich.console import Console

    from spanwitness.cli.terminal import (
        print_content_note,
        print_run,
        print_summary,
        standing,
    )

    console = Console(soft_wrap=False, highlight=False)
    n_quiet = 0
    hidden: Counter[Standing] = Counter()
    is_told = False
    for run, evaluation in judged:
        n_quiet += not evaluation.is_flagged
        if not evaluation.is_flagged and n_quiet > _N_SHOWN_QUIET and not show_all:
            hidden[standing(run, evaluation)] += 1
            continue
        if run.content in ("off", "digests") and not is_told:
            print_content_note(console, run)
            is_told = True
        print_run(console, run, evaluation, with_ledger=True, show_all=show_all)
    print_summary(console, summary, hidden=hidden)


def _print_sarif(judged: JudgedRuns, summary: Summary, *, show_all: bool) -> None:
    from spanwitness.cli.sarif import write_sarif

    write_sarif(judged, summary, sys.stdout, show_all=show_all)


def _print_junit(judged: JudgedRuns, summary: Summary, *, show_all: bool) -> None:
    from spanwitness.cli.junit import write_junit

    write_junit(judged, summary, sys.stdout, show_all=show_all)


_PRINTERS = {
    _Format.text: _print_text,
    _Format.json: _print_json,
    _Format.sarif: _print_sarif,
    _Format.junit: _print_junit,
}
