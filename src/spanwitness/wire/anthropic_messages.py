"""Anthropic Messages: requests, replies and event streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.model import (
    Message,
    OutputFormat,
    RefusalPart,
    ToolChoice,
    ToolDefinition,
    Usage,
)
from spanwitness.wire import anthropic_stream
from spanwitness.wire.anthropic_blocks import read_blocks, read_entry
from spanwitness.wire.codec import Entry, Reader
from spanwitness.wire.facts import WireReply, WireRequest, requests_in
from spanwitness.wire.openai_tools import AUTO, PLAIN_TEXT, schema_format
from spanwitness.wire.reading import (
    error_word,
    integer,
    is_objects,
    items,
    label,
    mapping,
    number,
    schema,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model.calls import Side

__all__ = ["READER"]

_PROVIDER_RUN: Final = (
    "web_search_",
    "web_fetch_",
    "code_execution_",
    "tool_search_tool_",
    "advisor_",
)
"""Beginnings of the types of tools that the provider runs; other typed tools are the caller's."""

_POINTER: Final = (
    "double_click hold_key key left_click left_click_drag left_mouse_down left_mouse_up "
    "middle_click mouse_move right_click screenshot scroll triple_click type wait zoom"
)
_MEMBERS: Final = {
    "computer": f"{_POINTER} cursor_position",
    "browser": f"{_POINTER} close_tab file_upload find form_input get_page_text hover list_tabs "
    "javascript_exec navigate new_tab read_console read_network read_page scroll_to switch_tab",
}


def read_request(body: dict[str, object], entries: Sequence[Entry]) -> WireRequest:
    """Read a request body."""
    thinking = mapping(body.get("thinking"))
    config = mapping(body.get("output_config"))
    mode = label(config.get("effort")) or label(thinking.get("budget_tokens"))
    # A container or a thread holds earlier turns' work on the provider's side.
    keeps_state = isinstance(body.get("container"), str) or isinstance(
        mapping(body.get("container")).get("id"), str
    )
    edits = items(mapping(body.get("context_management")).get("edits"))
    return WireRequest(
        wire="anthropic_messages",
        model=text(body.get("model")),
        is_streaming=body.get("stream") is True,
        messages=_messages(body.get("system"), entries),
        offered=_offered(body, entries),
        tool_choice=_tool_choice(body.get("tool_choice")),
        output_format=_format(config.get("format") or body.get("output_format")),
        max_tokens=integer(body.get("max_tokens")),
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        reasoning_mode=mode or label(thinking.get("type")),
        has_server_state=keeps_state
        or bool(edits)
        or body.get("thread") is not None
        or any(entry.has_server_state for entry in entries),
    )


def _messages(system: object, entries: Sequence[Entry]) -> tuple[Message, ...]:
    history = tuple(entry.message for entry in entries if entry.message is not None)
    if system is None:
        return history
    return (Message(role="system", parts=tuple(read_blocks(system))), *history)


def _offered(body: dict[str, object], entries: Sequence[Entry]) -> tuple[ToolDefinition, ...]:
    offered: dict[str, ToolDefinition] = {}
    toolsets: set[str | None] = set()
    for tool in items(body.get("tools")):
        if tool.get("type") == "mcp_toolset":
            toolsets.add(text(tool.get("mcp_server_name")))
        for definition in read_definition(tool):
            offered[definition.name] = definition
    for server in items(body.get("mcp_servers")):
        name = text(server.get("name"))
        config = mapping(server.get("tool_configuration"))
        if name not in toolsets and config.get("enabled") is not False:
            for definition in _server_tools(name, config.get("allowed_tools")):
                offered[definition.name] = definition
    for entry in entries:
        for definition in entry.offered:
            offered[definition.name] = definition
        for withdrawn in entry.withdrawn:
            offered.pop(withdrawn, None)
    return tuple(offered.values())


def read_definition(tool: dict[str, object]) -> tuple[ToolDefinition, ...]:
    """Read one entry of `tools`."""
    kind = text(tool.get("type"))
    name = text(tool.get("name"))
    is_deferred = tool.get("defer_loading") is True
    if kind == "mcp_toolset":
        return _toolset(tool)
    if kind is not None and "_toolset_" in kind and name is None:
        return _member_tools(tool, kind.partition("_toolset_")[0])
    if name is None:
        name = kind
    if name is None:
        return ()
    side: Side = "client"
    if kind is not None and kind.startswith(_PROVIDER_RUN):
        side = "provider"
    return (
        ToolDefinition(
            name=name,
            side=side,
            parameters=schema(tool.get("input_schema")),
            is_deferred=is_deferred,
        ),
    )


