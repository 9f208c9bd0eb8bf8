"""`detected_unrecovered`: an audit found the evidence degraded, and nothing came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.rule import rule, violated
from spanwitness.rules.subjects import STEPS
from spanwitness.stats.evidence import Family

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome
    from spanwitness.rules.sequences import Sequence


@rule("detected_unrecovered", severity="error", fault="reasoning", needs=STEPS)
def detected_unrecovered(facts: Facts) -> Outcome:
    """An audit told that something is wrong, and the case was neither recovered nor deferred.

    Claims: In some case an audit detected degraded evidence, no escalation recovered or deferred
        it, no revision after it succeeded, and the run stands as a success. A detection on evidence
        that the same case calls adequate, and one in a case all of whose outputs are judged valid,
        are false alarms and not told.
    Needs: Steps that record what an audit detected, and escalation outcomes.
    Not assessed when: Spans are missing.
    Can be wrong: A recovery outside the recorded steps is not seen.
    """
    audits = [s for s in facts.run.steps if s.audit_detected is not None]
    if not audits:
        return facts.no_subject
    if not facts.run.is_complete:
        return facts.incomplete  # the escalation may be what is missing
    lost = [
        s
        for s in facts.sequences
        if s.family is Family.detected_but_unrecovered and not _is_fine(s)
    ]
    in_sequences = {step.span_id for s in facts.sequences for step in s.steps}
    alone = [
        s
        for s in audits
        if s.audit_detected
        and s.span_id not in in_sequences
        and s.evidence_adequate is not True
        and s.escalation_outcome not in ("recovered", "deferred")
    ]
    if not (lost or alone) or not _stands(facts):
        return facts.nothing_found
    spans = [s for sequence in lost for s in _telling(sequence)] + [s.span_id for s in alone]
    n_cases = len(lost) + len(alone)
    return violated(
        f"An audit detected degraded evidence in {n_cases} case{'s' if n_cases != 1 else ''}, and"
        " nothing recovered or deferred it.",
        span_ids=tuple(dict.fromkeys(spans))[:10],
        evidence={"n_cases": n_cases, "cases": [s.case_id for s in lost[:20]]},
    )


def _is_fine(sequence: Sequence) -> bool:
    if sequence.is_settled:
        return True
    detected = [s for s in sequence.steps if s.audit_detected]
    if all(s.evidence_adequate for s in detected):
        return True
    if any(s.kind == "revise" and s.success_after for s in sequence.steps):
        return True
    judged = [s.validity for s in sequence.steps if s.validity is not None]
    return (
        bool(judged)
        and all(judged)
        and not any(
            s.escalation_outcome == "unresolved" or s.evidence_adequate is False
            for s in sequence.steps
        )
    )


def _telling(sequence: Sequence) -> list[str]:
    audits = [s.span_id for s in sequence.steps if s.audit_detected]
    return [*audits, *sequence.span_ids]


def _stands(facts: Facts) -> bool:
    """Say whether the run gave an answer as a success; one that abstains is a deferral."""
    if not facts.stands_as_success:
        return False
    answer = facts.answer_text
    return answer is None or not wording.abstains(answer)
