"""The review page as an ASGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.errors import MissingExtraError, ReviewError, SettingsError

try:
    import itsdangerous  # noqa: F401  asked for here, where the extra can be named
    import jinja2  # noqa: F401
    import python_multipart  # noqa: F401
    import starlette  # noqa: F401
except ImportError as error:
    raise MissingExtraError(error.name or "starlette", extra="review") from None

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from spanwitness.review.web.acts import Acts
from spanwitness.review.web.agent_pages import AgentPages
from spanwitness.review.web.gate import SECURITY_HEADERS, Gate
from spanwitness.review.web.identity import Refusal
from spanwitness.review.web.item_page import ItemPage
from spanwitness.review.web.other_pages import AuditPage, OtherPages, SignIn
from spanwitness.review.web.queue_page import QueuePage
from spanwitness.review.web.rule_pages import RulePages
from spanwitness.review.web.session import Sessions
from spanwitness.review.web.settings import WebSettings
from spanwitness.review.web.site import STATIC, Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.review.store.queue import Queue
    from spanwitness.review.web.identity import StoredToken, TokenStore

__all__ = ["create_app"]


def create_app(
    queue: Queue, settings: WebSettings | None = None, *, tokens: TokenStore | None = None
) -> Starlette:
    """Make the review page.

    Args:
        queue: The queue that it shows; it stays open.
        settings: How it is reached and by whom; `None` = this machine only.
        tokens: Where API tokens are looked up, for access mode `tokens`.

    Raises:
        SettingsError: It would be open to others who do not say who they are.
        MissingExtraError: Starlette or another package of the extra is not installed.
    """
    settings = settings or WebSettings()
    settings.check()
    if settings.mode == "tokens" and tokens is None:
        raise SettingsError("access mode tokens needs the place where tokens are looked up")
    sessions = Sessions(settings)
    site = Site(queue, settings, sessions)
    gate = Middleware(
        Gate,
        settings=settings,
        sessions=sessions,
        tokens=tokens or _NoTokens(),
        refuse=site.refuse,
        on_error=site.on_error,
    )
    own_tokens = tokens if settings.mode == "tokens" else None
    return Starlette(
        routes=_routes(site, SignIn(site, own_tokens)),
        middleware=[gate],
        exception_handlers={
            Refusal: site.on_refusal,
            ReviewError: site.on_error,
            MissingExtraError: site.on_error,
            HTTPException: _on_http_error(site),
            Exception: _on_fault(site),
        },
    )


def _routes(site: Site, sign_in: SignIn) -> list[Route | Mount]:
    queue, item = QueuePage(site), ItemPage(site)
    rules, agents = RulePages(site), AgentPages(site)
    audit, others = AuditPage(site), OtherPages(site)
    acts = Acts(site, queue)
    return [
        Route("/", queue.show),
        Route("/next", queue.take_next, methods=["POST"]),
        Route("/bulk", queue.judge_several, methods=["POST"]),
        Route("/items/{id:int}", item.show),
        Route("/items/{id:int}/call", item.call),
        Route("/items/{id:int}/spans", item.spans),
        Route("/items/{id:int}/{act}", acts.act, methods=["POST"]),
        Route("/rules", rules.list),
        Route("/rules/{rule}", rules.show),
        Route("/agents", agents.list),
        Route("/agents/of", agents.show),
        Route("/stats", others.stats),
        Route("/audit", audit.show),
        Route("/audit/{id:int}", audit.judge, methods=["POST"]),
        Route("/deliveries", others.deliveries),
        Route("/deliveries/{id:int}/redeliver", others.redeliver, methods=["POST"]),
        Route("/help", others.help),
        Route("/theme", others.theme, methods=["POST"]),
        Route("/login", sign_in.show),
        Route("/login", sign_in.enter, methods=["POST"]),
        Route("/logout", sign_in.leave, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


class _NoTokens:
    def find_token(self, token_id: str) -> StoredToken | None:  # noqa: ARG002
        return None


def _on_http_error(site: Site):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = error.detail if isinstance(error, HTTPException) else ""
        return site.error(request, status, text)

    return answer


def _on_fault(site: Site):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async def answer(request: Request, error: Exception) -> Response:  # noqa: ARG001
        response = site.error(request, 500, "A fault of this page. Its log says more.")
        # This answer is made outside of the gate, which puts them on every other one.
        response.raw_headers.extend(SECURITY_HEADERS)
        return response

    return answer
