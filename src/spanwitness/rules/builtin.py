"""The built-in rules, one line a rule, sorted by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.answer_changed_after_submit import answer_changed_after_submit
from spanwitness.rules.cap_reached import cap_reached
from spanwitness.rules.empty_output import empty_output
from spanwitness.rules.finish_reason_contradiction import finish_reason_contradiction
from spanwitness.rules.model_substituted import model_substituted
from spanwitness.rules.phase_violation import phase_violation
from spanwitness.rules.prompt_truncated import prompt_truncated
from spanwitness.rules.reasoning_not_replayed import reasoning_not_replayed
from spanwitness.rules.schema_not_enforced import schema_not_enforced
from spanwitness.rules.tool_name_collision import tool_name_collision
from spanwitness.rules.tool_schema_invalid import tool_schema_invalid
from spanwitness.rules.trace_incomplete import trace_incomplete
from spanwitness.rules.truncated_output import truncated_output
from spanwitness.rules.verdict_missing import verdict_missing

if TYPE_CHECKING:
    from spanwitness.rules.rule import ClauseRule, Rule

RULES: tuple[Rule, ...] = (
    answer_changed_after_submit,
    cap_reached,
    empty_output,
    finish_reason_contradiction,
    model_substituted,
    phase_violation,
    prompt_truncated,
    reasoning_not_replayed,
    schema_not_enforced,
    tool_name_collision,
    tool_schema_invalid,
    trace_incomplete,
    truncated_output,
    verdict_missing,
)
"""Rules over a whole run."""

CLAUSE_RULES: dict[str, ClauseRule] = {}
"""Rules over one contract clause, by id."""
