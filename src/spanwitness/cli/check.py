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
    from collections.abc import Collection, Iterator, Sequence

    from spanwitness.cli.report import Summary
    from spanwitness.cli.terminal import Standing
    from spanwitness.contracts import Contract
    from spanwitness.model import Run
    from spanwitness.rules.engine import Evaluation

_N_SHOWN_QUIET = 5
"""Runs without a finding that are shown one by one; the others are counted."""


class _Format(StrEnum):
    text = "text"
    json = "json"


class _Severity(StrEnum):
    info = "info"
    warning = "warning"
    error = "error"
    critical = "critical"


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Trace files, folders of them, or - for stdin."),
    ],
    *,
    contract: Annotated[
        list[Path] | None, typer.Option(help="A contract file (YAML); may be repeated.")
    ] = None,
    format: Annotated[_Format, typer.Option(help="How to print.")] = _Format.text,  # noqa: A002
    fail_on: Annotated[
        _Severity, typer.Option(help="Lowest severity of a violation that makes the exit status 1.")
    ] = _Severity.warning,
    all: Annotated[  # noqa: A002
        bool, typer.Option("--all", help="Also list what holds and what does not apply.")
    ] = False,
) -> None:
    """Judge stored traces: OTLP/JSON files as a collector, an SDK or spanwitness wrote them.

    Exit status: 2 when an input was unusable, else 1 when an unexplained violation stands at or
    above --fail-on, else 3 when nothing could be assessed, else 0.
    """
    from spanwitness.cli.report import Summary

    summary = Summary(fail_on=fail_on.value)
    judged = _Judged(paths, _load(contract or ()), summary)
    if format is _Format.json:
        _print_json(judged, summary, show_all=all)
    else:
        _print_text(judged, summary, show_all=all)
    raise typer.Exit(summary.exit_code(n_unusable=judged.n_unusable))


def _load(paths: Sequence[Path]) -> list[Contract]:
    if not paths:
        return []
    from spanwitness.contracts import load

    return [load(path) for path in paths]


class _Judged:
    """Runs and what the rules say of them, one at a time, in constant memory."""

    def __init__(
        self, paths: Sequence[Path], contracts: Sequence[Contract], summary: Summary
    ) -> None:
        self._paths = paths
        self._contracts = contracts
        self._summary = summary
        self.n_unusable = 0

    def __iter__(self) -> Iterator[tuple[Run, Evaluation]]:
        from spanwitness.archive import TraceReader
        from spanwitness.normalize import build_runs
        from spanwitness.rules.engine import evaluate

        reader = TraceReader(self._paths)
        unapplied = {contract.name for contract in self._contracts}
        n_runless = 0
        for spans in reader:
            runs = build_runs(spans)
            n_runless += not runs
            for run in runs:
                evaluation = evaluate(run, self._contracts)
                if unapplied and evaluation.contract is not None:
                    unapplied.difference_update(evaluation.contract.split(", "))
                self._summary.add(evaluation)
                yield run, evaluation
        for problem in reader.problems:
            print(f"spanwitness: {problem}", file=sys.stderr)
        for note in reader.notes:
            print(f"spanwitness: note: {note}", file=sys.stderr)
        for note in _notes(unapplied, n_runless):
            print(f"spanwitness: note: {note}", file=sys.stderr)
        self.n_unusable = len(reader.problems)


def _notes(unapplied: Collection[str], n_runless: int) -> Iterator[str]:
    """Tell what would pass for a good result though nothing was judged."""
    for name in sorted(unapplied):
        yield f"contract {name}: it is about none of these runs; compare its `when` with them"
    if n_runless:
        noun = "trace holds" if n_runless == 1 else "traces hold"
        yield f"{n_runless} {noun} no span of an agent, a model call or a tool"


def _print_json(judged: _Judged, summary: Summary, *, show_all: bool) -> None:
    from spanwitness.cli.report import SCHEMA, run_report

    write = sys.stdout.write
    write(f'{{"schema": {json.dumps(SCHEMA)},\n "runs": [')
    separator = "\n  "
    for run, evaluation in judged:
        write(separator + json.dumps(run_report(run, evaluation, show_all=show_all)))
        separator = ",\n  "
    write(f'],\n "summary": {json.dumps(summary.as_dict())}}}\n')


def _print_text(judged: _Judged, summary: Summary, *, show_all: bool) -> None:
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
