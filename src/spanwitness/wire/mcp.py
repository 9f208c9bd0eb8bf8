"""MCP JSON-RPC: listings of tools and results of calls, as results or as whole messages."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spanwitness.model import MediaPart, OpaquePart, TextPart, ToolDefinition
from spanwitness.wire.reading import (
    canonical_json,
    data_media,
    integer,
    is_objects,
    items,
    label,
    linked_media,
    mapping,
    modality_of,
    reference,
    schema,
    text,
)

__all__ = ["ListedTool", "McpListing", "McpResult", "read_listing", "read_result", "text_of"]

Effect: TypeAlias = Literal["read", "write"]


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as an MCP server lists it."""

    definition: ToolDefinition
    effect: Effect | None = None
    """From `readOnlyHint` and `destructiveHint`; `None` when the server says neither."""
    is_idempotent: bool | None = None
    output_schema: dict[str, object] | None = None


class McpListing(msgspec.Struct, frozen=True, kw_only=True):
    """What `tools/list` gave."""

    tools: tuple[ListedTool, ...] | None = None
    """`None` when the listing failed or cannot be read."""
    next_cursor: str | None = None
    """Set when more pages follow."""
    error_type: str | None = None
    """JSON-RPC error code, or `unexpected_body`."""


class McpResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `tools/call` gave."""

    parts: tuple[TextPart | MediaPart | OpaquePart, ...] = ()
    structured: object = None
    """`structuredContent`; `None` when absent."""
    is_error: bool = False
    """The tool failed (`isError`), or the protocol did (`error_type`)."""
    is_empty: bool = False
    """No part with content and no structured content."""
    error_type: str | None = None
    """JSON-RPC error code when the call never became a result, or `unexpected_body`."""


def read_listing(value: object) -> McpListing:
    """Read the result of `tools/list`.

    Args:
        value: The decoded result, or the whole JSON-RPC message around it.
    """
    message = mapping(value)
    failure = _failure(message)
    if failure is not None:
        return McpListing(error_type=failure)
    result = mapping(message.get("result")) or message
    if not is_objects(result.get("tools")):
        return McpListing(error_type="unexpected_body")
    return McpListing(
        tools=tuple(
            tool for one in items(result["tools"]) if (tool := _read_tool(one)) is not None
        ),
        next_cursor=text(_pick(result, "nextCursor", "next_cursor")) or None,
    )


def _failure(message: dict[str, object]) -> str | None:
    error = message.get("error")
    if error is None:
        return None
    code = mapping(error).get("code")
    # JSON-RPC codes are negative, which no other number here is.
    return str(code) if isinstance(code, int) else label(code) or "error"


def _pick(holder: dict[str, object], wire: str, python: str) -> object:
    """Read a field by its name on the wire, or as the Python SDK's dumps spell it."""
    value = holder.get(wire)
    return holder.get(python) if value is None else value


def _read_tool(tool: dict[str, object]) -> ListedTool | None:
    name = text(tool.get("name"))
    if name is None:
        return None
    hints = mapping(tool.get("annotations"))
    idempotent = _pick(hints, "idempotentHint", "idempotent_hint")
    output = schema(_pick(tool, "outputSchema", "output_schema"))
    return ListedTool(
        definition=ToolDefinition(
            name=name, side="mcp", parameters=schema(_pick(tool, "inputSchema", "input_schema"))
        ),
        effect=_effect(hints),
        is_idempotent=idempotent if isinstance(idempotent, bool) else None,
        output_schema=output if isinstance(output, dict) else None,
    )


def _effect(hints: dict[str, object]) -> Effect | None:
    """Read the hints; `destructiveHint` says something only about tools that are not read-only.

    A tool that is said not to be read-only writes, be it destructively or by adding.
    """
    read_only = _pick(hints, "readOnlyHint", "read_only_hint")
    destructive = _pick(hints, "destructiveHint", "destructive_hint")
    if read_only is True:
        return "read"
    if read_only is False or destructive is True:
        return "write"
    return None


def read_result(value: object) -> McpResult:
    """Read the result of `tools/call`.

    Args:
        value: The decoded result, or the whole JSON-RPC message around it.
    """
    message = mapping(value)
    failure = _failure(message)
    if failure is not None:
        return McpResult(is_error=True, error_type=failure)
    result = mapping(message.get("result")) or message
    content = result.get("content")
    structured = _pick(result, "structuredContent", "structured_content")
    if not is_objects(content) and structured is None:
        return McpResult(error_type="unexpected_body")
    parts = tuple(_read_part(part) for part in items(content))
    has_content = any(not isinstance(part, TextPart) or part.text.strip() for part in parts)
    return McpResult(
        parts=parts,
        structured=structured,
        is_error=_pick(result, "isError", "is_error") is True,
        is_empty=not has_content and not _holds_anything(structured),
    )


def _holds_anything(structured: object) -> bool:
    """Say whether structured content holds anything (some servers wrap it in `result`)."""
    if isinstance(structured, dict) and set(structured) == {"result"}:
        structured = structured["result"]
    return structured is not None and structured not in ({}, [], "")


def _read_part(part: dict[str, object]) -> TextPart | MediaPart | OpaquePart:
    kind = text(part.get("type")) or "unknown"
    mime_type = label(_pick(part, "mimeType", "mime_type"))
    match kind:
        case "text" if isinstance(part.get("text"), str):
            return TextPart(text=str(part["text"]))
        case "image" | "audio":
            return data_media(text(part.get("data")) or "", mime_type, kind)
        case "resource":
            return _read_resource(mapping(part.get("resource")))
        case "resource_link":
            size = integer(part.get("size"))
            link = linked_media(part.get("uri"), modality_of(mime_type), mime_type)
            return msgspec.structs.replace(link, size_bytes=size)
        case _:
            return OpaquePart(kind=kind)


def _read_resource(resource: dict[str, object]) -> TextPart | MediaPart | OpaquePart:
    written = text(resource.get("text"))
    if written is not None:
        return TextPart(text=written)
    blob = text(resource.get("blob"))
    if blob is None:
        return OpaquePart(kind="resource")
    mime_type = label(_pick(resource, "mimeType", "mime_type"))
    uri = text(resource.get("uri"))
    media = data_media(blob, mime_type)
    return media if uri is None else msgspec.structs.replace(media, uri=reference(uri))


def text_of(result: McpResult) -> str:
    """Return the result's text parts, one a line, or its structured content as JSON."""
    written = [part.text for part in result.parts if isinstance(part, TextPart)]
    if written or result.structured is None:
        return "\n".join(written)
    return canonical_json(result.structured)
