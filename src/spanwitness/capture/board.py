"""The board of a run: calls that a model asked for, until a tool claims them, and their results."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from spanwitness.capture.result_parts import part_types

if TYPE_CHECKING:
    from spanwitness.model import ToolRequest

Link: TypeAlias = Literal["explicit", "exact", "identical", "name", "process", "ambiguous", "none"]

_MAX_OPEN_CALLS = 1024
_MAX_RETURNED = 256
_MAX_RETURNED_CHARS = 4_000_000


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


class CallClaim(msgspec.Struct):
    """The answer to a tool that asks which call it serves."""

    call_id: str | None
    link: Link = "none"
    board: Board | None = None
    """Where it was found by a tool that runs outside every run; its result is held there."""


class OpenCall(CallClaim):
    """A call that a model asked for; once a tool has claimed it, the answer to that tool.

    One object for both, and for a small result too: what a call costs is mostly fresh objects.
    """

    name: str = ""
    arguments: object = None
    chat_span_id: str = ""
    value: object = msgspec.UNSET
    """What the tool returned, if that is a plain value whose text has at most `SMALL` characters.
    There are no more than `_MAX_OPEN_CALLS` of them, so they need no count."""


NO_CLAIM = CallClaim(None)
SMALL: Final = 4096
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
        """Open calls dropped because the board was full."""
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
                    self._forget(call_id, known)
                call = OpenCall(
                    call_id,
                    name=request.name,
                    arguments=request.arguments,
                    chat_span_id=chat_span_id,
                )
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
            waiting = self.unclaimed.get(name)
            if waiting is None:
                return NO_CLAIM
            if len(waiting) > 1:
                return self._choose(waiting, arguments)
            (chosen,) = waiting.values()
            del self.unclaimed[name]
        asked = chosen.arguments
        try:
            # What most often holds, at a fifth of the cost of comparing parts.
            is_exact = asked == arguments or _is_part(asked, arguments)
        except Exception:  # noqa: BLE001  comparing the caller's values may raise anything
            is_exact = _is_part(asked, arguments)
        chosen.link = "exact" if is_exact else "name"
        return chosen

    def _choose(self, waiting: dict[str, OpenCall], arguments: Mapping[str, object]) -> CallClaim:
        """Claim one of several calls of a name; under the lock."""
        matching = [c for c in waiting.values() if _is_part(c.arguments, arguments)]
        link: Link
        if len(matching) == 1:
            chosen, link = matching[0], "exact"
        elif matching and _all_equal(matching):
            # Of the newest reply: what an earlier one asked for in vain is over.
            newest = matching[-1].chat_span_id
            chosen = next(c for c in matching if c.chat_span_id == newest)
            link = "identical"
        else:
            return CallClaim(None, "ambiguous")
        self._take(chosen)
        chosen.link = link
        return chosen

    def claim_only(self, name: str) -> CallClaim | None:
        """Claim the only open call of a name, whatever its arguments; `None` = not just one.

        Does not look at unfinished streams.
        """
        with self._lock:
            waiting = self.unclaimed.get(name)
            if waiting is None or len(waiting) != 1:
                return None
            del self.unclaimed[name]
        (chosen,) = waiting.values()
        chosen.link = "name"
        return chosen

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
        held = self._returned
        with self._lock:
            before = held.pop(call_id, None)
            if before is not None:
                self._returned_chars -= before.size_chars
            held[call_id] = returned
            self._returned_chars += returned.size_chars
            while len(held) > _MAX_RETURNED or self._returned_chars > _MAX_RETURNED_CHARS:
                self._returned_chars -= held.popitem(last=False)[1].size_chars

    def clear(self) -> None:
        """Forget all calls, unfinished streams and results."""
        with self._lock:
            self._open.clear()
            self.unclaimed.clear()
            self._returned.clear()
            self._returned_chars = 0
            self.peeks = []
            self.delivered = None

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
            returned = self._returned.get(call_id)
            call = self._open.get(call_id)
        if returned is not None or call is None or call.value is msgspec.UNSET:
            return returned
        return Returned(call.name, call.value, part_types(call.value))

    def _take(self, call: OpenCall) -> None:
        same_name = self.unclaimed.get(call.name)
        if (
            same_name is not None
            and same_name.pop(call.call_id, None) is not None  # type: ignore[arg-type]  # it has one
            and not same_name
        ):
            del self.unclaimed[call.name]

    def _forget(self, call_id: str, call: OpenCall) -> None:
        self._take(call)
        del self._open[call_id]
        stale = self._returned.pop(call_id, None)
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
    if type(asked) is dict and type(bound) is dict:
        try:
            return bool(asked.items() <= bound.items())
        except Exception:  # noqa: BLE001, S110  comparing the caller's values may raise anything
            pass  # item by item, below
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
    return claim if claim.call_id is None else CallClaim(claim.call_id, "process", found[0])
