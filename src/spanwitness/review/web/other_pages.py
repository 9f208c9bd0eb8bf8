"""The smaller pages: stats, audit mode, undeliverable messages, keys, theme, sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from spanwitness.errors import ConflictError, UnknownItemError
from spanwitness.review.store.values import AUDIT_WORDS
from spanwitness.review.web import words
from spanwitness.review.web.identity import Identity, Refusal, by_token
from spanwitness.review.web.item_page import judged_run
from spanwitness.review.web.session import CSRF_FIELD
from spanwitness.review.web.site import Form
from spanwitness.review.web.trace_view import FindingFacts, trace_view

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.review.store.values import Audit
    from spanwitness.review.web.identity import TokenStore
    from spanwitness.review.web.site import Site

__all__ = ["AuditPage", "OtherPages", "SignIn"]


class OtherPages:
    """Stats, undeliverable messages, keys, theme."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def stats(self, request: Request) -> Response:
        """Answer `GET /stats`."""
        return await run_in_threadpool(self._stats, request)

    def _stats(self, request: Request) -> Response:
        queue = self._site.queue
        return self._site.page(
            request,
            "stats.html",
            nav="Stats",
            counts=msgspec.structs.asdict(queue.counts()),
            stats=queue.rule_stats(),
            miss=queue.miss_rate(),
            agreement=queue.agreement(),
        )

    async def deliveries(self, request: Request) -> Response:
        """Answer `GET /deliveries`."""
        rows = await run_in_threadpool(self._site.queue.outbox.undeliverable)
        return self._site.page(request, "deliveries.html", nav="Deliveries", rows=rows)

    async def redeliver(self, request: Request) -> Response:
        """Answer `POST /deliveries/{id}/redeliver`."""
        site, delivery_id = self._site, request.path_params["id"]
        await site.form(request, "admin")
        await run_in_threadpool(site.queue.outbox.redeliver, delivery_id)
        await run_in_threadpool(
            site.queue.record,
            request.state.identity.name,
            "redelivered",
            data={"delivery_id": delivery_id},
        )
        return site.go(request, "/deliveries", done="redelivered")

    async def help(self, request: Request) -> Response:
        """Answer `GET /help`."""
        return self._site.page(request, "help.html", groups=words.KEYS)

    async def theme(self, request: Request) -> Response:
        """Answer `POST /theme: changes nothing but how the page looks in this browser.`."""
        form = Form(await request.form(max_files=0, max_fields=10))
        word = form.text("theme", limit=10)
        back = form.text("back", limit=4_000)
        is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
        answer = RedirectResponse(back if is_ours else "/", status_code=303)
        if word in ("auto", "light", "dark"):
            answer.set_cookie(
                "sw_theme", word, max_age=365 * 86400, httponly=True, samesite="strict"
            )
        return answer


class AuditPage:
    """Is this account sound? Findings stay hidden until it is judged."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """Answer `GET /audit`."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        site = self._site
        judged = self._just_judged(request)
        audit: Audit | None = None
        if judged is None and request.state.identity.may("reviewer"):
            audit = site.queue.audit_next(
                request.state.identity.name, lease_s=site.settings.lease_s
            )
        trace = self._trace(request, audit) if audit is not None else None
        root = request.scope.get("root_path", "")
        return site.page(
            request,
            "audit.html",
            nav="Audit",
            audit=audit,
            trace=trace,
            judged=judged,
            neutral=True,
            calls_path=f"{root}/audit/call",
            calls_fields={},
            call_path=lambda n: f"{root}/audit#call-{n}",
            last_call_path=None,
            window_path=lambda n: f"{root}/audit?start={n}#h-timeline",
        )

    def _trace(self, request: Request, audit: Audit):  # type: ignore[no-untyped-def]  # noqa: ANN202
        snapshot = self._site.queue.snapshot(audit.trace_id, audit.run_id)
        evaluation = judged_run(snapshot) if snapshot is not None else None
        if evaluation is None:
            return None
        return trace_view(
            evaluation,
            FindingFacts(rule=""),
            with_content=request.state.identity.may_see_content,
            with_receipts=False,
            first=words.number(request.query_params.get("start"), digits=8),
        )

    def _just_judged(self, request: Request) -> dict[str, object] | None:
        word = request.query_params.get("word", "")
        trace_id = request.query_params.get("trace", "")
        run_id = request.query_params.get("run", "")
        if word not in AUDIT_WORDS or not trace_id:
            return None
        findings = self._site.queue.findings_of_run(trace_id, run_id)
        return {"word": word, "findings": findings}

    async def judge(self, request: Request) -> Response:
        """Answer `POST /audit/{id}`."""
        site = self._site
        form = await site.form(request)
        word = form.text("word")
        if word not in AUDIT_WORDS:
            raise Refusal(400, "choose one of the judgements")
        try:
            audit = await run_in_threadpool(
                site.queue.audit_verdict,
                request.path_params["id"],
                word=word,
                by=request.state.identity.name,
                reason=form.text("reason") or None,
            )
        except ConflictError as error:
            return site.error(request, 409, str(error))
        return site.go(request, "/audit", word=word, trace=audit.trace_id, run=audit.run_id)


class SignIn:
    """Signing in with an API token, and out again."""

    def __init__(self, site: Site, tokens: TokenStore | None) -> None:
        self._site = site
        self._tokens = tokens

    async def show(self, request: Request) -> Response:
        """Answer `GET /login`."""
        if self._tokens is None:
            raise UnknownItemError("nobody signs in here")
        return self._site.page(request, "login.html", failed="")

    async def enter(self, request: Request) -> Response:
        """Answer `POST /login`."""
        site = self._site
        if self._tokens is None:
            raise UnknownItemError("nobody signs in here")
        form = Form(await request.form(max_files=0, max_fields=10))
        site.sessions.check_form(request.state.session, "", form.text(CSRF_FIELD))
        try:
            who = await run_in_threadpool(by_token, form.text("token", limit=200), self._tokens)
        except Refusal as refusal:
            await site.audit(request, refusal)
            return site.page(request, "login.html", status=401, failed="That token is not valid.")
        await run_in_threadpool(site.queue.record, who.name, "signed_in")
        answer = site.go(request, "/")
        site.sessions.write(site.sessions.new(who.token_id), answer)
        return answer

    async def leave(self, request: Request) -> Response:
        """Answer `POST /logout`."""
        identity: Identity = request.state.identity
        await self._site.form(request, "viewer")
        await run_in_threadpool(self._site.queue.record, identity.name, "signed_out")
        answer = self._site.go(request, "/login")
        self._site.sessions.end(request.state.session, answer)
        return answer
