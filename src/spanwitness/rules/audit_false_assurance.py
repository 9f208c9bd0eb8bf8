"""`audit_false_assurance`: an audit passed what its own facts or the receipts fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import rule, violated
from spanwitness.rules.subjects import STEPS

if TYPE_CHECKING:
    from spanwitness.model import Step
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("audit_false_assurance", severity="error", fault="reasoning", needs=STEPS)
def audit_false_assurance(facts: Facts) -> Outcome:
    """An audit passed what its own facts, or the receipts of the answer, fail.

    Claims: A step records a false assurance; or an audit or verify step passed the answer although
        the same step says that an audit detected a fault, that the evidence is not adequate, or
        that the output is not valid; or although claims of the answer that it passed stand nowhere
        in the evidence. A later audit of the same case that did not pass it, an escalation that
        recovered or deferred it, and a run that ended in an error take the assurance back.
    Needs: Steps of kind `audit` or `verify` with a verdict or stage facts; for the receipts the
        recorded content.
    Not assessed when: Spans are missing and no step that is there is contradicted.
    Can be wrong: A verdict on something else than the answer's evidence (its tone, its form) is
        taken for one on its evidence where the receipts fail.
    """
    audits = [step for step in facts.run.steps if _is_audit(step)]
    if not audits:
        return facts.no_subject
    false = [s for s in audits if _why(s) and not _is_taken_back(s, audits, facts)]
    if not facts.stands_as_success:
        return facts.nothing_found
    if false:
        names = sorted({step.name for step in false})
        return violated(
            f"{', '.join(names[:5])} passed what {_why(false[0])} ({len(false)} of {len(audits)}"
            " audits).",
            span_ids=_spans(facts, false)[:10],
            evidence={"steps": names[:20], "n_false": len(false), "n_audits": len(audits)},
        )
    return _by_receipts(facts, audits)


def _spans(facts: Facts, false: list[Step]) -> tuple[str, ...]:
    """The audits first, then the stages of the cases that they passed."""
    audits = [step.span_id for step in false]
    cases = [s.span_ids for s in facts.sequences if not set(s.span_ids).isdisjoint(audits)]
    return tuple(dict.fromkeys([*audits, *(span for case in cases for span in case)]))


def _is_audit(step: Step) -> bool:
    return step.audit_false_assurance is not None or (
        step.kind in ("audit", "verify")
        and any(
            value is not None
            for value in (step.verdict, step.audit_detected, step.evidence_adequate)
        )
    )


def _why(step: Step) -> str:
    """Return what contradicts the assurance of a step; empty where nothing does."""
    if step.audit_false_assurance is not None:
        return "it records as a false assurance" if step.audit_false_assurance else ""
    has_passed = step.verdict is True or (
        step.verdict is None and step.audit_detected is False and step.kind == "audit"
    )
    if not has_passed:
        return ""
    if step.audit_detected:
        return "its own detection fails"
    if step.evidence_adequate is False:
        return "rests on evidence that it calls not adequate"
    return "is judged not valid" if step.validity is False else ""


def _is_taken_back(step: Step, audits: list[Step], facts: Facts) -> bool:
    place = facts.positions[step.span_id]
    case = (step.case_id, step.condition)
    return any(
        other.span_id != step.span_id
        and facts.positions[other.span_id] > place
        and (other.case_id, other.condition) == case
        and (other.verdict is False or other.audit_detected is True)
        for other in audits
    ) or any(
        other.escalation_outcome in ("recovered", "deferred")
        and (other.case_id, other.condition) == case
        for other in facts.run.steps
    )


def _by_receipts(facts: Facts, audits: list[Step]) -> Outcome:
    passed = [s for s in audits if s.verdict is True and not _is_taken_back(s, audits, facts)]
    if not passed:
        return facts.nothing_found
    from spanwitness.rules.unsupported import unsupported_claims

    found = unsupported_claims(facts)
    if not found.is_violated:
        return facts.nothing_found
    step = passed[-1]
    return violated(
        f"{step.name} passed the answer, and {found.told} of it.",
        span_ids=(step.span_id, *found.span_ids),
        evidence={"steps": [step.name], "n_unsupported": len(found.claims)},
    )
