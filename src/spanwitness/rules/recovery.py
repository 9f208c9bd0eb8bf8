"""Whether something made up for an execution that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.failures import is_success

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts


def came_later(facts: Facts, first: Execution, second: Execution) -> bool:
    """Say whether the second execution was asked for when the first was over.

    Calls of one reply run side by side: none of them answers another.
    """
    if second.order <= first.order:
        return False
    asked_first, asked_second = facts.chat_before(first), facts.chat_before(second)
    if asked_first >= 0 and asked_second >= 0 and asked_first != asked_second:
        return asked_second > asked_first
    is_one_batch = first.call_id is not None and second.call_id is not None and asked_first >= 0
    return not is_one_batch


def was_recovered(facts: Facts, failed: Execution) -> bool:
    """Say whether a retry or a fallback followed that succeeded."""
    wanted = tool_names.bare(failed.tool)
    is_write = facts.effect_of(failed) == "write"
    for other in facts.executions:
        if not is_success(other) or not came_later(facts, failed, other):
            continue
        if tool_names.bare(other.tool) == wanted:
            return True
        if other.tool in facts.output_tools:
            continue
        other_effect = facts.effect_of(other)
        if (other_effect != "read") if is_write else (other_effect != "write"):
            return True
    return False
