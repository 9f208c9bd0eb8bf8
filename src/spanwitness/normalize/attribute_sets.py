"""The attributes of chat and tool spans, typed in one step.

One table a kind of span: a field, its key, its type. Values of the right type are taken in C; where
a writer used another one, each value is read leniently by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from spanwitness.normalize.attributes import flag, integer, text, texts
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.normalize.attributes import Attributes

__all__ = ["ChatAttributes", "ToolAttributes", "chat_attributes", "tool_attributes"]

T = TypeVar("T", bound=msgspec.Struct)
Text: TypeAlias = str | None
Count: TypeAlias = int | None
Flag: TypeAlias = bool | None
Texts: TypeAlias = tuple[str, ...] | None


def _at(key: str) -> Any:  # noqa: ANN401  a field of any type
    return msgspec.field(default=None, name=key)


class ChatAttributes(msgspec.Struct, gc=False):
    """What a chat span may say, in the standard's words and in ours."""

    provider: Text = _at(gen_ai.PROVIDER_NAME)
    system: Text = _at(gen_ai.SYSTEM)
    host: Text = _at(gen_ai.SERVER_ADDRESS)
    request_model: Text = _at(gen_ai.REQUEST_MODEL)
    response_model: Text = _at(gen_ai.RESPONSE_MODEL)
    response_id: Text = _at(gen_ai.RESPONSE_ID)
    finish_reasons: Texts = _at(gen_ai.RESPONSE_FINISH_REASONS)
    output_type: Text = _at(gen_ai.OUTPUT_TYPE)
    max_tokens: Count = _at(gen_ai.REQUEST_MAX_TOKENS)
    is_streaming: Flag = _at(gen_ai.REQUEST_STREAM)
    error_type: Text = _at(gen_ai.ERROR_TYPE)
    input_tokens: Count = _at(gen_ai.USAGE_INPUT_TOKENS)
    output_tokens: Count = _at(gen_ai.USAGE_OUTPUT_TOKENS)
    cached_tokens: Count = _at(gen_ai.USAGE_CACHE_READ_INPUT_TOKENS)
    reasoning_tokens: Count = _at(gen_ai.USAGE_REASONING_TOKENS)
    input_messages: object = _at(gen_ai.INPUT_MESSAGES)
    output_messages: object = _at(gen_ai.OUTPUT_MESSAGES)
    instructions: object = _at(gen_ai.SYSTEM_INSTRUCTIONS)
    definitions: object = _at(gen_ai.TOOL_DEFINITIONS)

    wire: Text = _at(own.WIRE)
    offered: Texts = _at(own.TOOLS_OFFERED)
    offered_sides: Texts = _at(own.TOOLS_OFFERED_SIDES)
    n_offered: Count = _at(own.TOOLS_OFFERED_COUNT)
    tool_choice: Text = _at(own.TOOL_CHOICE)
    format_kind: Text = _at(own.RESPONSE_FORMAT)
    format_name: Text = _at(own.RESPONSE_FORMAT_NAME)
    schema_digest: Text = _at(own.RESPONSE_SCHEMA_DIGEST)
    schema: object = _at(own.RESPONSE_SCHEMA)
    request_bytes: Count = _at(own.REQUEST_BYTES)
    has_server_state: Flag = _at(own.SERVER_STATE)
    delivered: Text = _at(own.DELIVERED)
    delivered_ids: Texts = _at(own.DELIVERED_IDS)
    reasoning_lost: Count = _at(own.REASONING_LOST)
    tool_calls: Text = _at(own.TOOL_CALLS)
    text_chars: Count = _at(own.TEXT_CHARS)
    reasoning_chars: Count = _at(own.REASONING_CHARS)
    has_refusal: Flag = _at(own.REFUSAL)
    is_schema_satisfied: Flag = _at(own.SCHEMA_SATISFIED)
    n_values: Count = _at(own.VALUES)
    n_values_unseen: Count = _at(own.VALUES_UNSEEN)
    ending: Text = _at(own.ENDING)
    attempts: Texts = _at(own.ATTEMPTS)
    truncated: Texts = _at(own.TRUNCATED)

    old_tool_choice: Text = _at(gen_ai.REQUEST_TOOL_CHOICE)
    old_format: Text = _at("gen_ai.openai.request.response_format")
    new_format: Text = _at("openai.request.response_format")
    old_streaming: Flag = _at("gen_ai.is_streaming")
    old_input_tokens: Count = _at("gen_ai.usage.prompt_tokens")
    old_output_tokens: Count = _at("gen_ai.usage.completion_tokens")
    old_cached_tokens: Count = _at("gen_ai.usage.cache_read_input_tokens")
    old_reasoning_tokens: Count = _at("gen_ai.usage.reasoning_tokens")


class ToolAttributes(msgspec.Struct, gc=False):
    """What a tool span may say, in the standard's words and in ours."""

    name: Text = _at(gen_ai.TOOL_NAME)
    kind: Text = _at(gen_ai.TOOL_TYPE)
    call_id: Text = _at(gen_ai.TOOL_CALL_ID)
    arguments: object = _at(gen_ai.TOOL_CALL_ARGUMENTS)
    result: object = _at(gen_ai.TOOL_CALL_RESULT)
    error_type: Text = _at(gen_ai.ERROR_TYPE)
    host: Text = _at(gen_ai.SERVER_ADDRESS)
    mcp_method: Text = _at(gen_ai.MCP_METHOD_NAME)

    outcome: Text = _at(own.TOOL_OUTCOME)
    effect: Text = _at(own.TOOL_EFFECT)
    server: Text = _at(own.TOOL_SERVER)
    side: Text = _at(own.TOOL_SIDE)
    link: Text = _at(own.TOOL_LINK)
    arguments_digest: Text = _at(own.TOOL_ARGUMENTS_DIGEST)
    result_digest: Text = _at(own.TOOL_RESULT_DIGEST)
    result_chars: Count = _at(own.TOOL_RESULT_CHARS)
    error_digest: Text = _at(own.TOOL_ERROR_DIGEST)
    phase: Text = _at(own.PHASE)
    is_phase_violation: Flag = _at(own.PHASE_VIOLATION)
    is_refused: Flag = _at(own.PHASE_REFUSED)
    truncated: Texts = _at(own.TRUNCATED)


_LENIENT: Final[dict[object, Callable[[object], object]]] = {
    Text: text,
    Count: integer,
    Flag: flag,
    Texts: texts,
}


def chat_attributes(attributes: Attributes) -> ChatAttributes:
    """Type the attributes of a chat span."""
    try:
        return msgspec.convert(attributes, ChatAttributes, strict=False)
    except msgspec.ValidationError:
        return _leniently(attributes, ChatAttributes)


def tool_attributes(attributes: Attributes) -> ToolAttributes:
    """Type the attributes of a tool span."""
    try:
        return msgspec.convert(attributes, ToolAttributes, strict=False)
    except msgspec.ValidationError:
        return _leniently(attributes, ToolAttributes)


def _leniently(attributes: Attributes, kind: type[T]) -> T:
    found: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        value = attributes.get(field.encode_name)
        read = _LENIENT.get(field.type)
        found[field.name] = value if read is None else read(value)
    return kind(**found)
