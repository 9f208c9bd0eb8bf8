"""One cause, one finding: which violation explains which.

The table goes from causes to consequences; the first violated cause of a violation explains it. An
explained verdict stays in the output, makes no item and counts in no rate. A cause explains only
what is not more severe than itself, so that an explanation never hides an error behind a remark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model.verdict import SEVERITIES, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUNDING = frozenset(
    {
        "value_ungrounded", "quote_not_located", "wrong_source", "condition_omitted",
        "name_ungrounded",
    }
)  # fmt: skip
_CLAUSES_OF_USE = frozenset(
    {"navigation_bypassed", "required_tool_missing", "verification_skipped", "below_baseline"}
)
_NO_USE = _CLAUSES_OF_USE | _GROUNDING | {"fabricated_observation", "unperformed_action"}
"""What follows when tools were not used at all."""
_WITHHELD = _NO_USE | {
    "output_constraint_bypass", "schema_posing_as_tool", "tool_bypass", "tool_choice_ignored",
    "unknown_tool", "out_of_order", "count_out_of_range",
}  # fmt: skip
_ABSENCE = _NO_USE | {
    "call_not_executed", "count_out_of_range", "out_of_order", "output_constraint_bypass",
    "result_not_delivered", "schema_posing_as_tool", "tool_bypass", "tools_withheld",
    "evidence_out_of_window", "tool_not_offered",
}  # fmt: skip

CAUSES: tuple[tuple[str, frozenset[str]], ...] = (
    ("trace_incomplete", frozenset(_ABSENCE)),
    ("discovery_failed", frozenset(_WITHHELD | {"tools_withheld", "tool_not_offered"})),
    ("tools_withheld", frozenset(_WITHHELD | {"tool_not_offered"})),
    ("tool_not_offered", frozenset(_WITHHELD)),
    ("tool_schema_invalid", frozenset(_WITHHELD | {"argument_not_in_schema"})),
    ("cap_reached", frozenset({
        "call_not_executed", "empty_output", "required_tool_missing", "result_not_delivered",
        "truncated_output", "verdict_missing", "verification_skipped",
    })),
    ("truncated_output", frozenset({
        "argument_not_in_schema", "call_in_text", "call_not_executed", "empty_output",
        "finish_reason_contradiction", "schema_not_enforced", "tool_choice_ignored",
    })),
    ("call_in_text", frozenset(_NO_USE | {
        "call_not_executed", "empty_output", "finish_reason_contradiction",
        "output_constraint_bypass", "schema_not_enforced", "schema_posing_as_tool", "tool_bypass",
        "tool_choice_ignored", "verdict_missing",
    })),
    ("output_constraint_bypass", frozenset(_NO_USE | {
        "schema_posing_as_tool", "tool_bypass", "tool_choice_ignored",
    })),
    ("schema_posing_as_tool", frozenset(_NO_USE | {"tool_bypass"})),
    ("tool_choice_ignored", frozenset(_NO_USE | {
        "empty_output", "finish_reason_contradiction", "tool_bypass",
    })),
    ("finish_reason_contradiction", frozenset({"empty_output"})),
    ("argument_ungrounded", frozenset({"argument_not_given"})),
    ("unknown_tool", frozenset({"argument_not_in_schema", "call_not_executed", "tool_failed"})),
    ("argument_invalid", frozenset({"tool_failed"})),
    ("call_not_executed", frozenset(_NO_USE | {
        "count_out_of_range", "empty_output", "out_of_order", "result_not_delivered",
        "tool_bypass", "verdict_missing",
    })),
    ("tool_bypass", frozenset(_NO_USE | {"count_out_of_range", "out_of_order"})),
    ("navigation_bypassed", frozenset({
        "required_tool_missing", "verification_skipped", "below_baseline",
    }) | _GROUNDING),
    ("required_tool_missing", frozenset({"verification_skipped", "below_baseline"}) | _GROUNDING),
    ("fabricated_observation", _GROUNDING),
    ("error_as_answer", frozenset({
        "schema_not_enforced", "tool_error_swallowed", "tool_failed",
    })),
    ("result_not_delivered", frozenset({
        "content_part_lost", "empty_result_answered", "repeated_call", "result_altered",
        "tool_error_swallowed",
    }) | _GROUNDING),
    ("content_part_lost", frozenset({"result_altered"}) | _GROUNDING),
    ("result_altered", frozenset({"empty_result_answered", "tool_error_swallowed"}) | _GROUNDING),
    ("tool_error_swallowed", frozenset({
        "empty_result_answered", "tool_failed", "unperformed_action", "verification_skipped",
    }) | _GROUNDING),
    ("empty_result_answered", _GROUNDING),
    ("served_from_cache", frozenset({"repeated_call"})),
    ("empty_output", frozenset({"schema_not_enforced", "verdict_missing"})),
    ("verification_skipped", _GROUNDING),
    ("wrong_source", frozenset({"condition_omitted", "quote_not_located", "value_ungrounded"})),
    ("value_ungrounded", frozenset({"audit_false_assurance"})),
    ("quote_not_located", frozenset({"audit_false_assurance"})),
    ("sequence_incomplete", frozenset({"format_false_assurance"})),
    ("audit_false_assurance", frozenset({"detected_unrecovered", "format_false_assurance"})),
    ("detected_unrecovered", frozenset({"format_false_assurance"})),
    ("silent_sequence", frozenset({"format_false_assurance"})),
)  # fmt: skip
"""Causes in the order in which they are tried, with the rules they explain."""

_SAME_SPAN = frozenset(
    {
        "argument_not_given", "argument_not_in_schema", "content_part_lost",
        "detected_unrecovered", "empty_output",
        "finish_reason_contradiction", "format_false_assurance", "repeated_call", "result_altered",
        "schema_not_enforced", "tool_choice_ignored", "truncated_output", "unknown_tool",
        "verdict_missing",
    }
)  # fmt: skip
"""Consequences that belong to one call: where both name spans, they must share one."""


def explain(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts with `explained_by` set on violations that another violation explains."""
    broken = [place for place, v in enumerate(verdicts) if v.verdict == "violated"]
    if len(broken) < 2:
        return tuple(verdicts)
    result = list(verdicts)
    by_rule: dict[str, list[Verdict]] = {}
    for place in broken:
        by_rule.setdefault(verdicts[place].rule, []).append(verdicts[place])
    for place in broken:
        cause = _cause_of(verdicts[place], by_rule)
        if cause is not None:
            result[place] = msgspec.structs.replace(verdicts[place], explained_by=cause)
    _explain_twins(result, broken)
    return tuple(result)


