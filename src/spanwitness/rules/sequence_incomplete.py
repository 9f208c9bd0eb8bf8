"""`sequence_incomplete`: a case lacks a stage, and the run stands as a success."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import rule, violated
from spanwitness.rules.subjects import STEPS
from spanwitness.stats.evidence import Family

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("sequence_incomplete", severity="error", fault="reasoning", needs=STEPS)
def sequence_incomplete(facts: Facts) -> Outcome:
    """A case did not pass a stage that it needs, and the run stands as a success.

    Claims: A stage that a contract declares (or that more than half of the run's cases passed) is
        missing from a case, or its step ended in an error without a word on its output. A case that
        an escalation recovered or deferred, and a run that ended in an error, are not told.
    Needs: Steps that carry a case, a condition or stage facts.
    Not assessed when: Spans are missing: the stage may be among them.
    Can be wrong: Without declared stages, a case that rightly needs fewer of them is reported.
    """
    if not facts.sequences:
        return facts.no_subject
    if not facts.run.is_complete:
        return facts.incomplete
    lacking = [s for s in facts.sequences if s.family is Family.incomplete and not s.is_settled]
    if not lacking or not facts.stands_as_success:
        return facts.nothing_found
    missing = sorted({name for s in lacking for name in s.missing})
    n = len(lacking)
    return violated(
        f"{n} of {len(facts.sequences)} case{'s' if len(facts.sequences) != 1 else ''} did not"
        f" complete {', '.join(missing[:5])}, and the run stands as a success.",
        span_ids=tuple(step.span_id for s in lacking for step in s.steps)[:10],
        evidence={
            "n_cases": n,
            "stages": missing[:20],
            "cases": [s.case_id for s in lacking[:20]],
        },
    )
