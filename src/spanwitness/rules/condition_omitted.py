"""`condition_omitted`: a value is told without the condition under which it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.attribution import attribute, circumstances
from spanwitness.rules.conditions import conditions_of, kind_of, surroundings, tells
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS
from spanwitness.rules.unsupported import answer_spans
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import AssessedClaim, Place
    from spanwitness.rules.conditions import Condition
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "condition_omitted", severity="warning", fault="reasoning", kind="condition_omission",
    needs=EXECUTIONS,
)  # fmt: skip
def condition_omitted(facts: Facts) -> Outcome:
    """A value is told, and a condition that stands beside it in the evidence is not.

    Claims: In every result that supports a value with a unit, the same sentence or row states an
        operating condition ("at 25 °C", "VDD = 3.3 V"), says (in words, or by the column of its
        table) that the value is the typical one or a limit among others, or holds a word that a
        contract declares as load-bearing; and neither the answer nor the question tells it.
    Needs: The answer, the results of tools, the question.
    Not assessed when: The answer or the results are not recorded.
    Can be wrong: A condition that is the same for a whole page and understood by everyone is
        reported; conditions in another row, a header or a footnote are not seen.
    """
    if not facts.executions:
        return facts.no_execution
    answer = facts.answer_text
    if answer is None:
        if facts.run.has_final is False and facts.run.submission is None:
            return facts.no_subject
        return not_assessed("the answer was not recorded")
    if not facts.stands_as_success:
        return facts.nothing_found
    told = "\n".join((answer, facts.run.input_text or "", *_declared_texts(facts)))
    omitted = [
        (claim, missing)
        for claim in facts.claims
        if (missing := _omitted(facts, claim, told)) is not None
    ]
    if not omitted:
        if any(c.receipt.state == "not_decidable" for c in facts.claims):
            return not_assessed("the evidence of some values cannot be read")
        return facts.nothing_found
    n = len(omitted)
    claim, missing = omitted[0]
    who = attribute(circumstances(facts, claim, omits_condition=True))
    spans = [p.span_id for c, _ in omitted for p in c.receipt.places[:2]]
    fields = [c.claim.field for c, _ in omitted if c.claim.field]
    return violated(
        f"{n} value{'s' if n != 1 else ''} of the answer {'are' if n != 1 else 'is'} told without"
        f" a condition that stands beside {'them' if n != 1 else 'it'} in the evidence.",
        span_ids=tuple(dict.fromkeys([*answer_spans(facts), *filter(None, spans)]))[:10],
        evidence={
            "n_values": n,
            "fields": fields[:20],
            "n_conditions": sum(len(m) for _, m in omitted),
            "attribution": who.line,
        },
        kind=who.kind,
    )


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
