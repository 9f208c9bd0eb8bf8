"""What one request and one reply say, the same for every wire format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import (
    Message,
    OutputFormat,
    ToolCallPart,
    ToolChoice,
    ToolDefinition,
    ToolRequest,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model.calls import WireFormat


class WireRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model request as it left."""

    wire: WireFormat
    model: str | None = None
    is_streaming: bool = False
    messages: tuple[Message, ...] = ()
    """System text first. Tool results are `ToolResultPart`s."""
    offered: tuple[ToolDefinition, ...] | None = ()
    """`None` when tools are held on the provider's side (stored prompt, agent, cached content)."""
    tool_choice: ToolChoice | None = None
    """`auto` when unset and tools are offered; `None` when it is held on the provider's side."""
    output_format: OutputFormat | None = None
    """`text` when unset; `None` when it is held on the provider's side."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    reasoning_mode: str | None = None
    """Effort or budget as the request spelled it."""
    has_server_state: bool = False
    """Part of the input is held by the provider: previous response, conversation, stored prompt,
    cached content, item references."""
    is_background: bool = False
    """The reply will be fetched later."""
    error_type: str | None = None
    """Why the body could not be read; nothing else is known then."""


class WireReply(msgspec.Struct, frozen=True, kw_only=True):
    """A model reply, whole or reassembled from a stream."""

    response_id: str | None = None
    model: str | None = None
    messages: tuple[Message, ...] = ()
    """Output messages, hosted tools' calls and results included as parts."""
    requested: tuple[ToolRequest, ...] = ()
    """Structured calls; hosted tools with side `provider` or `mcp`."""
    finish_reasons: tuple[str, ...] = ()
    """Raw, as spelled on the wire (Responses: `status` and `incomplete_details.reason`)."""
    usage: Usage = Usage()
    has_refusal: bool = False
    is_terminated: bool = False
    """A terminal event or a finish reason was seen; always true for a whole JSON body."""
    is_cut: bool = False
    """The copy was cut to the byte cap, so it is not the whole reply."""
    error_type: str | None = None
    """Type or code of an error body or error event."""
    echoed: WireRequest | None = None
    """The request parts that the reply repeats (Responses: tools, choice, format, instructions)."""
    is_pending: bool = False
    """Queued or in progress (background mode)."""


def requests_in(messages: Iterable[Message]) -> tuple[ToolRequest, ...]:
    """Return the structured calls that messages hold, in order."""
    return tuple(
        ToolRequest(name=part.name, call_id=part.call_id, arguments=part.arguments, side=part.side)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
