"""Everything that the page shows of one judged run, as plain values for its templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.guard import guard
from spanwitness.review.web.calls_view import CallView, OffersView, calls_view, offers_view
from spanwitness.review.web.evidence_view import AnswerView, answer_view
from spanwitness.review.web.gap import COLUMNS, gap_of
from spanwitness.review.web.ledger_view import LedgerView, ledger_view
from spanwitness.review.web.shown_text import one_line
from spanwitness.review.web.timeline import Timeline, timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.model.grounding import AssessedClaim
    from spanwitness.rules.engine import Evaluation

_HOLES: Final = {
    "spans_missing": "spans are missing",
    "spans_lost": "the tracer lost spans",
    "unsampled_spans": "spans were not sampled",
    "unseen_traffic": "some traffic was not seen",
    "internal_error": "the tracer had a fault of its own",
    "open_spans": "spans had not ended",
    "root_missing": "its root is missing",
}


class FindingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the page needs of a finding to point at its place in a run."""

    rule: str
    subject: str | None = None
    """What it is about, in words."""
    span_ids: tuple[str, ...] = ()
    evidence: dict[str, object] = {}


class TraceView(msgspec.Struct, frozen=True, kw_only=True):
    """One run as the page shows it."""

    run_id: str
    trace_id: str
    name: str
    agent: str | None
    service: str | None
    model: str | None
    is_flagged: bool
    holes: tuple[str, ...]
    """Why absence in this trace may prove nothing, in words."""
    content: str
    """`on`, `off`, `digests` or `unknown`: what the trace holds."""
    ledger: LedgerView
    timeline: Timeline
    offers: OffersView
    answer: AnswerView | None
    task: str | None
    """One line of what the run was given."""
    calls: tuple[CallView, ...]
    n_calls: int
    n_tools: int


def trace_view(
    evaluation: Evaluation,
    finding: FindingFacts,
    *,
    with_content: bool,
    with_receipts: bool = True,
    first: int | None = None,
) -> TraceView:
    """Make the view of a run.

    Args:
        evaluation: The judged run.
        finding: The finding that the page is about. A neutral page gives an empty one.
        with_content: Whether the reader may see prompts, results and answers.
        with_receipts: Whether to say what the claims of the answer rest on.
        first: Number of the first event of the timeline, from 1; `None` = the page chooses.
    """
    run = evaluation.run
    ledger = evaluation.ledger
    gap = gap_of(finding.rule, finding.evidence, ledger, subject=finding.subject)
    claims = _claims(evaluation) if with_content and with_receipts else None
    models = [c.response_model or c.request_model for c in run.chats]
    return TraceView(
        run_id=run.run_id,
        trace_id=run.trace_id,
        name=one_line(run.name, limit=120),
        agent=one_line(run.agent, limit=80) if run.agent else None,
        service=one_line(run.service, limit=80) if run.service else None,
        model=one_line(next((m for m in models if m), "") or "", limit=80) or None,
        is_flagged=evaluation.is_flagged,
        holes=tuple(_HOLES.get(r, r.replace("_", " ")) for r in run.incomplete_reasons),
        content=run.content,
        ledger=ledger_view(ledger, gap, columns=COLUMNS if with_receipts else COLUMNS[:-1]),
        timeline=timeline(run, ledger, gap, finding.span_ids, first=first),
        offers=offers_view(run, ledger),
        answer=answer_view(run, claims) if with_content else None,
        task=one_line(run.input_text, limit=400) if with_content and run.input_text else None,
        calls=calls_view(run, finding.span_ids, with_content=with_content),
        n_calls=len(run.chats),
        n_tools=len(run.tools),
    )


def _claims(evaluation: Evaluation) -> tuple[AssessedClaim, ...] | None:
    claims = None  # a page without receipts is worth more than none
    with guard("review.web.claims"):
        claims = evaluation.claims
    return claims


def links_out(templates: Mapping[str, str], **values: str) -> dict[str, str]:
    """Fill URL templates such as `https://jaeger.example/trace/{trace_id}`.

    Args:
        templates: By the name that the link shows.
        values: What may stand in braces: `trace_id`, `span_id`, `start_ms`, `end_ms`; each is
            quoted for a URL.
    """
    from urllib.parse import quote

    found = {}
    for name, template in templates.items():
        url = template
        for key, value in values.items():
            url = url.replace("{" + key + "}", quote(value, safe=""))
        found[name] = url
    return found
