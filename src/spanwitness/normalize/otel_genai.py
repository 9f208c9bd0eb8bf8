"""Spans of the OTel GenAI semantic conventions, current and recent, written by anybody.

What a key does not say is `None`: definitions and messages are recorded only with content on, the
tool choice never.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.model import (
    ChatCall,
    Delivery,
    Discovery,
    Message,
    OutputFormat,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolChoice,
    ToolDefinition,
    ToolRequest,
    ToolResultPart,
    Usage,
)
from spanwitness.normalize.attribute_sets import chat_attributes, tool_attributes
from spanwitness.normalize.attributes import as_json, decoded, text, texts
from spanwitness.normalize.delivery import is_empty_text
from spanwitness.normalize.messages import decode_definitions, decode_instructions
from spanwitness.normalize.stored_messages import StoredMessages, decode, is_whole_list
from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanwitness.model import SpanRecord
    from spanwitness.model.calls import DeliveryState, OutcomeWord, Side
    from spanwitness.normalize.attribute_sets import ChatAttributes
    from spanwitness.normalize.stored_messages import History

__all__ = [
    "definitions_of",
    "delivery_of",
    "raised_text",
    "read_chat",
    "read_discovery",
    "read_tool",
    "requests_of",
    "result_text",
    "tool_name_of",
    "usage_of",
]

_FORMAT_KINDS: Final = {
    "json_schema": OutputFormat(kind="json_schema"),
    "json_object": OutputFormat(kind="json_object"),
    "json": OutputFormat(kind="json_object"),
    "text": OutputFormat(kind="text"),
}
_TOOL_CHOICES: Final = {
    "auto": ToolChoice(mode="auto"),
    "none": ToolChoice(mode="none"),
    "required": ToolChoice(mode="required"),
    "any": ToolChoice(mode="required"),
}
_NO_USAGE: Final = Usage()
_ONE_TEXT: Final = ("text",)


def read_chat(span: SpanRecord, history: History, seq: int, step: str | None) -> ChatCall:
    """Read a model call.

    Args:
        span: The span of the call.
        history: What the calls before it hold, so that a repeated history is decoded once.
        seq: Its position in the trace.
        step: The protocol step around it.
    """
    said = chat_attributes(span.attributes)
    written = said.output_messages
    output = decode(written) if is_whole_list(written) else None
    reply = _UNKNOWN if output is None else _reply(output)
    given = said.input_messages
    messages: Sequence[Message] | None = None
    delivered: tuple[Delivery, ...] | None = None
    if is_whole_list(given):
        given = given if isinstance(given, str) else as_json(given)
        known = history.read(given)
        delivered = known.deliveries
        if said.instructions is None:
            messages = StoredMessages(given, history, known.messages)
        else:
            messages = (decode_instructions(said.instructions), *known.messages)
    error = said.error_type or ("error" if span.status == "error" else None)
    reasons = said.finish_reasons
    if reasons is not None and len(reasons) == 1 and reasons[0].startswith("["):
        reasons = texts(reasons[0])
    return ChatCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        provider=said.provider or said.system or None,
        host=said.host or None,
        request_model=said.request_model or None,
        response_model=said.response_model or None,
        response_id=said.response_id or None,
        offered=definitions_of(said.definitions),
        tool_choice=_choice(said.old_tool_choice),
        output_format=_FORMAT_KINDS.get(
            said.old_format or said.new_format or said.output_type or ""
        ),
        max_tokens=said.max_tokens,
        input_messages=messages,
        delivered=delivered,
        output_messages=output,
        requested=reply.requested,
        finish_reasons=reasons,
        text_chars=reply.text_chars,
        reasoning_chars=reply.reasoning_chars,
        has_refusal=reply.has_refusal,
        usage=usage_of(said),
        is_streaming=said.is_streaming or said.old_streaming or False,
        ending="error" if error else "complete" if reasons else "unknown",
        error_type=error,
        is_truncated=(given is not None and messages is None)
        or (written is not None and output is None),
    )


def read_tool(span: SpanRecord, seq: int, step: str | None, *, is_handed_over: bool) -> ToolCall:
    """Read an execution of a tool.

    Args:
        span: The span of the execution.
        seq: Its position in the trace.
        step: The protocol step around it.
        is_handed_over: It handed its work to another agent.
    """
    said = tool_attributes(span.attributes)
    recorded = said.result
    error = said.error_type or ("error" if span.status == "error" else None)
    is_mcp = said.mcp_method is not None
    result = decoded(recorded) if recorded is not None else raised_text(span)
    side: Side = "subagent" if is_handed_over else "client"
    if is_mcp or said.kind == "extension":
        side = "mcp"
    return ToolCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        name=said.name or tool_name_of(span),
        call_id=said.call_id or None,
        link="explicit" if said.call_id else "none",
        side=side,
        server=said.host or None if is_mcp else None,
        outcome=_outcome(recorded, error),
        error_type=error,
        arguments=decoded(said.arguments),
        result=result,
        has_result=result is not None or recorded is not None,
        result_chars=len(recorded) if isinstance(recorded, str) else None,
    )


def raised_text(span: SpanRecord) -> str | None:
    """Return the message of the exception that ended a span; `None` when none was recorded."""
    if span.status != "error":
        return None
    for event in reversed(span.events):
        if event.name == "exception":
            return text(event.attributes.get("exception.message"))
    return None


def read_discovery(span: SpanRecord, seq: int) -> Discovery:
    """Read a listing of tools; the conventions record no names."""
    error = text(span.attributes.get(gen_ai.ERROR_TYPE))
    return Discovery(
        span_id=span.span_id,
        seq=seq,
        start_ns=span.start_ns,
        server=text(span.attributes.get(gen_ai.SERVER_ADDRESS)),
        error_type=error or ("error" if span.status == "error" else None),
    )


def tool_name_of(span: SpanRecord) -> str:
    """Return the tool's name; the MCP SDK's own spans have it in the span's name only."""
    name = text(span.attributes.get(gen_ai.TOOL_NAME))
    if name is not None:
        return name
    for mark in ("tools/call ", "execute_tool "):
        _, found, rest = span.name.partition(mark)
        if found and rest:
            return rest
    return span.name


