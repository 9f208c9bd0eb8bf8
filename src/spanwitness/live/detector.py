"""A span processor that judges the runs of a process as they end."""

from __future__ import annotations

import atexit
import os
import weakref
from collections import deque
from time import time_ns
from typing import TYPE_CHECKING, Final

import msgspec
from opentelemetry import metrics
from opentelemetry.sdk.trace import SpanProcessor

from spanwitness.export.losses import Losses
from spanwitness.findings.attributes import closing_attributes, evaluation_events
from spanwitness.findings.log import LogSink
from spanwitness.findings.metrics import MetricsSink
from spanwitness.findings.step_counts import StepCounts
from spanwitness.guard import guard
from spanwitness.live.buffer import JudgedRoot, TraceBuffer, id_of, is_agent, trace_id_of
from spanwitness.live.closing import install, remove
from spanwitness.live.contracts import load_all
from spanwitness.live.evaluate import judge, runs_of
from spanwitness.live.outlet import Outlet, processors_of
from spanwitness.live.records import resource_of, to_record
from spanwitness.live.suppress import is_judging, judging
from spanwitness.live.verdict_span import make_verdict_span
from spanwitness.live.worker import Worker
from spanwitness.model.verdict import SEVERITIES
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from spanwitness.capture.context import RunState
    from spanwitness.contracts.model import Contract
    from spanwitness.findings.judged import Sink
    from spanwitness.live.buffer import Trace
    from spanwitness.model import Run, SpanRecord

__all__ = ["Detector"]

_start_guard = guard("live.detector.on_start")
_end_guard = guard("live.detector.on_end")
_MAX_IGNORED: Final = 256


