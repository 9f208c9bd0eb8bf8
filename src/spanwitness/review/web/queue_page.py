"""The list of items, and what is done from there: take the next one, judge several at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.concurrency import run_in_threadpool

from spanwitness.errors import ReviewError
from spanwitness.model.verdict import SEVERITIES, Fault
from spanwitness.review.store.values import STATES, VERDICTS, ItemFilter
from spanwitness.review.web.identity import Refusal
from spanwitness.review.web.shown_text import one_line
from spanwitness.review.web.words import number
from spanwitness.rules.builtin import CLAUSE_RULES, RULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.model import Severity
    from spanwitness.review.store.listing import Order
    from spanwitness.review.store.values import Item, State
    from spanwitness.review.web.site import Site

__all__ = ["Chosen", "QueuePage", "as_it_stands", "chosen", "chosen_in"]

ROWS: Final = 50
_SORTS: Final[Mapping[Order, str]] = {
    "priority": "priority",
    "due": "due time",
    "oldest": "age",
    "newest": "last seen",
}
_NAMES: Final = ("q", "state", "rule", "severity", "fault", "agent", "sort", "overdue")
_MAX_CHOSEN: Final = 200


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What of the queue a reader has chosen to see, as it stands in the address."""

    q: str = ""
    state: str = ""
    """Empty = what is to be done: open and claimed."""
    rule: str = ""
    severity: str = ""
    fault: str = ""
    agent: str = ""
    sort: Order = "priority"
    overdue: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether anything is left out that a reader has to know of."""
        return any(getattr(self, name) for name in _NAMES if name != "sort")

    @property
    def query(self) -> str:
        """As the query string of an address, without the mark; empty = all defaults."""
        given = {name: getattr(self, name) for name in _NAMES}
        return urlencode({k: v for k, v in given.items() if v and (k, v) != ("sort", "priority")})

    def filter(self) -> ItemFilter:
        """As the queue understands it."""
        states: tuple[State, ...] = ("open", "claimed") if self.state == "" else ()
        if self.state in STATES:
            states = (self.state,)
        return ItemFilter(
            states=states,
            rules=(self.rule,) if self.rule else (),
            min_severity=cast("Severity", self.severity or "info"),
            fault=cast("Fault | None", self.fault or None),
            agent=self.agent or None,
            is_overdue=bool(self.overdue),
            text=self.q,
        )


def chosen(given: Mapping[str, str]) -> Chosen:
    """Read what a reader has chosen; words that are not known count as not given."""
    values = {name: given.get(name, "").strip()[:200] for name in _NAMES}
    known = {
        "state": (*STATES, "any"), "severity": SEVERITIES, "fault": get_args(Fault),
        "sort": tuple(_SORTS), "overdue": ("1",),
    }  # fmt: skip
    for name, words in known.items():
        if values[name] not in words:
            values[name] = ""
    sort = cast("Order", values.pop("sort") or "priority")
    return Chosen(**values, sort=sort)


def chosen_in(text: str) -> Chosen:
    """Read what stands in a query string."""
    return chosen(dict(parse_qsl(text[:2_000])))


def _agents(rows: Sequence[Item]) -> list[str]:
    """Return the agents of the items shown, as names to choose from.

    A name with invisible characters is not offered: nobody could tell it from another.
    """
    names = {item.agent for item in rows if item.agent}
    return sorted(name for name in names if one_line(name) == name)


def as_it_stands(item: Item) -> Item:
    """Return an item as open whose lease or rest is over, though nobody has claimed since."""
    if item.until is not None and item.until <= datetime.now(UTC):
        return msgspec.structs.replace(item, state="open", owner=None, until=None)
    return item


class QueuePage:
    """The list of items."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._rules = sorted({*(rule.id for rule in RULES), *CLAUSE_RULES})

    async def show(self, request: Request) -> Response:
        """Answer `GET /`."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        site, queue = self._site, self._site.queue
        see = chosen(request.query_params)
        after = request.query_params.get("after") or None
        try:
            page = queue.items(see.filter(), order=see.sort, limit=ROWS, after=after)
        except ReviewError:
            if after is None:
                raise
            return site.go(request, f"/?{see.query}")
        query = f"?{see.query}" if see.query else ""
        mark = "&" if query else "?"
        return site.page(
            request,
            "queue.html",
            nav="Queue",
            rows=[as_it_stands(item) for item in page.rows],
            counts=msgspec.structs.asdict(counts := queue.counts()) | {"total": counts.total},
            f=see,
            is_filtered=see.is_filtered,
            rules=self._rules,
            agents=_agents(page.rows),
            sorts=_SORTS,
            is_first=after is None,
            first_query=query,
            here_query=query,
            next_query=f"{query}{mark}after={page.after}" if page.after else "",
            list=see.query,
            queue_address=queue.address,
        )

    async def take_next(self, request: Request) -> Response:
        """Answer `POST /next`."""
        site = self._site
        form = await site.form(request)
        see = chosen_in(form.text("list", limit=2_000))
        return await run_in_threadpool(self.go_next, request, see)

    def go_next(self, request: Request, see: Chosen, **told: str | int | None) -> Response:
        """Claim the next item and show it; back to the list when there is none."""
        site = self._site
        item = site.queue.claim_next(
            request.state.identity.name,
            lease_s=site.settings.lease_s,
            only=see.filter() if see.is_filtered else None,
        )
        if item is None:
            return site.go(
                request, f"/?{see.query}" if see.query else "/", **(told or {"done": "none"})
            )
        return site.go(request, f"/items/{item.id}", list=see.query, **told)

    async def judge_several(self, request: Request) -> Response:
        """Answer `POST /bulk`."""
        site = self._site
        form = await site.form(request)
        verdict = form.text("verdict")
        if verdict not in VERDICTS:
            raise Refusal(400, "choose a verdict")
        see = chosen_in(form.text("list", limit=2_000))
        if form.text("scope") == "all":
            only = see.filter() if see.is_filtered else None
        else:
            ids = [n for n in map(number, form.texts("item")) if n is not None]
            only = ItemFilter(ids=tuple(ids[:_MAX_CHOSEN])) if ids else None
        if only is None:
            raise Refusal(400, "choose items first, or filter the list")
        await run_in_threadpool(
            site.queue.bulk_verdict,
            only,
            verdict=verdict,
            by=request.state.identity.name,
            reason=form.text("reason") or None,
        )
        return site.go(request, f"/?{see.query}" if see.query else "/", done="bulk")