def _outcome(result: object, error: str | None) -> OutcomeWord:
    if error is not None:
        return "error"
    if result is None:
        return "unknown"
    if isinstance(result, str):
        return "empty" if is_empty_text(result) else "value"
    return "value" if result else "empty"


@lru_cache(maxsize=512)
def _definitions(value: str) -> tuple[ToolDefinition, ...] | None:
    return decode_definitions(value)


def definitions_of(value: object) -> tuple[ToolDefinition, ...] | None:
    """Decode tool definitions; equal ones are decoded once."""
    if value is None:
        return None
    return _definitions(value) if isinstance(value, str) else decode_definitions(value)


class _Reply(NamedTuple):
    requested: tuple[ToolRequest, ...] | None
    text_chars: int | None
    reasoning_chars: int | None
    has_refusal: bool


_UNKNOWN: Final = _Reply(None, None, None, has_refusal=False)


def _reply(messages: Iterable[Message]) -> _Reply:
    requested: list[ToolRequest] = []
    n_text = n_reasoning = 0
    has_refusal = False
    for message in messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                n_text += len(part.text)
            elif isinstance(part, ToolCallPart):
                requested.append(_request(part))
            elif isinstance(part, ReasoningPart):
                n_reasoning += len(part.text or "")
            elif isinstance(part, RefusalPart):
                has_refusal = True
    return _Reply(tuple(requested), n_text, n_reasoning, has_refusal)


def _request(part: ToolCallPart) -> ToolRequest:
    return ToolRequest(
        name=part.name, call_id=part.call_id, arguments=part.arguments, side=part.side
    )


def requests_of(messages: Iterable[Message]) -> tuple[ToolRequest, ...]:
    """Return the calls that stand in a reply."""
    return tuple(
        _request(part)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )


def delivery_of(part: ToolResultPart, state: DeliveryState) -> Delivery:
    """Describe a result that stands in a request."""
    shown = result_text(part)
    if len(part.parts) == 1 and type(part.parts[0]) is TextPart:
        return Delivery(
            call_id=part.call_id,
            state=state,
            part_types=_ONE_TEXT,
            size_bytes=len(shown),
            has_binary_text=shown.startswith("data:") and ";base64," in shown[:80],
            is_error=part.is_error,
            is_empty=is_empty_text(shown),
        )
    return Delivery(
        call_id=part.call_id,
        state=state,
        part_types=tuple(_part_type(inner) for inner in part.parts),
        size_bytes=len(shown),
        has_binary_text=shown.startswith("data:") and ";base64," in shown[:80],
        is_error=part.is_error,
        is_empty=is_empty_text(shown) and all(isinstance(p, TextPart) for p in part.parts),
    )


def _part_type(part: object) -> str:
    modality = getattr(part, "modality", None)
    if isinstance(modality, str):
        return modality
    return "text" if isinstance(part, TextPart) else "opaque"


def result_text(part: ToolResultPart) -> str:
    """Return the text of a delivered result."""
    parts = part.parts
    if len(parts) == 1 and type(parts[0]) is TextPart:
        return parts[0].text
    return "\n".join(inner.text for inner in part.parts if isinstance(inner, TextPart))


def _choice(value: object) -> ToolChoice | None:
    if not isinstance(value, str):
        return None
    known = _TOOL_CHOICES.get(value)
    if known is not None or not value.startswith("{"):
        return known
    chosen = decoded(value)
    if not isinstance(chosen, dict):
        return None
    function = chosen.get("function")
    name = function.get("name") if isinstance(function, dict) else chosen.get("name")
    return ToolChoice(mode="named", names=(name,)) if isinstance(name, str) else None


def usage_of(said: ChatAttributes) -> Usage:
    """Return the tokens of a call, under the names of today or of before."""
    given, produced = said.input_tokens, said.output_tokens
    if given is None:
        given = said.old_input_tokens
    if produced is None:
        produced = said.old_output_tokens
    if given is None and produced is None:
        return _NO_USAGE
    cached, reasoning = said.cached_tokens, said.reasoning_tokens
    return Usage(
        input_tokens=given,
        output_tokens=produced,
        cached_input_tokens=said.old_cached_tokens if cached is None else cached,
        reasoning_tokens=said.old_reasoning_tokens if reasoning is None else reasoning,
    )
