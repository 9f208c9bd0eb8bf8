"""The content blocks of Anthropic Messages, in requests and replies alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
)
from spanwitness.wire.codec import Entry
from spanwitness.wire.openai_tools import read_mcp_listing
from spanwitness.wire.reading import (
    arguments,
    canonical_json,
    data_media,
    is_objects,
    items,
    label,
    linked_media,
    mapping,
    schema,
    signature,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.model.calls import Side

__all__ = ["read_blocks", "read_entry"]


def read_entry(item: object) -> Entry:
    """Read one message of a request."""
    if not isinstance(item, dict):
        return Entry(message=Message(role="unknown", parts=(OpaquePart(kind="unreadable"),)))
    role = text(item.get("role")) or "unknown"
    content = item.get("content")
    if isinstance(content, str):
        return Entry(message=Message(role=role, parts=(TextPart(text=content),)))
    parts = read_blocks(content)
    if role == "user" and parts and all(isinstance(part, ToolResultPart) for part in parts):
        role = "tool"
    message = Message(role=role, parts=tuple(parts))
    offered, withdrawn = _tool_changes(content)
    return Entry(message=message, offered=offered, withdrawn=withdrawn)


def _tool_changes(content: object) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    offered: list[ToolDefinition] = []
    withdrawn: list[str] = []
    for block in items(content):
        kind = text(block.get("type"))
        if kind == "mcp_tool_listing":
            offered.extend(read_mcp_listing(block.get("tools")))
        elif kind in {"tool_addition", "tool_removal"}:
            tool = mapping(block.get("tool"))
            definition = mapping(tool.get("definition")) or tool
            name = text(definition.get("name"))
            if name is None:
                continue
            if kind == "tool_removal":
                withdrawn.append(name)
            else:
                parameters = schema(definition.get("input_schema"))
                side: Side = "mcp" if tool.get("type") == "mcp_tool_reference" else "client"
                offered.append(ToolDefinition(name=name, side=side, parameters=parameters))
    return tuple(offered), tuple(withdrawn)


def read_blocks(content: object) -> list[Part]:
    """Read a message's content, a string or an array of blocks."""
    if isinstance(content, str):
        return [TextPart(text=content)]
    if content is None:
        return []
    if not is_objects(content):
        return [OpaquePart(kind="unreadable")]
    parts: list[Part] = []
    for block in content:
        if isinstance(block, dict):
            if text(block.get("type")) not in _CHANGES:
                parts.append(_read_block(block))
        elif isinstance(block, str):
            parts.append(TextPart(text=block))
        else:
            parts.append(OpaquePart(kind="unreadable"))
    return parts


_CHANGES: Final = frozenset({"tool_addition", "tool_removal", "mcp_tool_listing"})


def _read_block(block: dict[str, object]) -> Part:
    kind = text(block.get("type")) or "unknown"
    read = _READERS.get(kind)
    if read is not None:
        return read(block)
    if kind.endswith("_tool_result"):
        return _read_hosted_result(block, kind)
    return OpaquePart(kind=kind)


def _read_text(block: dict[str, object]) -> Part:
    written = text(block.get("text"))
    return OpaquePart(kind="text") if written is None else TextPart(text=written)


def _read_thinking(block: dict[str, object]) -> Part:
    return ReasoningPart(
        text=text(block.get("thinking")), signature_digest=signature(block.get("signature"))
    )


def _read_redacted(block: dict[str, object]) -> Part:
    return ReasoningPart(signature_digest=signature(block.get("data")))


def _read_call(block: dict[str, object]) -> Part:
    return ToolCallPart(
        name=text(block.get("name")) or "",
        call_id=text(block.get("id")) or None,
        arguments=arguments(block.get("input")),
    )


def _read_server_call(block: dict[str, object]) -> Part:
    return ToolCallPart(
        name=text(block.get("name")) or "",
        call_id=text(block.get("id")) or None,
        arguments=arguments(block.get("input")),
        side="mcp" if block.get("type") == "mcp_tool_use" else "provider",
    )


