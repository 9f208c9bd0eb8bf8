"""Runs of stored traces and what the rules say of them, for `check`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from spanwitness.cli.queue_filing import QueueFiling
    from spanwitness.cli.report import Summary
    from spanwitness.contracts import Contract
    from spanwitness.findings.accepted import Accepted
    from spanwitness.model import Run
    from spanwitness.rules.engine import Evaluation


class JudgedRuns:
    """Runs and what the rules say of them, one at a time, in constant memory.

    Args:
        paths: Trace files, folders of them, or `-`.
        contracts: The contracts.
        summary: Counts every run.
        accepted: Marks the findings that do not count.
        filing: Takes every run into the review queue; `None` = no queue.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        contracts: Sequence[Contract],
        summary: Summary,
        accepted: Accepted,
        filing: QueueFiling | None = None,
    ) -> None:
        self.paths = list(paths)
        self._contracts = contracts
        self._summary = summary
        self._accepted = accepted
        self._filing = filing
        self.problems: list[str] = []
        """What could not be used, known when all runs were taken."""

    def __iter__(self) -> Iterator[tuple[Run, Evaluation]]:
        from spanwitness.archive import TraceReader
        from spanwitness.normalize import build_runs
        from spanwitness.rules.engine import evaluate

        reader = TraceReader(self.paths)
        unapplied = {contract.name for contract in self._contracts}
        n_runless = 0
        for spans in reader:
            runs = build_runs(spans)
            n_runless += not runs
            for run in runs:
                evaluation = self._accepted.mark(run, evaluate(run, self._contracts))
                if unapplied and evaluation.contract is not None:
                    unapplied.difference_update(evaluation.contract.split(", "))
                self._summary.add(evaluation)
                if self._filing is not None:
                    self._filing.take(run, evaluation, spans)
                yield run, evaluation
        self.problems = [str(problem) for problem in reader.problems]
        told = None if self._filing is None else self._filing.close()
        if self._filing is not None and self._filing.problem is not None:
            self.problems.append(self._filing.problem)
        for problem in self.problems:
            print(f"spanwitness: {problem}", file=sys.stderr)
        if told is not None:
            print(f"spanwitness: {told}", file=sys.stderr)
        for note in (*reader.notes, *_notes(unapplied, n_runless), *self._accepted.notes()):
            print(f"spanwitness: note: {note}", file=sys.stderr)


def _notes(unapplied: Collection[str], n_runless: int) -> Iterator[str]:
    """Tell what would pass for a good result though nothing was judged."""
    for name in sorted(unapplied):
        yield f"contract {name}: it is about none of these runs; compare its `when` with them"
    if n_runless:
        noun = "trace holds" if n_runless == 1 else "traces hold"
        yield f"{n_runless} {noun} no span of an agent, a model call or a tool"
