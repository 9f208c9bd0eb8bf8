"""`condition_omitted`: a value is told without the condition under which it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.answers import is_answer_left
from spanwitness.rules.attribution import attribute, circumstances
from spanwitness.rules.omitted import omitted_conditions
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS
from spanwitness.rules.unsupported import answer_spans

if TYPE_CHECKING:
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
    if not facts.stands_as_success or is_answer_left(facts):
        return facts.nothing_found
    omitted = omitted_conditions(facts)
    if not omitted:
        if any(c.receipt.state == "not_decidable" for c in facts.claims):
            return not_assessed("the evidence of some values cannot be read")
        return facts.nothing_found
    n = len(omitted)
    claim = omitted[0].claim
    who = attribute(circumstances(facts, claim, omits_condition=True))
    spans = [p.span_id for o in omitted for p in o.claim.receipt.places[:2]]
    fields = [o.claim.claim.field for o in omitted if o.claim.claim.field]
    return violated(
        f"{n} value{'s' if n != 1 else ''} of the answer {'are' if n != 1 else 'is'} told without"
        f" a condition that stands beside {'them' if n != 1 else 'it'} in the evidence.",
        span_ids=tuple(dict.fromkeys([*answer_spans(facts), *filter(None, spans)]))[:10],
        evidence={
            "n_values": n,
            "fields": fields[:20],
            "n_conditions": sum(len(o.conditions) for o in omitted),
            "attribution": who.line,
        },
        kind=who.kind,
    )
