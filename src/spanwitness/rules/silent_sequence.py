"""`silent_sequence`: a case failed, and no stage of its pipeline told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import STEPS
from spanwitness.stats.evidence import Family

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("silent_sequence", severity="error", fault="reasoning", needs=STEPS)
def silent_sequence(facts: Facts) -> Outcome:
    """A case passed every stage, its output is judged wrong, and no stage told.

    Claims: All stages of a case are there and parsed, at least one output is judged not valid, no
        audit detected it, none assured it falsely, and no escalation recovered or deferred it. The
        run did not end in an error.
    Needs: Cases of at least two stages with validity judgements.
    Not assessed when: No output of a case is judged, or spans are missing.
    Can be wrong: The judgement on validity is taken as it was recorded; a warning that no stage
        fact carries is not seen.
    """
    if not facts.sequences:
        return facts.no_subject
    if not facts.run.is_complete:
        return facts.incomplete  # the stage that told may be what is missing
    silent = [s for s in facts.sequences if s.family is Family.silent and not s.is_settled]
    failed = [s for s in silent if any(step.validity is False for step in s.steps)]
    if failed and facts.stands_as_success:
        n = len(failed)
        return violated(
            f"{n} of {len(facts.sequences)} case{'s' if len(facts.sequences) != 1 else ''} passed"
            f" every stage with output that is judged not valid, and no stage told.",
            span_ids=tuple(
                step.span_id for s in failed for step in s.steps if step.validity is False
            )[:10],
            evidence={"n_cases": n, "cases": [s.case_id for s in failed[:20]]},
        )
    if silent and not failed:
        return not_assessed("the outputs of a case are not judged")
    return facts.nothing_found
