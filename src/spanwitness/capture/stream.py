"""The tee: a response body is copied while the caller reads it, and is never read for the caller.

The copy is bounded. The wrapper around the body's stream must be a subclass of the stream class of
the HTTP library that the caller's client is made of, so it is built once per library, from the
class of the stream that came.
"""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001

from __future__ import annotations

import sys
import threading
import weakref
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from time import time_ns
from typing import TYPE_CHECKING, Any, Literal, Protocol

from spanwitness.guard import guard

if TYPE_CHECKING:
    from spanwitness.wire.codec import StreamDecoder
    from spanwitness.wire.facts import WireReply

__all__ = ["MAX_COPY_BYTES", "BodyCopy", "Ending", "tee"]

MAX_COPY_BYTES = 4 * 1024 * 1024
"""Most bytes of one response body that are kept (and a small tail of what comes after them)."""
_DRAIN_BYTES = 256 * 1024
"""Chunks wait, as they came, up to this size; then they are decompressed and handed on."""
_PIECE_BYTES = 64 * 1024
_MAX_INFLATED_BYTES = 64 * 1024 * 1024
"""Most bytes that are decompressed of one body."""

Ending = Literal["eof", "closed", "dropped", "cancelled", "error"]
"""How the reading ended: to its end, closed by the caller, dropped without a close, by cancellation
or by an exception."""
OnEnd = Callable[[Ending, BaseException | None], None]


class _Inflater(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _Zlib:
    """Decompress gzip and deflate (with or without its header), in bounded pieces."""

    def __init__(self) -> None:
        self._decompress: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._decompress is None:
            # 32: gzip or zlib header, found by looking; bare deflate starts like neither.
            has_header = data[:1] in {b"\x78", b"\x1f"}
            self._decompress = zlib.decompressobj(32 + 15 if has_header else -15)
        while data:
            yield self._decompress.decompress(data, _PIECE_BYTES)
            data = self._decompress.unconsumed_tail


class _Library:
    """Decompress with the decoder of the caller's own HTTP library (brotli, zstandard)."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._decoder.decode(data)


def _inflater(encoding: str, library: str) -> _Inflater | None:
    """Return what undoes a content encoding, or `None` when nothing here can."""
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Zlib()
    decoders = getattr(sys.modules.get(f"{library}._decoders"), "SUPPORTED_DECODERS", {})
    made = decoders.get(encoding)
    return _Library(made()) if made is not None else None


class BodyCopy:
    """The bounded copy of one response body, read when it is asked for.

    The caller's thread only collects chunks; reading may happen in another thread (a tool that
    starts while the stream is open looks at what came so far) and is locked.

    Args:
        decoder: Takes the body and gives the reply.
        encoding: The `content-encoding` header.
        library: Name of the HTTP library of the client, whose decoders may help.
    """

    __slots__ = (
        "_decoder", "_inflater", "_lock", "_n_inflated", "first_chunk_ns", "is_readable",
        "waiting", "watch",
    )  # fmt: skip

    def __init__(self, decoder: StreamDecoder, *, encoding: str = "", library: str = "") -> None:
        self.first_chunk_ns = 0
        self.is_readable = True
        """False when the content encoding cannot be undone here."""
        self.watch: weakref.ref[object] | None = None
        """Tells when the stream that fills this copy is collected."""
        self._decoder = decoder
        self.waiting: list[bytes] = []
        """Chunks as they came; the caller's thread appends."""
        self._n_inflated = 0
        self._lock = threading.RLock()
        self._inflater: _Inflater | None = None
        encoding = encoding.strip().lower()
        if encoding not in {"", "identity"}:
            self._inflater = _inflater(encoding, library)
            self.is_readable = self._inflater is not None

    def add(self, chunk: bytes) -> None:
        """Take a whole body at once."""
        self.first_chunk_ns = time_ns()
        self.waiting.append(chunk)

    def drain(self) -> None:
        """Decompress and hand on what waits; never raises."""
        with guard("capture.stream.drain"), self._lock:
            self._drain()

    def reply(self) -> WireReply | None:
        """Read what has been copied so far; `None` when it cannot be read."""
        with self._lock:
            self._drain()
            return self._decoder.reply() if self.is_readable else None

    def drop(self) -> None:
        """Free the copy."""
        with self._lock:
            self.waiting.clear()
            self.is_readable = False

    def _drain(self) -> None:
        # The caller's thread may append meanwhile: what is taken is cut off, never swapped.
        waiting = self.waiting[:]
        del self.waiting[: len(waiting)]
        if not self.is_readable or not waiting:
            return
        data = b"".join(waiting)
        if self._inflater is None:
            self._decoder.feed(data)
            return
        try:
            for piece in self._inflater.feed(data):
                self._n_inflated += len(piece)
                if self._n_inflated > _MAX_INFLATED_BYTES:
                    self.is_readable = False
                    return
                self._decoder.feed(piece)
        except Exception:
            self.is_readable = False
            raise


