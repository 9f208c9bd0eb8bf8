"""One item: what a reviewer sees of it, its model calls, its spans."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from spanwitness.archive.otlp_json import encode_request
from spanwitness.errors import UnknownItemError
from spanwitness.normalize import build_runs
from spanwitness.review.web.calls_view import call_view
from spanwitness.review.web.gap import gap_of
from spanwitness.review.web.identity import Refusal
from spanwitness.review.web.ledger_view import ledger_view
from spanwitness.review.web.queue_page import as_it_stands, chosen_in
from spanwitness.review.web.shown_text import LIMIT_ALONE_CHARS
from spanwitness.review.web.trace_view import FindingFacts, links_out, trace_view
from spanwitness.review.web.words import number, query
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from spanwitness.review.store.values import Finding, Item, ItemDetail, Sample, Snapshot
    from spanwitness.review.web.ledger_view import LedgerView
    from spanwitness.review.web.site import Site
    from spanwitness.rules.engine import Evaluation

__all__ = ["ItemPage", "judged_run"]

_N_EVENTS: Final = 60
_N_JUDGED: Final = 4


def judged_run(snapshot: Snapshot) -> Evaluation | None:
    """Judge a kept run again, for its ledger and its receipts; `None` = its root is not there.

    Contracts are not asked: what they found stands in the findings of the queue.
    """
    runs = build_runs(snapshot.spans)
    run = next((r for r in runs if r.run_id == snapshot.run_id), runs[0] if runs else None)
    return evaluate(run) if run is not None else None


class _Chosen(msgspec.Struct, frozen=True):
    """The trace of an item that is looked at."""

    sample: Sample | None
    finding: Finding | None
    evaluation: Evaluation | None
    snapshot: Snapshot | None

    def facts(self, item: Item) -> FindingFacts:
        """Return what points at the place of the finding in the run."""
        found = self.finding
        if found is None:
            return FindingFacts(rule=item.rule, subject=item.subject)
        evidence = found.evidence or {}
        return FindingFacts(
            rule=found.rule, subject=item.subject, span_ids=found.span_ids, evidence=evidence
        )


class _JudgedRuns:
    """The runs that were looked at last: a reviewer comes back to the same one page after page."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], Evaluation | None] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> Evaluation | None:
        """Judge a kept run, or return what was judged of the same spans before."""
        key = snapshot.trace_id, snapshot.run_id, snapshot.taken_at, len(snapshot.spans)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        judged = judged_run(snapshot)
        with self._lock:
            self._known[key] = judged
            while len(self._known) > _N_JUDGED:
                self._known.popitem(last=False)
        return judged


