"""What reads one wire format, and the cache that spares re-reading a growing history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from spanwitness.wire.conversations import (
    Conversation,
    Entry,
    Frame,
    Histories,
    Located,
    RequestCache,
    continued,
    items_between,
)
from spanwitness.wire.facts import WireReply, WireRequest
from spanwitness.wire.numbering import number_messages
from spanwitness.wire.reading import NOTHING, UNREADABLE, load
from spanwitness.wire.sse import DEFAULT_MAX_BYTES, ByteBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.model.calls import WireFormat

__all__ = ["Codec", "Entry", "Reader", "RequestCache", "StreamDecoder"]

_MAX_CACHED_BYTES: Final = 4_194_304


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The functions that read one wire format; none of them raises, whatever the JSON holds."""

    wire: WireFormat
    history_key: str
    """Name of the array of a request that grows from turn to turn."""
    read_entry: Callable[[object], Entry]
    read_request: Callable[[dict[str, object], Sequence[Entry]], WireRequest]
    """From the body and its history as entries (empty when the history is no array)."""
    read_reply: Callable[[object], WireReply]
    read_stream: Callable[[bytes], WireReply]
    read_plain: Callable[[bytes], WireReply | None] = lambda _: None
    """Reads the bytes of a common whole reply fast; `None` = leave it to `read_reply`."""


class Codec:
    """Reads the requests and replies of one wire format.

    Args:
        reader: The functions of the format.
        model: The model as the path names it, where the body does not.
        is_streaming: Whether the path asks for a stream; `None` when the body says it.
    """

    __slots__ = ("_histories", "_is_streaming", "_key", "_model", "_reader", "wire")

    def __init__(
        self, reader: Reader, *, model: str | None = None, is_streaming: bool | None = None
    ) -> None:
        self._reader = reader
        self._model = model
        self._is_streaming = is_streaming
        self._key = (reader.wire, model, is_streaming)
        self._histories: Histories | None = None
        self.wire: WireFormat = reader.wire

    def parse_request(self, body: bytes, cache: RequestCache | None = None) -> WireRequest:
        """Read a request body. Never raises; a body that is no JSON object gives `error_type`.

        Args:
            body: The decoded (not compressed) body.
            cache: Spares re-reading what it shares with earlier bodies.
        """
        if cache is not None and len(body) <= _MAX_CACHED_BYTES:
            found = self._parse_with(cache, body)
            if found is not None:
                return found
        document = load(body)
        if not isinstance(document, dict):
            return WireRequest(
                wire=self.wire,
                model=self._model,
                offered=None,
                error_type=UNREADABLE,
                is_streaming=bool(self._is_streaming),
            )
        history = document.get(self._reader.history_key)
        read = self._reader.read_entry
        entries = [read(item) for item in history] if isinstance(history, list) else []
        request = self._read(document, entries)
        messages = number_messages(request.messages)
        return request if messages is request.messages else replace(request, messages=messages)

    def _read(self, document: dict[str, object], entries: Sequence[Entry]) -> WireRequest:
        request = self._reader.read_request(document, entries)
        model = request.model or self._model
        is_streaming = request.is_streaming if self._is_streaming is None else self._is_streaming
        if model == request.model and is_streaming == request.is_streaming:
            return request
        return replace(request, model=model, is_streaming=is_streaming)

    def _parse_with(self, cache: RequestCache, body: bytes) -> WireRequest | None:
        """Read a body with the help of the cache, or return `None` when it must be read plainly."""
        before = cache.conversation(self._key, body)
        frame = cache.frame(self._key, body) if before is None else before.frame
        made: Conversation | None = None
        if frame is not None and body.endswith(frame.tail):
            made = self._go_on(frame, before, body)
        elif before is not None:
            made = self._go_on_otherwise(before, body)
        if made is None:
            before, made = None, self._begin(body)
        if made is None:
            return None
        cache.keep(made, before)
        frame = made.frame
        request = frame.request
        if made.entries is not None:
            request = self._read(frame.document, made.entries)
        return replace(request, messages=frame.request.messages + made.messages)

    def _go_on(self, frame: Frame, before: Conversation | None, body: bytes) -> Conversation | None:
        """Read what stands between a known beginning and a known end."""
        start = len(frame.head) if before is None else before.end
        end = len(body) - len(frame.tail)
        is_first = start == len(frame.head)
        added = items_between(body, start, end, is_first=is_first) if end >= start else None
        if added is None:
            return None
        read = self._reader.read_entry
        return continued(frame, before, body, end, [read(item) for item in added])

    def _go_on_otherwise(self, before: Conversation, body: bytes) -> Conversation | None:
        """Read on behind a known history, where other settings follow."""
        head = before.frame.head
        rest = body[before.end :]
        located = self._locate(head + rest.removeprefix(b","))
        if located is None or located.start != len(head):
            return None
        if rest.startswith(b",") and not located.raw:
            return None
        end = len(body) - len(located.body) + located.end
        return self._conversation(located, before, body, end)

    def _begin(self, body: bytes) -> Conversation | None:
        """Read a body of which nothing is known."""
        located = self._locate(body)
        if located is None:
            return None
        return self._conversation(located, None, body, located.end)

    def _locate(self, body: bytes) -> Located | None:
        if self._histories is None:
            self._histories = _histories(self._reader.history_key)
        return self._histories.locate(body)

    def _conversation(
        self, located: Located, before: Conversation | None, body: bytes, end: int
    ) -> Conversation | None:
        head, tail = located.body[: located.start], located.body[located.end :]
        document = load(head + tail)
        # A history that stands there twice counts where it stands last.
        if not isinstance(document, dict) or document.get(self._reader.history_key) != []:
            return None
        frame = Frame(
            key=self._key, head=head, tail=tail, document=document, request=self._read(document, ())
        )
        read = self._reader.read_entry
        return continued(frame, before, body, end, [read(load(item)) for item in located.raw])

    def parse_reply(self, body: bytes) -> WireReply:
        """Read a whole reply body, an error body included. Never raises."""
        loaded = load(body)
        if loaded is NOTHING:
            return WireReply(error_type=UNREADABLE, is_terminated=True)
        return self._reader.read_reply(loaded)

    def decoder(self, max_bytes: int = DEFAULT_MAX_BYTES) -> StreamDecoder:
        """Make a decoder for one reply that comes in chunks, be it a stream or one JSON body.

        Args:
            max_bytes: What is kept of it at most (beside a tail of 64 kB).
        """
        return StreamDecoder(self, max_bytes)