class _Tee:
    """What the sync and the async wrapper share: ends exactly once, whoever says so first."""

    _inner: Any
    _copy: BodyCopy
    _on_end: OnEnd

    def _begin(self, inner: object, copy: BodyCopy, on_end: OnEnd) -> None:
        self._inner = inner
        self._copy = copy
        self._on_end = on_end
        # A body that is never read, nor closed, ends when it is collected. (At exit its span does.)
        copy.watch = weakref.ref(self, lambda _: _dropped(on_end))

    def _end(self, how: Ending, error: BaseException | None = None) -> None:
        self._copy.watch = None
        with guard("capture.stream.end"):
            self._on_end(how, error)

    def _end_with(self, error: BaseException) -> None:
        if isinstance(error, GeneratorExit):
            self._end("closed")
        elif _is_cancellation(error):
            self._end("cancelled", error)
        else:
            self._end("error", error)

    def __getattr__(self, name: str) -> object:
        # Streams of some libraries carry more than the two methods (aiohttp-backed ones).
        if name in {"_inner", "_copy", "_on_end"}:
            raise AttributeError(name)
        return getattr(self._inner, name)


def _dropped(on_end: OnEnd) -> None:
    with guard("capture.stream.dropped"):
        on_end("dropped", None)


def _is_cancellation(error: BaseException) -> bool:
    return not isinstance(error, Exception)


class _SyncTee(_Tee):
    def __iter__(self) -> Iterator[bytes]:
        copy = self._copy
        keep = copy.waiting.append
        room = _DRAIN_BYTES
        try:
            for chunk in self._inner:
                keep(chunk)
                room -= len(chunk)
                if room < 0:
                    copy.drain()
                    room = _DRAIN_BYTES
                elif not copy.first_chunk_ns:
                    copy.first_chunk_ns = time_ns()
                yield chunk
        except BaseException as error:
            self._end_with(error)
            raise
        self._end("eof")

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._end("closed")


class _AsyncTee(_Tee):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        copy = self._copy
        keep = copy.waiting.append
        room = _DRAIN_BYTES
        inner = self._inner.__aiter__()
        try:
            async for chunk in inner:
                keep(chunk)
                room -= len(chunk)
                if room < 0:
                    copy.drain()
                    room = _DRAIN_BYTES
                elif not copy.first_chunk_ns:
                    copy.first_chunk_ns = time_ns()
                yield chunk
        except BaseException as error:
            self._end_with(error)
            raise
        finally:
            if isinstance(inner, AsyncGenerator):
                await inner.aclose()
        self._end("eof")

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        except BaseException as error:
            self._end_with(error)
            raise
        self._end("closed")


# Wrapper class by class of stream; there are as many as the HTTP libraries have stream classes.
_classes_sync: dict[type, type[_Tee] | None] = {}
_classes_async: dict[type, type[_Tee] | None] = {}


def _tee_class(kind: type, *, is_async: bool) -> type[_Tee] | None:
    wanted = "AsyncByteStream" if is_async else "SyncByteStream"
    body: type[_Tee] = _AsyncTee if is_async else _SyncTee
    for base in kind.__mro__:
        if base.__name__ == wanted:
            return type(f"Witnessed{wanted}", (body, base), {})
    return None


def tee(stream: object, copy: BodyCopy, on_end: OnEnd, *, is_async: bool) -> object | None:
    """Wrap a response's stream so that what the caller reads is copied.

    Args:
        stream: The stream of a response of an httpx-like library.
        copy: Where the copy goes.
        on_end: Called exactly once or more; the callee takes the first. Never on the caller's way
            before a chunk.
        is_async: Whether the client is async.

    Returns:
        The wrapper, an instance of the library's own stream class, or `None` for a stream of a
        kind that is not known.
    """
    kind = type(stream)
    known = _classes_async if is_async else _classes_sync
    if kind not in known:
        known[kind] = _tee_class(kind, is_async=is_async)
    made = known[kind]
    if made is None:
        return None
    wrapper = made()
    wrapper._begin(stream, copy, on_end)
    return wrapper
