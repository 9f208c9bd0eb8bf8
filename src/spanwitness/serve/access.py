"""Who may send spans and call the API: the same people as on the review page, without cookies."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

from spanwitness.guard import guard
from spanwitness.review.web.identity import Identity, Refusal, by_local, by_proxy, by_token
from spanwitness.review.web.settings import LOOPBACK_NAMES, is_origin_of
from spanwitness.review.web.shown_text import one_line

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwitness.review.store.queue import Queue
    from spanwitness.review.web.identity import TokenStore
    from spanwitness.review.web.settings import Role, WebSettings

__all__ = ["Access", "RefusalLog"]

_WRITERS: Final[Role] = "reviewer"
_LOGGED_A_MINUTE: Final = 30


class Access:
    """Says who a request comes from.

    No cookie counts here, so a page elsewhere cannot make a browser act for its user: with tokens
    and behind a proxy the request must say who it is, and on this machine it must neither come from
    another page nor by a foreign name that was pointed to this address.

    Args:
        settings: Of the review page: how people are told apart.
        tokens: Where API tokens are looked up.
        refusals: Where refused gRPC calls are written; those over HTTP are by who answers them.
    """

    def __init__(
        self, settings: WebSettings, tokens: TokenStore, refusals: RefusalLog | None = None
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._refusals = refusals
        self._refusals = refusals
        self._hosts = LOOPBACK_NAMES | {name.lower() for name in settings.allowed_hosts}

    async def identify(self, request: Request) -> Identity:
        """Return who is asking.

        Raises:
            Refusal: They do not say so, or may not come in.
        """
        self._check_place(request)
        client = request.client.host if request.client is not None else None
        if self._settings.mode == "proxy":
            return by_proxy(self._settings, request.headers, client)
        if self._settings.mode == "tokens":
            # The only way that asks the database; the others are done in no time.
            given = request.headers.get("authorization")
            return await run_in_threadpool(self._by_header, given)
        return by_local(self._settings, request.headers, client)

    async def require(self, request: Request, role: Role) -> Identity:
        """Return who is asking, if they have the rights of a role.

        Raises:
            Refusal: As of `identify`, or they have not (403).
        """
        identity = await self.identify(request)
        if not identity.may(role):
            raise Refusal(403, f"this needs the role {role}", actor=identity.name)
        return identity

    def may_send(self, authorization: str | None) -> bool:
        """Say whether a gRPC call may bring spans; a proxy cannot speak for it."""
        if self._settings.mode == "local":
            return True
        is_allowed = False
        # A queue that does not answer lets nobody in.
        with guard("serve.grpc_access"):
            refusal = self._refusal_of(authorization)
            if refusal is not None and self._refusals is not None:
                self._refusals.write(refusal, method="gRPC", path="TraceService/Export")
            is_allowed = refusal is None
        return is_allowed

    def _refusal_of(self, authorization: str | None) -> Refusal | None:
        """Return why spans may not be brought; `None` = they may."""
        try:
            identity = self._by_header(authorization)
        except Refusal as refusal:
            return refusal
        if identity.may(_WRITERS):
            return None
        return Refusal(403, f"this needs the role {_WRITERS}", actor=identity.name)

    def _by_header(self, authorization: str | None) -> Identity:
        kind, _, text = (authorization or "").partition(" ")
        if kind.lower() != "bearer":
            raise Refusal(401, "send authorization: Bearer <token>")
        return by_token(text.strip(), self._tokens)

    def _check_place(self, request: Request) -> None:
        given = request.headers.getlist("host")
        host = given[0].lower() if len(given) == 1 else ""
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if self._settings.mode == "local" and name not in self._hosts:
            raise Refusal(421, f"nothing is served under the name {name[:100]!r}")
        origin = request.headers.get("origin")
        if origin is not None and not is_origin_of(origin, host):
            raise Refusal(403, "the request came from another site")
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Refusal(403, "the request came from another site")


class RefusalLog:
    """Writes refused requests to the audit trail of the queue, a bounded number a minute.

    Args:
        queue: Whose trail it is.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._minute: int | None = None
        self._n_logged = 0
        self._n_left_out = 0

    def add(self, request: Request, refusal: Refusal) -> None:
        """Write one refusal.

        Raises:
            ReviewError: The database does not answer.
        """
        client = request.client.host if request.client is not None else None
        self.write(refusal, method=request.method, path=request.scope["path"], client=client)

    def write(self, refusal: Refusal, *, method: str, path: str, client: str | None = None) -> None:
        """Write one refusal; else as `add`."""
        n_left_out = self._turn()
        if n_left_out is None:
            return
        data: dict[str, object] = {
            "status": refusal.status,
            "method": method,
            "path": one_line(path, limit=200),
            "client": client,
        }
        if n_left_out:
            data["n_left_out"] = n_left_out
        self._queue.record(
            one_line(refusal.actor, limit=200),
            "refused",
            note=one_line(refusal.why, limit=300),
            data=data,
        )

    def _turn(self) -> int | None:
        """Return how many were left out since the last one; `None` = leave this one out too."""
        minute = int(time.monotonic() // 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._n_logged = minute, 0
            if self._n_logged >= _LOGGED_A_MINUTE:
                self._n_left_out += 1
                return None
            self._n_logged += 1
            n_left_out, self._n_left_out = self._n_left_out, 0
            return n_left_out