_known_histories: dict[str, Histories] = {}


def _histories(key: str) -> Histories:
    if key not in _known_histories:
        _known_histories[key] = Histories(key)
    return _known_histories[key]


class StreamDecoder:
    """Takes the bytes of one reply as they pass and reads them when asked.

    The same bytes give the same reply, however they were split.
    """

    __slots__ = ("_buffer", "_codec", "_read_at", "_reply", "feed")

    def __init__(self, codec: Codec, max_bytes: int) -> None:
        self._codec = codec
        self._buffer = ByteBuffer(max_bytes)
        self._read_at = -1
        self._reply = WireReply()
        self.feed: Callable[[bytes], None] = self._buffer.feed
        """Takes the next bytes."""

    @property
    def n_bytes(self) -> int:
        """Bytes that passed so far."""
        return self._buffer.n_bytes

    def reply(self) -> WireReply:
        """Read what passed so far; `is_terminated` says whether that is all of it. Never raises."""
        if self._read_at != self._buffer.n_bytes:
            self._read_at = self._buffer.n_bytes
            self._reply = self._read()
        return self._reply

    def _read(self) -> WireReply:
        reader = self._codec._reader  # noqa: SLF001  the codec's other half
        body = self._buffer.head()
        if body.lstrip()[:1] == b"{":
            plain = reader.read_plain(body)
            if plain is not None:
                return plain
            loaded = load(body)
            if loaded is NOTHING:
                return WireReply(
                    error_type=None if self._buffer.is_cut else UNREADABLE,
                    is_cut=self._buffer.is_cut,
                )
            return reader.read_reply(loaded)
        if not self._buffer.is_cut:
            return reader.read_stream(body)
        # The head may end inside an event: what is unfinished is left out. From the tail only what
        # stands by itself is taken: how the reply ended and what it cost.
        reply = reader.read_stream(body)
        _, _, tail = self._buffer.tail().partition(b"\n\n")
        ending = reader.read_stream(tail)
        return replace(
            reply,
            finish_reasons=ending.finish_reasons or reply.finish_reasons,
            usage=ending.usage if ending.is_terminated else reply.usage,
            is_terminated=ending.is_terminated,
            error_type=reply.error_type or ending.error_type,
            is_cut=True,
        )
