"""The one road from spans to judged runs; live spans and stored ones take it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.findings.judged import Judged
from spanwitness.normalize import build_runs
from spanwitness.rules import engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanwitness.contracts.model import Contract
    from spanwitness.model import Run, SpanRecord

__all__ = ["judge", "judge_trace", "runs_of"]


def runs_of(records: Iterable[SpanRecord]) -> list[Run]:
    """Build the runs of one trace.

    Args:
        records: Its spans in any order. Spans that carry our own verdicts are no part of a run.
    """
    return build_runs(records)


def judge(
    run: Run, contracts: Sequence[Contract] = (), *, spans: Sequence[SpanRecord] | None = None
) -> Judged:
    """Judge one run by every rule and by the contracts that are about it.

    Args:
        run: The run.
        contracts: The contracts.
        spans: The spans of its trace, handed on for those who keep them.
    """
    evaluation = engine.evaluate(run, contracts)
    return Judged(
        run=run,
        verdicts=evaluation.verdicts,
        contract=evaluation.contract,
        claims=evaluation.claims,
        spans=spans,
    )


def judge_trace(records: Iterable[SpanRecord], contracts: Sequence[Contract] = ()) -> list[Judged]:
    """Judge every run of one trace; arguments as of `runs_of` and `judge`."""
    spans = list(records)
    return [judge(run, contracts, spans=spans) for run in runs_of(spans)]
