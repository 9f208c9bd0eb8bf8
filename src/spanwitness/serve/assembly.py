"""Puts a whole server together: queue, receiver, judge, API, metrics, page, messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from spanwitness.capture.policy import ContentPolicy
from spanwitness.review.outbound.deliverer import deliverer_of
from spanwitness.review.store.queue import Queue
from spanwitness.review.web.app import create_app as create_page
from spanwitness.review.web.settings import WebSettings
from spanwitness.review.web.tokens import Tokens
from spanwitness.serve.access import Access, RefusalLog
from spanwitness.serve.api import Api
from spanwitness.serve.app import create_app, guarded
from spanwitness.serve.metrics import make_registry, metrics_endpoint
from spanwitness.serve.openapi import openapi_document
from spanwitness.serve.queue_sink import QueueRunSink
from spanwitness.serve.service import ServeSettings, Service

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.contracts.model import Contract
    from spanwitness.findings.accepted import Accepted
    from spanwitness.review.outbound.settings import OutboundSettings

__all__ = ["Plan", "Server", "assemble"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a server is to be."""

    queue: str
    """Address of the review queue."""
    serve: ServeSettings = field(default_factory=ServeSettings)
    web: WebSettings = field(default_factory=WebSettings)
    contracts: Sequence[Contract] = ()
    accepted: Accepted | None = None
    """Marks findings that do not count."""
    outbound: OutboundSettings | None = None
    with_page: bool = True
    policy: ContentPolicy = field(default_factory=ContentPolicy)
    """What content the queue keeps."""


class Server:
    """An application and what it works on; close it when the application has ended."""

    def __init__(self, app: Starlette, service: Service, queue: Queue, tokens: Tokens) -> None:
        self.app = app
        self.service = service
        self.queue = queue
        self._tokens = tokens

    def close(self) -> None:
        """Close the connections to the queue."""
        self._tokens.close()
        self.queue.close()


def assemble(plan: Plan) -> Server:
    """Put a server together.

    Raises:
        SettingsError: A setting cannot be used, or the page would be open to others.
        ReviewError: The queue cannot be opened.
    """
    plan.web.check()
    queue, tokens = Queue.open(plan.queue), Tokens.open(plan.queue)
    try:
        return _assembled(plan, queue, tokens)
    except BaseException:
        tokens.close()
        queue.close()
        raise


def _assembled(plan: Plan, queue: Queue, tokens: Tokens) -> Server:
    refusals = RefusalLog(queue)
    access = Access(plan.web, tokens, refusals)
    deliverer = None if plan.outbound is None else deliverer_of(queue, plan.outbound)
    page = create_page(queue, plan.web, tokens=tokens) if plan.with_page else None
    service = Service(
        plan.serve,
        contracts=plan.contracts,
        accepted=plan.accepted,
        sinks=[QueueRunSink(queue, plan.policy)],
        may_send=None if plan.web.mode == "local" else access.may_send,
    )
    registry = make_registry(service, queue=queue, deliverer=deliverer)
    app = create_app(
        service,
        access=access,
        refusals=refusals,
        routes=[
            *Api(queue, access, plan.policy).routes(),
            Route("/api/openapi.json", _document(), methods=["GET"]),
            Route(
                "/metrics", guarded(metrics_endpoint(registry), access, "viewer"), methods=["GET"]
            ),
        ],
        page=page,
        deliverer=deliverer,
    )
    return Server(app, service, queue, tokens)


def _document() -> Callable[[Request], Awaitable[Response]]:
    found = openapi_document()

    async def document(_: Request) -> Response:
        return JSONResponse(found)

    return document
