"""Judging dialogs on the one road: spans, OTLP/JSON, reader, runs, rules."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.detection.spans import spans_of, trace_ids
from spanwitness.archive import TraceReader
from spanwitness.archive.otlp_json import encode
from spanwitness.model.verdict import at_least
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.detection.dialogs import Dialog
    from benchmarks.detection.spans import Layout
    from spanwitness.contracts import Contract
    from spanwitness.model import SpanRecord, Verdict

__all__ = ["Judged", "judge_dialogs", "judge_traces", "write"]


@dataclass
class Judged:
    """What the rules said of one unit (a dialog, or one trace)."""

    violated: set[str] = field(default_factory=set)
    """Rules violated at `warning` or above, explained or not."""
    found: set[str] = field(default_factory=set)
    """Those that no other violation explains: the findings."""
    verdicts: list[Verdict] = field(default_factory=list)
    """Every violation, with those at `info`."""

    @property
    def is_flagged(self) -> bool:
        """Whether a finding stands at `warning` or above."""
        return bool(self.found)

    def add(self, verdicts: Iterable[Verdict]) -> None:
        """Take the verdicts of one run."""
        for verdict in verdicts:
            if verdict.verdict != "violated":
                continue
            self.verdicts.append(verdict)
            if at_least(verdict.severity, "warning"):
                self.violated.add(verdict.rule)
                if verdict.is_finding:
                    self.found.add(verdict.rule)


def write(path: Path, spans: Iterable[SpanRecord]) -> None:
    """Write spans as OTLP/JSON lines."""
    with path.open("wb") as file:
        for line in encode(spans):
            file.write(line + b"\n")


def judge_dialogs(
    dialogs: Sequence[Dialog],
    *,
    layout: Layout = "turns",
    contracts: dict[str, Contract] | None = None,
) -> dict[str, Judged]:
    """Judge dialogs, each with its own contract where one is given, by the dialogs' keys."""
    names = {trace_ids(dialog): dialog.key for dialog in dialogs}
    found = {dialog.key: Judged() for dialog in dialogs}
    with tempfile.TemporaryDirectory(prefix="spanwitness-detection-") as folder:
        path = Path(folder) / "traces.jsonl"
        write(path, (span for dialog in dialogs for span in spans_of(dialog, layout)))
        for spans in TraceReader([path]):
            key = names[spans[0].trace_id[:28]]
            contract = (contracts or {}).get(key)
            for run in build_runs(spans):
                found[key].add(evaluate(run, [] if contract is None else [contract]).verdicts)
    return found


def judge_traces(traces: Iterable[Sequence[SpanRecord]]) -> dict[str, Judged]:
    """Judge other traces, by trace id."""
    found: dict[str, Judged] = defaultdict(Judged)
    with tempfile.TemporaryDirectory(prefix="spanwitness-detection-") as folder:
        path = Path(folder) / "traces.jsonl"
        write(path, (span for trace in traces for span in trace))
        for spans in TraceReader([path]):
            for run in build_runs(spans):
                found[spans[0].trace_id].add(evaluate(run, []).verdicts)
    return dict(found)
