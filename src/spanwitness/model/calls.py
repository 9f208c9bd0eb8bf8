"""Model calls, tool executions and tool discovery: the facts of which the ledger is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from spanwitness.model.message import Message

WireFormat: TypeAlias = Literal[
    "openai_chat", "openai_responses", "anthropic_messages", "gemini", "unknown"
]
Side: TypeAlias = Literal["client", "provider", "mcp", "subagent", "output"]
"""Who runs a tool: the caller's code, the provider, an MCP server, another agent; or nobody, when
the "tool" only carries the structured answer. The words are those of the ledger's JSON form."""


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it was offered."""

    name: str
    side: Side = "client"
    parameters: dict[str, object] | bool | None = None
    """JSON Schema of the arguments; `None` when not recorded."""
    is_deferred: bool = False
    """Loaded on demand (tool search); absence from the prompt is then no loss."""


class ToolChoice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the request said about the use of tools."""

    mode: Literal["auto", "none", "required", "named", "allowed"]
    names: tuple[str, ...] = ()
    """For `named` (one) and `allowed` (the subset the model may choose from)."""


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The form that the request asked the answer to take."""

    kind: Literal["text", "json_object", "json_schema", "grammar"]
    name: str | None = None
    schema_digest: str | None = None
    schema: dict[str, object] | None = None
    """The JSON Schema; `None` when there is none or it was not recorded."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens of one call; `None` = not reported, 0 = reported as zero."""

    input_tokens: int | None = None
    """All input, cached parts included (Anthropic's counters are summed)."""
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request on the wire; SDK retries make several attempts of one call."""

    status_code: int | None = None
    """HTTP status; `None` when no response came."""
    error: str | None = None
    """Type of the exception when no response came."""


class ToolRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call in the model's reply: the ledger's *requested*."""

    name: str
    call_id: str | None = None
    arguments: object = None
    """Decoded JSON, the raw string when not JSON, `None` when not recorded."""
    side: Side = "client"
    source: Literal["structured", "text", "reasoning"] = "structured"
    """`structured` for a call that the wire format carries as one; else where it came out as
    text."""


DeliveryState: TypeAlias = Literal["whole", "altered", "unknown"]


class Delivery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool result that stood in a request: the ledger's *delivered*."""

    call_id: str | None
    state: DeliveryState = "unknown"
    """Against what the tool returned; `unknown` when that, or this, could not be seen."""
    part_types: tuple[str, ...] = ()
    """`text`, `image`, ... in order, as they stood in the request."""
    returned_part_types: tuple[str, ...] | None = None
    """The same of what the tool returned; `None` = not seen."""
    size_bytes: int | None = None
    has_binary_text: bool = False
    """A binary payload stands in a text field (a data URI sent as text)."""
    is_error: bool | None = None
    is_empty: bool | None = None