def _member_tools(tool: dict[str, object], toolset: str) -> tuple[ToolDefinition, ...]:
    """Read a toolset of the caller's; its members are called by their own names."""
    configs = mapping(tool.get("configs"))
    names = dict.fromkeys([*_MEMBERS.get(toolset, "").split(), *configs])
    return tuple(
        ToolDefinition(name=name)
        for name in names or (toolset,)
        if mapping(configs.get(name)).get("enabled") is not False
    )


def _toolset(tool: dict[str, object]) -> tuple[ToolDefinition, ...]:
    """Read the tools of an MCP server: those listed, those configured by name, else the server."""
    server = text(tool.get("mcp_server_name"))
    default = mapping(tool.get("default_config"))
    configs = {
        name: {**default, **mapping(config)}
        for name, config in mapping(tool.get("configs")).items()
    }
    listed = {
        str(one["name"]): schema(one.get("input_schema") or one.get("inputSchema"))
        for one in items(tool.get("tools"))
        if isinstance(one.get("name"), str)
    }
    found = [
        ToolDefinition(
            name=name,
            side="mcp",
            parameters=listed.get(name),
            is_deferred=configs.get(name, default).get("defer_loading") is True,
        )
        for name in dict.fromkeys([*listed, *configs])
        if configs.get(name, default).get("enabled") is not False
    ]
    if listed or default.get("enabled") is False:
        return tuple(found)
    # Tools that are not configured by name are offered too, unseen.
    return (*found, *_server_tools(server, None, is_deferred=default.get("defer_loading") is True))


def _server_tools(
    server: str | None, allowed: object, *, is_deferred: bool = False
) -> tuple[ToolDefinition, ...]:
    names = [name for name in allowed if isinstance(name, str)] if is_objects(allowed) else []
    return tuple(
        ToolDefinition(name=name, side="mcp", is_deferred=is_deferred)
        for name in names or [f"mcp:{server or 'unnamed'}"]
    )


def _tool_choice(choice: object) -> ToolChoice:
    given = mapping(choice)
    kind = text(given.get("type"))
    name = text(given.get("name"))
    if kind == "any":
        return ToolChoice(mode="required")
    if kind == "none":
        return ToolChoice(mode="none")
    if kind == "tool" and name is not None:
        return ToolChoice(mode="named", names=(name,))
    return AUTO


def _format(form: object) -> OutputFormat:
    given = mapping(form)
    return schema_format(given.get("schema")) if given.get("type") == "json_schema" else PLAIN_TEXT


def read_reply(body: object) -> WireReply:
    """Read a whole reply."""
    if not isinstance(body, dict):
        return WireReply(error_type="unexpected_body", is_terminated=True)
    is_message = "content" in body
    reason = label(body.get("stop_reason"))
    messages: tuple[Message, ...] = ()
    if is_message:
        parts = tuple(read_blocks(body.get("content")))
        messages = (Message(role="assistant", parts=parts, finish_reason=reason),)
    return WireReply(
        response_id=text(body.get("id")),
        model=text(body.get("model")),
        messages=messages,
        requested=requests_in(messages),
        finish_reasons=(reason,) if reason is not None else (),
        usage=read_usage(mapping(body.get("usage"))),
        has_refusal=reason == "refusal"
        or any(isinstance(part, RefusalPart) for message in messages for part in message.parts),
        is_terminated=True,
        error_type=None if is_message and body.get("error") is None else error_word(body),
    )


def read_usage(counts: dict[str, object]) -> Usage:
    """Read token counts; the input is the sum of what was read fresh, from and into the cache."""
    fresh = integer(counts.get("input_tokens"))
    read = integer(counts.get("cache_read_input_tokens"))
    written = integer(counts.get("cache_creation_input_tokens"))
    known = [count for count in (fresh, read, written) if count is not None]
    return Usage(
        input_tokens=sum(known) if known else None,
        output_tokens=integer(counts.get("output_tokens")),
        cached_input_tokens=read,
        reasoning_tokens=integer(
            mapping(counts.get("output_tokens_details")).get("thinking_tokens")
        ),
    )


def read_stream(body: bytes) -> WireReply:
    """Read a stream of events."""
    return anthropic_stream.finish(anthropic_stream.collect(body), read_reply)


READER: Final = Reader(
    wire="anthropic_messages",
    history_key="messages",
    read_entry=read_entry,
    read_request=read_request,
    read_reply=read_reply,
    read_stream=read_stream,
)
