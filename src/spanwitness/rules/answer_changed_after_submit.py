"""`answer_changed_after_submit`: the submitted answer is not the one that the run ended with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import HOLDS, not_assessed, rule, violated
from spanwitness.rules.subjects import SUBMISSION

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("answer_changed_after_submit", severity="error", fault="harness", needs=SUBMISSION)
def answer_changed_after_submit(facts: Facts) -> Outcome:
    """The submitted answer was changed between its submission and the end of the run.

    Claims: The submitted object has another digest at the end of the run than when it was
        submitted.
    Needs: Both digests: one on the submit step, one on the root.
    Not assessed when: One of them is missing (submitted by a tool, cut spans, an answer that
        could not be digested).
    Can be wrong: A copy that was changed elsewhere is not seen; an object whose own serialisation
        varies (an unordered set, a clock) looks changed.
    """
    submission = facts.run.submission
    if submission is None:
        return facts.no_subject
    if submission.digest is None or submission.final_digest is None:
        return not_assessed("The trace does not hold both digests of the submitted answer.")
    if submission.digest == submission.final_digest:
        return HOLDS
    return violated(
        "The answer was changed after it had been submitted.",
        span_ids=tuple(i for i in (submission.span_id, facts.run.root_span_id) if i),
        evidence={"submitted": submission.digest, "final": submission.final_digest},
    )
