"""The web application of `spanwitness serve`: receiver, API, metrics, review page on one port."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from spanwitness.errors import ReviewError
from spanwitness.guard import guard
from spanwitness.review.web.identity import Refusal
from spanwitness.serve.receiver import traces_endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from spanwitness.review.outbound.deliverer import Deliverer
    from spanwitness.review.web.settings import Role
    from spanwitness.serve.access import Access, RefusalLog
    from spanwitness.serve.service import Service

__all__ = ["create_app", "guarded"]

_log = logging.getLogger("spanwitness.serve")
_STOP_S: Final = 5.0
"""How long a stop waits for a message that is being delivered."""


def create_app(
    service: Service,
    *,
    access: Access | None = None,
    refusals: RefusalLog | None = None,
    routes: Sequence[BaseRoute] = (),
    page: ASGIApp | None = None,
    deliverer: Deliverer | None = None,
) -> Starlette:
    """Make the application; it starts and stops the service.

    Args:
        service: What it receives spans for.
        access: Who may send spans; `None` = everybody who reaches the port.
        refusals: Where refused requests are written.
        routes: Further ones: the API, the metrics.
        page: The review page, at every other path.
        deliverer: Sends the messages of the queue while the application runs.
    """
    receive = traces_endpoint(service.intake)
    own: list[BaseRoute] = [
        Route("/v1/traces", guarded(receive, access, "reviewer"), methods=["POST"]),
        Route("/healthz", _health(service), methods=["GET"]),
        *routes,
    ]
    if page is not None:
        own.append(Mount("/", app=page))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(service.start)
        stop = asyncio.Event()
        task = None if deliverer is None else asyncio.create_task(deliverer.run(stop))
        try:
            yield
        finally:
            stop.set()
            await run_in_threadpool(service.stop)
            if task is not None:
                # What is cut off here is sent again after its lease, under the same id.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_STOP_S):
                        await task

    return Starlette(
        routes=own,
        lifespan=lifespan,
        exception_handlers={Refusal: _refusing(refusals), ReviewError: _no_answer},
    )


def guarded(
    endpoint: Callable[[Request], Awaitable[Response]], access: Access | None, role: Role
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for those only who have a role; `None` = for everybody."""

    async def checked(request: Request) -> Response:
        if access is not None:
            await access.require(request, role)
        return await endpoint(request)

    return checked


def _refusing(
    refusals: RefusalLog | None,
) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refused(request: Request, error: Exception) -> Response:
        refusal = error if isinstance(error, Refusal) else Refusal(500, "internal error")
        if refusals is not None:
            with guard("serve.refusals"):
                await run_in_threadpool(refusals.add, request, refusal)
        headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
        return JSONResponse({"error": refusal.why}, status_code=refusal.status, headers=headers)

    return refused


async def _no_answer(_: Request, error: Exception) -> Response:
    """Answer when tokens cannot be read; what the driver said is for the log."""
    _log.error("spanwitness.serve.database: %s", error)
    headers = {"retry-after": "5"}
    return JSONResponse({"error": "the queue does not answer"}, status_code=503, headers=headers)


def _health(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def health(_: Request) -> Response:
        is_well = service.judge.is_alive
        body = {
            "status": "ok" if is_well else "judging has stopped",
            "traces_waiting": service.holder.n_waiting,
            "held_bytes": service.holder.size_bytes,
        }
        return Response(
            json.dumps(body),
            status_code=200 if is_well else 503,
            media_type="application/json",
        )

    return health
