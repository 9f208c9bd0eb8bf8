"""Gemini generateContent: requests, replies and streams (SSE or one JSON array)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from spanwitness.model import Message, OutputFormat, ToolChoice, ToolDefinition, Usage
from spanwitness.wire.codec import Entry, Reader
from spanwitness.wire.facts import WireReply, WireRequest, requests_in
from spanwitness.wire.gemini_partial import PartialCall, is_partial
from spanwitness.wire.gemini_parts import grounding_parts, read_entry, read_parts
from spanwitness.wire.openai_tools import AUTO, PLAIN_TEXT, grammar_format, schema_format
from spanwitness.wire.reading import (
    error_word,
    integer,
    is_objects,
    items,
    label,
    load,
    mapping,
    number,
    schema,
    text,
)
from spanwitness.wire.sse import read_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model.calls import Side

__all__ = ["READER"]

_CLIENT_RUN: Final = frozenset({"computerUse", "computer_use"})


def _pick(holder: dict[str, object], name: str, other: str) -> object:
    """Read a field in either of protobuf's two JSON spellings."""
    value = holder.get(name)
    return holder.get(other) if value is None else value


def read_request(body: dict[str, object], entries: Sequence[Entry]) -> WireRequest:
    """Read a request body; model and streaming stand in the path."""
    config = mapping(_pick(body, "generationConfig", "generation_config"))
    system = mapping(_pick(body, "systemInstruction", "system_instruction"))
    cached = _pick(body, "cachedContent", "cached_content")
    tool_config = mapping(_pick(body, "toolConfig", "tool_config"))
    calling = mapping(_pick(tool_config, "functionCallingConfig", "function_calling_config"))
    thinking = mapping(_pick(config, "thinkingConfig", "thinking_config"))
    level = label(_pick(thinking, "thinkingLevel", "thinking_level"))
    tools = body.get("tools")
    # Cached content may hold system text, history and tools of its own.
    hides = cached is not None
    messages = tuple(entry.message for entry in entries if entry.message is not None)
    if system:
        messages = (Message(role="system", parts=read_parts(system.get("parts"))), *messages)
    return WireRequest(
        wire="gemini",
        model=_bare_model(text(body.get("model"))),
        messages=messages,
        offered=None if hides and not tools else _offered(tools),
        tool_choice=None if hides and not calling else _tool_choice(calling),
        output_format=_format(config),
        max_tokens=integer(_pick(config, "maxOutputTokens", "max_output_tokens")),
        temperature=number(config.get("temperature")),
        top_p=number(_pick(config, "topP", "top_p")),
        seed=integer(config.get("seed")),
        reasoning_mode=level or _budget(thinking),
        has_server_state=hides,
    )


def _bare_model(model: str | None) -> str | None:
    return None if model is None else model.rpartition("/")[2]


def _budget(thinking: dict[str, object]) -> str | None:
    budget = _pick(thinking, "thinkingBudget", "thinking_budget")
    return str(budget) if isinstance(budget, int) and not isinstance(budget, bool) else None


def _offered(tools: object) -> tuple[ToolDefinition, ...]:
    offered: list[ToolDefinition] = []
    for tool in items(tools):
        for key, value in tool.items():
            name = _snake(key)
            if name == "function_declarations":
                offered.extend(_declared(value))
            elif name == "mcp_servers":
                offered.extend(
                    ToolDefinition(name=f"mcp:{text(one.get('name')) or 'unnamed'}", side="mcp")
                    for one in items(value)
                )
            elif value is not None:
                side: Side = "client" if key in _CLIENT_RUN else "provider"
                offered.append(ToolDefinition(name=name, side=side))
    return tuple(offered)


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key[:100])


def _declared(declarations: object) -> list[ToolDefinition]:
    found: list[ToolDefinition] = []
    for one in items(declarations):
        name = text(one.get("name"))
        if name is not None:
            given = _pick(one, "parametersJsonSchema", "parameters_json_schema")
            parameters = _plain_schema(one.get("parameters")) if given is None else schema(given)
            found.append(ToolDefinition(name=name, parameters=parameters))
    return found


_MAX_SCHEMA_DEPTH: Final = 64


def _plain_schema(value: object) -> dict[str, object] | bool | None:
    """Return Gemini's own kind of schema as a JSON Schema: its type names are upper case."""
    found = _lowered(value, _MAX_SCHEMA_DEPTH)
    return schema(found)


