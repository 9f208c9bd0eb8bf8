"""Spans that spanwitness wrote, read to the letter of `semconv.spanwitness`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, cast

import msgspec

from spanwitness.model import (
    Attempt,
    ChatCall,
    Delivery,
    Discovery,
    OutputFormat,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolRequest,
)
from spanwitness.normalize.attributes import decoded, flag, integer, text, texts
from spanwitness.normalize.otel_genai import (
    definitions_of,
    raised_text,
    requests_of,
    tool_name_of,
    usage_of,
)
from spanwitness.normalize.stored_messages import StoredMessages, is_whole_list
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.model import SpanRecord
    from spanwitness.model.calls import OutcomeWord, Side, WireFormat
    from spanwitness.normalize.attributes import Attributes
    from spanwitness.normalize.stored_messages import History

__all__ = ["Deliveries", "read_chat", "read_discovery", "read_tool"]

_DELIVERIES: Final = msgspec.json.Decoder(list[Delivery], strict=False)
_REQUESTS: Final = msgspec.json.Decoder(list[ToolRequest])
_WIRES: Final = frozenset({"openai_chat", "openai_responses", "anthropic_messages", "gemini"})
_SIDES: Final = frozenset({"client", "provider", "mcp", "subagent", "output"})
_ENDINGS: Final = frozenset({"complete", "abandoned", "cancelled", "error"})
_OUTCOMES: Final = frozenset({"value", "error", "empty", "cached", "cancelled"})
_LINKS: Final = frozenset({"explicit", "exact", "identical", "name", "process", "ambiguous"})
_FORMATS: Final = frozenset({"text", "json_object", "json_schema", "grammar"})
_CHOICES: Final = frozenset({"auto", "none", "required", "named", "allowed"})
_TEXT: Final = OutputFormat(kind="text")
_CONTENT: Final = frozenset({gen_ai.INPUT_MESSAGES, gen_ai.OUTPUT_MESSAGES, own.RESPONSE_SCHEMA})


class Deliveries:
    """What is known of each delivered result of a run; spans state only what is new."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Delivery] = {}

    def of(self, attributes: Attributes) -> tuple[Delivery, ...] | None:
        """Return the results that stand in a request; call in the order of the requests."""
        ids = texts(attributes.get(own.DELIVERED_IDS))
        fresh = attributes.get(own.DELIVERED)
        if ids is None and fresh is None:
            return None
        nameless: list[Delivery] = []
        if isinstance(fresh, str):
            try:
                stated = _DELIVERIES.decode(fresh)
            except msgspec.MsgspecError:
                stated = []
            for delivery in stated:
                if delivery.call_id is None:
                    nameless.append(delivery)
                else:
                    self._known[delivery.call_id] = delivery
                    ids = ids if ids is not None else ()
        known = self._known
        named = [known.get(id_) or Delivery(call_id=id_) for id_ in ids or ()]
        return (*named, *nameless)


