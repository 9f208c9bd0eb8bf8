"""The HTTP transport of a client, watched: model requests become chat spans, all else passes by.

Duck-typed, so that one class serves httpx and httpx2 alike and nothing of either is imported. The
wrapper stands where the client keeps its transport (and each of its proxy mounts), below retries,
redirects and authentication and above the connection pool.
"""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context

from spanwitness import wire
from spanwitness.capture import retries, unseen
from spanwitness.capture.chat_span import Target
from spanwitness.capture.histories import Histories
from spanwitness.capture.stream import MAX_COPY_BYTES, BodyCopy, tee
from spanwitness.guard import guard

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from spanwitness.capture.chat_span import ChatSpan

__all__ = ["AsyncWitnessTransport", "WitnessTransport", "watch", "watches"]

_SUPPRESS = otel_context._SUPPRESS_INSTRUMENTATION_KEY
_SUPPRESS_LEGACY = "suppress_instrumentation"
"""The key that older instrumentations set."""
_N_ENCODING = len(b"content-encoding")
_N_RETRY = len(b"x-should-retry")


def _begin(request: Any, histories: Histories) -> ChatSpan | None:
    """Start (or continue) the chat span of a request; `None` when it is no model request."""
    here = otel_context.get_current()
    if here.get(_SUPPRESS) or here.get(_SUPPRESS_LEGACY):
        return None
    url = request.url
    method, host, path = request.method, url.host, url.path
    codec = wire.codec_for(method, host, path)
    if codec is None:
        unseen.notice_endpoint(method, path)
        return None
    return retries.begin(
        codec,
        histories,
        Target(host, url.port, path, _body(request)),
        request.headers,
    )


def _body(request: Any) -> bytes | None:
    """Return the bytes of a request's body, or `None` when they are still to be produced."""
    body = getattr(request, "_content", None)
    return body if isinstance(body, bytes) else None


def _attach(call: ChatSpan, response: Any, *, is_async: bool) -> None:
    """Put the tee around the response's stream; a call that cannot be followed ends here."""
    is_attached = False
    with guard("capture.transport.attach"):
        is_attached = _put_tee(call, response, is_async=is_async)
    if not is_attached:
        unseen.notice("a response stream that cannot be followed")
        with guard("capture.transport.lost"):
            call.lost_sight()


def _put_tee(call: ChatSpan, response: Any, *, is_async: bool) -> bool:
    encoding, should_retry = "", None
    allowed = call.policy.headers
    headers: dict[str, str] = {}
    for name, value in response.headers.raw:
        size = len(name)
        if allowed and (lower := name.decode("latin-1").lower()) in allowed:
            headers[lower] = value.decode("latin-1")
        if size == _N_ENCODING and name.lower() == b"content-encoding":
            encoding = (
                f"{encoding},{value.decode('latin-1')}" if encoding else value.decode("latin-1")
            )
        elif size == _N_RETRY and name.lower() == b"x-should-retry":
            should_retry = value.decode("latin-1")
    # A transport that answers by itself may give a body that has been read (and decompressed).
    body = getattr(response, "_content", None)
    if isinstance(body, bytes):
        encoding = ""
    library = _library_of(response) if encoding else ""
    copy = BodyCopy(call.codec.decoder(MAX_COPY_BYTES), encoding=encoding, library=library)
    on_end = call.responded(response.status_code, copy, headers=headers, should_retry=should_retry)
    if isinstance(body, bytes):
        copy.add(body)
        on_end("eof", None)
        return True
    stream = tee(response.stream, copy, on_end, is_async=is_async)
    if stream is None:
        return False
    response.stream = stream
    return True


def _library_of(response: object) -> str:
    for base in type(response).__mro__:
        if base.__name__ == "Response":
            return base.__module__.partition(".")[0]
    return ""


class _Watched:
    """What both wrappers share: everything but sending is the wrapped transport's own."""

    def __init__(self, inner: Any) -> None:
        self._witnessed = inner
        self._histories = Histories()

    def __getattr__(self, name: str) -> object:
        if name in {"_witnessed", "_histories"}:  # while being copied or unpickled
            raise AttributeError(name)
        return getattr(self._witnessed, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._witnessed!r})"


class WitnessTransport(_Watched):
    """A watched transport of a sync client."""

    def handle_request(self, request: Any) -> Any:
        """Send a request through the wrapped transport; the response comes back as it is."""
        call = None
        with guard("capture.transport.begin"):
            call = _begin(request, self._histories)
        if call is None:
            return self._witnessed.handle_request(request)
        before = call.handle.enter()
        try:
            response = self._witnessed.handle_request(request)
        except BaseException as error:
            with guard("capture.transport.failed"):
                call.failed(error)
            raise
        finally:
            call.handle.leave(before)
        _attach(call, response, is_async=False)
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self._witnessed.close()

    def __enter__(self) -> Self:
        self._witnessed.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> object:
        return self._witnessed.__exit__(kind, error, trace)


class AsyncWitnessTransport(_Watched):
    """A watched transport of an async client."""

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request through the wrapped transport; the response comes back as it is."""
        call = None
        with guard("capture.transport.begin"):
            call = _begin(request, self._histories)
        if call is None:
            return await self._witnessed.handle_async_request(request)
        before = call.handle.enter()
        try:
            response = await self._witnessed.handle_async_request(request)
        except BaseException as error:
            with guard("capture.transport.failed"):
                call.failed(error)
            raise
        finally:
            call.handle.leave(before)
        _attach(call, response, is_async=True)
        return response

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._witnessed.aclose()

    async def __aenter__(self) -> Self:
        await self._witnessed.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> object:
        return await self._witnessed.__aexit__(kind, error, trace)


def watch(transport: object, *, is_async: bool) -> object:
    """Return the transport watched: a wrapper, or the same object when it is one already."""
    if isinstance(transport, _Watched):
        return transport
    return AsyncWitnessTransport(transport) if is_async else WitnessTransport(transport)


def watches(transport: object) -> bool:
    """Say whether a transport is watched already."""
    return isinstance(transport, _Watched)
