"""The common whole reply of chat completions, read by a typed decoder.

Everything that is rare is left to the careful reader: what is declared empty here makes the decoder
refuse. Where both read a reply, they read the same.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from spanwitness.model import Message, Part, TextPart, ToolCallPart, ToolRequest, Usage
from spanwitness.wire.facts import WireReply
from spanwitness.wire.reading import arguments

__all__ = ["read_plain"]


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, gc=False):
    function: _Function
    id: Annotated[str, msgspec.Meta(min_length=1)]
    custom: None = None


class _Said(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    annotations: Annotated[list[object], msgspec.Meta(max_length=0)] | None = None
    audio: None = None
    executed_tools: None = None
    function_call: None = None
    reasoning: None = None
    reasoning_content: None = None
    reasoning_details: None = None
    refusal: None = None
    thinking_blocks: None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _InputDetails(msgspec.Struct, gc=False):
    cached_tokens: _Count | None = None


class _OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: _Count | None = None


_NO_INPUT_DETAILS: Final = _InputDetails()
_NO_OUTPUT_DETAILS: Final = _OutputDetails()
_NO_USAGE: Final = Usage()


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: None = None


class _Reply(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1, max_length=1)]
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    error: None = None
    citations: None = None
    search_results: None = None


_decode_plain: Final = msgspec.json.Decoder(_Reply).decode


def read_plain(body: bytes) -> WireReply | None:
    """Read a whole reply that holds nothing rare, in a third of the time; else return `None`."""
    try:
        found = _decode_plain(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    choice = found.choices[0]
    said = choice.message
    parts: list[Part] = [] if said.content is None else [TextPart(text=said.content)]
    requested: list[ToolRequest] = []
    for call in said.tool_calls or ():
        name, given = call.function.name, arguments(call.function.arguments)
        side: Literal["provider", "client"] = "provider" if name[:1] == "$" else "client"
        parts.append(ToolCallPart(name=name, call_id=call.id, arguments=given, side=side))
        requested.append(ToolRequest(name=name, call_id=call.id, arguments=given, side=side))
    usage = _NO_USAGE
    if (counts := found.usage) is not None:
        usage = Usage(
            input_tokens=counts.prompt_tokens,
            output_tokens=counts.completion_tokens,
            cached_input_tokens=(counts.prompt_tokens_details or _NO_INPUT_DETAILS).cached_tokens,
            reasoning_tokens=(
                counts.completion_tokens_details or _NO_OUTPUT_DETAILS
            ).reasoning_tokens,
        )
    reason = choice.finish_reason
    return WireReply(
        response_id=found.id,
        model=found.model,
        messages=(Message(role="assistant", parts=tuple(parts), finish_reason=reason),),
        requested=tuple(requested),
        finish_reasons=(reason,),
        usage=usage,
        is_terminated=True,
    )
