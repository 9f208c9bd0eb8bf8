"""The spans of traces in progress: held in bounded memory until their runs can be judged.

A trace is due when its outermost spans have ended and nothing came for `grace_s`, or when it is
`max_age_s` old. A judged trace is kept for `keep_s`: spans that come late make it due again. Spans
that come after that are counted, and judged no more: a fragment without its fellows says nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.errors import SettingsError
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanwitness.findings.judged import FindingKey
    from spanwitness.model import SpanRecord

__all__ = ["Added", "Held", "HoldLimits", "TraceHolder"]

_AGENTS: Final = frozenset({gen_ai.INVOKE_AGENT, gen_ai.INVOKE_WORKFLOW})
_MAX_FORGOTTEN: Final = 200_000
_SPAN_BYTES: Final = 1500
"""What a held span takes beside its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HoldLimits:
    """Times in seconds and sizes within which traces are held.

    Raises:
        SettingsError: A value is not above 0.
    """

    grace_s: float = 10.0
    """Quiet time after the end of a trace's root. Exporters of other processes batch for 5 s."""
    max_age_s: float = 1800.0
    """A trace is judged at this age, whether it is over or not."""
    keep_s: float = 300.0
    """How long a judged trace is kept for spans that come late, while there is room."""
    max_bytes: int = 512 * 1024 * 1024
    """Estimate of the memory that held spans may take; above it senders are asked to wait."""
    max_spans_per_trace: int = 20_000
    """Further spans of a trace are refused, and its runs are incomplete."""

    def __post_init__(self) -> None:
        for name in ("grace_s", "max_age_s", "keep_s", "max_bytes", "max_spans_per_trace"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name}={getattr(self, name)!r}: give a number above 0")


class Added(NamedTuple):
    """What became of the spans of one request."""

    n_taken: int
    n_duplicate: int
    """Seen before: exporters send a request again when its answer was lost."""
    n_late: int
    """Of traces that were judged and let go."""
    n_refused: int
    """Of traces that are full."""


class Held(NamedTuple):
    """A trace as it stood at one moment, to be judged."""

    trace_id: str
    spans: list[SpanRecord]
    n_refused: int
    mark: int
    """Tells whether spans came since; give it back to `TraceHolder.judged`."""
    told: dict[str, set[FindingKey]]
    """Findings that were told before, by run."""
    received_at: float
    """When its last span came, on the holder's clock."""


class _Trace:
    __slots__ = (
        "_is_over", "_seen_at_mark", "first_at", "judged_at", "last_at", "mark", "n_refused",
        "not_before", "size_bytes", "spans", "told",
    )  # fmt: skip

    def __init__(self, now: float) -> None:
        self.spans: dict[str, SpanRecord] = {}
        self.first_at = now
        self.last_at = now
        self.size_bytes = 0
        self.n_refused = 0
        self.mark = 0
        self._is_over = False
        self._seen_at_mark = -1
        self.judged_at: float | None = None
        self.not_before = 0.0
        self.told: dict[str, set[FindingKey]] = {}

    def is_over(self) -> bool:
        """Say whether nothing above the spans at hand can still be open.

        It is over when its root is here, and also when all that lacks a parent here are whole runs
        or agents: what called them may be traced elsewhere.
        """
        if self._seen_at_mark == self.mark:
            return self._is_over
        spans = self.spans
        tops = [s for s in spans.values() if s.parent_span_id not in spans]
        self._is_over = any(s.parent_span_id is None for s in tops) or all(map(_is_run, tops))
        self._seen_at_mark = self.mark
        return self._is_over


def _is_run(span: SpanRecord) -> bool:
    attributes = span.attributes
    if attributes.get(gen_ai.OPERATION_NAME) in _AGENTS:
        return True
    return names.RUN_ID in attributes and names.CONTENT in attributes


