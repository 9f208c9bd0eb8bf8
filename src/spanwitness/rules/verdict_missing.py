"""`verdict_missing`: a judging step gave no verdict that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import rule, violated
from spanwitness.rules.subjects import STEPS

if TYPE_CHECKING:
    from spanwitness.model import Step
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("verdict_missing", severity="error", fault="harness", needs=STEPS)
def verdict_missing(facts: Facts) -> Outcome:
    """A step that declares a verdict gave none that can be read, and the run went on.

    Claims: A verify, audit or other judging step ended without a readable verdict. It never
        counts as a pass.
    Needs: Steps of this package that declare a verdict.
    Not assessed when: Spans are missing and none of those that are there lacks its verdict.
    Can be wrong: A step that is cancelled, that ends in an error which ends the run, or that
        fails and is repeated with a verdict is not told; a verdict given by other means than the
        declared one is not seen.
    """
    run = facts.run
    judging = [step for step in run.steps if step.declares_verdict]
    if not judging:
        return facts.no_subject
    missing = [
        step
        for position, step in enumerate(judging)
        if step.verdict is None and not _is_loud(step, judging[position + 1 :], facts)
    ]
    if not missing:
        return facts.nothing_found
    names = sorted({step.name for step in missing})
    return violated(
        f"{', '.join(names)} gave no readable verdict ({len(missing)} of {len(judging)} steps);"
        " it does not count as a pass.",
        span_ids=tuple(step.span_id for step in missing[:10]),
        evidence={"steps": list(names), "n_missing": len(missing), "n_judging": len(judging)},
    )


def _is_loud(step: Step, later: list[Step], facts: Facts) -> bool:
    """Say whether somebody heard of it: the step failed, and the run too, or it was repeated."""
    if step.error_type is None:
        return False
    if facts.run.status == "error" or facts.run.is_cancelled:
        return True
    return any(
        other.name == step.name and other.case_id == step.case_id and other.verdict is not None
        for other in later
    )
