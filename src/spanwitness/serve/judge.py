"""Judges held traces when they are due, and tells the sinks; one thread does it all."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.guard import guard
from spanwitness.live.evaluate import judge, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from spanwitness.contracts.model import Contract
    from spanwitness.findings.accepted import Accepted
    from spanwitness.findings.judged import FindingKey, Judged
    from spanwitness.model import Run, SpanRecord
    from spanwitness.serve.counters import Counters
    from spanwitness.serve.holder import Held, TraceHolder
    from spanwitness.serve.spool import Spool

__all__ = ["Judge", "JudgedRun", "RunSink"]

_MAX_DELAY_S: Final = 60.0
_BATCH: Final = 50


class JudgedRun(NamedTuple):
    """A judged run together with what it was judged on."""

    judged: Judged
    """All of its verdicts, also when it was judged before."""
    spans: Sequence[SpanRecord]
    """Of its whole trace."""
    news: frozenset[FindingKey]
    """Findings that no earlier judgement of this run by this process had."""


class RunSink(Protocol):
    """Takes judged runs further: to the queue, to a backend.

    What it raises is contained and counted, and the trace is judged and handed over again later: a
    sink must take the same finding twice without harm.
    """

    name: str

    def take(self, runs: Sequence[JudgedRun]) -> None:
        """Take judged runs: all of them, or raise."""
        ...


class Judge:
    """Judges what is due, in a thread of its own.

    Args:
        holder: Holds the traces.
        contracts: Contracts that runs are judged by, beside the rules.
        accepted: Marks findings that do not count; `None` = all do.
        sinks: Told of each judged run, in order; a trace counts as judged when all took it.
        counters: What is counted.
        spool: Told what is not needed any more.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        holder: TraceHolder,
        *,
        contracts: Sequence[Contract] = (),
        accepted: Accepted | None = None,
        sinks: Sequence[RunSink] = (),
        counters: Counters,
        spool: Spool | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._holder = holder
        self._contracts = tuple(contracts)
        self._accepted = accepted
        self._sinks = tuple(sinks)
        self._counters = counters
        self._spool = spool
        self._clock = clock
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._judging = threading.Lock()
        self._thread: threading.Thread | None = None
        self._delay_s = 1.0
        self.lag_s = 0.0
        """How long the trace judged last had been quiet beyond its grace: how far we lag."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="spanwitness-judge", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> int:
        """Stop the thread and judge everything that is held, whether it is over or not.

        A spool keeps the traces that are not over: who starts next judges them again, with what
        came meanwhile.

        Returns:
            How many traces could not be handed over; a spool has them too.
        """
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._judge_all(self._holder.all_waiting())
        if self._spool is not None:
            self._spool.release(self._holder.unfinished().__contains__)
        return self._holder.n_waiting

    def run_due(self) -> int:
        """Judge what is due now; return how many traces that were."""
        now = self._clock()
        limits = self._holder.limits
        is_full = self._holder.size_bytes > 0.9 * limits.max_bytes
        due = self._holder.due(now, is_full=is_full)
        self._judge_all(due)
        self._holder.let_go(self._clock())
        if self._spool is not None:
            self._spool.release(self._holder.holds)
            self._compact(self._spool)
        return len(due)

    def _run(self) -> None:
        pause_s = max(0.02, min(1.0, self._holder.limits.grace_s / 4))
        while not self._stop.is_set():
            with guard("serve.judge"):
                self.run_due()
            self._wake.wait(pause_s)

    def _judge_all(self, trace_ids: Sequence[str]) -> None:
        """Judge traces in batches: a database takes fifty runs in little more time than one."""
        for start in range(0, len(trace_ids), _BATCH):
            batch = trace_ids[start : start + _BATCH]
            if not self._judge(batch) and len(batch) > 1:
                # One of them may be at fault: it must not hold up the others.
                for trace_id in batch:
                    self._judge([trace_id])

    def _judge(self, trace_ids: Sequence[str]) -> bool:
        """Judge traces and tell the sinks; say whether all sinks took them."""
        with self._judging:
            taken = [held for held in map(self._holder.take, trace_ids) if held is not None]
            is_told = False
            runs: list[list[JudgedRun]] = []
            with guard("serve.judge"):
                runs = [self._judged(held) for held in taken]
                is_told = self._tell([run for each in runs for run in each])
            now = self._clock()
            if not is_told:
                if len(taken) == 1:
                    self._holder.postpone(taken[0].trace_id, until=now + self._delay_s)
                    self._delay_s = min(_MAX_DELAY_S, 2 * self._delay_s)
                return False
            self._delay_s = 1.0
            for held, found in zip(taken, runs, strict=True):
                self._note(held, found, now)
        return True

    def _judged(self, held: Held) -> list[JudgedRun]:
        """Judge the runs of a trace."""
        found: list[JudgedRun] = []
        for run in runs_of(held.spans):
            judged = judge(_noting_refusals(run, held.n_refused), self._contracts)
            if self._accepted is not None:
                judged = self._accepted.mark_judged(judged)
            before: AbstractSet[FindingKey] = held.told.get(run.run_id, frozenset())
            fresh = frozenset(judged.keyed_findings()) - before
            found.append(JudgedRun(judged, held.spans, fresh))
        return found

    def _tell(self, runs: Sequence[JudgedRun]) -> bool:
        for sink in self._sinks:
            is_taken = False
            with guard(f"serve.sink.{sink.name}"):
                sink.take(runs)
                is_taken = True
            if not is_taken:
                self._counters.add_sink_failure(sink.name)
                return False
        return True

    def _note(self, held: Held, runs: Sequence[JudgedRun], now: float) -> None:
        """Take note of a trace that everybody was told of."""
        told = held.told
        for run in runs:
            run_id = run.judged.run.run_id
            self._count(run, is_again=run_id in told)
            told.setdefault(run_id, set()).update(run.news)
        self._holder.judged(held, told, now=now)
        self.lag_s = max(0.0, now - held.received_at - self._holder.limits.grace_s)

    def _count(self, run: JudgedRun, *, is_again: bool) -> None:
        judged = run.judged
        if is_again:
            self._counters.add_run("again")
        elif judged.is_flagged:
            self._counters.add_run("flagged")
        else:
            self._counters.add_run("clean" if judged.run.is_complete else "incomplete")
        found = judged.keyed_findings()
        for key in run.news:
            self._counters.add_finding(found[key].rule, found[key].severity)

    def _compact(self, spool: Spool) -> None:
        crowded = spool.crowded()
        if crowded:
            spans = self._holder.spans_of(crowded)
            if spans:
                spool.append("protobuf", encode_proto_request(spans), crowded)
            spool.drop_oldest()


def _noting_refusals(run: Run, n_refused: int) -> Run:
    if not n_refused or "spans_lost" in run.incomplete_reasons:
        return run
    reasons = (*run.incomplete_reasons, "spans_lost")
    return msgspec.structs.replace(run, is_complete=False, incomplete_reasons=reasons)
