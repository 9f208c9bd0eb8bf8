"""What reads one wire format, and the cache that spares re-reading a growing history."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from spanwitness.wire.facts import WireReply, WireRequest
from spanwitness.wire.numbering import lack_ids, number_messages
from spanwitness.wire.reading import NOTHING, UNREADABLE, load
from spanwitness.wire.sse import DEFAULT_MAX_BYTES, ByteBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.model import Message, ToolDefinition
    from spanwitness.model.calls import WireFormat

__all__ = ["Codec", "Entry", "Reader", "RequestCache", "StreamDecoder"]

_MAX_CACHED_BYTES: Final = 4_194_304


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What one item of a request's history says."""

    message: Message | None = None
    offered: tuple[ToolDefinition, ...] = ()
    """Tools that this item brings into play (a listing, an addition)."""
    withdrawn: tuple[str, ...] = ()
    """Names of tools that this item takes out of play."""
    has_server_state: bool = False


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


class _Cached(msgspec.Struct, kw_only=True):
    prefix: bytes
    """The body up to the end of the last item of its history."""
    start: int
    """Where the first item begins."""
    entries: list[Entry]
    lacks_ids: bool
    """A call or result of the history came without an id."""


class _Loaded(msgspec.Struct, kw_only=True):
    document: dict[str, object]
    entries: Sequence[Entry]
    lacks_ids: bool


class RequestCache:
    """Remembers the last bodies of a few conversations, so that only what was added is decoded.

    A new body that begins with the same bytes, up to the end of a remembered history, has the same
    history so far: only the rest is read. Give one cache per client. Thread-safe.

    Args:
        slots: How many conversations are remembered; the least recently used one is forgotten.
    """

    __slots__ = ("_lock", "_slots", "_used")

    def __init__(self, slots: int = 4) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._used: OrderedDict[int, _Cached] = OrderedDict()

    def find(self, body: bytes) -> _Cached | None:
        """Return the remembered body with the longest history that this one continues."""
        with self._lock:
            known = list(self._used.items())
        best: tuple[int, _Cached] | None = None
        for key, cached in known:
            if (best is None or len(cached.prefix) > len(best[1].prefix)) and _continues(
                body, cached
            ):
                best = (key, cached)
        if best is None:
            return None
        with self._lock:
            self._used.pop(best[0], None)
        return best[1]

    def keep(self, cached: _Cached) -> None:
        """Remember a body."""
        with self._lock:
            self._used[id(cached)] = cached
            while len(self._used) > self._slots:
                self._used.popitem(last=False)


def _continues(body: bytes, cached: _Cached) -> bool:
    end = len(cached.prefix)
    return body[end : end + 1] in {b",", b"]"} and body.startswith(cached.prefix)


def _marker(key: str) -> bytes:
    # Unescaped quotes do not occur inside a JSON string, so this is always a key.
    return f'"{key}":['.encode()


class _Histories:
    """Typed decoders that give the items of a history as raw bytes, one a key."""

    __slots__ = ("_decoder", "marker")

    def __init__(self, key: str) -> None:
        holder = msgspec.defstruct("Holder", [("items", list[msgspec.Raw])], rename={"items": key})
        self._decoder = msgspec.json.Decoder(holder)
        self.marker = _marker(key)

    def locate(self, body: bytes) -> tuple[int, list[bytes]] | None:
        """Find where the history's items start and what each is, when they stand without gaps."""
        at = body.find(self.marker)
        if at < 0:
            return None
        start = at + len(self.marker)
        # Only a key of the top level leaves a whole object behind when the rest is cut off.
        if load(body[:start] + b"]}") is NOTHING:
            return None
        try:
            found: list[msgspec.Raw] = getattr(self._decoder.decode(body), "items")  # noqa: B009
        except (msgspec.MsgspecError, RecursionError):
            return None
        raw = [bytes(item) for item in found]
        joined = b",".join(raw)
        end = start + len(joined)
        if body[start:end] != joined or body[end : end + 1] != b"]":
            return None
        return start, raw


