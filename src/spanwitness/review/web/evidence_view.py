"""The answer beside its evidence: each claim with the places that hold its support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.review.web.shown_text import (
    LIMIT_CHARS,
    Mark,
    ShownText,
    one_line,
    readable,
    shown,
)
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model import Run
    from spanwitness.model.grounding import AssessedClaim, Place, Receipt

MAX_CLAIMS: Final = 40
MAX_PLACES: Final = 3
_NEAR: Final = 60

_STATES: Final = {
    "in_window": ("good", "stands in the request that gave the answer"),
    "derivable": ("good", "follows from numbers in the request"),
    "not_delivered": ("bad", "a tool returned it, and no request carried it to the model"),
    "left_window": ("bad", "an earlier request carried it, this one does not"),
    "absent": ("bad", "nothing in the trace holds it"),
    "self_sourced": ("bad", "only the model's own earlier text holds it"),
    "untraceable": ("unknown", "nothing in it could be looked for"),
    "not_decidable": ("unknown", "this trace cannot show it"),
}
_MATCHES: Final = {
    "exact": "word for word", "folded": "but for case and typography", "scaled": "by its scale",
    "unit": "in another unit", "rounded": "rounded", "range": "inside a range",
    "date": "as the same date", "similar": "with small edits", "derived": "by calculation",
}  # fmt: skip
_SOURCES: Final = {
    "result": "tool result", "user": "user message", "system": "system text",
    "assistant": "the model's earlier text", "reasoning": "the model's reasoning",
    "arguments": "arguments of a call", "schema": "output schema", "other": "request",
}  # fmt: skip


class Excerpt(msgspec.Struct, frozen=True):
    """A place that holds the support of a claim."""

    source: str
    where: str
    """Document and path within it, where known."""
    text: ShownText
    is_delivered: bool | None
    span_id: str


class ClaimView(msgspec.Struct, frozen=True):
    """One claim and what it rests on."""

    number: int
    text: str
    field: str | None
    kind: str
    state: str
    tone: str
    says: str
    is_weak: bool
    excerpts: tuple[Excerpt, ...]
    n_more_places: int


class AnswerView(msgspec.Struct, frozen=True):
    """What the run answered."""

    text: ShownText
    came_from: str
    """`submitted`, `given back` by the run, or the `last reply`."""
    claims: tuple[ClaimView, ...]
    n_claims: int
    is_assessed: bool
    """False where receipts were not worked out."""


def answer_view(run: Run, claims: Sequence[AssessedClaim] | None) -> AnswerView | None:
    """Return the answer with its claims marked; `None` = the trace does not hold the answer.

    Args:
        run: The run.
        claims: Its claims with receipts; `None` = they were not worked out.
    """
    found = _answer(run)
    if found is None:
        return None
    text = found.text
    ordered = sorted(claims or (), key=lambda c: _RANK[_STATES[c.receipt.state][0]])
    views = tuple(_claim(number, c) for number, c in enumerate(ordered[:MAX_CLAIMS], 1))
    return AnswerView(
        text=shown(text, limit=2 * LIMIT_CHARS, marks=_marks(text[: 2 * LIMIT_CHARS], ordered)),
        came_from=found.came_from,
        claims=views,
        n_claims=len(ordered),
        is_assessed=claims is not None,
    )


_RANK: Final = {"bad": 0, "unknown": 1, "good": 2}


class _Answer(msgspec.Struct, frozen=True):
    text: str
    came_from: str


def _answer(run: Run) -> _Answer | None:
    submitted = run.submission
    if submitted is not None and submitted.has_answer:
        return _Answer(readable(submitted.answer), "submitted")
    if run.final_text is not None:
        return _Answer(run.final_text, "given back")
    text = Facts(run).answer_text
    return None if text is None else _Answer(text, "last reply")


def _marks(text: str, claims: Sequence[AssessedClaim]) -> list[Mark]:
    marks = []
    for number, claim in enumerate(claims[:MAX_CLAIMS], 1):
        at = _find(text, claim.text)
        if at is not None:
            tone = _tone(claim.receipt)
            label = f"claim {number}: {_STATES[claim.receipt.state][1]}"
            marks.append(Mark(at.start, at.end, tone, label))
    return marks


class _Span(msgspec.Struct, frozen=True):
    start: int
    end: int


def _find(text: str, wanted: str) -> _Span | None:
    """Find a text as a whole word, as it is or else without regard to case."""
    if not wanted:
        return None
    for hay, needle in ((text, wanted), (text.lower(), wanted.lower())):
        if len(hay) != len(text):
            continue  # a letter that changes its length: places would not fit
        at = hay.find(needle)
        while at >= 0:
            end = at + len(needle)
            is_whole = not (text[at - 1 : at].isalnum() and needle[:1].isalnum())
            is_whole = is_whole and not (text[end : end + 1].isalnum() and needle[-1:].isalnum())
            if is_whole:
                return _Span(at, end)
            at = hay.find(needle, at + 1)
    return None


def _tone(receipt: Receipt) -> str:
    tone = _STATES[receipt.state][0]
    return "weak" if tone == "good" and receipt.is_weak else tone


def _claim(number: int, claim: AssessedClaim) -> ClaimView:
    receipt = claim.receipt
    says = _STATES[receipt.state][1]
    if receipt.match is not None and receipt.match != "exact":
        says = f"{says}, {_MATCHES[receipt.match]}"
    for more in (receipt.derivation, receipt.difference, receipt.reason):
        if more:
            says = f"{says}: {one_line(more, limit=200)}"
    return ClaimView(
        number=number,
        text=one_line(claim.text or str(claim.claim.value or claim.claim.quote or ""), limit=240),
        field=one_line(claim.claim.field, limit=80) if claim.claim.field else None,
        kind=claim.kind,
        state=receipt.state.replace("_", " "),
        tone=_tone(receipt),
        says=says,
        is_weak=receipt.is_weak,
        excerpts=tuple(_excerpt(place, claim) for place in receipt.places[:MAX_PLACES]),
        n_more_places=max(0, len(receipt.places) - MAX_PLACES),
    )


def _excerpt(place: Place, claim: AssessedClaim) -> Excerpt:
    source = _SOURCES[place.source]
    if place.tool is not None:
        source = f"{source} of {one_line(place.tool, limit=60)}"
    where = [place.document.identity] if place.document is not None else []
    where += [place.path] if place.path else []
    return Excerpt(
        source=source,
        where=one_line(" · ".join(where), limit=160),
        text=shown(place.excerpt, limit=600, marks=_support(place, claim)),
        is_delivered=place.is_delivered,
        span_id=place.span_id,
    )


def _support(place: Place, claim: AssessedClaim) -> list[Mark]:
    """Mark the support inside an excerpt: as the claim writes it, else by its place."""
    value = claim.claim.value
    for wanted in (claim.text, claim.claim.quote or "", "" if value is None else str(value)):
        at = _find(place.excerpt, wanted)
        if at is not None:
            return [Mark(at.start, at.end, "good", "the support")]
    # Near the start of a text the excerpt begins where the text does.
    if place.start < _NEAR and place.start < place.end <= len(place.excerpt):
        return [Mark(place.start, place.end, "good", "the support")]
    return []