class ChatCall(msgspec.Struct, frozen=True, kw_only=True):
    """One logical model call: a request and its reply, retries folded in."""

    span_id: str
    parent_span_id: str | None = None
    seq: int | None = None
    """Order in the run: as the tracer counted it, else (foreign spans, child runs) as it follows
    from start times and parentage. `None` only in values that were not built from spans."""
    start_ns: int = 0
    end_ns: int = 0
    step_span_id: str | None = None
    """The innermost protocol step around it."""
    dialect: str = "otel_genai"
    """How it was recorded: `spanwitness`, `otel_genai`, ..."""
    wire: WireFormat = "unknown"
    provider: str | None = None
    host: str | None = None

    request_model: str | None = None
    response_model: str | None = None
    response_id: str | None = None

    offered: tuple[ToolDefinition, ...] | None = None
    """Tool definitions on the wire; `None` = not recorded, `()` = recorded as none."""
    tool_choice: ToolChoice | None = None
    """`None` = not recorded. An unset choice is recorded as `auto`."""
    output_format: OutputFormat | None = None
    """`None` = not recorded. An unset format is recorded as `text`."""
    max_tokens: int | None = None
    request_bytes: int | None = None
    """Length of the request body; with `usage` it shows a prompt cut by the server."""
    has_server_state: bool = False
    """Part of the input is held by the provider (previous response, conversation, stored prompt,
    cached content): what is held there is unknown, never absent."""
    input_messages: Sequence[Message] | None = None
    """Every message of the request, system text first; `None` = content off or not recorded.

    From a stored trace it is decoded when it is first read (histories repeat and are long), so ask
    the cheap fields first. It compares equal to a tuple of equal messages."""
    delivered: tuple[Delivery, ...] | None = None
    """Results that stood in this request, history included; `None` = not recorded."""
    reasoning_lost: int | None = None
    """Signed reasoning parts of earlier replies missing from this history; `None` = not looked
    at."""

    output_messages: Sequence[Message] | None = None
    """The reply; `None` = content off or not recorded."""
    requested: tuple[ToolRequest, ...] | None = None
    """Calls in the reply; `None` = not recorded."""
    finish_reasons: tuple[str, ...] | None = None
    """As the provider spelled them; `None` = not recorded."""
    text_chars: int | None = None
    """Visible text in the reply, in characters; `None` = not recorded."""
    reasoning_chars: int | None = None
    has_refusal: bool = False
    is_schema_satisfied: bool | None = None
    """Whether the reply satisfies the schema on its request; `None` = no schema, or not looked
    at."""
    n_values: int | None = None
    """Values (numbers, dates, quotations, page and source references) that the reply states;
    `None` = not counted."""
    n_values_unseen: int | None = None
    """Those of them that no input part of this request holds."""
    usage: Usage = Usage()

    is_streaming: bool = False
    ending: Literal["complete", "abandoned", "cancelled", "error", "unknown"] = "unknown"
    """How the reply ended: `complete` by its terminal event, `abandoned` when the caller stopped
    reading, `cancelled`, `error`; `unknown` where the dialect does not say."""
    attempts: tuple[Attempt, ...] = ()
    error_type: str | None = None
    is_truncated: bool = False
    """Recorded content was cut to a size cap, so absence from it proves nothing."""


OutcomeWord: TypeAlias = Literal["value", "error", "empty", "cached", "cancelled", "unknown"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of a tool as a span saw it: the ledger's *executed* and *returned*."""

    span_id: str
    parent_span_id: str | None = None
    seq: int | None = None
    start_ns: int = 0
    end_ns: int = 0
    step_span_id: str | None = None
    name: str
    call_id: str | None = None
    """Of the model call that asked for it; `None` = not recorded or not linkable."""
    link: Literal["explicit", "exact", "identical", "name", "process", "ambiguous", "none"] = "none"
    """How the call id was found; `ambiguous` reads as unknown."""
    side: Side = "client"
    server: str | None = None
    """The MCP server or toolset that owns the tool."""
    effect: Literal["read", "write"] | None = None
    """`None` = not declared."""
    outcome: OutcomeWord = "unknown"
    error_type: str | None = None
    error_text_digest: str | None = None
    """Digest of the error text, so that an answer equal to it is recognised with content off."""
    arguments: object = None
    """Decoded; `None` = not recorded."""
    arguments_digest: str | None = None
    result: object = None
    """Decoded; of an execution that raised, the exception's message. Only when `has_result`."""
    has_result: bool = False
    """Whether `result` was recorded (a recorded `None` is a value)."""
    result_digest: str | None = None
    result_chars: int | None = None
    is_truncated: bool = False
    phase: str | None = None
    """The phase of the run when it ran: `before_submit` or `after_submit`."""
    is_phase_violation: bool = False
    is_refused: bool = False
    """Refused by the phase guard, so its body did not run."""


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """A listing of tools (MCP `tools/list` or a toolset's own)."""

    span_id: str
    seq: int | None = None
    start_ns: int = 0
    server: str | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    """`None` = failed or not recorded."""
    error_type: str | None = None


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of a tool, by whatever evidence the trace holds, counted once per call id.

    Requests alone are no executions. A result served from a cache counts with `how="cache"`.
    """

    tool: str
    call_id: str | None = None
    side: Side = "client"
    how: Literal["span", "provider", "messages", "cache"]
    """A tool span saw it; the provider did it; a later request carries its result; a cache gave
    it."""
    outcome: OutcomeWord = "unknown"
    effect: Literal["read", "write"] | None = None
    order: int = 0
    """Position in the run, comparable with `seq` of chats, steps and the submission. What only
    messages show has the `seq` of the model call that asked for it (it ran right after it), what a
    provider did that of the model call in which it did it."""
    span_id: str = ""
    """The tool span, or the chat span that shows it."""
    step_span_id: str | None = None
    arguments: object = None
    result: object = None
    has_result: bool = False
    call: ToolCall | None = None
    """The tool span's own facts, when there is one."""
