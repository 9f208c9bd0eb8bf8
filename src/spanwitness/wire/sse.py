"""Server-sent events: any split or line ending, comments, multi-line data, a BOM; bounded.

Bytes are only collected as they pass; the events are read when somebody asks for them, in one go.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from spanwitness.wire.reading import NOTHING, load

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ByteBuffer", "SseEvent", "SseItems", "read_events", "read_items", "read_regular"]

T = TypeVar("T")

DEFAULT_MAX_BYTES: Final = 8_388_608
_TAIL_BYTES: Final = 65_536
_BOM: Final = b"\xef\xbb\xbf"
_COMMENT: Final = re.compile(rb"(?m)^:[^\n]*\n+")
_PLAIN_HEAD: Final = b"data: "
_PLAIN: Final = b"\n\ndata: "
_NAMED: Final = re.compile(rb"\n\nevent: [^\n]*\ndata: ")
_NAMED_HEAD: Final = re.compile(rb"event: [^\n]*\ndata: ")
_DONE: Final = b"[DONE]"


class ByteBuffer:
    """Bytes of a body as they pass: its head up to a cap and, beyond that, a small tail.

    Args:
        max_bytes: What is kept of the head.
    """

    __slots__ = ("_chunks", "_max_bytes", "_n_beyond", "_n_kept", "_n_tail", "_tail")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._chunks: list[bytes] = []
        self._n_kept = 0
        self._tail: deque[bytes] = deque()
        self._n_tail = 0
        self._n_beyond = 0

    @property
    def n_bytes(self) -> int:
        """All bytes that passed."""
        return self._n_kept + self._n_beyond

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        n_kept = self._n_kept + len(chunk)
        if n_kept <= self._max_bytes:
            self._n_kept = n_kept
            self._chunks.append(chunk)
        else:
            self._overflow(chunk)

    def _overflow(self, chunk: bytes) -> None:
        room = self._max_bytes - self._n_kept
        if room > 0:
            self._chunks.append(chunk[:room])
            self._n_kept += room
            chunk = chunk[room:]
        self._n_beyond += len(chunk)
        self._tail.append(chunk[-_TAIL_BYTES:])
        self._n_tail += len(self._tail[-1])
        while self._n_tail - len(self._tail[0]) >= _TAIL_BYTES:
            self._n_tail -= len(self._tail.popleft())

    @property
    def is_cut(self) -> bool:
        """Whether more passed than was kept as head."""
        return bool(self._tail)

    def head(self) -> bytes:
        """Return the first bytes, up to the cap."""
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""

    def tail(self) -> bytes:
        """Return the last bytes when the body was cut, else nothing."""
        return b"".join(self._tail)


class SseEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event."""

    event: str
    """Its name; empty when it has none."""
    data: bytes


class SseItems(msgspec.Struct, Generic[T], kw_only=True):
    """The decoded payloads of a stream."""

    items: list[T]
    is_done: bool = False
    """The stream said `[DONE]`."""
    first: bytes = b""
    """The first payload as it came."""


def _normalise(body: bytes) -> bytes:
    body = body.removeprefix(_BOM)
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return body


def read_events(body: bytes) -> list[SseEvent]:
    """Read all events of a body; a last event without its blank line is given too."""
    found: list[SseEvent] = []
    name = b""
    data: list[bytes] = []
    for line in [*_normalise(body).split(b"\n"), b""]:
        if not line:
            if data:
                found.append(SseEvent(event=name.decode("utf-8", "replace"), data=b"\n".join(data)))
            name, data = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return found


def read_items(
    body: bytes, decoder: msgspec.json.Decoder[list[T]], lenient: Callable[[object, str], T | None]
) -> SseItems[T]:
    """Decode the JSON payloads of all events.

    A regular stream is decoded in one call of the typed decoder; one that holds anything else is
    read event by event.

    Args:
        body: The bytes that passed so far.
        decoder: Typed decoder of a list of payloads.
        lenient: Makes an item of a decoded payload and its event's name, whatever its types; `None`
            skips it. Payloads that are no JSON (a last, unfinished one) are skipped.
    """
    regular = read_regular(body, decoder)
    if regular is not None:
        return regular
    body = _normalise(body)
    found: SseItems[T] = SseItems(items=[])
    for event in read_events(body):
        if event.data.strip() == _DONE:
            found.is_done = True
            continue
        payload = load(event.data)
        if payload is NOTHING:
            continue
        item = lenient(payload, event.event)
        if item is not None:
            found.first = found.first or event.data
            found.items.append(item)
    return found


def read_regular(body: bytes, decoder: msgspec.json.Decoder[list[T]]) -> SseItems[T] | None:
    """Decode the payloads of a stream whose events all look alike, or return `None`.

    Args:
        body: The bytes that passed so far.
        decoder: Typed decoder of a list of payloads.
    """
    body = _normalise(body)
    regular = _read_regular(body, decoder)
    if regular is None and (body[:1] == b":" or b"\n:" in body):
        regular = _read_regular(_COMMENT.sub(b"", body), decoder)
    return regular


def _read_regular(body: bytes, decoder: msgspec.json.Decoder[list[T]]) -> SseItems[T] | None:
    """Read a stream whose events all look alike, or return `None`.

    The separators cannot occur inside JSON: a raw line break is no part of a JSON string. What else
    stands between events (comments, other fields) is no JSON, so the decoder refuses it.
    """
    head = _PLAIN_HEAD
    is_named = not body.startswith(_PLAIN_HEAD)
    if is_named:
        named = _NAMED_HEAD.match(body)
        if named is None:
            return None
        head = named[0]
    body = body.rstrip(b"\n")
    is_done = body.endswith(b"\n\ndata: [DONE]")
    if is_done:
        body = body[:-14].rstrip(b"\n")
    payloads = body[len(head) :]
    if is_named:
        joined, n_separators = _NAMED.subn(b",", payloads)
    else:
        n_separators = payloads.count(_PLAIN)
        joined = payloads.replace(_PLAIN, b",")
    try:
        found = decoder.decode(b"[%b]" % joined)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if len(found) != n_separators + 1:
        return None
    first = payloads[: payloads.find(b"\n")] if n_separators else payloads
    return SseItems(items=found, is_done=is_done, first=first)