def _lowered(value: object, depth: int) -> object:
    if not isinstance(value, dict) or depth == 0:
        return value
    made: dict[str, object] = {}
    for key, inner in value.items():
        if key == "type" and isinstance(inner, str):
            made[key] = inner.lower()
        elif key == "properties" and isinstance(inner, dict):
            made[key] = {name: _lowered(one, depth - 1) for name, one in inner.items()}
        elif key in {"anyOf", "any_of"} and is_objects(inner):
            made["anyOf"] = [_lowered(one, depth - 1) for one in inner]
        elif key == "items":
            made[key] = _lowered(inner, depth - 1)
        else:
            made[key] = inner
    return made


def _tool_choice(calling: dict[str, object]) -> ToolChoice:
    mode = text(calling.get("mode"))
    allowed = _pick(calling, "allowedFunctionNames", "allowed_function_names")
    names = tuple(name for name in allowed if isinstance(name, str)) if is_objects(allowed) else ()
    if mode == "NONE":
        return ToolChoice(mode="none")
    if mode == "ANY":
        if len(names) == 1:
            return ToolChoice(mode="named", names=names)
        return ToolChoice(mode="allowed", names=names) if names else ToolChoice(mode="required")
    # AUTO, VALIDATED and unset leave the choice between a call and text to the model.
    return ToolChoice(mode="allowed", names=names) if names else AUTO


def _format(config: dict[str, object]) -> OutputFormat:
    given = _pick(config, "responseJsonSchema", "response_json_schema")
    if given is None:
        own = _pick(config, "responseSchema", "response_schema")
        given = None if own is None else _plain_schema(own)
    mime_type = text(_pick(config, "responseMimeType", "response_mime_type"))
    form = mapping(_pick(config, "responseFormat", "response_format"))
    if given is None and form:
        inner = mapping(form.get("text")) or form
        given = inner.get("schema")
        mime_type = mime_type or text(_pick(inner, "mimeType", "mime_type"))
    if mime_type == "text/x.enum":
        return grammar_format(given)
    if given is not None:
        return schema_format(given)
    # The mime type is an enum's name in the newest form.
    is_json = mime_type is not None and mime_type.lower().replace("_", "/") == "application/json"
    return OutputFormat(kind="json_object") if is_json else PLAIN_TEXT


def read_reply(body: object) -> WireReply:
    """Read a whole reply; an array is a stream that came as one JSON body."""
    if is_objects(body):
        return replace(_read_chunks(items(body)), is_terminated=True)
    if not isinstance(body, dict):
        return WireReply(error_type="unexpected_body", is_terminated=True)
    inner = body.get("response")
    if "candidates" not in body and isinstance(inner, dict):
        body = inner  # some gateways wrap the reply
    messages: list[Message] = []
    reasons: list[str] = []
    for candidate in items(body.get("candidates")):
        reason = label(_pick(candidate, "finishReason", "finish_reason"))
        if reason is not None:
            reasons.append(reason)
        parts = read_parts(mapping(candidate.get("content")).get("parts"))
        messages.append(
            Message(
                role="assistant",
                parts=(*grounding_parts(candidate), *parts),
                finish_reason=reason,
            )
        )
    feedback = mapping(_pick(body, "promptFeedback", "prompt_feedback"))
    blocked = label(_pick(feedback, "blockReason", "block_reason"))
    if blocked is not None:
        reasons.append(blocked)
    return WireReply(
        response_id=text(_pick(body, "responseId", "response_id")),
        model=text(_pick(body, "modelVersion", "model_version")),
        messages=tuple(messages),
        requested=requests_in(messages),
        finish_reasons=tuple(reasons),
        usage=_usage(_pick(body, "usageMetadata", "usage_metadata")),
        has_refusal=blocked is not None,
        is_terminated=True,
        error_type=_error_type(body, blocked),
    )


_KNOWN: Final = ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "modelVersion")


def _error_type(body: dict[str, object], blocked: str | None) -> str | None:
    if body.get("error") is not None:
        return error_word(body)
    if blocked is None and not any(key in body for key in _KNOWN):
        return error_word(body)
    return None


def _usage(usage: object) -> Usage:
    """Read token counts; tool-use prompts are input, thoughts are output."""
    counts = mapping(usage)

    def total(*spellings: tuple[str, str]) -> int | None:
        known = [n for pair in spellings if (n := integer(_pick(counts, *pair))) is not None]
        return sum(known) if known else None

    thoughts = ("thoughtsTokenCount", "thoughts_token_count")
    return Usage(
        input_tokens=total(
            ("promptTokenCount", "prompt_token_count"),
            ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        ),
        output_tokens=total(("candidatesTokenCount", "candidates_token_count"), thoughts),
        cached_input_tokens=total(("cachedContentTokenCount", "cached_content_token_count")),
        reasoning_tokens=total(thoughts),
    )