class TraceHolder:
    """Traces in progress; safe to use from several threads.

    Times are those of the caller's monotonic clock, in seconds.
    """

    def __init__(self, limits: HoldLimits | None = None) -> None:
        self.limits = limits or HoldLimits()
        self._lock = threading.Lock()
        self._traces: dict[str, _Trace] = {}
        self._kept: OrderedDict[str, None] = OrderedDict()
        """Judged ones with nothing new, the one judged first at the front."""
        self._forgotten: OrderedDict[str, None] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """About how much memory the held spans take."""
        return self._size_bytes

    def __len__(self) -> int:
        """Return how many traces are held, judged ones included."""
        return len(self._traces)

    @property
    def n_waiting(self) -> int:
        """How many traces hold spans that have not been judged."""
        return len(self._traces) - len(self._kept)

    def holds(self, trace_id: str) -> bool:
        """Say whether spans of a trace are held."""
        return trace_id in self._traces

    def make_room(self, size_bytes: int) -> bool:
        """Let go of judged traces until a request fits; say whether it does."""
        with self._lock:
            limit = self.limits.max_bytes
            while self._size_bytes + size_bytes > limit and self._kept:
                self._forget(next(iter(self._kept)))
            return self._size_bytes + size_bytes <= limit or not self._traces

    def add(self, spans: Sequence[SpanRecord], *, size_bytes: int, now: float) -> Added:
        """Hold the spans of one request.

        Args:
            spans: In any order, of any traces.
            size_bytes: Of the request, decoded; it is shared out among its spans.
            now: The time.
        """
        if not spans:
            return Added(0, 0, 0, 0)
        each = size_bytes // len(spans) + _SPAN_BYTES
        n_taken = n_duplicate = n_late = n_refused = 0
        with self._lock:
            for span in spans:
                trace = self._traces.get(span.trace_id)
                if trace is None:
                    if span.trace_id in self._forgotten:
                        n_late += 1
                        continue
                    trace = self._traces[span.trace_id] = _Trace(now)
                if span.span_id in trace.spans:
                    n_duplicate += 1
                elif len(trace.spans) >= self.limits.max_spans_per_trace:
                    trace.n_refused += 1
                    n_refused += 1
                else:
                    trace.spans[span.span_id] = span
                    trace.size_bytes += each
                    trace.last_at = now
                    trace.mark += 1
                    self._size_bytes += each
                    self._kept.pop(span.trace_id, None)
                    n_taken += 1
        return Added(n_taken, n_duplicate, n_late, n_refused)

    def due(self, now: float, *, is_full: bool = False) -> list[str]:
        """Return the ids of traces to judge now, the one that is quiet longest first.

        Args:
            now: The time.
            is_full: There is no more room: those that are quiet for `grace_s` are due too, whether
                their root has come or not.
        """
        limits = self.limits
        with self._lock:
            found = [
                (trace.last_at, trace_id)
                for trace_id, trace in self._traces.items()
                if trace_id not in self._kept
                and now >= trace.not_before
                and (
                    now - trace.first_at >= limits.max_age_s
                    if now - trace.last_at < limits.grace_s
                    else is_full or now - trace.first_at >= limits.max_age_s or trace.is_over()
                )
            ]
        return [trace_id for _, trace_id in sorted(found)]

    def all_waiting(self) -> list[str]:
        """Return the ids of all traces that hold anything not judged."""
        with self._lock:
            return [trace_id for trace_id in self._traces if trace_id not in self._kept]

    def unfinished(self) -> set[str]:
        """Return the ids of traces that are not judged, or whose root has not ended."""
        with self._lock:
            return {
                trace_id
                for trace_id, trace in self._traces.items()
                if trace_id not in self._kept or not trace.is_over()
            }

    def take(self, trace_id: str) -> Held | None:
        """Return a trace as it stands; `None` when it is not held."""
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is None:
                return None
            return Held(
                trace_id,
                list(trace.spans.values()),
                trace.n_refused,
                trace.mark,
                {run_id: set(keys) for run_id, keys in trace.told.items()},
                trace.last_at,
            )

    def judged(self, held: Held, told: dict[str, set[FindingKey]], *, now: float) -> None:
        """Take note that a trace was judged and everybody was told.

        Args:
            held: As it was taken.
            told: All findings that were told so far, by run.
            now: The time.
        """
        with self._lock:
            trace = self._traces.get(held.trace_id)
            if trace is None:
                return
            trace.told = told
            trace.judged_at = trace.first_at = now  # a trace that goes on gets its age anew
            if trace.mark == held.mark:
                self._kept[held.trace_id] = None
                self._kept.move_to_end(held.trace_id)

    def postpone(self, trace_id: str, *, until: float) -> None:
        """Have a trace wait: what it was to be told to does not take it now."""
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is not None:
                trace.not_before = until

    def let_go(self, now: float) -> list[str]:
        """Let go of traces that were judged `keep_s` ago; return their ids."""
        gone: list[str] = []
        with self._lock:
            for trace_id in list(self._kept):
                judged_at = self._traces[trace_id].judged_at
                if judged_at is not None and now - judged_at < self.limits.keep_s:
                    break
                self._forget(trace_id)
                gone.append(trace_id)
        return gone

    def spans_of(self, trace_ids: Iterable[str]) -> list[SpanRecord]:
        """Return the held spans of some traces."""
        with self._lock:
            return [
                span
                for trace_id in trace_ids
                if trace_id in self._traces
                for span in self._traces[trace_id].spans.values()
            ]

    def _forget(self, trace_id: str) -> None:
        self._kept.pop(trace_id, None)
        trace = self._traces.pop(trace_id)
        self._size_bytes -= trace.size_bytes
        self._forgotten[trace_id] = None
        if len(self._forgotten) > _MAX_FORGOTTEN:
            self._forgotten.popitem(last=False)
