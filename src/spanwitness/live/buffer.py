"""The spans of traces in progress, in bounded memory, without a lock.

A span may end inside a finalizer or a signal handler that interrupts this very code, so nothing
here waits for a lock: single operations on dicts and lists are atomic, and counts are estimates
that are made exact before anything is thrown away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.export.repair import attributes_of
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.trace import ReadableSpan, Span

    from spanwitness.findings.judged import FindingKey
    from spanwitness.live.outlet import Processors

_AGENTS: Final = frozenset({gen_ai.INVOKE_AGENT, gen_ai.INVOKE_WORKFLOW})
_PREFIXES: Final = (
    "gen_ai.", "spanwitness.", "mcp.", "llm.", "openinference.", "traceloop.", "ai.", "langfuse.",
    "mlflow.", "tool.",
)  # fmt: skip
"""Prefixes of the attributes by which a span of an agent is known, in any dialect."""
_MAX_FINISHED: Final = 4096


class JudgedRoot:
    """What is known of a run that was judged while its trace goes on."""

    __slots__ = ("keys", "mark")

    def __init__(self, mark: int, keys: set[FindingKey] | None) -> None:
        self.mark = mark
        """Spans of the trace that had ended when it was judged."""
        self.keys = keys
        """Findings that have been told; `None` = another detector tells them."""


class Trace:
    """What this process saw of one trace."""

    __slots__ = (
        "judged", "lost_before", "n_dropped", "open", "processors", "spans", "trace_id",
    )  # fmt: skip

    def __init__(self, trace_id: int) -> None:
        self.trace_id = trace_id
        self.spans: list[ReadableSpan] = []
        """Ended ones, in the order in which they ended."""
        self.open: dict[int, Span] = {}
        """Those that have not ended, by id."""
        self.judged: dict[int, JudgedRoot] = {}
        """By the span id of the root."""
        self.n_dropped = 0
        """Spans that were not kept because there was no room."""
        self.processors: Processors | None = None
        """Of the provider whose spans these are."""
        self.lost_before = 0
        """Spans that the export had lost when the trace began."""

    def subtree(self, root_id: int, run_id: str | None = None) -> list[ReadableSpan]:
        """Return the ended spans below a span, itself included, and those that name its run."""
        spans = self.spans[:]
        parents = _parents(spans)
        below: dict[int, bool] = {root_id: True, 0: False}
        return [
            span
            for span in spans
            if _is_below(id_of(span), parents, below)
            or (run_id is not None and attributes_of(span).get(names.RUN_ID) == run_id)
        ]

    def has_open_below(self, root_id: int) -> bool:
        """Say whether an agentic span below a span has not ended."""
        still_open = list(self.open.values())
        parents = _parents([*self.spans[:], *still_open])
        below: dict[int, bool] = {root_id: True, 0: False}
        return any(
            id_of(span) != root_id and is_agentic(span) and _is_below(id_of(span), parents, below)
            for span in still_open
        )

    def is_accounted_for(self) -> bool:
        """Say whether every agentic span lies below a run that was judged after the span ended."""
        if not self.judged:
            return not any(map(is_agentic, self.spans))
        if self.n_dropped:
            return False
        spans = self.spans[:]
        parents = _parents(spans)
        for place, span in enumerate(spans):
            if id_of(span) in self.judged or not is_agentic(span):
                continue
            mark = self._mark_above(id_of(span), parents)
            if mark is None or place >= mark:
                return False
        return True

    def _mark_above(self, span_id: int, parents: dict[int, int]) -> int | None:
        for _ in range(len(parents) + 1):
            parent = parents.get(span_id)
            if parent is None:
                return None
            root = self.judged.get(parent)
            if root is not None:
                return root.mark
            span_id = parent
        return None


def id_of(span: ReadableSpan) -> int:
    """Return a span's id; 0 when it has none."""
    context = span.context
    return 0 if context is None else context.span_id


def trace_id_of(span: ReadableSpan) -> int:
    """Return the id of a span's trace; 0 when it has none."""
    context = span.context
    return 0 if context is None else context.trace_id


def _parents(spans: Iterable[ReadableSpan]) -> dict[int, int]:
    return {id_of(s): s.parent.span_id if s.parent else 0 for s in spans}


def _is_below(span_id: int, parents: dict[int, int], below: dict[int, bool]) -> bool:
    path: list[int] = []
    here = span_id
    while here not in below and len(path) <= len(parents):
        path.append(here)
        here = parents.get(here, 0)
    answer = below.get(here, False)
    for passed in path:
        below[passed] = answer
    return answer


