"""What the capture points share: the run that is going on, and its board of open tool calls.

A context variable holds a *reference* to a mutable `RunState`, so that child tasks and threads that
inherit the context write to the same one. (A variable set in a child task would be lost.)
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from spanwitness.guard import faults

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.model import SpanRecord, Submission, ToolRequest

Link: TypeAlias = Literal["explicit", "exact", "identical", "name", "process", "ambiguous", "none"]

_MAX_OPEN_CALLS = 1024
_MAX_RECORDS = 100_000
_MAX_RETURNED = 256
_MAX_RETURNED_CHARS = 4_000_000


@dataclass(slots=True)
class OpenCall:
    """A call that a model asked for and that no tool has claimed yet."""

    call_id: str
    name: str
    arguments: object
    chat_span_id: str = ""
    is_claimed: bool = False


class Returned(msgspec.Struct, frozen=True):
    """What a tool gave back, held (bounded) until a request delivers it, to be compared there."""

    name: str
    value: object
    """The value as returned, or its text when it was too large to hold; never exported."""
    part_types: tuple[str, ...] = ("text",)
    is_error: bool = False
    is_empty: bool = False
    is_cut: bool = False
    size_chars: int = 0


class CallClaim(msgspec.Struct, frozen=True):
    """The answer to a tool that asks which call it serves."""

    call_id: str | None
    link: Link


NO_CLAIM = CallClaim(None, "none")
Peek: TypeAlias = Callable[[], Iterable["ToolRequest"]]


class Board:
    """Open tool calls of one run, and results on their way back to the model. Thread-safe."""

    __slots__ = (
        "__weakref__",
        "_lock",
        "_open",
        "_returned",
        "_returned_chars",
        "delivered",
        "evicted",
        "peeks",
        "unclaimed",
    )

    def __init__(self) -> None:
        # Re-entrant: a collected stream posts its calls wherever the collector happens to run.
        self._lock = threading.RLock()
        self._open: OrderedDict[str, OpenCall] = OrderedDict()
        self.unclaimed: dict[str, dict[str, OpenCall]] = {}
        self._returned: OrderedDict[str, Returned] = OrderedDict()
        self._returned_chars = 0
        self.peeks: list[tuple[Peek, str]] = []
        self.delivered: object = None
        """What requests have delivered so far; see `deliveries`."""
        self.evicted = 0
        """Entries dropped because the board was full."""
        _boards.add(self)

    def post(self, requests: Iterable[ToolRequest], chat_span_id: str) -> None:
        """Put the client-side calls of a reply on the board.

        A call posted again by the same reply changes nothing. The id of an earlier reply in another
        one is another call: some servers number calls anew in each reply.
        """
        with self._lock:
            for request in requests:
                call_id = request.call_id
                if call_id is None or request.side != "client":
                    continue
                known = self._open.get(call_id)
                if known is not None:
                    if known.chat_span_id == chat_span_id:
                        continue
                    self._forget(known)
                call = OpenCall(call_id, request.name, request.arguments, chat_span_id)
                self._open[call_id] = call
                self.unclaimed.setdefault(call.name, {})[call_id] = call
                _busy.add(self)
                if len(self._open) > _MAX_OPEN_CALLS:
                    _, old = self._open.popitem(last=False)
                    self._take(old)
                    self.evicted += 1

    def add_peek(self, peek: Peek, chat_span_id: str) -> None:
        """Register an unfinished stream: called when a tool starts before its stream has ended."""
        with self._lock:
            self.peeks.append((peek, chat_span_id))
            _busy.add(self)

    def remove_peek(self, peek: Peek) -> None:
        """Forget an unfinished stream."""
        with self._lock:
            self.peeks = [known for known in self.peeks if known[0] != peek]

    def claim(self, name: str, arguments: Mapping[str, object]) -> CallClaim:
        """Claim the open call that a starting tool serves.

        Args:
            name: The tool's name as offered.
            arguments: The bound arguments; the model's arguments must be equal to a part of them
                (defaults are not in the model's arguments).
        """
        if self.peeks:
            self._look_at_streams()
        if name not in self.unclaimed:
            return NO_CLAIM
        with self._lock:
            same_name = list(self.unclaimed.get(name, {}).values())
            if not same_name:
                return NO_CLAIM
            matching = [c for c in same_name if _is_part(c.arguments, arguments)]
            link: Link
            if len(matching) == 1:
                chosen, link = matching[0], "exact"
            elif matching and _all_equal(matching):
                chosen, link = matching[0], "identical"
            elif not matching and len(same_name) == 1:
                chosen, link = same_name[0], "name"
            else:
                return CallClaim(None, "ambiguous")
            self._take(chosen)
            return CallClaim(chosen.call_id, link)

    def claim_id(self, call_id: str) -> CallClaim:
        """Claim a call by its id, as a hand-written loop knows it."""
        with self._lock:
            call = self._open.get(call_id)
            if call is not None:
                self._take(call)
        return CallClaim(call_id, "explicit")

    def has(self, name: str, arguments: Mapping[str, object]) -> bool:
        """Say whether an unclaimed call of this name and these arguments is open here."""
        if name not in self.unclaimed:
            return False
        with self._lock:
            unclaimed = self.unclaimed.get(name, {})
            return any(_is_part(c.arguments, arguments) for c in unclaimed.values())

    def hold(self, call_id: str, returned: Returned) -> None:
        """Hold what a tool returned until a request delivers it."""
        with self._lock:
            before = self._returned.pop(call_id, None)
            if before is not None:
                self._returned_chars -= before.size_chars
            self._returned[call_id] = returned
            self._returned_chars += returned.size_chars
            while self._returned and (
                len(self._returned) > _MAX_RETURNED or self._returned_chars > _MAX_RETURNED_CHARS
            ):
                _, old = self._returned.popitem(last=False)
                self._returned_chars -= old.size_chars
                self.evicted += 1

    @property
    def is_idle(self) -> bool:
        """Whether no call waits for a tool and no stream may still bring one."""
        return not self.unclaimed and not self.peeks

    def knows(self, call_id: str) -> bool:
        """Say whether a model asked for this call on this board."""
        return call_id in self._open

    def name_of(self, call_id: str) -> str | None:
        """Return the tool that a call of this board was for, as long as it is remembered."""
        call = self._open.get(call_id)
        return None if call is None else call.name

    def held(self, call_id: str) -> Returned | None:
        """Return what a tool returned for a call, or `None` when it was not seen or is gone."""
        with self._lock:
            return self._returned.get(call_id)

    def _take(self, call: OpenCall) -> None:
        call.is_claimed = True
        same_name = self.unclaimed.get(call.name)
        if (
            same_name is not None
            and same_name.pop(call.call_id, None) is not None
            and not same_name
        ):
            del self.unclaimed[call.name]

    def _forget(self, call: OpenCall) -> None:
        self._take(call)
        del self._open[call.call_id]
        stale = self._returned.pop(call.call_id, None)
        if stale is not None:
            self._returned_chars -= stale.size_chars

    def _look_at_streams(self) -> None:
        with self._lock:
            peeks = list(self.peeks)
        for peek, chat_span_id in peeks:
            self.post(peek(), chat_span_id)


def _is_part(asked: object, bound: Mapping[str, object]) -> bool:
    if asked is None:
        return True
    if not isinstance(asked, Mapping):
        return False
    missing = object()
    for key, value in asked.items():
        got = bound.get(str(key), missing)
        if got is value:
            continue
        try:
            if got is missing or not bool(got == value):
                return False
        except Exception:  # noqa: BLE001  comparing the caller's values may raise anything (numpy)
            return False
    return True


def _all_equal(calls: list[OpenCall]) -> bool:
    first = calls[0].arguments
    return all(call.arguments == first for call in calls[1:])


_boards: weakref.WeakSet[Board] = weakref.WeakSet()
_busy: weakref.WeakSet[Board] = weakref.WeakSet()
"""Boards that may have something to claim; most tools outside a run find none at once."""

ambient_board = Board()
"""For model calls outside every run; a tool outside every run finds them by `claim_anywhere`."""


def boards() -> list[Board]:
    """Return the live boards of this process."""
    return list(_boards)


before_flush: list[Callable[[], None]] = []
"""Called before spans are flushed: what waits to end (for a retry that may not come) is settled."""


def claim_anywhere(name: str, arguments: Mapping[str, object]) -> CallClaim:
    """Claim a call for a tool that runs outside every context (a bare thread pool).

    Linked only if exactly one live board of the process has it open; else ambiguous.
    """
    if not _busy:
        return NO_CLAIM
    busy = list(_busy)
    _busy.difference_update([board for board in busy if board.is_idle])
    found = [board for board in busy if board.has(name, arguments)]
    if not found:
        return NO_CLAIM
    if len(found) > 1:
        return CallClaim(None, "ambiguous")
    claim = found[0].claim(name, arguments)
    return CallClaim(claim.call_id, "process") if claim.call_id is not None else claim


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
    raw_records: list[SpanRecord | Callable[[RunState], SpanRecord]] = field(default_factory=list)
    """Structural records of an unsampled run, or what makes one; read them by `records`."""
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
    end_counter: itertools.count[int] = field(default_factory=lambda: itertools.count(0))

    def keep(self, record: SpanRecord | Callable[[RunState], SpanRecord]) -> None:
        """Keep the record of a span of an unsampled run, or what makes it, up to a bound."""
        if len(self.raw_records) < _MAX_RECORDS:
            self.raw_records.append(record)
        else:
            self.mark_incomplete("spans_lost")

    def next_seq(self) -> int:
        """Return the next sequence number of the run: a span starts."""
        return next(self.seq_counter)

    def count_end(self) -> None:
        """Count a span that ended."""
        next(self.end_counter)

    @property
    def records(self) -> list[SpanRecord]:
        """Structural records of an unsampled run."""
        return [raw(self) if callable(raw) else raw for raw in self.raw_records]

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
