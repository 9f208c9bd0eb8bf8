"""What the capture points share: the run that is going on, and its board of open tool calls.

A context variable holds a *reference* to a mutable `RunState`, so that child tasks and threads that
inherit the context write to the same one. (A variable set in a child task would be lost.)
"""

from __future__ import annotations

import itertools
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from spanwitness.capture.board import (
    NO_CLAIM,
    Board,
    CallClaim,
    Link,
    OpenCall,
    Peek,
    Returned,
    ambient_board,
    boards,
    claim_anywhere,
)
from spanwitness.guard import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Span

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.model import SpanRecord, Submission

__all__ = [
    "MAX_RECORDS",
    "NO_CLAIM",
    "Board",
    "CallClaim",
    "Link",
    "OpenCall",
    "Peek",
    "Returned",
    "RunState",
    "ambient_board",
    "before_flush",
    "boards",
    "claim_anywhere",
    "current_run",
    "get_current",
    "reset_current",
    "set_current",
]

MAX_RECORDS: Final = 100_000
"""Structural records that a run keeps."""

RawRecord: TypeAlias = "SpanRecord | Callable[[RunState], SpanRecord] | tuple[Any, ...]"

before_flush: list[Callable[[], None]] = []
"""Called before spans are flushed: what waits to end (for a retry that may not come) is settled."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class RunState:
    """The mutable side of a run in progress. One per run; a nested run has its own and a parent."""

    run_id: str
    name: str
    policy: ContentPolicy
    span: Span | None = None
    """The root span of the run; `None` when nothing could be started."""
    trace_id: str = ""
    is_recording: bool = True
    """False for an unsampled run: nothing is serialised, only `records` are kept."""
    parent: RunState | None = None
    board: Board = field(default_factory=Board)
    submission: Submission | None = None
    answer: object = None
    """The submitted object itself, to be digested again at the end."""
    is_submitted: bool = False
    phases: dict[str, Literal["before_submit", "after_submit"]] = field(default_factory=dict)
    """Tools that are exposed in one phase only."""
    on_violation: Literal["flag", "refuse"] = "flag"
    """What happens to a call out of its phase."""
    configured: list[str] = field(default_factory=list)
    incomplete_reasons: list[str] = field(default_factory=list)
    raw_records: list[RawRecord] = field(default_factory=list)
    """Structural records of an unsampled run, or what makes one; read them by `records`. A tuple
    begins with the function that makes a record of it."""
    root_attributes: dict[str, object] = field(default_factory=dict)
    """Attributes to be written on the root before it ends."""
    before_end: list[Callable[[RunState], None]] = field(default_factory=list)
    """Called once, before the root ends and before the run is judged: what waits is settled."""
    pid: int = field(default_factory=os.getpid)
    anchor_ns: int = field(default_factory=lambda: time_ns() - monotonic_ns())
    """Wall clock minus monotonic clock when the run began: all its times share one clock."""
    faults_before: int = field(default_factory=lambda: sum(faults().values()))
    """Faults of ours in this process before the run began."""
    is_closed: bool = False
    """The run is closing or closed."""
    is_root_ended: bool = False
    """The root's end has been counted."""
    seq_counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    """Gives each span that starts its sequence number."""
    end_counter: itertools.count[int] = field(default_factory=lambda: itertools.count(0))
    """Advanced by each span that ends."""

    def keep(self, record: RawRecord) -> None:
        """Keep the record of a span of an unsampled run, or what makes it, up to a bound."""
        if len(self.raw_records) < MAX_RECORDS:
            self.raw_records.append(record)
        else:
            self.mark_incomplete("spans_lost")

    @property
    def records(self) -> list[SpanRecord]:
        """Structural records of an unsampled run."""
        return [_record(raw, self) for raw in self.raw_records]

    @property
    def started(self) -> int:
        """Spans started so far."""
        return _next_of(self.seq_counter) - 1

    @property
    def ended(self) -> int:
        """Spans ended so far."""
        return _next_of(self.end_counter)

    def mark_incomplete(self, reason: str) -> None:
        """Say that absence proves nothing in this run; a reason is kept once."""
        if reason not in self.incomplete_reasons:
            self.incomplete_reasons.append(reason)


def _record(raw: RawRecord, state: RunState) -> SpanRecord:
    if isinstance(raw, tuple):
        made: SpanRecord = raw[0](raw, state)
        return made
    return raw(state) if callable(raw) else raw


def _next_of(count: itertools.count[int]) -> int:
    # `next` on a count is atomic, so counting needs no lock; its text is the one way to look at it.
    return int(repr(count)[6:-1])


_current: ContextVar[RunState | None] = ContextVar("spanwitness_run", default=None)


def current_run() -> RunState | None:
    """Return the run that is going on in this context, or `None`."""
    return _current.get()


get_current = _current.get
"""`current_run` without the cost of a Python call."""
set_current = _current.set
reset_current = _current.reset