def _read_image(block: dict[str, object]) -> Part:
    return _read_source(mapping(block.get("source")), "image")


def _read_document(block: dict[str, object]) -> Part:
    """Read a document; plain text stays text, since the model reads it as such."""
    source = mapping(block.get("source"))
    kind = source.get("type")
    if kind == "text" and isinstance(source.get("data"), str):
        return TextPart(text=str(source["data"]))
    if kind == "content":
        inner = source.get("content")
        pieces = [inner] if isinstance(inner, str) else _texts_in(inner)
        if len(pieces) == 1 or not is_objects(inner) or len(pieces) == len(inner):
            return TextPart(text="\n".join(pieces))
        return OpaquePart(kind="document")
    return _read_source(source, "document")


def _texts_in(content: object) -> list[str]:
    return [found for one in items(content) if (found := text(one.get("text"))) is not None]


def _read_source(source: dict[str, object], modality: str) -> MediaPart:
    data = text(source.get("data"))
    mime_type = label(source.get("media_type"))
    if data is not None:
        return data_media(data, mime_type, modality)
    return linked_media(source.get("url") or source.get("file_id"), modality, mime_type)


def _read_search_result(block: dict[str, object]) -> Part:
    head = [word for key in ("title", "source") if (word := text(block.get(key)))]
    return TextPart(text="\n".join([*head, *_texts_in(block.get("content"))]))


def _read_result(block: dict[str, object]) -> Part:
    is_error = block.get("is_error")
    parts = [
        part
        for part in read_blocks(block.get("content"))
        if isinstance(part, TextPart | MediaPart | OpaquePart)
    ]
    return ToolResultPart(
        call_id=text(block.get("tool_use_id")) or None,
        parts=tuple(parts),
        # Left out means false.
        is_error=is_error if isinstance(is_error, bool) else False,
    )


def _read_hosted_result(block: dict[str, object], kind: str) -> Part:
    """Read what a tool of the provider's gave: text where it can be read, else opaque."""
    content = block.get("content")
    found: list[TextPart | MediaPart | OpaquePart] = []
    is_error = False
    for piece in items(content if is_objects(content) else [content]):
        piece_kind = text(piece.get("type")) or "unknown"
        if piece_kind.endswith("_error"):
            is_error = True
            found.append(TextPart(text=label(piece.get("error_code")) or piece_kind))
        else:
            found.append(_read_hosted_piece(piece, piece_kind))
    return ToolResultPart(
        call_id=text(block.get("tool_use_id")) or None,
        name=kind.removesuffix("_tool_result"),
        parts=tuple(found),
        is_error=is_error,
    )


def _read_hosted_piece(piece: dict[str, object], kind: str) -> TextPart | MediaPart | OpaquePart:
    if kind == "web_search_result":
        # The page itself is encrypted; its title and address can be read.
        return TextPart(
            text="\n".join(filter(None, (text(piece.get("title")), text(piece.get("url")))))
        )
    if kind == "web_fetch_result":
        document = _read_document(mapping(piece.get("content")))
        return document if isinstance(document, TextPart | MediaPart) else OpaquePart(kind=kind)
    if "stdout" in piece or "stderr" in piece:
        output = [text(piece.get("stdout")), text(piece.get("stderr"))]
        return TextPart(text="\n".join(filter(None, output)))
    if kind == "tool_search_tool_search_result":
        names = [text(one.get("tool_name")) for one in items(piece.get("tool_references"))]
        return TextPart(text=canonical_json(names))
    written = text(piece.get("text"))
    return OpaquePart(kind=kind) if written is None else TextPart(text=written)


_READERS: Final[dict[str, Callable[[dict[str, object]], Part]]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "tool_use": _read_call,
    "server_tool_use": _read_server_call,
    "mcp_tool_use": _read_server_call,
    "tool_result": _read_result,
    "mcp_tool_result": _read_result,
    "image": _read_image,
    "document": _read_document,
    "search_result": _read_search_result,
}
