"""What a reviewer does to one item: claim, judge, undo, let rest, note. Each is one form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast, get_args

from starlette.concurrency import run_in_threadpool

from spanwitness.errors import ConflictError
from spanwitness.model.verdict import Fault, ReasoningKind
from spanwitness.review.store.values import VERDICTS
from spanwitness.review.web.identity import Refusal
from spanwitness.review.web.queue_page import chosen_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.review.web.queue_page import Chosen, QueuePage
    from spanwitness.review.web.site import Form, Site

__all__ = ["Acts"]

_MAX_REST_H: Final = 24 * 90
_KEPT: Final = ("verdict", "reason", "fault", "kind", "hours", "note")
"""What a person sent, shown again when it met a conflict."""


class Acts:
    """The acts on one item.

    Args:
        site: What all pages share.
        queue_page: Gives the next item.
    """

    def __init__(self, site: Site, queue_page: QueuePage) -> None:
        self._site = site
        self._queue_page = queue_page

    async def act(self, request: Request) -> Response:
        """Answer `POST /items/{id}/{act}`."""
        form = await self._site.form(request)
        do = {
            "claim": self._claim,
            "renew": self._renew,
            "release": self._release,
            "verdict": self._verdict,
            "undo": self._undo,
            "reopen": self._reopen,
            "snooze": self._snooze,
            "note": self._note,
        }.get(request.path_params["act"])
        if do is None:
            return self._site.error(request, 404, "there is no such act")
        see = chosen_in(form.text("list", limit=2_000))
        try:
            return await run_in_threadpool(do, request, form, see)
        except ConflictError as error:
            return await run_in_threadpool(self._conflict, request, form, error)

    def _claim(self, request: Request, form: Form, see: Chosen) -> Response:
        item_id = self._check_version(request, form)
        lease_s = self._site.settings.lease_s
        self._site.queue.claim(item_id, request.state.identity.name, lease_s=lease_s)
        return self._to_item(request, item_id, see)

    def _renew(self, request: Request, _form: Form, see: Chosen) -> Response:
        item_id = request.path_params["id"]
        lease_s = self._site.settings.lease_s
        self._site.queue.renew(item_id, request.state.identity.name, lease_s=lease_s)
        return self._to_item(request, item_id, see, done="renewed")

    def _release(self, request: Request, _form: Form, see: Chosen) -> Response:
        item_id = request.path_params["id"]
        self._site.queue.release(item_id, request.state.identity.name)
        return self._to_list(request, see, done="released", of=item_id)

    def _verdict(self, request: Request, form: Form, see: Chosen) -> Response:
        word = form.text("verdict")
        fault, kind = form.text("fault"), form.text("kind")
        if word not in VERDICTS or fault not in ("", *get_args(Fault)):
            raise Refusal(400, "choose a verdict and a fault that the page offers")
        if kind not in ("", *get_args(ReasoningKind)):
            raise Refusal(400, "choose a kind of fault that the page offers")
        key = form.text("key", limit=100)
        item = self._site.queue.verdict(
            request.path_params["id"],
            verdict=word,
            by=request.state.identity.name,
            reason=form.text("reason") or None,
            trace_id=form.text("trace_id", limit=100) or None,
            fault=cast("Fault | None", fault or None),
            kind=cast("ReasoningKind | None", kind or None),
            version=form.number("version"),
            idempotency_key=f"page:{request.state.session.nonce}:{key}" if key else None,
        )
        told: dict[str, str | int] = {"done": f"verdict-{word}", "of": item.id, "v": item.version}
        if form.text("then") == "next":
            return self._queue_page.go_next(request, see, **told)
        return self._to_item(request, item.id, see, **told)

    def _undo(self, request: Request, form: Form, see: Chosen) -> Response:
        item_id = self._check_version(request, form)
        self._site.queue.undo(item_id, request.state.identity.name)
        return self._to_item(request, item_id, see, done="undone", of=item_id)

    def _reopen(self, request: Request, form: Form, see: Chosen) -> Response:
        item_id = self._check_version(request, form)
        self._site.queue.reopen(item_id, request.state.identity.name)
        return self._to_item(request, item_id, see)

    def _snooze(self, request: Request, form: Form, see: Chosen) -> Response:
        hours = form.number("hours")
        if hours is None or not 1 <= hours <= _MAX_REST_H:
            raise Refusal(400, f"an item may rest for 1 to {_MAX_REST_H} hours")
        until = datetime.now(UTC) + timedelta(hours=hours)
        item = self._site.queue.snooze(
            request.path_params["id"],
            until,
            request.state.identity.name,
            version=form.number("version"),
        )
        return self._queue_page.go_next(request, see, done="snoozed", of=item.id, v=item.version)

    def _note(self, request: Request, form: Form, see: Chosen) -> Response:
        item_id = request.path_params["id"]
        self._site.queue.note(item_id, form.text("note"), request.state.identity.name)
        return self._to_item(request, item_id, see, done="noted")

    def _check_version(self, request: Request, form: Form) -> int:
        """Refuse when the page was made from another version; return the item's id."""
        item_id: int = request.path_params["id"]
        seen = form.number("version")
        if seen is not None:
            current = self._site.queue.item(item_id).item
            if current.version != seen:
                raise ConflictError(f"item {item_id} was changed since you saw it", current=current)
        return item_id

    def _to_item(self, request: Request, item_id: int, see: Chosen, **told: str | int) -> Response:
        return self._site.go(request, f"/items/{item_id}", list=see.query, **told)

    def _to_list(self, request: Request, see: Chosen, **told: str | int) -> Response:
        return self._site.go(request, f"/?{see.query}" if see.query else "/", **told)

    def _conflict(self, request: Request, form: Form, error: ConflictError) -> Response:
        """Show what changed, what the item is now, and what the person had sent."""
        detail = self._site.queue.item(request.path_params["id"])
        seen = form.number("seen")
        changes = [e for e in detail.events if seen is None or e.id > seen]
        kept = [(name, form.text(name)) for name in _KEPT if form.text(name)]
        return self._site.page(
            request,
            "conflict.html",
            status=409,
            nav="Queue",
            item=detail.item,
            changes=changes[-8:] if seen is not None else changes[-3:],
            why=str(error),
            kept=kept,
            list=form.text("list", limit=2_000),
        )