def _cause_of(verdict: Verdict, by_rule: dict[str, list[Verdict]]) -> str | None:
    for cause, consequences in CAUSES:
        if verdict.rule in consequences and any(
            _explains(found, verdict) for found in by_rule.get(cause, ())
        ):
            return cause
    return None


def _explains(cause: Verdict, verdict: Verdict) -> bool:
    # A clause may be as severe as its author likes; the cause is then raised to it.
    is_raised = verdict.contract is not None and cause.severity != "info"
    is_milder = cause.rule != "trace_incomplete" and _rank(cause) < _rank(verdict)
    if is_milder and not is_raised:
        return False
    if verdict.rule not in _SAME_SPAN or not cause.span_ids or not verdict.span_ids:
        return True
    return not set(cause.span_ids).isdisjoint(verdict.span_ids)


def _rank(verdict: Verdict) -> int:
    return SEVERITIES.index(verdict.severity)


def _explain_twins(result: list[Verdict], broken: list[int]) -> None:
    """Let the first of several contracts that say the same speak for all, and raise causes."""
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    for place in broken:
        verdict = result[place]
        if verdict.contract is None or verdict.explained_by is not None:
            continue
        key = (verdict.rule, verdict.reason, verdict.span_ids)
        if key in seen:
            result[place] = msgspec.structs.replace(verdict, explained_by=verdict.rule)
        seen.add(key)
    _raise_causes(result, broken)


def _raise_causes(result: list[Verdict], broken: list[int]) -> None:
    for place in broken:
        verdict = result[place]
        worst = max(
            (
                _rank(result[other])
                for other in broken
                if result[other].explained_by == verdict.rule and result[other].contract is not None
            ),
            default=-1,
        )
        if worst > _rank(verdict) and verdict.rule != "trace_incomplete":
            result[place] = msgspec.structs.replace(verdict, severity=SEVERITIES[worst])
