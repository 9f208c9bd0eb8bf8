"""`tool_error_swallowed`: an execution failed, and the answer stands as if it had not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.recovery import was_recovered
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("tool_error_swallowed", severity="error", fault="reasoning", needs=EXECUTIONS, signs=ODD_LOOP)
def tool_error_swallowed(facts: Facts) -> Outcome:
    """An execution failed, no retry, fallback or disclosure followed, and the answer stands.

    Claims: An execution ended in an error (or its whole result is an error text), no later
        execution of the same tool or of one that can stand in for it succeeded, the run ended
        without an error, and the answer neither tells of a failure nor abstains.
    Needs: Executions with their outcome, and the answer.
    Not assessed when: The outcome of an execution or the answer is not recorded, or the trace has a
        hole in which a retry may lie.
    Can be wrong: A failure that the answer did not depend on is reported; an answer that speaks of
        errors for another reason hides one. Any later success of another reading tool counts as a
        fallback for a read.
    """
    if not facts.executions:
        return facts.no_execution
    failed = [e for e in facts.failures if e.tool not in facts.output_tools]
    if not failed:
        if facts.has_unknown_outcome:
            return not_assessed("how some executions ended is not recorded")
        return facts.nothing_found
    open_failures = [e for e in failed if not was_recovered(facts, e)]
    if not open_failures or not facts.stands_as_success or facts.run.has_final is False:
        return facts.nothing_found
    return _judge(facts, open_failures)


def _judge(facts: Facts, failed: list[Execution]) -> Outcome:
    answer = facts.answer_text
    if answer is None:
        return not_assessed(
            "the answer was not recorded, so whether it tells of the failure is open"
        )
    if not answer.strip() or wording.discloses_failure(answer):
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    names = sorted({e.tool for e in failed})
    return violated(
        f"{', '.join(names[:5])} failed; no retry or other tool replaced it, and the"
        " answer does not say so.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in failed if e.span_id)),
        evidence={
            "tools": list(names[:20]),
            "call_ids": [e.call_id for e in failed[:20]],
            "is_marked": any(e.outcome == "error" for e in failed),
        },
    )
