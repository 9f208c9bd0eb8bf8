"""`served_from_cache`: a result without an execution, and a write lies between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.same_calls import arguments_key
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("served_from_cache", severity="warning", fault="harness", needs=EXECUTIONS, signs=ODD_LOOP)
def served_from_cache(facts: Facts) -> Outcome:
    """A result was served without an execution, and a write lies between it and the execution.

    Claims: A call was answered from a cache (declared by its span, or shown by a result without a
        span while the tool's other calls have one), an earlier execution has the same arguments,
        and a write was executed between the two: the result may be stale.
    Needs: Executions in order, arguments or their digests, the effect of tools (declared, or told
        by their name).
    Not assessed when: The effect of a tool between is not known, arguments are not recorded, or the
        trace has a hole.
    Can be wrong: A write to something else than what was read is taken for a change of it.
    """
    executions = facts.executions
    decorated = {e.tool for e in executions if e.how == "span"}
    served = [at for at, e in enumerate(executions) if _is_served(e, decorated)]
    if not served:
        return facts.nothing_found if executions else facts.no_execution
    unknown = ""
    for at in served:
        origin = _origin(executions, at)
        if origin is None:
            unknown = "the execution behind a cached result is not known"
            continue
        between = executions[origin + 1 : at]
        writes = [e for e in between if facts.effect_of(e) == "write" and e.outcome != "error"]
        if writes:
            return _violated(facts, executions[at], writes[0])
        if any(facts.effect_of(e) is None and e.tool != executions[at].tool for e in between):
            unknown = "whether a tool that ran between changes anything is not declared"
    return not_assessed(unknown) if unknown else facts.nothing_found


def _is_served(execution: Execution, decorated: set[str]) -> bool:
    if execution.how == "cache" or execution.outcome == "cached":
        return True
    # The tool is decorated (its other calls have spans), so a call without one did not run.
    return execution.how == "messages" and execution.tool in decorated


def _origin(executions: tuple[Execution, ...], at: int) -> int | None:
    key = arguments_key(executions[at])
    if key is None:
        return None
    for before in range(at - 1, -1, -1):
        other = executions[before]
        is_served = other.how in ("cache", "messages") or other.outcome == "cached"
        if not is_served and arguments_key(other) == key:
            return before
    return None


def _violated(facts: Facts, served: Execution, write: Execution) -> Outcome:
    if not facts.run.is_complete and served.how == "messages":
        return facts.incomplete
    return violated(
        f"A result of {served.tool} was served without an execution, although {write.tool} had"
        " changed something since.",
        span_ids=tuple(dict.fromkeys(s for s in (served.span_id, write.span_id) if s)),
        evidence={"tool": served.tool, "call_id": served.call_id, "write": write.tool},
    )