class Codec:
    """Reads the requests and replies of one wire format.

    Args:
        reader: The functions of the format.
        model: The model as the path names it, where the body does not.
        is_streaming: Whether the path asks for a stream; `None` when the body says it.
    """

    __slots__ = ("_histories", "_is_streaming", "_marker", "_model", "_reader", "wire")

    def __init__(
        self, reader: Reader, *, model: str | None = None, is_streaming: bool | None = None
    ) -> None:
        self._reader = reader
        self._model = model
        self._is_streaming = is_streaming
        self._histories: _Histories | None = None
        self._marker = _marker(reader.history_key)
        self.wire: WireFormat = reader.wire

    def parse_request(self, body: bytes, cache: RequestCache | None = None) -> WireRequest:
        """Read a request body. Never raises; a body that is no JSON object gives `error_type`.

        Args:
            body: The decoded (not compressed) body.
            cache: Spares re-reading the history that it shares with an earlier body.
        """
        loaded = None if cache is None else self._load_with(cache, body)
        if loaded is None:
            loaded = self._load(body)
        if loaded is None:
            return WireRequest(
                wire=self.wire,
                model=self._model,
                offered=None,
                error_type=UNREADABLE,
                is_streaming=bool(self._is_streaming),
            )
        request = self._reader.read_request(loaded.document, loaded.entries)
        messages = number_messages(request.messages) if loaded.lacks_ids else request.messages
        model = request.model or self._model
        is_streaming = request.is_streaming if self._is_streaming is None else self._is_streaming
        if (
            messages is request.messages
            and model == request.model
            and is_streaming == request.is_streaming
        ):
            return request
        return replace(request, messages=messages, model=model, is_streaming=is_streaming)

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

    def _load(self, body: bytes) -> _Loaded | None:
        document = load(body)
        if not isinstance(document, dict):
            return None
        history = document.get(self._reader.history_key)
        read = self._reader.read_entry
        entries = [read(item) for item in history] if isinstance(history, list) else []
        return _Loaded(document=document, entries=entries, lacks_ids=_lack_ids(entries))

    def _load_with(self, cache: RequestCache, body: bytes) -> _Loaded | None:
        """Read a body with the help of the cache, or return `None` when it must be read plainly."""
        read = self._reader.read_entry
        known = cache.find(body)
        if known is not None:
            rest = body[len(known.prefix) :].removeprefix(b",")
            if self._marker in rest:
                return (
                    None  # a second history in one body: only the plain reader knows which counts
                )
            document = load(body[: known.start] + rest)
            added = document.get(self._reader.history_key) if isinstance(document, dict) else None
            # A comma with nothing behind it is no JSON: the plain reader shall say so.
            is_whole = bool(added) or body[len(known.prefix) : len(known.prefix) + 1] == b"]"
            if isinstance(document, dict) and isinstance(added, list) and is_whole:
                new = [read(item) for item in added]
                loaded = _Loaded(
                    document=document,
                    entries=known.entries + new,
                    lacks_ids=known.lacks_ids or _lack_ids(new),
                )
                self._keep(cache, body, known, rest, loaded)
                return loaded
        if len(body) > _MAX_CACHED_BYTES:
            return None
        if self._histories is None:
            self._histories = _histories(self._reader.history_key)
        located = self._histories.locate(body)
        if located is None:
            return None
        start, raw = located
        end = start + sum(map(len, raw)) + max(len(raw) - 1, 0)
        document = load(body[:start] + body[end:])
        if not isinstance(document, dict):
            return None
        entries = [read(load(item)) for item in raw]
        lacks_ids = _lack_ids(entries)
        cache.keep(_Cached(prefix=body[:end], start=start, entries=entries, lacks_ids=lacks_ids))
        return _Loaded(document=document, entries=entries, lacks_ids=lacks_ids)

    def _keep(
        self,
        cache: RequestCache,
        body: bytes,
        known: _Cached,
        rest: bytes,
        loaded: _Loaded,
    ) -> None:
        """Remember the longer body; where its history ends is found from the added part alone."""
        n_added = len(loaded.entries) - len(known.entries)
        if not n_added:
            cache.keep(known)
            return
        if len(body) > _MAX_CACHED_BYTES:
            return
        if self._histories is None:
            self._histories = _histories(self._reader.history_key)
        located = self._histories.locate(body[: known.start] + rest)
        if located is None or located[0] != known.start:
            return
        n_rest = sum(map(len, located[1])) + n_added - 1
        end = len(body) - len(rest) + n_rest
        cache.keep(
            _Cached(
                prefix=body[:end],
                start=known.start,
                entries=list(loaded.entries),
                lacks_ids=loaded.lacks_ids,
            )
        )


def _lack_ids(entries: Sequence[Entry]) -> bool:
    return lack_ids(entry.message for entry in entries if entry.message is not None)


_known_histories: dict[str, _Histories] = {}


def _histories(key: str) -> _Histories:
    if key not in _known_histories:
        _known_histories[key] = _Histories(key)
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