def read_chat(
    span: SpanRecord, history: History, deliveries: Deliveries, seq: int, step: str | None
) -> ChatCall:
    """Read a model call.

    Args:
        span: The span of the call.
        history: What the calls before it hold.
        deliveries: What the calls before it said of delivered results.
        seq: Its position in the trace.
        step: The protocol step around it.
    """
    attributes = span.attributes
    get = attributes.get
    output = _messages(get(gen_ai.OUTPUT_MESSAGES), history)
    cut = get(own.TRUNCATED)
    return ChatCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        dialect="spanwitness",
        wire=_wire(get(own.WIRE)),
        provider=text(get(gen_ai.PROVIDER_NAME)),
        host=text(get(gen_ai.SERVER_ADDRESS)),
        request_model=text(get(gen_ai.REQUEST_MODEL)),
        response_model=text(get(gen_ai.RESPONSE_MODEL)),
        response_id=text(get(gen_ai.RESPONSE_ID)),
        offered=_offered(attributes),
        tool_choice=_choice(get(own.TOOL_CHOICE)),
        output_format=_format(attributes),
        max_tokens=integer(get(gen_ai.REQUEST_MAX_TOKENS)),
        request_bytes=integer(get(own.REQUEST_BYTES)),
        has_server_state=flag(get(own.SERVER_STATE)) or False,
        input_messages=_messages(get(gen_ai.INPUT_MESSAGES), history),
        delivered=deliveries.of(attributes),
        reasoning_lost=integer(get(own.REASONING_LOST)),
        output_messages=output,
        requested=_requested(get(own.TOOL_CALLS), output),
        finish_reasons=texts(get(gen_ai.RESPONSE_FINISH_REASONS)),
        text_chars=integer(get(own.TEXT_CHARS)),
        reasoning_chars=integer(get(own.REASONING_CHARS)),
        has_refusal=flag(get(own.REFUSAL)) or False,
        is_schema_satisfied=flag(get(own.SCHEMA_SATISFIED)),
        n_values=integer(get(own.VALUES)),
        n_values_unseen=integer(get(own.VALUES_UNSEEN)),
        usage=usage_of(attributes),
        is_streaming=flag(get(gen_ai.REQUEST_STREAM)) or False,
        ending=_ending(get(own.ENDING)),
        attempts=_attempts(texts(get(own.ATTEMPTS))),
        error_type=text(get(gen_ai.ERROR_TYPE)) or ("error" if span.status == "error" else None),
        is_truncated=cut is not None and not _CONTENT.isdisjoint(texts(cut) or ()),
    )


def read_tool(span: SpanRecord, seq: int, step: str | None, *, is_subagent: bool) -> ToolCall:
    """Read an execution of a tool; the arguments are those of `otel_genai.read_tool`."""
    get = span.attributes.get
    recorded = get(gen_ai.TOOL_CALL_RESULT)
    result = decoded(recorded) if recorded is not None else raised_text(span)
    cut = get(own.TRUNCATED)
    link = get(own.TOOL_LINK)
    outcome = get(own.TOOL_OUTCOME)
    effect = get(own.TOOL_EFFECT)
    side = get(own.TOOL_SIDE, "subagent" if is_subagent else "client")
    chars = integer(get(own.TOOL_RESULT_CHARS))
    return ToolCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        name=tool_name_of(span),
        call_id=text(get(gen_ai.TOOL_CALL_ID)),
        link=cast("Literal['exact']", link) if link in _LINKS else "none",
        side=cast("Side", side) if side in _SIDES else "client",
        server=text(get(own.TOOL_SERVER)),
        effect=cast("Literal['read']", effect) if effect in ("read", "write") else None,
        outcome=cast("OutcomeWord", outcome) if outcome in _OUTCOMES else "unknown",
        error_type=text(get(gen_ai.ERROR_TYPE)) or ("error" if span.status == "error" else None),
        error_text_digest=text(get(own.TOOL_ERROR_DIGEST)),
        arguments=decoded(get(gen_ai.TOOL_CALL_ARGUMENTS)),
        arguments_digest=text(get(own.TOOL_ARGUMENTS_DIGEST)),
        result=result,
        has_result=result is not None or recorded is not None,
        result_digest=text(get(own.TOOL_RESULT_DIGEST)),
        result_chars=len(recorded) if chars is None and isinstance(recorded, str) else chars,
        is_truncated=cut is not None and gen_ai.TOOL_CALL_RESULT in (texts(cut) or ()),
        phase=text(get(own.PHASE)),
        is_phase_violation=flag(get(own.PHASE_VIOLATION)) or False,
        is_refused=flag(get(own.PHASE_REFUSED)) or False,
    )


def read_discovery(span: SpanRecord, seq: int) -> Discovery:
    """Read a listing of tools."""
    get = span.attributes.get
    names = texts(get(own.TOOLS_CONFIGURED))
    defined = definitions_of(get(own.TOOLS_CONFIGURED_SCHEMAS))
    error = text(get(gen_ai.ERROR_TYPE)) or ("error" if span.status == "error" else None)
    tools = None
    if names is not None:
        by_name = {tool.name: tool for tool in defined or ()}
        tools = tuple(by_name.get(n) or ToolDefinition(name=n, side="mcp") for n in names)
    return Discovery(
        span_id=span.span_id,
        seq=seq,
        start_ns=span.start_ns,
        server=text(get(own.TOOL_SERVER)),
        tools=tools,
        error_type=error,
    )


