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
from spanwitness.normalize.attribute_sets import chat_attributes, tool_attributes
from spanwitness.normalize.attributes import decoded, text, texts
from spanwitness.normalize.otel_genai import (
    definitions_of,
    raised_text,
    requests_of,
    tool_name_of,
    usage_of,
)
from spanwitness.normalize.stored_messages import StoredMessages, decode, is_whole_list
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.model import Message, SpanRecord
    from spanwitness.model.calls import OutcomeWord, Side, WireFormat
    from spanwitness.normalize.attribute_sets import ChatAttributes
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

    def of(self, ids: tuple[str, ...] | None, fresh: str | None) -> tuple[Delivery, ...] | None:
        """Return the results that stand in a request; call in the order of the requests.

        Args:
            ids: Call ids of all of them.
            fresh: JSON of those that stand there for the first time or in another form.
        """
        if ids is None and fresh is None:
            return None
        known = self._known
        nameless: list[Delivery] = []
        if fresh is not None:
            try:
                stated = _DELIVERIES.decode(fresh)
            except msgspec.MsgspecError:
                stated = []
            for delivery in stated:
                if delivery.call_id is None:
                    nameless.append(delivery)
                else:
                    known[delivery.call_id] = delivery
        if not ids and not nameless:
            return ()
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
    said = chat_attributes(span.attributes)
    output = decode(said.output_messages) if is_whole_list(said.output_messages) else None
    given = said.input_messages
    return ChatCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        dialect="spanwitness",
        wire=cast("WireFormat", said.wire) if said.wire in _WIRES else "unknown",
        provider=said.provider or None,
        host=said.host or None,
        request_model=said.request_model or None,
        response_model=said.response_model or None,
        response_id=said.response_id or None,
        offered=_offered(said),
        tool_choice=None if said.tool_choice is None else _choice(said.tool_choice),
        output_format=_format(said),
        max_tokens=said.max_tokens,
        request_bytes=said.request_bytes,
        has_server_state=said.has_server_state or False,
        input_messages=StoredMessages(given, history) if is_whole_list(given) else None,
        delivered=deliveries.of(said.delivered_ids, said.delivered),
        reasoning_lost=said.reasoning_lost,
        output_messages=output,
        requested=_requested(said.tool_calls, output),
        finish_reasons=said.finish_reasons,
        text_chars=said.text_chars,
        reasoning_chars=said.reasoning_chars,
        has_refusal=said.has_refusal or False,
        is_schema_satisfied=said.is_schema_satisfied,
        n_values=said.n_values,
        n_values_unseen=said.n_values_unseen,
        usage=usage_of(said),
        is_streaming=said.is_streaming or False,
        ending=cast("Literal['complete']", said.ending) if said.ending in _ENDINGS else "unknown",
        attempts=() if said.attempts is None else _attempts(said.attempts),
        error_type=said.error_type or ("error" if span.status == "error" else None),
        is_truncated=said.truncated is not None and not _CONTENT.isdisjoint(said.truncated),
    )


def read_tool(span: SpanRecord, seq: int, step: str | None, *, is_handed_over: bool) -> ToolCall:
    """Read an execution of a tool; the arguments are those of `otel_genai.read_tool`."""
    said = tool_attributes(span.attributes)
    recorded = said.result
    result = decoded(recorded) if recorded is not None else raised_text(span)
    chars = said.result_chars
    side = said.side or ("subagent" if is_handed_over else "client")
    return ToolCall(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        step_span_id=step,
        name=said.name or tool_name_of(span),
        call_id=said.call_id or None,
        link=cast("Literal['exact']", said.link) if said.link in _LINKS else "none",
        side=cast("Side", side) if side in _SIDES else "client",
        server=said.server or None,
        effect=cast("Literal['read']", said.effect) if said.effect in ("read", "write") else None,
        outcome=cast("OutcomeWord", said.outcome) if said.outcome in _OUTCOMES else "unknown",
        error_type=said.error_type or ("error" if span.status == "error" else None),
        error_text_digest=said.error_digest or None,
        arguments=decoded(said.arguments),
        arguments_digest=said.arguments_digest or None,
        result=result,
        has_result=result is not None or recorded is not None,
        result_digest=said.result_digest or None,
        result_chars=len(recorded) if chars is None and isinstance(recorded, str) else chars,
        is_truncated=said.truncated is not None and gen_ai.TOOL_CALL_RESULT in said.truncated,
        phase=said.phase or None,
        is_phase_violation=said.is_phase_violation or False,
        is_refused=said.is_refused or False,
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


def _offered(said: ChatAttributes) -> tuple[ToolDefinition, ...] | None:
    names = said.offered
    if names is None:
        # An empty list may be lost on the way (some exporters drop it); its count is not.
        return () if said.n_offered == 0 else None
    defined = definitions_of(said.definitions)
    if defined is not None and len(defined) == len(names):
        return defined
    return _named_tools(names, said.offered_sides)


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
def _choice(value: str) -> ToolChoice | None:
    mode, _, names = value.partition(":")
    if mode not in _CHOICES:
        return None
    chosen = tuple(name for name in names.split(",") if name)
    return ToolChoice(mode=cast("Literal['auto']", mode), names=chosen)


def _format(said: ChatAttributes) -> OutputFormat | None:
    kind = said.format_kind
    if kind == "text":
        return _TEXT
    if kind not in _FORMATS:
        return None
    schema = decoded(said.schema)
    return OutputFormat(
        kind=cast("Literal['text']", kind),
        name=said.format_name or None,
        schema_digest=said.schema_digest or None,
        schema=schema if isinstance(schema, dict) else None,
    )


def _requested(
    value: str | None, output: tuple[Message, ...] | None
) -> tuple[ToolRequest, ...] | None:
    """Return the calls of a reply: their outline, with the arguments that stand in the messages."""
    if value is None or value == "[]":
        return None if value is None else ()
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
        found.append(
            ToolRequest(
                name=outline.name,
                call_id=outline.call_id,
                arguments=match.arguments,
                side=outline.side,
                source=outline.source,
            )
        )
    return tuple(found)


def _is_same(outline: ToolRequest, call: ToolRequest) -> bool:
    if outline.source != "structured" or outline.name != call.name:
        return False
    return outline.call_id == call.call_id or call.call_id is None or outline.call_id is None


@lru_cache(maxsize=256)
def _attempts(values: tuple[str, ...]) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(status_code=int(value)) if value.isdecimal() else Attempt(error=value)
        for value in values
    )
