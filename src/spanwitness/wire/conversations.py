"""What the requests of one client have in common, so that only what is new in each is decoded.

A request is a *frame* (model, tools, settings) around a *history* of messages. Requests of one
agent share the frame byte by byte, and each request of a conversation begins with the history of
the one before. JSON that is equal so far means the same so far: what was read of it is used again.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.wire.numbering import lack_ids, number_more
from spanwitness.wire.reading import NOTHING, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model import Message, ToolDefinition
    from spanwitness.wire.facts import WireRequest

__all__ = [
    "Conversation",
    "Entry",
    "Frame",
    "Histories",
    "Located",
    "RequestCache",
    "continued",
    "items_between",
]

_NO_SPACE: Final = re.compile(rb"[ \t\r\n]*")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What one item of a request's history says."""

    message: Message | None = None
    offered: tuple[ToolDefinition, ...] = ()
    """Tools that this item brings into play (a listing, an addition)."""
    withdrawn: tuple[str, ...] = ()
    """Names of tools that this item takes out of play."""
    has_server_state: bool = False


def _is_plain(entry: Entry) -> bool:
    return not (entry.offered or entry.withdrawn or entry.has_server_state)


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A request without its history."""

    key: tuple[object, ...]
    """Which codec read it."""
    head: bytes
    """Up to the first item of the history."""
    tail: bytes
    """From the bracket behind the last item on."""
    document: dict[str, object]
    request: WireRequest
    """What it says around an empty history."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read, up to the end of its history."""

    frame: Frame
    body: bytes
    end: int
    """Where the last item of the history ends."""
    messages: tuple[Message, ...]
    """Of the history, with ids for the calls that have none."""
    entries: tuple[Entry, ...] | None
    """`None` = they say nothing beside their messages."""
    calls: Counter[str]
    """Calls without an id so far, by name."""
    results: Counter[str]

    def begins(self, body: bytes) -> bool:
        """Say whether a body begins with this one's frame and history."""
        end = self.end
        return body[end : end + 1] in {b",", b"]"} and body.startswith(memoryview(self.body)[:end])


def continued(
    frame: Frame, before: Conversation | None, body: bytes, end: int, added: Sequence[Entry]
) -> Conversation:
    """Put a conversation together from what is known and what was added.

    Args:
        frame: The frame of the new body.
        before: The known beginning; `None` = there is none.
        body: The new body.
        end: Where its history ends.
        added: The items beyond the known ones.
    """
    known = () if before is None else before.messages
    fresh = tuple([entry.message for entry in added if entry.message is not None])
    calls: Counter[str] = Counter() if before is None else before.calls
    results: Counter[str] = Counter() if before is None else before.results
    if lack_ids(fresh):
        calls, results = Counter(calls), Counter(results)
        fresh = number_more(fresh, calls, results)
    entries = None if before is None else before.entries
    if entries is not None or not all(map(_is_plain, added)):
        if entries is None:
            entries = tuple([Entry(message=message) for message in known])
        entries = (*entries, *added)
    return Conversation(
        frame=frame,
        body=body,
        end=end,
        messages=known + fresh,
        entries=entries,
        calls=calls,
        results=results,
    )


class RequestCache:
    """Remembers the last requests of one client, so that only what was added is decoded.

    Give one cache per client. Thread-safe: what it remembers is replaced as a whole, so that two
    threads can at most make each other forget.

    Args:
        slots: How many conversations, and how many frames, are remembered; the least recently used
            ones are forgotten.
    """

    __slots__ = ("_conversations", "_frames", "_slots")

    def __init__(self, slots: int = 4) -> None:
        self._slots = slots
        self._conversations: tuple[Conversation, ...] = ()
        self._frames: tuple[Frame, ...] = ()

    def conversation(self, key: tuple[object, ...], body: bytes) -> Conversation | None:
        """Return the remembered conversation with the longest history that a body continues."""
        best: Conversation | None = None
        for known in self._conversations:
            if (
                (best is None or known.end > best.end)
                and known.frame.key == key
                and known.begins(body)
            ):
                best = known
        return best

    def frame(self, key: tuple[object, ...], body: bytes) -> Frame | None:
        """Return a remembered frame that stands around a body's history."""
        for known in self._frames:
            if known.key == key and body.startswith(known.head) and body.endswith(known.tail):
                return known
        return None

    def keep(self, made: Conversation, before: Conversation | None) -> None:
        """Remember a conversation, in the place of the one that it continues."""
        kept = [one for one in self._conversations if one is not before]
        self._conversations = (made, *kept[: self._slots - 1])
        frames = self._frames
        if not frames or frames[0] is not made.frame:
            others = [one for one in frames if one is not made.frame]
            self._frames = (made.frame, *others[: self._slots - 1])


def items_between(body: bytes, start: int, end: int, *, is_first: bool) -> list[object] | None:
    """Decode the items of a history in a part of a body; `None` when they are no list of items.

    Args:
        body: The body.
        start: Where the first of them begins, or the comma before it.
        end: Behind the last of them.
        is_first: Whether nothing stands before them, so that there is no comma.
    """
    if start == end:
        return []
    if not is_first:
        if body[start] != 44:
            return None
        start += 1
    loaded = load(b"[%b]" % body[start:end])
    if not isinstance(loaded, list) or not (loaded or is_first):
        return None
    return loaded


class Histories:
    """Finds the array that grows from turn to turn, as raw items."""

    __slots__ = ("_decoder", "_marker")

    def __init__(self, key: str) -> None:
        holder = msgspec.defstruct("Holder", [("items", list[msgspec.Raw])], rename={"items": key})
        self._decoder = msgspec.json.Decoder(holder)
        # Unescaped quotes do not occur inside a JSON string, so this is always a key.
        self._marker = re.compile(rf'"{key}"[ \t\r\n]*:[ \t\r\n]*\['.encode())

    def locate(self, body: bytes) -> Located | None:
        """Find where the history's items start and end, and what each is."""
        marker = self._marker.search(body)
        if marker is None:
            return None
        start = marker.end()
        # Only a key of the top level leaves a whole object behind when the rest is cut off.
        if load(body[:start] + b"]}") is NOTHING:
            return None
        try:
            found: list[msgspec.Raw] = getattr(self._decoder.decode(body), "items")  # noqa: B009
        except (msgspec.MsgspecError, RecursionError):
            return None
        raw = [bytes(item) for item in found]
        end = _end_of(body, start, raw)
        return None if end is None else Located(body=body, start=start, end=end, raw=raw)


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """Where a history stands in a body."""

    body: bytes
    start: int
    end: int
    raw: list[bytes]


def _end_of(body: bytes, start: int, raw: Sequence[bytes]) -> int | None:
    """Walk over the items; `None` when they do not stand here (the key stood there twice)."""
    at = start
    for place, item in enumerate(raw):
        at = _skip(body, at)
        if place:
            if body[at : at + 1] != b",":
                return None
            at = _skip(body, at + 1)
        if not body.startswith(item, at):
            return None
        at += len(item)
    closing = _skip(body, at)
    return closing if body[closing : closing + 1] == b"]" else None


def _skip(body: bytes, at: int) -> int:
    found = _NO_SPACE.match(body, at)
    return at if found is None else found.end()
