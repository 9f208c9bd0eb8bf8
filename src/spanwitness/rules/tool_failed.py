"""`tool_failed`: an execution failed, nothing made up for it, and the run says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.recovery import was_recovered
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("tool_failed", severity="info", fault="tool", needs=EXECUTIONS, signs=ODD_LOOP)
def tool_failed(facts: Facts) -> Outcome:
    """An execution failed, and no retry or other tool made up for it.

    Claims: An execution ended in an error (or its whole result is an error text) and no later
        execution of the same tool, or of one that can stand in for it, succeeded. It names the
        failures that a run tells of itself; an answer that hides one is `tool_error_swallowed`.
    Needs: Executions with their outcome.
    Not assessed when: The outcome of an execution is not recorded, or the trace has a hole in which
        a retry may lie.
    Can be wrong: A failure that nobody minded is told; it is a remark, not an alarm.
    """
    if not facts.executions:
        return facts.no_execution
    failed = [e for e in facts.failures if e.tool not in facts.output_tools]
    if failed:
        earlier = inherited_calls(facts)
        failed = [e for e in failed if e.call_id not in earlier and not was_recovered(facts, e)]
    if not failed:
        if facts.has_unknown_outcome:
            return not_assessed("how some executions ended is not recorded")
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    names = sorted({e.tool for e in failed})
    return violated(
        f"{', '.join(names[:5])} failed, and no retry or other tool replaced it.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in failed if e.span_id)),
        evidence={"tools": list(names[:20]), "call_ids": [e.call_id for e in failed[:20]]},
    )
