"""Each claim of an answer with its receipt: the state, and the places that support it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.claims import claims_of
from spanwitness.grounding.dates import DateSearch
from spanwitness.grounding.derivation import Operand, Window, derive
from spanwitness.grounding.documents import document_at, documents_of
from spanwitness.grounding.evidence import Evidence, answering_chat
from spanwitness.grounding.layout import excerpt
from spanwitness.grounding.quotations import find_quotation
from spanwitness.grounding.ranges import find_in_ranges
from spanwitness.grounding.search import MAX_HITS, Hit, NumberSearch
from spanwitness.grounding.words import WordSearch, places
from spanwitness.model import AssessedClaim, Place, Receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.grounding.evidence import EvidenceText, Holder
    from spanwitness.grounding.statements import FoundClaim
    from spanwitness.model import ClaimState, Document, Execution, Run

__all__ = ["assess"]

_MAX_PLACES: Final = 8
_OWN: Final = frozenset({"assistant", "reasoning", "arguments"})
"""What the model itself wrote: it supports nothing."""
_SOURCES: Final = {
    "result": 0, "user": 1, "system": 2, "other": 3, "schema": 4, "arguments": 5,
    "assistant": 6, "reasoning": 7,
}  # fmt: skip
_MATCHES: Final[dict[str, int]] = {
    "exact": 0, "folded": 1, "date": 1, "scaled": 2, "unit": 3, "rounded": 4, "range": 5,
    "similar": 6, "derived": 7,
}  # fmt: skip
_COMMON: Final = 4
_MANY: Final = 8
_WORDED: Final = frozenset({"identifier", "name", "text"})
_WORD = re.compile(r"[^\W\d_]{2,}")


def assess(
    run: Run, *, answer: str | None, executions: Sequence[Execution]
) -> tuple[AssessedClaim, ...]:
    """Say of each claim of an answer what it rests on.

    Args:
        run: The run.
        answer: Its answer, a text or JSON; `None` = not recorded (declared claims are still
            looked at).
        executions: The executions of the run, as `normalize.executions.executions` gives them.

    Returns:
        The claims in the order of `claims_of`; empty when there are none.
    """
    claims = claims_of(run, answer)
    if not claims:
        return ()
    evidence = Evidence(run, executions, answering_chat(run, answer))
    return _Assessment(claims, evidence, answer or "").receipts()


class _Found:
    """What was met for one claim."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.differences: dict[int, str | None] = {}