def read_stream(body: bytes) -> WireReply:
    """Read a stream: SSE, or the array form, which may not be finished yet."""
    if body.lstrip()[:1] == b"[":
        loaded = load(body)
        if is_objects(loaded):
            return replace(_read_chunks(items(loaded)), is_terminated=True)
        return _read_chunks(_unfinished_array(body))
    return _read_chunks(read_items(body, _decoder, _lenient_chunk).items)


_decoder: Final = msgspec.json.Decoder(list[dict[str, object]])


def _lenient_chunk(payload: object, event: str) -> dict[str, object] | None:  # noqa: ARG001
    return payload if isinstance(payload, dict) else None


def _unfinished_array(body: bytes) -> list[dict[str, object]]:
    """Read the whole objects of an array that is still arriving.

    The server separates them by a comma and a line break at the outermost level; what does not
    parse up to such a place is not whole yet.
    """
    at = body.rfind(b"\n,")
    while at > 0:
        loaded = load(body[:at] + b"]")
        if is_objects(loaded):
            return items(loaded)
        at = body.rfind(b"\n,", 0, at)
    loaded = load(body + b"]")
    return items(loaded)


class _Candidate:
    """One candidate under construction."""

    __slots__ = ("extra", "open_call", "parts", "reason")

    def __init__(self) -> None:
        self.parts: list[dict[str, object]] = []
        self.open_call: PartialCall | None = None
        self.extra: dict[str, object] = {}
        self.reason: str | None = None

    def add(self, candidate: dict[str, object]) -> None:
        for part in items(mapping(candidate.get("content")).get("parts")):
            self._add_part(part)
        reason = label(_pick(candidate, "finishReason", "finish_reason"))
        if reason is not None:
            self.reason = reason
        for key in ("groundingMetadata", "urlContextMetadata"):
            if candidate.get(key) is not None:
                self.extra[key] = candidate[key]

    def _add_part(self, part: dict[str, object]) -> None:
        call = _pick(part, "functionCall", "function_call")
        if isinstance(call, dict) and (self.open_call is not None or is_partial(call)):
            self._add_partial(part, call)
            return
        last = self.parts[-1] if self.parts else {}
        written = part.get("text")
        before = last.get("text")
        is_same_kind = (part.get("thought") is True) == (last.get("thought") is True)
        if isinstance(written, str) and isinstance(before, str) and is_same_kind:
            self.parts[-1] = {**last, **part, "text": before + written}
        else:
            self.parts.append(part)

    def _add_partial(self, part: dict[str, object], call: dict[str, object]) -> None:
        if self.open_call is None:
            self.open_call = PartialCall(call)
            self.parts.append({**part, "functionCall": self.open_call.call})
        if not self.open_call.add(call):
            self.open_call = None

    def built(self) -> dict[str, object]:
        return {"content": {"parts": self.parts}, "finishReason": self.reason, **self.extra}


def _read_chunks(chunks: list[dict[str, object]]) -> WireReply:
    """Put the chunks of a stream together and read them like a whole reply."""
    body: dict[str, object] = {}
    growing: dict[int, _Candidate] = {}
    for chunk in chunks:
        inner = chunk.get("response")
        held = inner if "candidates" not in chunk and isinstance(inner, dict) else chunk
        body.update({key: value for key, value in held.items() if value is not None})
        for candidate in items(held.get("candidates")):
            index = integer(candidate.get("index")) or 0
            if index not in growing:
                growing[index] = _Candidate()
            growing[index].add(candidate)
    if not body:
        return WireReply()
    ordered = [growing[index] for index in sorted(growing)]
    if ordered:
        body["candidates"] = [one.built() for one in ordered]
    reply = read_reply(body)
    is_blocked = reply.has_refusal and not ordered
    is_terminated = is_blocked or (bool(ordered) and all(one.reason for one in ordered))
    if is_terminated:
        return reply
    n_open = sum(one.open_call is not None for one in ordered)
    return replace(
        reply, requested=reply.requested[: len(reply.requested) - n_open], is_terminated=False
    )


READER: Final = Reader(
    wire="gemini",
    history_key="contents",
    read_entry=read_entry,
    read_request=read_request,
    read_reply=read_reply,
    read_stream=read_stream,
)
