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

    from spanwitness.contracts.model import Contract
    from spanwitness.findings.judged import FindingKey, Judged
    from spanwitness.model import Run, SpanRecord
    from spanwitness.serve.counters import Counters
    from spanwitness.serve.holder import Held, TraceHolder
    from spanwitness.serve.spool import Spool

__all__ = ["Judge", "JudgedRun", "RunSink"]

_MAX_DELAY_S: Final = 60.0


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

    def take(self, run: JudgedRun) -> None:
        """Take one judged run."""
        ...


class Judge:
    """Judges what is due, in a thread of its own.

    Args:
        holder: Holds the traces.
        contracts: Contracts that runs are judged by, beside the rules.
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
        sinks: Sequence[RunSink] = (),
        counters: Counters,
        spool: Spool | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._holder = holder
        self._contracts = tuple(contracts)
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
        for trace_id in self._holder.all_waiting():
            self._judge(trace_id)
        if self._spool is not None:
            self._spool.release(self._holder.unfinished().__contains__)
        return self._holder.n_waiting

    def run_due(self) -> int:
        """Judge what is due now; return how many traces that were."""
        now = self._clock()
        limits = self._holder.limits
        is_full = self._holder.size_bytes > 0.9 * limits.max_bytes
        due = self._holder.due(now, is_full=is_full)
        for trace_id in due:
            self._judge(trace_id)
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

    def _judge(self, trace_id: str) -> None:
        with self._judging:
            held = self._holder.take(trace_id)
            if held is None:
                return
            told: dict[str, set[FindingKey]] | None = None
            with guard("serve.judge"):
                told = self._tell(held)
            now = self._clock()
            if told is None:
                self._holder.postpone(trace_id, until=now + self._delay_s)
                self._delay_s = min(_MAX_DELAY_S, 2 * self._delay_s)
                return
            self._delay_s = 1.0
            self._holder.judged(held, told, now=now)
            self.lag_s = max(0.0, now - held.received_at - self._holder.limits.grace_s)

    def _tell(self, held: Held) -> dict[str, set[FindingKey]] | None:
        """Judge the runs of a trace and tell every sink; `None` = one of them failed."""
        told = held.told
        runs = [
            judge(_noting_refusals(run, held.n_refused), self._contracts)
            for run in runs_of(held.spans)
        ]
        news: list[JudgedRun] = []
        for judged in runs:
            found = judged.keyed_findings()
            before = told.get(judged.run.run_id)
            fresh = frozenset(found) - (before or frozenset())
            news.append(JudgedRun(judged, held.spans, fresh))
        for run in news:
            for sink in self._sinks:
                is_taken = False
                with guard(f"serve.sink.{sink.name}"):
                    sink.take(run)
                    is_taken = True
                if not is_taken:
                    self._counters.add_sink_failure(sink.name)
                    return None
        for run in news:
            self._count(run, is_again=run.judged.run.run_id in told)
            told.setdefault(run.judged.run.run_id, set()).update(run.news)
        return told

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
