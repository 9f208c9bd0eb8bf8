"""OpenAI Responses: requests, replies (which repeat parts of their request) and event streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from spanwitness.model import Message, Part, RefusalPart, TextPart, ToolDefinition, Usage
from spanwitness.wire.codec import Entry, Reader
from spanwitness.wire.facts import WireReply, WireRequest, requests_in
from spanwitness.wire.openai_items import read_entry, read_output_parts
from spanwitness.wire.openai_tools import read_definitions, read_format, read_tool_choice
from spanwitness.wire.reading import (
    error_word,
    integer,
    is_objects,
    items,
    label,
    mapping,
    number,
    text,
)
from spanwitness.wire.sse import read_items

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["READER"]

_PENDING: Final = frozenset({"queued", "in_progress"})


def read_request(body: dict[str, object], entries: Sequence[Entry]) -> WireRequest:
    """Read a request body."""
    given = body.get("input")
    if isinstance(given, str):
        entries = (Entry(message=Message(role="user", parts=(TextPart(text=given),))),)
    has_prompt = body.get("prompt") is not None
    keeps_state = any(
        body.get(key) is not None for key in ("previous_response_id", "conversation", "prompt")
    )
    # A stored prompt may bring tools, choice and format of its own.
    has_tools = body.get("tools") is not None or not has_prompt
    has_choice = body.get("tool_choice") is not None or not has_prompt
    text_config = mapping(body.get("text"))
    has_format = text_config.get("format") is not None or not has_prompt
    return WireRequest(
        wire="openai_responses",
        model=text(body.get("model")),
        is_streaming=body.get("stream") is True,
        messages=_messages(body.get("instructions"), entries),
        offered=_offered(body.get("tools"), entries) if has_tools else None,
        tool_choice=read_tool_choice(body.get("tool_choice")) if has_choice else None,
        output_format=read_format(text_config.get("format")) if has_format else None,
        max_tokens=integer(body.get("max_output_tokens")),
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_mode=label(mapping(body.get("reasoning")).get("effort")),
        has_server_state=keeps_state or any(entry.has_server_state for entry in entries),
        is_background=body.get("background") is True,
    )


def _messages(instructions: object, entries: Sequence[Entry]) -> tuple[Message, ...]:
    history = tuple(entry.message for entry in entries if entry.message is not None)
    if isinstance(instructions, str):
        return (Message(role="system", parts=(TextPart(text=instructions),)), *history)
    if is_objects(instructions):
        held = [read_entry(item).message for item in instructions]
        return (*(message for message in held if message is not None), *history)
    return history


def _offered(tools: object, entries: Sequence[Entry]) -> tuple[ToolDefinition, ...]:
    """Read the tools of the request and those that listings and searches in its history bring."""
    offered = {tool.name: tool for tool in read_definitions(tools)}
    for entry in entries:
        for tool in entry.offered:
            known = offered.get(tool.name)
            if known is None or known.parameters is None:
                offered[tool.name] = tool
    return tuple(offered.values())


def read_reply(body: object) -> WireReply:
    """Read a whole reply."""
    if not isinstance(body, dict):
        return WireReply(error_type="unexpected_body", is_terminated=True)
    parts: list[Part] = []
    listed: list[ToolDefinition] = []
    for item in items(body.get("output")):
        if item.get("type") == "mcp_list_tools":
            listed.extend(read_entry(item).offered)
        else:
            parts.extend(read_output_parts(item))
    status = label(body.get("status"))
    reason = label(mapping(body.get("incomplete_details")).get("reason"))
    messages = (Message(role="assistant", parts=tuple(parts), finish_reason=status),)
    failed = body.get("error") is not None or ("output" not in body and status is None)
    return WireReply(
        response_id=text(body.get("id")),
        model=text(body.get("model")),
        messages=messages if "output" in body else (),
        requested=requests_in(messages),
        finish_reasons=tuple(word for word in (status, reason) if word is not None),
        usage=_usage(body.get("usage")),
        has_refusal=any(isinstance(part, RefusalPart) for part in parts),
        is_terminated=status not in _PENDING,
        error_type=error_word(body) if failed else None,
        echoed=_echoed(body, tuple(listed)),
        is_pending=status in _PENDING,
    )


def _echoed(body: dict[str, object], listed: tuple[ToolDefinition, ...]) -> WireRequest | None:
    """Read what the reply repeats of its request: what a stored prompt brought stands only here."""
    if not is_objects(body.get("tools")):
        return None
    request = read_request({**body, "prompt": None, "input": None, "stream": None}, ())
    offered = {tool.name: tool for tool in (*(request.offered or ()), *listed)}
    is_stateful = request.has_server_state or body.get("prompt") is not None
    return replace(request, offered=tuple(offered.values()), has_server_state=is_stateful)


def _usage(usage: object) -> Usage:
    counts = mapping(usage)
    return Usage(
        input_tokens=integer(counts.get("input_tokens")),
        output_tokens=integer(counts.get("output_tokens")),
        cached_input_tokens=integer(
            mapping(counts.get("input_tokens_details")).get("cached_tokens")
        ),
        reasoning_tokens=integer(
            mapping(counts.get("output_tokens_details")).get("reasoning_tokens")
        ),
    )


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    delta: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item: dict[str, object] | None = None
    response: dict[str, object] | None = None
    arguments: str | None = None
    input: str | None = None
    code: str | None = None
    error: object = None


_decoder: Final = msgspec.json.Decoder(list[_Event])


def _lenient_event(payload: object, event: str) -> _Event | None:
    if not isinstance(payload, dict):
        return None
    item, response = payload.get("item"), payload.get("response")
    return _Event(
        type=text(payload.get("type")) or event,
        delta=text(payload.get("delta")),
        output_index=integer(payload.get("output_index")),
        content_index=integer(payload.get("content_index")),
        summary_index=integer(payload.get("summary_index")),
        item=item if isinstance(item, dict) else None,
        response=response if isinstance(response, dict) else None,
        arguments=text(payload.get("arguments")),
        input=text(payload.get("input")),
        code=label(payload.get("code")),
        error=payload.get("error"),
    )


_TEXTS: Final = {
    "response.output_text.delta": ("content", "text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_text.delta": ("content", "text"),
    "response.reasoning_summary_text.delta": ("summary", "text"),
}
_STRINGS: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.code_interpreter_call_code.delta": "code",
}
_TERMINAL: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)


class _GrowingItem:
    """One output item under construction."""

    __slots__ = ("item", "pieces", "strings")

    def __init__(self) -> None:
        self.item: dict[str, object] = {}
        self.pieces: dict[tuple[str, int, str], list[str]] = {}
        self.strings: dict[str, list[str]] = {}

    def built(self, *, is_done: bool) -> dict[str, object]:
        """Return the item as far as it was told."""
        if is_done or not (self.pieces or self.strings):
            return self.item
        made = dict(self.item)
        for key, fragments in self.strings.items():
            made[key] = "".join(fragments)
        for key in {place[0] for place in self.pieces}:
            made[key] = [
                {"type": _part_type(made, key, what), what: "".join(fragments)}
                for (held, _, what), fragments in sorted(self.pieces.items())
                if held == key
            ]
        return made


def _part_type(item: dict[str, object], key: str, what: str) -> str:
    if what == "refusal":
        return "refusal"
    if key == "summary":
        return "summary_text"
    return "reasoning_text" if item.get("type") == "reasoning" else "output_text"


class _Assembly:
    """A stream of events under construction."""

    __slots__ = ("done", "error", "final", "growing", "is_terminated", "response")

    def __init__(self) -> None:
        self.growing: dict[int, _GrowingItem] = {}
        self.done: set[int] = set()
        self.response: dict[str, object] = {}
        self.final: dict[str, object] | None = None
        self.is_terminated = False
        self.error: object = None

    def add(self, event: _Event) -> None:
        kind = event.type
        index = event.output_index or 0
        if kind in _TEXTS:
            held, what = _TEXTS[kind]
            place = (held, event.content_index or event.summary_index or 0, what)
            self._item(index).pieces.setdefault(place, []).append(event.delta or "")
        elif kind in _STRINGS:
            self._item(index).strings.setdefault(_STRINGS[kind], []).append(event.delta or "")
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._item(index).item = event.item or {}
            if kind == "response.output_item.done":
                self.done.add(index)
        elif kind == "response.function_call_arguments.done" and event.arguments is not None:
            self._item(index).strings["arguments"] = [event.arguments]
        elif kind in _TERMINAL:
            self.is_terminated = True
            self.final = event.response
        elif event.response is not None:
            self.response = event.response
        elif kind == "error" or event.error is not None:
            self.error = event.error or {"code": event.code or "error"}

    def _item(self, index: int) -> _GrowingItem:
        found = self.growing.get(index)
        if found is None:
            found = self.growing[index] = _GrowingItem()
        return found

    def body(self) -> dict[str, object]:
        """Return the reply as far as it was told, in the form of a whole one."""
        body = dict(self.final or self.response)
        if self.growing and not items(body.get("output")):
            body["output"] = [
                self.growing[index].built(is_done=index in self.done)
                for index in sorted(self.growing)
            ]
        if self.error is not None:
            body["error"] = self.error
        return body


def read_stream(body: bytes) -> WireReply:
    """Read a stream of events."""
    assembly = _Assembly()
    stream = read_items(body, _decoder, _lenient_event)
    for event in stream.items:
        assembly.add(event)
    whole = assembly.body()
    if not whole:
        return WireReply()
    reply = read_reply(whole)
    if assembly.is_terminated:
        return replace(reply, is_terminated=True, is_pending=False)
    unfinished = {
        _call_key(assembly.growing[index].item)
        for index in assembly.growing
        if index not in assembly.done
    }
    return replace(
        reply,
        requested=tuple(c for c in reply.requested if (c.call_id, c.name) not in unfinished),
        finish_reasons=(),
        is_terminated=False,
        is_pending=whole.get("status") == "queued",
    )


def _call_key(item: dict[str, object]) -> tuple[str | None, str]:
    for part in read_output_parts(item):
        name = getattr(part, "name", None)
        if name is not None:
            return getattr(part, "call_id", None), name
    return None, ""


READER: Final = Reader(
    wire="openai_responses",
    history_key="input",
    read_entry=read_entry,
    read_request=read_request,
    read_reply=read_reply,
    read_stream=read_stream,
)