def _messages(value: object, history: History) -> StoredMessages | None:
    return StoredMessages(value, history) if is_whole_list(value) else None


def _offered(attributes: Attributes) -> tuple[ToolDefinition, ...] | None:
    names = texts(attributes.get(own.TOOLS_OFFERED))
    if names is None:
        # An empty list may be lost on the way (some exporters drop it); its count is not.
        return () if attributes.get(own.TOOLS_OFFERED_COUNT) == 0 else None
    defined = definitions_of(attributes.get(gen_ai.TOOL_DEFINITIONS))
    if defined is not None and len(defined) == len(names):
        return defined
    return _named_tools(names, texts(attributes.get(own.TOOLS_OFFERED_SIDES)))


@lru_cache(maxsize=512)
def _named_tools(
    names: tuple[str, ...], sides: tuple[str, ...] | None
) -> tuple[ToolDefinition, ...]:
    if sides is None or len(sides) != len(names):
        sides = ("client",) * len(names)
    return tuple(
        ToolDefinition(name=name, side=cast("Side", side) if side in _SIDES else "client")
        for name, side in zip(names, sides, strict=True)
    )


@lru_cache(maxsize=512)
def _parse_choice(value: str) -> ToolChoice | None:
    mode, _, names = value.partition(":")
    if mode not in _CHOICES:
        return None
    chosen = tuple(name for name in names.split(",") if name)
    return ToolChoice(mode=cast("Literal['auto']", mode), names=chosen)


def _choice(value: object) -> ToolChoice | None:
    return _parse_choice(value) if isinstance(value, str) else None


def _format(attributes: Attributes) -> OutputFormat | None:
    kind = attributes.get(own.RESPONSE_FORMAT)
    if kind not in _FORMATS:
        return None
    if kind == "text":
        return _TEXT
    schema = decoded(attributes.get(own.RESPONSE_SCHEMA))
    return OutputFormat(
        kind=cast("Literal['text']", kind),
        name=text(attributes.get(own.RESPONSE_FORMAT_NAME)),
        schema_digest=text(attributes.get(own.RESPONSE_SCHEMA_DIGEST)),
        schema=schema if isinstance(schema, dict) else None,
    )


def _requested(value: object, output: StoredMessages | None) -> tuple[ToolRequest, ...] | None:
    """Return the calls of a reply: their outline, with the arguments that stand in the messages."""
    if not isinstance(value, str):
        return None
    if value == "[]":
        return ()
    try:
        outlines = _REQUESTS.decode(value)
    except msgspec.MsgspecError:
        return None
    if output is None:
        return tuple(outlines)
    pending = list(requests_of(output))
    found: list[ToolRequest] = []
    for outline in outlines:
        match = next((p for p in pending if _is_same(outline, p)), None)
        if match is None:
            found.append(outline)
            continue
        pending.remove(match)
        found.append(msgspec.structs.replace(outline, arguments=match.arguments))
    return tuple(found)


def _is_same(outline: ToolRequest, call: ToolRequest) -> bool:
    if outline.source != "structured" or outline.name != call.name:
        return False
    return outline.call_id == call.call_id or call.call_id is None or outline.call_id is None


@lru_cache(maxsize=256)
def _attempts(values: tuple[str, ...] | None) -> tuple[Attempt, ...]:
    if values is None:
        return ()
    return tuple(
        Attempt(status_code=int(value)) if value.isdecimal() else Attempt(error=value)
        for value in values
    )


def _wire(value: object) -> WireFormat:
    return cast("WireFormat", value) if value in _WIRES else "unknown"


def _ending(value: object) -> Literal["complete", "abandoned", "cancelled", "error", "unknown"]:
    return cast("Literal['complete']", value) if value in _ENDINGS else "unknown"
