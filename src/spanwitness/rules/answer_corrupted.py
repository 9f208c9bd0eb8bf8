"""`answer_corrupted`: a revision turned a right answer into a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import STEPS

if TYPE_CHECKING:
    from spanwitness.model import Step
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("answer_corrupted", severity="warning", fault="reasoning", needs=STEPS)
def answer_corrupted(facts: Facts) -> Outcome:
    """An answer was right before a revise step and wrong after it.

    Claims: A step of kind `revise` records success before it and failure after it, by one success
        rule. Where a later revision of the same case made it right again it is told at `info`.
        Steps that give a verdict on an answer (`verify`, `audit`) take no part, whatever they say.
    Needs: Revise steps that record success before and after.
    Not assessed when: A revise step records only one of the two, or none, and no other was
        corrupting; spans are missing.
    Can be wrong: It is as right as the success rule of the step.
    """
    revisions = [step for step in facts.run.steps if step.kind == "revise"]
    if not revisions:
        return facts.no_subject
    corrupted = [s for s in revisions if s.success_before is True and s.success_after is False]
    if corrupted:
        lasting = [s for s in corrupted if not _is_mended(s, revisions, facts)]
        told = lasting or corrupted
        names = sorted({step.name for step in told})
        suffix = "" if lasting else "; a later revision made it right again"
        return violated(
            f"{', '.join(names[:5])} turned a right answer into a wrong one"
            f" ({len(told)} of {len(revisions)} revisions){suffix}.",
            span_ids=tuple(step.span_id for step in told[:10]),
            evidence={
                "steps": names[:20],
                "n_corrupted": len(told),
                "n_revisions": len(revisions),
            },
            severity=None if lasting else "info",
        )
    if any(s.error_type is None and None in (s.success_before, s.success_after) for s in revisions):
        return not_assessed("whether the answer was right before and after a revision is not known")
    return facts.nothing_found


def _is_mended(step: Step, revisions: list[Step], facts: Facts) -> bool:
    place = facts.positions[step.span_id]
    return any(
        other.success_after
        and other.case_id == step.case_id
        and facts.positions[other.span_id] > place
        for other in revisions
    )
