"""`format_false_assurance`: an output has the right form and is judged wrong, and it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import rule, violated
from spanwitness.rules.subjects import STEPS

if TYPE_CHECKING:
    from spanwitness.model import Step
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("format_false_assurance", severity="error", fault="reasoning", needs=STEPS)
def format_false_assurance(facts: Facts) -> Outcome:
    """The output of a step met its format and is judged not valid, and the run went on with it.

    Claims: A step says that its output parsed and that the validity judgement on it failed. No
        later attempt at that stage of the case was valid, no escalation recovered or deferred the
        case, and the run did not end in an error. The right form is no assurance of the content.
    Needs: Steps that record parser validity and validity.
    Not assessed when: Spans are missing and none of the steps that are there says so.
    Can be wrong: The judgement on validity is taken as it was recorded; an escalation that is not
        recorded as one is not seen.
    """
    told = [s for s in facts.run.steps if s.parser_valid is not None and s.validity is not None]
    if not told:
        return facts.no_subject
    assured = [s for s in told if s.parser_valid and not s.validity]
    standing = [s for s in assured if not _is_mended(s, told, facts)]
    if not standing or not facts.stands_as_success:
        return facts.nothing_found
    names = sorted({step.name for step in standing})
    return violated(
        f"{', '.join(names[:5])} gave output that parses and is judged not valid"
        f" ({len(standing)} of {len(told)} steps), and the run went on with it.",
        span_ids=tuple(step.span_id for step in standing[:10]),
        evidence={"steps": names[:20], "n_assured": len(standing), "n_judged": len(told)},
    )


def _is_mended(step: Step, told: list[Step], facts: Facts) -> bool:
    place = facts.positions[step.span_id]
    for other in told:
        if facts.positions[other.span_id] > place and other.validity and _is_same(step, other):
            return True
    return any(
        other.escalation_outcome in ("recovered", "deferred")
        and (other.case_id, other.condition) == (step.case_id, step.condition)
        for other in facts.run.steps
    )


def _is_same(step: Step, other: Step) -> bool:
    return (step.name, step.case_id, step.condition) == (
        other.name,
        other.case_id,
        other.condition,
    )