class Detector(SpanProcessor):
    """Judges runs as they end: `provider.add_span_processor(spanwitness.Detector())`.

    A run that `spanwitness.run` or an outermost `@spanwitness.agent` opened is judged just before
    its root span ends, so that the root itself carries the judgement. Runs of other
    instrumentations (a root `invoke_agent` span, else the root of the trace) are judged in a thread
    of ours when they and everything below them have ended, or `grace_s` after the root did; each
    finding becomes a span `verdict <rule>` below the run's root. A run of ours that gets more spans
    after it was judged is judged again when its trace is over, and what that adds becomes verdict
    spans too. A span that starts after its whole trace was over is counted as late and changes
    nothing here; a later `spanwitness check` sees it.

    Memory is bounded: what is thrown away is counted, and a run that lost spans so is incomplete.

    Args:
        contracts: Contracts, or paths of contract files.
        sinks: Further takers of judged runs. They are called in a thread of ours, one at a time.
        grace_s: Seconds to wait for open spans below a foreign run whose root has ended.
        max_spans: Spans held in all.
        max_spans_per_trace: Spans held of one trace.
        meter_provider: Where findings are counted; `None` = the global one.
        losses: What the export loses, if it is ours: runs meanwhile are incomplete.
        step_group: What running counts of steps are grouped by; see `StepCounts`.

    Attributes:
        step_counts: Running counts of protocol steps; call it for the totals so far.

    Raises:
        RuleError: A contract cannot be read.
        SettingsError: A sink has no `take`, or the group is not known.
    """

    ignores_start_attributes = True
    """For capture: a span's attributes may be set after `on_start`."""

    def __init__(
        self,
        contracts: Sequence[Contract | Path | str] = (),
        *,
        sinks: Iterable[Sink] = (),
        grace_s: float = 2.0,
        max_spans: int = 100_000,
        max_spans_per_trace: int = 20_000,
        meter_provider: MeterProvider | None = None,
        losses: Losses | None = None,
        step_group: str | None = None,
    ) -> None:
        self.contracts = load_all(contracts)
        self._grace_s = grace_s
        self._buffer = TraceBuffer(max_spans=max_spans, max_spans_per_trace=max_spans_per_trace)
        meters = metrics.get_meter_provider() if meter_provider is None else meter_provider
        counting = MetricsSink(meters, lost=self._all_losses)
        self.step_counts = StepCounts(meters, group=step_group)
        self.outlet = Outlet(sinks, inline=[LogSink(), counting, self.step_counts])
        self._worker: Worker[int] = Worker(self._judge_trace, name="spanwitness-detector")
        self._ignored: deque[int] = deque(maxlen=_MAX_IGNORED)
        self._losses = Losses() if losses is None else losses
        self._is_closed = False
        _detectors.add(self)
        install(self)
        # Exit callbacks run in reverse order: before the shutdown of a provider made earlier.
        atexit.register(_finish, weakref.ref(self))

    # --- the side of the SDK: never raises, never waits

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Take note of a started span."""
        with _start_guard:
            if self._is_closed:
                return
            if is_judging():
                self._ignored.append(trace_id_of(span))
                return
            trace = self._buffer.start(span)
            if trace is not None:
                self.outlet.learn(span)
                trace.processors = processors_of(span)
                trace.lost_before = self._losses.total

    def on_end(self, span: ReadableSpan) -> None:
        """Keep an ended span, and have its runs judged when they are over."""
        with _end_guard:
            if self._is_closed or (self._ignored and trace_id_of(span) in self._ignored):
                return
            if is_judging() and not self._buffer.is_open(span):
                return  # a verdict of ours; a stream that is collected just now is not
            trace = self._buffer.end(span)
            if trace is None:
                return
            if not trace.open:
                self._end_trace(trace)
            elif is_agent(span) and not any(is_agent(s) for s in list(trace.open.values())):
                self._worker.add(trace.trace_id, delay_s=self._grace_s)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Judge every run that is over, and have the sinks take it.

        Returns:
            Whether that was done in time.
        """
        done = False
        with guard("live.detector.force_flush"):
            done = self._worker.flush(timeout_millis / 1000)
            done = self.outlet.flush(timeout_millis / 1000) and done
        return done

    def shutdown(self) -> None:
        """Judge every run that is over; runs still open are not judged."""
        with guard("live.detector.shutdown"):
            self._worker.close(5.0)
            self.outlet.close(5.0)
            self._is_closed = True
            remove(self)

    @property
    def n_evicted(self) -> int:
        """Spans that were thrown away for want of room before their run was judged."""
        return self._buffer.n_evicted

    @property
    def n_late(self) -> int:
        """Spans that came after their trace was over."""
        return self._buffer.n_late

    def _all_losses(self) -> dict[str, int]:
        return {"detector_full": self.n_evicted, **self._losses.as_dict()}

    # --- runs of ours

    def tracks(self, trace_id: int) -> bool:
        """Say whether spans of this trace pass here."""
        return self._buffer.get(trace_id) is not None

    def leave_run(self, span: Span) -> None:
        """Leave a run of ours to another detector that the same spans pass."""
        trace = self._buffer.get(trace_id_of(span))
        if trace is not None:
            trace.judged[id_of(span)] = JudgedRoot(len(trace.spans), None)

    def close_run(self, state: RunState, span: Span) -> None:
        """Judge a run of ours whose root is about to end, and write the judgement on the root.

        Args:
            state: The run.
            span: Its root, still open.
        """
        if is_judging():
            return
        trace = self._buffer.get(trace_id_of(span))
        own = id_of(span)
        mark = len(trace.spans) if trace is not None else 0
        self._note_holes(state, span, trace)
        with judging():
            records = _closing_records(state, span, trace)
            runs = runs_of(records)
            main = _by_root(runs, own) or _by_run_id(runs, state.run_id)
            if main is None:
                return
            run = self._noting_loss(_below_its_parent(main, state), trace)
            judged = judge(run, self.contracts, spans=records)
        for reason in judged.run.incomplete_reasons:
            state.mark_incomplete(reason)
        span.set_attributes(closing_attributes(judged))
        for attributes in evaluation_events(judged):
            span.add_event(gen_ai.EVALUATION_EVENT, attributes)
        if trace is not None:
            trace.judged[own] = JudgedRoot(mark, set(judged.keyed_findings()))
            self._judge_children(trace, runs, main, records)
        self.outlet.take(judged)

    def _note_holes(self, state: RunState, span: Span, trace: Trace | None) -> None:
        """Say on the run what the trace shows of spans that are lost or not yet there."""
        n_lost = 0
        if trace is not None:
            n_lost = trace.n_dropped + self._losses.total - trace.lost_before
            if trace.has_open_below(id_of(span)):
                state.mark_incomplete("open_spans")
        span.set_attribute(names.SPANS_LOST, max(0, n_lost))
        if n_lost > 0:
            state.mark_incomplete("spans_lost")

    def _judge_children(
        self, trace: Trace, runs: list[Run], main: Run, records: list[SpanRecord]
    ) -> None:
        """Judge the sub-agents of other instrumentations below a run of ours."""
        wanted = set(main.child_run_ids)
        for run in runs:
            root_id = int(run.root_span_id or "0", 16)
            if run.run_id in wanted and root_id not in trace.judged:
                wanted.update(run.child_run_ids)
                self._tell(trace, run, None, records)

    def close_unsampled(self, state: RunState) -> None:
        """Judge a run of ours that was left out of the sample, by its structural records."""
        if is_judging():
            return
        records = state.records
        with judging():
            runs = runs_of(records)
            main = _by_run_id(runs, state.run_id) or (runs[0] if len(runs) == 1 else None)
            if main is None:
                return
            run = _below_its_parent(main, state)
            judged = judge(run, self.contracts, spans=tuple(records))
        if state.parent is not None:
            state.parent.raw_records.extend(records)  # its calls count for the outer run
        if judged.is_flagged:
            worst = max(judged.findings, key=lambda v: SEVERITIES.index(v.severity))
            verdict = make_verdict_span(
                judged, worst, resource=self.outlet.resource, time_ns=time_ns()
            )
            self.outlet.emit(verdict)
        self.outlet.take(judged)

    # --- runs of others, and what came late

    def _end_trace(self, trace: Trace) -> None:
        if trace.is_accounted_for():
            self._buffer.finish(trace.trace_id)
        else:
            self._worker.add(trace.trace_id)

    def _judge_trace(self, trace_id: int) -> None:
        trace = self._buffer.get(trace_id)
        if trace is None:
            return
        is_over = not trace.open
        try:
            self._judge_ended(trace, is_over=is_over)
        finally:
            if is_over and not trace.open:
                self._buffer.finish(trace_id)

    def _judge_ended(self, trace: Trace, *, is_over: bool) -> None:
        spans = trace.spans[:]
        with judging():
            records = _shared_records(spans)
            runs = runs_of(records)
        ended = {id_of(span) for span in spans}
        for run in runs:
            root_id = int(run.root_span_id or "0", 16)
            before = trace.judged.get(root_id)
            is_ours = before is None or before.keys is not None
            if root_id in ended and is_ours and (before is None or is_over):
                self._tell(trace, run, before, records)

    def _tell(
        self, trace: Trace, run: Run, before: JudgedRoot | None, records: list[SpanRecord]
    ) -> None:
        """Judge a run whose root has ended, and tell what was not told before."""
        mark = len(trace.spans)
        with judging():
            judged = judge(self._noting_loss(run, trace), self.contracts, spans=records)
        found = judged.keyed_findings()
        told = (before.keys if before is not None else None) or set()
        news = [key for key in found if key not in told]
        root_id = int(run.root_span_id or "0", 16)
        trace.judged[root_id] = JudgedRoot(mark, told | set(news))
        root = next((s for s in trace.spans if id_of(s) == root_id), None)
        resource = root.resource if root is not None else self.outlet.resource
        for key in news:
            span = make_verdict_span(judged, found[key], resource=resource, time_ns=time_ns())
            self.outlet.emit(span, trace.processors)
        if before is None:
            self.outlet.take(judged)
        elif news:
            self.outlet.take(judged.update(news))

    def _noting_loss(self, run: Run, trace: Trace | None) -> Run:
        if trace is None or not trace.n_dropped or "spans_lost" in run.incomplete_reasons:
            return run
        reasons = (*run.incomplete_reasons, "spans_lost")
        return msgspec.structs.replace(run, is_complete=False, incomplete_reasons=reasons)

    def after_fork(self) -> None:
        """Start afresh in the child of a fork: the parent's runs are the parent's to judge."""
        self._buffer.clear()
        self._worker.reset()
        self.outlet.after_fork()
        self._ignored.clear()


