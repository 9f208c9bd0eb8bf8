"""`value_ungrounded`: values of the answer stand nowhere in what the model saw or a tool gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.answers import is_answer_left
from spanwitness.rules.attribution import attribute, circumstances
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS
from spanwitness.rules.unsupported import rests_on_evidence, unsupported_claims

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome
    from spanwitness.rules.unsupported import Unsupported


@rule("value_ungrounded", severity="error", fault="reasoning", needs=CHATS)
def value_ungrounded(facts: Facts) -> Outcome:
    """Values of the answer stand in no input part and no result, and do not follow from them.

    Claims: A declared claim or a field of the submitted answer, or at least half of two or more
        assessable values (numbers, dates, identifiers; of a submitted answer also its only one),
        stand in no part of any request, in no result of a tool, and cannot be calculated from
        numbers there; what the model itself said before is no support. Values too short or common
        to prove anything take no part. Where nothing was read, no tool was due, and nothing was
        submitted but a text where no tool was offered (general knowledge, mental arithmetic), it is
        told at `info`. The fault is found by elimination (`docs/faults.md`).
    Needs: The answer, the messages of the requests, the results of tools.
    Not assessed when: Content is off or cut, the input holds parts that cannot be read, part of it
        is held by the provider, or the trace has a hole.
    Can be wrong: A value derived by a calculation that is not tried (several steps, dates, look-up
        in a table by rank) is reported where most values are; one that is right by chance is not.
    """
    answer = facts.answer_text
    if answer is None and not _has_claims(facts):
        return _without_answer(facts)
    if not facts.stands_as_success or is_answer_left(facts):
        return facts.nothing_found
    found = unsupported_claims(facts)
    if not found.claims:
        if found.n_undecided:
            return not_assessed(found.reason or "the support of its values cannot be decided")
        return facts.nothing_found if found.n_assessable else facts.no_subject
    if not found.is_violated:
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    if answer is not None and not found.declared and wording.abstains(answer):
        return facts.nothing_found
    return _violated(facts, found)


def _has_claims(facts: Facts) -> bool:
    submitted = facts.run.submission
    return submitted is not None and bool(submitted.claims)


def _without_answer(facts: Facts) -> Outcome:
    if facts.run.has_final is False and facts.run.submission is None:
        return facts.no_subject
    counted = [facts.stated(chat) for chat in facts.replies[-1:]]
    if any(said.n_values == 0 for said in counted):
        return facts.no_subject
    return not_assessed("the answer was not recorded")


def _violated(facts: Facts, found: Unsupported) -> Outcome:
    told = found.declared or found.claims
    who = attribute(circumstances(facts, told[0]))
    is_due = bool(found.declared) or rests_on_evidence(facts)
    fields = [c.claim.field for c in told if c.claim.field is not None]
    about = f" ({', '.join(dict.fromkeys(fields[:5]))})" if fields else ""
    suffix = "" if is_due else "; nothing was read and nothing made tools due"
    return violated(
        f"{found.told}{about}: in no input part, in no result, and not to be calculated from"
        f" them{suffix}.",
        span_ids=found.span_ids,
        evidence={
            "n_unsupported": len(found.claims),
            "n_assessable": found.n_assessable,
            "n_self_sourced": sum(c.receipt.state == "self_sourced" for c in found.claims),
            "fields": fields[:20],
            "attribution": who.line,
        },
        severity=None if is_due else "info",
        fault=who.fault,
        kind=who.kind,
    )