def is_agentic(span: ReadableSpan) -> bool:
    """Say whether a span is of an agent, a model call or a tool, in any dialect."""
    return any(key.startswith(_PREFIXES) for key in attributes_of(span))


def is_agent(span: ReadableSpan) -> bool:
    """Say whether a span is a whole agent or workflow, named as the conventions have it."""
    return (
        span.name.startswith("invoke_")
        and attributes_of(span).get(gen_ai.OPERATION_NAME) in _AGENTS
    )


class TraceBuffer:
    """Traces in progress.

    Args:
        max_traces: The oldest trace is dropped above this many.
        max_spans_per_trace: Further spans of a trace are counted and not kept.
        max_spans: The oldest traces are dropped above this many spans in all.
    """

    def __init__(
        self, *, max_traces: int = 1024, max_spans_per_trace: int = 20_000, max_spans: int = 100_000
    ) -> None:
        self._max_traces = max_traces
        self._max_per_trace = max_spans_per_trace
        self._max_spans = max_spans
        self._traces: dict[int, Trace] = {}
        self._finished: dict[int, None] = {}
        self._n_spans = 0
        self.n_evicted = 0
        """Spans that were thrown away, or not kept, before their run was judged."""
        self.n_late = 0
        """Spans that came after their trace was done with."""

    def __len__(self) -> int:
        return len(self._traces)

    def get(self, trace_id: int) -> Trace | None:
        """Return a trace in progress."""
        return self._traces.get(trace_id)

    def traces(self) -> list[Trace]:
        """Return the traces in progress, oldest first."""
        return list(self._traces.values())

    def start(self, span: Span) -> Trace | None:
        """Take note that a span started; return its trace when that is new here."""
        context = span.context
        if context is None:
            return None
        trace = self._traces.get(context.trace_id)
        if trace is not None:
            trace.open[context.span_id] = span
            return None
        parent = span.parent
        if parent is not None and not parent.is_remote and context.trace_id in self._finished:
            return None
        trace = self._traces.setdefault(context.trace_id, Trace(context.trace_id))
        trace.open[context.span_id] = span
        if len(self._traces) > self._max_traces:
            self._evict()
        return trace

    def end(self, span: ReadableSpan) -> Trace | None:
        """Keep an ended span and return its trace; `None` when the trace is done with."""
        context = span.context
        if context is None:
            return None
        trace = self._traces.get(context.trace_id)
        if trace is None:
            if context.trace_id in self._finished:
                self.n_late += 1
                return None
            # It started before we were there.
            trace = self._traces.setdefault(context.trace_id, Trace(context.trace_id))
        trace.open.pop(context.span_id, None)
        if len(trace.spans) < self._max_per_trace or not trace.open or is_agent(span):
            trace.spans.append(span)
            self._n_spans += 1
            if self._n_spans > self._max_spans:
                self._evict()
        else:
            trace.n_dropped += 1
            self.n_evicted += 1
        return trace

    def is_open(self, span: ReadableSpan) -> bool:
        """Say whether a span that ends now was seen to start."""
        trace = self._traces.get(trace_id_of(span))
        return trace is not None and id_of(span) in trace.open

    def finish(self, trace_id: int) -> None:
        """Let go of a trace: everything in it has been judged, or it holds nothing to judge."""
        trace = self._traces.pop(trace_id, None)
        if trace is None:
            return
        self._n_spans -= len(trace.spans)
        if trace.judged:
            self._finished[trace_id] = None
            if len(self._finished) > _MAX_FINISHED:
                for old in list(self._finished)[: _MAX_FINISHED // 4]:
                    self._finished.pop(old, None)

    def clear(self) -> None:
        """Forget everything: in the child of a fork the parent's runs are the parent's to judge."""
        self._traces = {}
        self._finished = {}
        self._n_spans = 0

    def _evict(self) -> None:
        traces = self.traces()
        n_spans = sum(len(trace.spans) for trace in traces)
        for trace in traces:
            if n_spans <= self._max_spans and len(self._traces) <= self._max_traces:
                break
            if self._traces.pop(trace.trace_id, None) is not None:
                n_spans -= len(trace.spans)
                self.n_evicted += len(trace.spans)
                self._finished[trace.trace_id] = None
        self._n_spans = n_spans