class _Assessment:
    def __init__(self, claims: tuple[FoundClaim, ...], evidence: Evidence, answer: str) -> None:
        self._claims = claims
        self._evidence = evidence
        self._answer = answer
        self._found = [_Found() for _ in claims]
        pairs = list(zip(claims, self._found, strict=True))
        self._numbers = NumberSearch(claims)
        self._dates = [(DateSearch(c), f) for c, f in pairs if c.kind == "date"]
        self._words = [(WordSearch(c), f) for c, f in pairs if c.kind in _WORDED]
        self._quoted = [(c, f) for c, f in pairs if c.kind == "quotation"]
        self._documents: dict[str, tuple[Document, ...]] = {}

    def receipts(self) -> tuple[AssessedClaim, ...]:
        for text in self._evidence.texts:
            self._look_in(text)
        supported = self._supported()
        return tuple(
            AssessedClaim(
                claim=claim.claim,
                kind=claim.kind,
                origin=claim.origin,
                text=claim.text,
                receipt=self._receipt(place, found, supported),
            )
            for place, (claim, found) in enumerate(zip(self._claims, self._found, strict=True))
        )

    def _look_in(self, text: EvidenceText) -> None:
        for index, hits in self._numbers.find(text).items():
            self._found[index].hits += hits
        for date, found in self._dates:
            found.hits += date.find(text)
        are_many = len(self._words) >= _MANY
        for word, found in self._words:
            if not are_many or word.may_stand_in(text):
                found.hits += word.find(text)
        for claim, found in self._quoted:
            quoted = find_quotation(claim.text, text)
            if quoted is not None:
                found.hits.append(quoted.hit)
                found.differences[id(quoted.hit)] = quoted.difference

    def _supported(self) -> list[Operand]:
        """Numbers that the answer states and the window holds."""
        found: list[Operand] = []
        for place, (claim, met) in enumerate(zip(self._claims, self._found, strict=True)):
            if claim.numbers and any(_is_given(h.text) for h in met.hits):
                amount = claim.numbers[0].amounts[0]
                found.append(Operand(abs(amount.said), amount.dimension, place))
        return found

    def _receipt(self, place: int, found: _Found, supported: list[Operand]) -> Receipt:
        claim = self._claims[place]
        ranked = sorted(
            ((hit, holder) for hit in found.hits for holder in hit.text.holders), key=_rank
        )
        state = _state_of(ranked)
        if state is None or state == "self_sourced":
            derived = self._derived(place, supported)
            if derived is not None:
                return derived
        if state is None:
            ranked = self._in_ranges(claim)
            state = _state_of(ranked)
        if state is None:
            return self._nothing(claim)
        hit, _ = ranked[0]
        return Receipt(
            state=state,
            match=hit.match,
            is_weak=_is_weak(claim, found.hits, hit),
            places=self._places(ranked),
            difference=found.differences.get(id(hit)),
        )

    def _in_ranges(self, claim: FoundClaim) -> list[tuple[Hit, Holder]]:
        """Find the ranges that a value lies in, where nothing states the value itself."""
        return [
            (hit, holder)
            for text in self._evidence.texts
            if _is_given(text)
            for hit in find_in_ranges(claim, text)
            for holder in hit.text.holders
        ]

    def _derived(self, place: int, supported: list[Operand]) -> Receipt | None:
        claim = self._claims[place]
        if claim.kind != "number" or claim.is_small:
            return None
        derivation = derive(claim, place, self._answer, supported, self._window)
        if derivation is None:
            return None
        if not derivation.is_weak:
            amount = claim.numbers[0].amounts[0]
            supported.append(Operand(abs(amount.said), amount.dimension, place))
        return Receipt(
            state="derivable",
            match="derived",
            is_weak=derivation.is_weak,
            derivation=derivation.shown,
        )

    @cached_property
    def _window(self) -> Window:
        texts = [t for t in self._evidence.texts if _is_given(t)]
        texts.sort(key=lambda t: not any(h.source == "user" for h in t.holders))
        return Window([t.folded.text for t in texts])

    def _nothing(self, claim: FoundClaim) -> Receipt:
        if (
            claim.is_small
            or not claim.text.strip()
            or (claim.kind == "number" and not claim.numbers)
        ):
            return Receipt(state="untraceable", reason="there is too little to look for")
        if claim.kind == "name" and self._is_of_common_words(claim.text):
            return Receipt(state="untraceable", reason="it is made of common words")
        if self._evidence.hidden:
            return Receipt(state="not_decidable", reason=self._evidence.hidden[0])
        return Receipt(state="absent")

    def _is_of_common_words(self, name: str) -> bool:
        """Say whether each word of a name stands in lower case in some text, as words do."""
        return all(
            any(
                (len(self._words) < _MANY or not word.isascii() or word.lower() in text.runs)
                and next(places(text.folded.text, word.casefold()), None) is not None
                for text in self._evidence.texts
            )
            for word in _WORD.findall(name)
        )

    def _places(self, ranked: list[tuple[Hit, Holder]]) -> tuple[Place, ...]:
        found: list[Place] = []
        for hit, holder in ranked[:_MAX_PLACES]:
            folded = hit.text.folded
            found.append(
                Place(
                    source=holder.source,
                    span_id=holder.span_id,
                    call_id=holder.call_id,
                    tool=None if holder.execution is None else holder.execution.tool,
                    start=folded.place(hit.start),
                    end=folded.place(hit.end),
                    excerpt=excerpt(hit.text.text, folded.place(hit.start), folded.place(hit.end)),
                    path=hit.text.paths.path(hit.start) if hit.text.is_json else None,
                    document=self._document(hit, holder),
                    is_delivered=holder.is_delivered,
                )
            )
        return tuple(found)

    def _document(self, hit: Hit, holder: Holder) -> Document | None:
        inner = document_at(hit.text.folded.text, hit.start)
        if inner is not None:
            return inner
        if holder.execution is None:
            return None
        key = holder.call_id or holder.span_id
        if key not in self._documents:
            self._documents[key] = documents_of(holder.execution)
        documents = self._documents[key]
        return documents[0] if documents else None


def _is_given(text: EvidenceText) -> bool:
    """Say whether a text of the window comes from elsewhere than the model."""
    return any(holder.in_window and holder.source not in _OWN for holder in text.holders)


def _rank(pair: tuple[Hit, Holder]) -> tuple[int, ...]:
    hit, holder = pair
    where = 0 if holder.in_window else 1 if holder.in_earlier else 2
    own = holder.source in _OWN
    return (
        own, where, _SOURCES[holder.source], hit.is_loose, _MATCHES[hit.match], hit.start,
    )  # fmt: skip


def _state_of(ranked: list[tuple[Hit, Holder]]) -> ClaimState | None:
    """Say where the support stands, as seen from the answering call."""
    if not ranked:
        return None
    given = [holder for _, holder in ranked if holder.source not in _OWN]
    carried = any(holder.in_window for _, holder in ranked if holder.source in _OWN)
    if any(holder.in_window for holder in given):
        return "in_window"
    if any(holder.in_earlier for holder in given):
        return "in_window" if carried else "left_window"
    if any(holder.is_delivered is False for holder in given):
        return "not_delivered"
    if given:
        return "not_decidable"
    return "self_sourced"


def _is_weak(claim: FoundClaim, hits: list[Hit], best: Hit) -> bool:
    if claim.kind in _WORDED:
        return len(claim.text.strip()) < 3
    if claim.kind == "quotation":
        return len(claim.text.split()) < 3
    if claim.kind == "date":
        return False
    if claim.is_small or not claim.numbers or best.match == "range":
        return True
    written = claim.numbers[0]
    n_same = sum(hit.text is best.text for hit in hits)
    if written.n_digits <= 2 and n_same >= _COMMON:
        return True
    if n_same >= MAX_HITS and written.n_digits <= 3:
        return True
    if best.is_loose and written.n_digits <= 2:
        return True
    return not written.unit and written.n_digits <= 1
