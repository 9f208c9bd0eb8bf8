"""What stands before every page: the name it was called by, who is asking, where a form came from.

It also puts on every answer the headers that keep the text of a trace from doing anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

from spanwitness.errors import ReviewError
from spanwitness.review.web.identity import (
    Identity,
    Refusal,
    by_local,
    by_proxy,
    by_token,
    by_token_id,
)
from spanwitness.review.web.settings import LOOPBACK_NAMES, is_origin_of
from spanwitness.review.web.words import number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwitness.review.web.identity import TokenStore
    from spanwitness.review.web.session import Session, Sessions
    from spanwitness.review.web.settings import WebSettings

__all__ = ["SECURITY_HEADERS", "Gate"]

_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # A stricter word would hide the origin of our own forms from ourselves.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_BODY_BYTES: Final = 256 * 1024
_OPEN: Final = ("/static/", "/login")
"""Paths that answer before anybody has said who they are."""


class Gate:
    """ASGI middleware.

    Args:
        app: What stands behind it.
        settings: Who may come in, and by which name.
        sessions: Reads and writes sessions.
        tokens: Where API tokens are looked up.
        refuse: Makes the answer to a refused request, and writes it to the audit trail.
        on_error: Makes the answer when the tokens cannot be read.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: WebSettings,
        sessions: Sessions,
        tokens: TokenStore,
        refuse: Callable[[Request, Refusal], Awaitable[Response]],
        on_error: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions
        self._tokens = tokens
        self._refuse = refuse
        self._on_error = on_error
        self._hosts = LOOPBACK_NAMES | {name.lower() for name in settings.allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        session = self._sessions.read(request)
        scope.setdefault("state", {})["session"] = session

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers(scope, session)]
            await send(message)

        try:
            await self._let_in(request, session)
        except Refusal as refusal:
            answer = self._to_login(request, refusal) or await self._refuse(request, refusal)
            await answer(scope, receive, send_secured)
            return
        except ReviewError as error:
            answer = await self._on_error(request, error)
            await answer(scope, receive, send_secured)
            return
        await self._app(scope, _Bounded(receive), send_secured)

    async def _let_in(self, request: Request, session: Session) -> None:
        _check_host(request, self._hosts)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if request.method not in _SAFE:
            _check_origin(request)
            _check_length(request)
        if any(path == each or path.startswith(each) for each in _OPEN):
            return
        request.state.is_by_header = False
        request.state.identity = await self._identify(request, session)

    async def _identify(self, request: Request, session: Session) -> Identity:
        client = request.client.host if request.client is not None else None
        if self._settings.mode == "local":
            return by_local(self._settings, request.headers, client)
        if self._settings.mode == "proxy":
            return by_proxy(self._settings, request.headers, client)
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            request.state.is_by_header = True
            return await run_in_threadpool(by_token, text.strip(), self._tokens)
        if session.token_id is not None:
            return await run_in_threadpool(by_token_id, session.token_id, self._tokens)
        raise Refusal(401, "sign in first")

    def _to_login(self, request: Request, refusal: Refusal) -> Response | None:
        """Send a browser that has not signed in to the place where it can."""
        is_browser = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if refusal.status != 401 or self._settings.mode != "tokens" or not is_browser:
            return None
        root = request.scope.get("root_path", "")
        return RedirectResponse(f"{root}/login", status_code=303)

    def _headers(self, scope: Scope, session: Session) -> list[tuple[bytes, bytes]]:
        found = list(SECURITY_HEADERS)
        if self._settings.is_https:
            found.append((b"strict-transport-security", b"max-age=31536000"))
        if not scope["path"].startswith(scope.get("root_path", "") + "/static/"):
            found.append((b"cache-control", b"no-store"))
            if session.is_new and not scope["state"].get("has_written_session"):
                answer = PlainTextResponse()
                self._sessions.write(session, answer)
                found += [(k, v) for k, v in answer.raw_headers if k == b"set-cookie"]
        return found


def _check_host(request: Request, allowed: frozenset[str]) -> None:
    """Refuse a name that is not ours: one of another site may point to this address."""
    given = request.headers.getlist("host")
    host = given[0].lower() if len(given) == 1 else ""
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if name not in allowed:
        raise Refusal(
            421, f"the page is not served under the name {name[:100]!r}; allow it by its settings"
        )


def _check_origin(request: Request) -> None:
    """Refuse a form that a page elsewhere sent."""
    origin = request.headers.get("origin")
    if origin is not None:
        if not is_origin_of(origin, request.headers["host"]):
            raise Refusal(403, "the form came from another site")
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        raise Refusal(403, "the form came from another site")


def _check_length(request: Request) -> None:
    length = number(request.headers.get("content-length", "0"))
    if length is None or length > _MAX_BODY_BYTES:
        raise Refusal(413, f"a form may hold {_MAX_BODY_BYTES} bytes")


class _Bounded:
    """Ends a request whose body goes on beyond the bound."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._n_bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._n_bytes += len(message.get("body", b""))
        if self._n_bytes > _MAX_BODY_BYTES:
            raise Refusal(413, f"a form may hold {_MAX_BODY_BYTES} bytes")
        return message