class ItemPage:
    """One item."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._judged = _JudgedRuns()

    async def show(self, request: Request) -> Response:
        """Answer `GET /items/{id}`."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        site = self._site
        detail = site.queue.item(request.path_params["id"])
        item, me = as_it_stands(detail.item), request.state.identity
        see = chosen_in(request.query_params.get("list", ""))
        this = self._choose(request, detail)
        trace = self._view(request, this, item)
        base = f"{request.scope.get('root_path', '')}/items/{item.id}"
        of = self._names(this)
        return site.page(
            request,
            "item.html",
            nav="Queue",
            item=item,
            samples=item.samples[::-1],
            sample=this.sample,
            finding=this.finding,
            findings=detail.findings,
            trace=trace,
            ledger=self._kept_ledger(this, item) if trace is None else None,
            neutral=False,
            links=self._links(this),
            events=detail.events[-_N_EVENTS:][::-1],
            n_events_hidden=max(0, len(detail.events) - _N_EVENTS),
            seen=detail.events[-1].id if detail.events else 0,
            is_held_by_other=item.state == "claimed" and item.owner != me.name,
            list=see.query,
            back_query=f"?{see.query}" if see.query else "",
            raw_path=f"{base}/spans{query(**of)}",
            calls_path=f"{base}/call",
            calls_fields=of,
            call_path=lambda n: f"{base}/call{query(**of, n=str(n))}",
            last_call_path=f"{base}/call{query(**of, n=str(trace.n_calls))}"
            if trace is not None and trace.n_calls
            else None,
            window_path=lambda n: f"{base}{query(**of, start=str(n), list=see.query)}#h-timeline",
        )

    def _names(self, this: _Chosen) -> dict[str, str]:
        if this.sample is None:
            return {}
        return {"trace": this.sample.trace_id, "run": this.sample.run_id}

    def _choose(self, request: Request, detail: ItemDetail) -> _Chosen:
        trace_id = request.query_params.get("trace")
        run_id = request.query_params.get("run")
        samples = detail.item.samples
        sample = _pick(samples, trace_id, run_id)
        if sample is None:
            return _Chosen(None, detail.findings[0] if detail.findings else None, None, None)
        finding = next(
            (
                f
                for f in detail.findings
                if f.trace_id == sample.trace_id and f.run_id == sample.run_id
            ),
            None,
        )
        snapshot = self._site.queue.snapshot(sample.trace_id, sample.run_id)
        evaluation = self._judged.of(snapshot) if snapshot is not None else None
        return _Chosen(sample, finding, evaluation, snapshot)

    def _view(self, request: Request, this: _Chosen, item: Item):  # type: ignore[no-untyped-def]  # noqa: ANN202
        if this.evaluation is None:
            return None
        return trace_view(
            this.evaluation,
            this.facts(item),
            with_content=request.state.identity.may_see_content,
            first=number(request.query_params.get("start"), digits=8),
        )

    def _kept_ledger(self, this: _Chosen, item: Item) -> LedgerView | None:
        """Return the ledger of a run whose spans are gone; it is names and words, no content."""
        if this.sample is None:
            return None
        run = self._site.queue.run(this.sample.trace_id, this.sample.run_id)
        if run is None or not run.ledger:
            return None
        facts = this.facts(item)
        gap = gap_of(facts.rule, facts.evidence, run.ledger, subject=facts.subject)
        return ledger_view(run.ledger, gap)

    def _links(self, this: _Chosen) -> dict[str, str]:
        if this.sample is None:
            return {}
        spans = this.snapshot.spans if this.snapshot is not None else ()
        starts = [span.start_ns for span in spans if span.start_ns]
        ends = [span.end_ns for span in spans if span.end_ns]
        return links_out(
            self._site.settings.links,
            trace_id=this.sample.trace_id,
            span_id=this.finding.span_ids[0] if this.finding and this.finding.span_ids else "",
            start_ms=str(min(starts, default=0) // 1_000_000),
            end_ms=str(max(ends, default=0) // 1_000_000),
        )

    async def call(self, request: Request) -> Response:
        """Answer `GET /items/{id}/call`."""
        return await run_in_threadpool(self._call, request)

    def _call(self, request: Request) -> Response:
        detail = self._site.queue.item(request.path_params["id"])
        item = detail.item
        this = self._choose(request, detail)
        wanted = request.query_params.get("n", "1")
        run = this.evaluation.run if this.evaluation is not None else None
        place = (number(wanted, digits=8) or 0) - 1
        if run is None or not 0 <= place < len(run.chats):
            raise UnknownItemError(f"item {item.id} has no model call {wanted[:20]!r} that is kept")
        base = f"{request.scope.get('root_path', '')}/items/{item.id}"
        of = self._names(this)
        return self._site.page(
            request,
            "call.html",
            nav="Queue",
            call=call_view(
                run,
                place,
                with_content=request.state.identity.may_see_content,
                whole=True,
                limit=LIMIT_ALONE_CHARS,
            ),
            n_calls=len(run.chats),
            back=f"{base}{query(**of)}",
            back_name=f"item {item.id}",
            call_path=lambda n: f"{base}/call{query(**of, n=str(n))}",
        )

    async def spans(self, request: Request) -> Response:
        """Answer `GET /items/{id}/spans`."""
        return await run_in_threadpool(self._spans, request)

    def _spans(self, request: Request) -> Response:
        me = request.state.identity
        if not me.may_see_content:
            raise Refusal(403, "content is not shown to you", actor=me.name)
        detail = self._site.queue.item(request.path_params["id"])
        this = self._choose(request, detail)
        if this.snapshot is None or this.sample is None:
            raise UnknownItemError(f"item {detail.item.id} has no kept trace of that name")
        name = "".join(c for c in this.sample.trace_id if c.isalnum())[:40]
        return Response(
            encode_request(this.snapshot.spans),
            media_type="application/json",
            headers={"content-disposition": f'attachment; filename="{name}.otlp.json"'},
        )


def _pick(samples: Sequence[Sample], trace_id: str | None, run_id: str | None) -> Sample | None:
    """Return the sample that was asked for, else the latest that is kept, else the latest."""
    if trace_id is not None:
        for sample in samples:
            if sample.trace_id == trace_id and run_id in (None, sample.run_id):
                return sample
    latest = samples[::-1]
    return next((s for s in latest if s.has_snapshot), latest[0] if latest else None)