_detectors: weakref.WeakSet[Detector] = weakref.WeakSet()


def _closing_records(state: RunState, span: Span, trace: Trace | None) -> list[SpanRecord]:
    """Return the root as it will end, and what has ended below it."""
    resource = resource_of(span)
    holes = list(state.incomplete_reasons)
    extra = {names.COMPLETE: False, names.INCOMPLETE_REASONS: holes} if holes else {}
    records = [to_record(span, resource=resource, extra=extra, end_ns=time_ns())]
    own = id_of(span)
    below = trace.subtree(own, state.run_id) if trace is not None else []
    records.extend(to_record(s, resource=resource) for s in below if id_of(s) != own)
    return records


def _shared_records(spans: Iterable[ReadableSpan]) -> list[SpanRecord]:
    """Convert spans; those of one resource share its attributes."""
    resources: dict[int, dict[str, object]] = {}
    records = []
    for span in spans:
        key = id(span.resource)
        if key not in resources:
            resources[key] = resource_of(span)
        records.append(to_record(span, resource=resources[key]))
    return records


def _below_its_parent(run: Run, state: RunState) -> Run:
    """Name the run around a run, whose root has not ended and was not among the spans."""
    if state.parent is None:
        return run
    return msgspec.structs.replace(run, parent_run_id=state.parent.run_id)


def _by_root(runs: Iterable[Run], span_id: int) -> Run | None:
    return next((run for run in runs if run.root_span_id == f"{span_id:016x}"), None)


def _by_run_id(runs: Iterable[Run], run_id: str) -> Run | None:
    return next((run for run in runs if run.run_id == run_id), None)


def _finish(reference: weakref.ref[Detector]) -> None:
    """Judge what is over before the provider shuts down."""
    detector = reference()
    if detector is not None:
        detector.force_flush(2_000)


def _after_fork() -> None:
    for detector in list(_detectors):
        with guard("live.detector.after_fork"):
            detector.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
