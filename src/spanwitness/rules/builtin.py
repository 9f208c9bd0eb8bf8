"""The built-in rules, one line a rule, sorted by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.answer_changed_after_submit import answer_changed_after_submit
from spanwitness.rules.answer_corrupted import answer_corrupted
from spanwitness.rules.argument_invalid import argument_invalid
from spanwitness.rules.argument_not_given import argument_not_given
from spanwitness.rules.argument_not_in_schema import argument_not_in_schema
from spanwitness.rules.argument_ungrounded import argument_ungrounded
from spanwitness.rules.audit_false_assurance import audit_false_assurance
from spanwitness.rules.below_baseline import below_baseline
from spanwitness.rules.call_in_text import call_in_text
from spanwitness.rules.call_not_executed import call_not_executed
from spanwitness.rules.cap_reached import cap_reached
from spanwitness.rules.condition_omitted import condition_omitted
from spanwitness.rules.content_part_lost import content_part_lost
from spanwitness.rules.count_out_of_range import count_out_of_range
from spanwitness.rules.detected_unrecovered import detected_unrecovered
from spanwitness.rules.discovery_failed import discovery_failed
from spanwitness.rules.empty_output import empty_output
from spanwitness.rules.empty_result_answered import empty_result_answered
from spanwitness.rules.error_as_answer import error_as_answer
from spanwitness.rules.evidence_out_of_window import evidence_out_of_window
from spanwitness.rules.fabricated_observation import fabricated_observation
from spanwitness.rules.finish_reason_contradiction import finish_reason_contradiction
from spanwitness.rules.forbidden_tool import forbidden_tool
from spanwitness.rules.format_false_assurance import format_false_assurance
from spanwitness.rules.model_substituted import model_substituted
from spanwitness.rules.name_ungrounded import name_ungrounded
from spanwitness.rules.navigation_bypassed import navigation_bypassed
from spanwitness.rules.out_of_order import out_of_order
from spanwitness.rules.output_constraint_bypass import output_constraint_bypass
from spanwitness.rules.phase_violation import phase_violation
from spanwitness.rules.prompt_truncated import prompt_truncated
from spanwitness.rules.quote_not_located import quote_not_located
from spanwitness.rules.reasoning_not_replayed import reasoning_not_replayed
from spanwitness.rules.repeated_call import repeated_call
from spanwitness.rules.required_tool_missing import required_tool_missing
from spanwitness.rules.restriction_dropped import restriction_dropped
from spanwitness.rules.result_altered import result_altered
from spanwitness.rules.result_contradicted import result_contradicted
from spanwitness.rules.result_not_delivered import result_not_delivered
from spanwitness.rules.schema_not_enforced import schema_not_enforced
from spanwitness.rules.schema_posing_as_tool import schema_posing_as_tool
from spanwitness.rules.sequence_incomplete import sequence_incomplete
from spanwitness.rules.served_from_cache import served_from_cache
from spanwitness.rules.silent_sequence import silent_sequence
from spanwitness.rules.tool_bypass import tool_bypass
from spanwitness.rules.tool_choice_ignored import tool_choice_ignored
from spanwitness.rules.tool_error_swallowed import tool_error_swallowed
from spanwitness.rules.tool_failed import tool_failed
from spanwitness.rules.tool_name_collision import tool_name_collision
from spanwitness.rules.tool_not_offered import tool_not_offered
from spanwitness.rules.tool_schema_invalid import tool_schema_invalid
from spanwitness.rules.tools_withheld import tools_withheld
from spanwitness.rules.trace_incomplete import trace_incomplete
from spanwitness.rules.truncated_output import truncated_output
from spanwitness.rules.unknown_tool import unknown_tool
from spanwitness.rules.unperformed_action import unperformed_action
from spanwitness.rules.value_ungrounded import value_ungrounded
from spanwitness.rules.verdict_missing import verdict_missing
from spanwitness.rules.verification_skipped import verification_skipped
from spanwitness.rules.wrong_source import wrong_source

if TYPE_CHECKING:
    from spanwitness.rules.rule import ClauseRule, Rule

RULES: tuple[Rule, ...] = (
    answer_changed_after_submit,
    answer_corrupted,
    argument_invalid,
    argument_not_in_schema,
    argument_ungrounded,
    audit_false_assurance,
    call_in_text,
    call_not_executed,
    cap_reached,
    condition_omitted,
    content_part_lost,
    detected_unrecovered,
    discovery_failed,
    empty_output,
    empty_result_answered,
    error_as_answer,
    evidence_out_of_window,
    fabricated_observation,
    finish_reason_contradiction,
    format_false_assurance,
    model_substituted,
    name_ungrounded,
    output_constraint_bypass,
    phase_violation,
    prompt_truncated,
    quote_not_located,
    reasoning_not_replayed,
    repeated_call,
    restriction_dropped,
    result_altered,
    result_contradicted,
    result_not_delivered,
    schema_not_enforced,
    schema_posing_as_tool,
    sequence_incomplete,
    served_from_cache,
    silent_sequence,
    tool_bypass,
    tool_choice_ignored,
    tool_error_swallowed,
    tool_failed,
    tool_name_collision,
    tool_schema_invalid,
    tools_withheld,
    trace_incomplete,
    truncated_output,
    unknown_tool,
    unperformed_action,
    value_ungrounded,
    verdict_missing,
    wrong_source,
)
"""Rules over a whole run."""

CLAUSE_RULES: dict[str, ClauseRule] = {
    rule.id: rule
    for rule in (
        argument_not_given,
        below_baseline,
        count_out_of_range,
        forbidden_tool,
        navigation_bypassed,
        out_of_order,
        required_tool_missing,
        tool_not_offered,
        verification_skipped,
    )
}
"""Rules over one contract clause, by id."""
