"""Spans before they are kept: without content, or with credentials taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.model import SpanRecord

__all__ = ["keep_allowed", "redacted", "scrubbed", "without_content"]

_OWN: Final = frozenset(
    {
        own.RUN_ID, own.TRUNCATED, own.TRUNCATED_DIGESTS, own.REPLACED, own.REPAIRED,
        own.LATE_END_OF, own.ITEM_ID, own.SUBJECT, own.TAGS, own.STACK, own.INCOMPLETE_REASONS,
        own.RULES_VIOLATED, own.TERMINATION, own.TOOLS_CONFIGURED, own.RULE_ID, own.SEVERITY,
        own.FAULT, own.FAULT_KIND, own.REASON, own.CONTRACT, own.STEP_NAME, own.STEP_KIND,
        own.STEP_OPERATION, own.STEP_INPUTS, own.SUCCESS_RULE, own.ESCALATION_OUTCOME,
        own.CONDITION, own.CASE_ID, own.SUBMISSION_DIGEST, own.SUBMISSION_FINAL_DIGEST,
        own.OUTCOME_CHECKPOINT, own.PHASE, own.WIRE, own.TOOLS_OFFERED, own.TOOLS_OFFERED_SIDES,
        own.TOOLS_OFFERED_DIGEST, own.TOOL_CHOICE, own.RESPONSE_FORMAT, own.RESPONSE_FORMAT_NAME,
        own.RESPONSE_SCHEMA_DIGEST, own.REASONING_MODE, own.DELIVERED, own.DELIVERED_IDS,
        own.TOOL_CALLS, own.ENDING, own.ATTEMPTS, own.TOOL_OUTCOME, own.TOOL_EFFECT,
        own.TOOL_SERVER, own.TOOL_SIDE, own.TOOL_LINK, own.TOOL_ARGUMENTS_DIGEST,
        own.TOOL_RESULT_DIGEST, own.TOOL_ERROR_DIGEST,
    }
)  # fmt: skip
_GEN_AI: Final = frozenset(
    {
        gen_ai.OPERATION_NAME, gen_ai.PROVIDER_NAME, gen_ai.SYSTEM, gen_ai.CONVERSATION_ID,
        gen_ai.AGENT_NAME, gen_ai.AGENT_ID, gen_ai.WORKFLOW_NAME, gen_ai.OUTPUT_TYPE,
        gen_ai.REQUEST_MODEL, gen_ai.REQUEST_TOOL_CHOICE, gen_ai.RESPONSE_ID,
        gen_ai.RESPONSE_MODEL, gen_ai.RESPONSE_FINISH_REASONS, gen_ai.TOOL_NAME, gen_ai.TOOL_TYPE,
        gen_ai.TOOL_CALL_ID, gen_ai.EVALUATION_NAME, gen_ai.EVALUATION_SCORE_LABEL,
        gen_ai.EVALUATION_EXPLANATION, gen_ai.ERROR_TYPE, gen_ai.SERVER_ADDRESS,
        gen_ai.MCP_METHOD_NAME, gen_ai.MCP_SESSION_ID, "exception.type",
    }
)  # fmt: skip
_ALLOWED: Final = _OWN | _GEN_AI
"""Texts that are names, digests or words of ours. Whatever is not listed may be content."""
_RESOURCE: Final = ("service.", "telemetry.", "deployment.")


def without_content(span: SpanRecord) -> SpanRecord:
    """Return a span with numbers, switches and listed names only: the ledger stays readable."""
    return msgspec.structs.replace(
        span,
        attributes=keep_allowed(span.attributes),
        events=tuple(
            msgspec.structs.replace(e, attributes=keep_allowed(e.attributes)) for e in span.events
        ),
        resource={k: v for k, v in span.resource.items() if k.startswith(_RESOURCE)},
        status_message="",
    )


def keep_allowed(attributes: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes that hold no content."""
    kept = {
        name: value for name, value in attributes.items() if name in _ALLOWED or _is_number(value)
    }
    if own.CONTENT in attributes:
        kept[own.CONTENT] = "off"
    return kept


def redacted(span: SpanRecord, policy: ContentPolicy) -> SpanRecord:
    """Return a span whose texts went through the policy's redaction (once more, if live)."""
    return msgspec.structs.replace(
        span,
        attributes={k: scrubbed(v, policy) for k, v in span.attributes.items()},
        events=tuple(
            msgspec.structs.replace(
                e, attributes={k: scrubbed(v, policy) for k, v in e.attributes.items()}
            )
            for e in span.events
        ),
        status_message=policy.scrub(span.status_message) if span.status_message else "",
    )


def _is_number(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, bool | int | float) for item in value)
    return isinstance(value, bool | int | float)


def scrubbed(value: object, policy: ContentPolicy) -> object:
    """Return a JSON value whose texts went through the policy's redaction."""
    if isinstance(value, str):
        return policy.scrub(value)
    if isinstance(value, list | tuple):
        return [scrubbed(item, policy) for item in value]
    if isinstance(value, dict):
        return {str(key): scrubbed(item, policy) for key, item in value.items()}
    return value
