"""The HTTP API: outside detectors file findings, other processes work on items.

Its verbs are those of the `review` command. `OPERATIONS` is the one list that routes and the
OpenAPI document are made from.
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  the dataclass reads it
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from spanwitness.errors import ConflictError, MissingExtraError, ReviewError, UnknownItemError
from spanwitness.review.store.values import ItemFilter
from spanwitness.review.web.identity import Refusal
from spanwitness.serve import api_models as models
from spanwitness.serve.filing import judged_of
from spanwitness.serve.replies import RememberedReplies

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.review.store.queue import Queue
    from spanwitness.review.store.values import ItemDetail
    from spanwitness.review.web.identity import Identity
    from spanwitness.review.web.settings import Role
    from spanwitness.serve.access import Access

__all__ = ["OPERATIONS", "Api", "Operation"]

MAX_BODY_BYTES: Final = 1024 * 1024
_DATABASE_ERROR: Final = 503


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """One request, as an operation sees it."""

    queue: Queue
    policy: ContentPolicy
    identity: Identity
    query: ItemsQuery
    item_id: int
    body: Any
    key: str | None


Result: TypeAlias = BaseModel | None
"""`None` = there is nothing to give: 204."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One verb of the API."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    role: Role
    about: str
    takes: type[BaseModel] | None
    gives: type[BaseModel] | None
    """`None` = no content."""
    may_be_empty: bool = False
    """It may answer 204 though it gives something."""
    has_query: bool = False
    do: Callable[[_Call], Result]


class ItemsQuery(BaseModel):
    """Which items."""

    model_config = {"extra": "forbid"}

    state: list[Literal["open", "claimed", "snoozed", "resolved"]] = []
    rule: list[str] = []
    min_severity: Literal["info", "warning", "error", "critical"] = "info"
    agent: str | None = None
    service: str | None = None
    owner: str | None = None
    text: str = ""
    order: models.ListOrder = "priority"
    limit: int = 50
    after: str | None = None


class Api:
    """The routes.

    Args:
        queue: The queue that it serves.
        access: Who may do what.
        policy: What content of filed findings is kept.
    """

    def __init__(self, queue: Queue, access: Access, policy: ContentPolicy) -> None:
        self._queue = queue
        self._access = access
        self._policy = policy
        self._remembered = RememberedReplies()

    def routes(self) -> list[Route]:
        """Return one route for each operation."""
        return [
            Route(
                each.path.replace("{id}", "{id:int}"), self._endpoint(each), methods=[each.method]
            )
            for each in OPERATIONS
        ]

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            identity = await self._access.require(request, operation.role)
            raw = await _read(request) if operation.takes is not None else b""
            return await run_in_threadpool(self._answer, operation, request, identity, raw)

        return endpoint

    def _answer(
        self, operation: Operation, request: Request, identity: Identity, raw: bytes
    ) -> Response:
        try:
            body = None if operation.takes is None else _body(operation.takes, raw)
            query = ItemsQuery.model_validate(_query(request)) if operation.has_query else _NO_QUERY
        except ValidationError as error:
            return _problems(error)
        key = request.headers.get("idempotency-key") if operation.method == "POST" else None
        call = _Call(
            queue=self._queue,
            policy=self._policy,
            identity=identity,
            query=query,
            item_id=int(request.path_params.get("id", 0)),
            body=body,
            key=key,
        )
        identified = f"{request.method} {request.url.path}\n".encode() + raw
        return self._remembered.once(identity.name, key, identified, lambda: _done(operation, call))


