"""Which conditions beside the values of an answer nobody tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.rules.conditions import Condition, conditions_of, kind_of, surroundings, tells
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import AssessedClaim, Place
    from spanwitness.rules.facts import Facts

__all__ = ["Omitted", "omitted_conditions"]


class Omitted(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that is told without conditions that stand beside it."""

    claim: AssessedClaim
    conditions: tuple[Condition, ...]


def omitted_conditions(facts: Facts) -> tuple[Omitted, ...]:
    """Return the claims with a condition, in every place of their support, that nobody tells.

    What the answer, its declared claims or the question says counts as told.
    """
    answer = facts.answer_text or ""
    told = "\n".join((answer, facts.run.input_text or "", *_declared_texts(facts)))
    found = ((claim, _omitted(facts, claim, told)) for claim in facts.claims)
    return tuple(Omitted(claim=claim, conditions=missing) for claim, missing in found if missing)


def _declared_texts(facts: Facts) -> Iterator[str]:
    submitted = facts.run.submission
    for claim in (submitted.claims if submitted is not None else None) or ():
        yield from (as_text(v) for v in (claim.value, claim.unit, claim.quote, claim.source) if v)


def _omitted(facts: Facts, claim: AssessedClaim, told: str) -> tuple[Condition, ...] | None:
    """Return the conditions that every place of a claim's support states and nobody tells."""
    receipt = claim.receipt
    if claim.kind != "number" or receipt.state != "in_window" or not receipt.places:
        return None
    words = tuple(w for c in facts.contracts_in_force for w in c.condition_words(claim.claim.field))
    if not words and not _has_unit(claim):
        return None
    found: tuple[Condition, ...] = ()
    for place in receipt.places:
        if place.source != "result":
            return None  # the question gave the value; it owes no condition
        missing = tuple(c for c in _beside(facts, claim, place, words) if not tells(told, c))
        if not missing:
            return None
        found = found or missing
    return found


def _beside(
    facts: Facts, claim: AssessedClaim, place: Place, words: tuple[str, ...]
) -> Iterator[Condition]:
    text, start, end = _text_of(facts, place)
    row = surroundings(text, start, end)
    yield from conditions_of(row, text[start:end], words)
    if _has_unit(claim):
        kind = kind_of(text, row, start, end)
        if kind is not None:
            yield kind


def _text_of(facts: Facts, place: Place) -> tuple[str, int, int]:
    """Return the text that holds a place, with the place; its excerpt where only that is known."""
    execution = facts.execution_of.get(place.call_id or "")
    if execution is not None and execution.has_result and isinstance(execution.result, str):
        text = execution.result
        if text[place.start : place.end] in place.excerpt:
            return text, place.start, place.end
    return place.excerpt, 0, 0


def _has_unit(claim: AssessedClaim) -> bool:
    if claim.claim.unit:
        return True
    return any(c.isalpha() or c in "%\u00b0\u03a9\u00b5" for c in claim.text.lstrip("-+~\u2248 "))