async def _read(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # A page elsewhere cannot make a browser send this type without asking us first.
        raise Refusal(415, "send application/json")
    chunks: list[bytes] = []
    n_bytes = 0
    async for chunk in request.stream():
        n_bytes += len(chunk)
        if n_bytes > MAX_BODY_BYTES:
            raise Refusal(413, f"larger than {MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _body(model: type[BaseModel], raw: bytes) -> BaseModel:
    return model.model_validate_json(raw or b"{}")


def _query(request: Request) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        found[name] = values if name in ("state", "rule") else values[-1]
    return found


def _done(operation: Operation, call: _Call) -> Response:
    try:
        found = operation.do(call)
    except UnknownItemError as error:
        return _failed(404, str(error))
    except ConflictError as error:
        current = models.ItemOut.model_validate(error.current) if error.current else None
        return _failed(409, str(error), current=current)
    except ReviewError as error:
        # What the driver said may name hosts and paths: it is for the log and not for callers.
        is_database = error.__cause__ is not None
        return (
            _failed(_DATABASE_ERROR, "the queue does not answer")
            if is_database
            else _failed(400, str(error))
        )
    except MissingExtraError as error:
        return _failed(501, str(error))
    if found is None:
        return Response(status_code=204)
    return Response(found.model_dump_json(), media_type="application/json")


def _failed(status: int, why: str, *, current: models.ItemOut | None = None) -> Response:
    found = models.ErrorOut(error=why, current=current)
    response = JSONResponse(found.model_dump(mode="json"), status_code=status)
    if status == _DATABASE_ERROR:
        response.headers["retry-after"] = "5"
    return response


def _problems(error: ValidationError) -> Response:
    told = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in told[:20]]
    found = models.ErrorOut(error="the request is not valid", problems=problems)
    return JSONResponse(found.model_dump(mode="json"), status_code=422)


# --- the operations


def _file(call: _Call) -> Result:
    judged = judged_of(call.body)
    return models.AddedOut.model_validate(call.queue.add(judged, content=call.policy))


def _list(call: _Call) -> Result:
    query = call.query
    only = ItemFilter(
        states=tuple(query.state),
        rules=tuple(query.rule),
        min_severity=query.min_severity,
        agent=query.agent,
        service=query.service,
        owner=query.owner,
        text=query.text,
    )
    limit = max(1, min(500, query.limit))
    page = call.queue.items(only, order=query.order, limit=limit, after=query.after)
    return models.ItemsOut.model_validate(page)


def _show(call: _Call) -> Result:
    return _detail(call.queue.item(call.item_id), call.identity)


def _detail(detail: ItemDetail, identity: Identity) -> models.ItemDetailOut:
    found = models.ItemDetailOut.model_validate(detail)
    if not identity.may_see_content:
        for finding in found.findings:
            finding.evidence = None
    return found


def _claim_next(call: _Call) -> Result:
    wanted: models.ClaimIn = call.body
    only = ItemFilter(
        rules=tuple(wanted.rules),
        min_severity=wanted.min_severity,
        agent=wanted.agent,
        service=wanted.service,
    )
    taken = call.queue.claim_next(call.identity.name, lease_s=wanted.lease_s, only=only)
    return None if taken is None else models.ItemOut.model_validate(taken)


def _claim(call: _Call) -> Result:
    taken = call.queue.claim(call.item_id, call.identity.name, lease_s=call.body.lease_s)
    return models.ItemOut.model_validate(taken)


def _renew(call: _Call) -> Result:
    held = call.queue.renew(call.item_id, call.identity.name, lease_s=call.body.lease_s)
    return models.ItemOut.model_validate(held)


def _release(call: _Call) -> Result:
    return models.ItemOut.model_validate(call.queue.release(call.item_id, call.identity.name))


def _verdict(call: _Call) -> Result:
    given: models.VerdictIn = call.body
    item = call.queue.verdict(
        call.item_id,
        verdict=given.verdict,
        by=call.identity.name,
        reason=given.reason,
        trace_id=given.trace_id,
        fault=given.fault,
        kind=given.kind,
        version=given.version,
        # Keys are the caller's own: another caller may use the same one.
        idempotency_key=None if call.key is None else f"{call.identity.name}:{call.key}",
    )
    return models.ItemOut.model_validate(item)


def _undo(call: _Call) -> Result:
    return models.ItemOut.model_validate(call.queue.undo(call.item_id, call.identity.name))


def _snooze(call: _Call) -> Result:
    wanted: models.SnoozeIn = call.body
    if wanted.until.tzinfo is None:
        raise ReviewError("until needs a time zone, such as 2027-01-31T09:00:00+01:00")
    item = call.queue.snooze(call.item_id, wanted.until, call.identity.name, version=wanted.version)
    return models.ItemOut.model_validate(item)


def _reopen(call: _Call) -> Result:
    item = call.queue.reopen(call.item_id, call.identity.name, reason=call.body.reason)
    return models.ItemOut.model_validate(item)


def _note(call: _Call) -> Result:
    call.queue.note(call.item_id, call.body.text, call.identity.name)
    return None


def _stats(call: _Call) -> Result:
    return models.StatsOut.model_validate(
        {"counts": call.queue.counts(), "rules": call.queue.rule_stats()}
    )


def _act(
    name: str,
    about: str,
    takes: type[BaseModel],
    do: Callable[[_Call], Result],
    gives: type[BaseModel] | None = models.ItemOut,
) -> Operation:
    return Operation(
        name=f"{name}Item",
        method="POST",
        path=f"/api/v1/items/{{id}}/{name}",
        role="reviewer",
        about=about,
        takes=takes,
        gives=gives,
        do=do,
    )


_NO_QUERY: Final = ItemsQuery()

OPERATIONS: Final = (
    Operation(
        name="fileFindings", method="POST", path="/api/v1/findings", role="reviewer",
        about="File what a detector outside found in one run; filing it again changes nothing.",
        takes=models.FindingsIn, gives=models.AddedOut, do=_file,
    ),
    Operation(
        name="listItems", method="GET", path="/api/v1/items", role="viewer",
        about="List items.", takes=None, gives=models.ItemsOut, has_query=True, do=_list,
    ),
    Operation(
        name="claimNextItem", method="POST", path="/api/v1/items/claim", role="reviewer",
        about="Take the open item that comes first; 204 when none is open.",
        takes=models.ClaimIn, gives=models.ItemOut, may_be_empty=True, do=_claim_next,
    ),
    Operation(
        name="showItem", method="GET", path="/api/v1/items/{id}", role="viewer",
        about="Show an item with its latest findings and its history.",
        takes=None, gives=models.ItemDetailOut, do=_show,
    ),
    _act("claim", "Take one item.", models.LeaseIn, _claim),
    _act("renew", "Hold one's own item for longer.", models.LeaseIn, _renew),
    _act("release", "Give one's own item back.", models.EmptyIn, _release),
    _act("verdict", "Resolve an item.", models.VerdictIn, _verdict),
    _act("undo", "Take back one's own latest verdict, rest or reopening.", models.EmptyIn, _undo),
    _act("snooze", "Let an item rest.", models.SnoozeIn, _snooze),
    _act("reopen", "Open a resolved or resting item again.", models.ReopenIn, _reopen),
    _act("note", "Add a line to an item's history.", models.NoteIn, _note, gives=None),
    Operation(
        name="readStats", method="GET", path="/api/v1/stats", role="viewer",
        about="Count items, and verdicts by rule and version.",
        takes=None, gives=models.StatsOut, do=_stats,
    ),
)  # fmt: skip
