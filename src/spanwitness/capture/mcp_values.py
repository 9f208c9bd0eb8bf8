"""Tools and results of MCP, read from the SDK's own objects, whichever of its majors made them."""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spanwitness.capture.content import encode
from spanwitness.capture.marks import Mark, marks
from spanwitness.model import ToolDefinition
from spanwitness.normalize.messages import encode_definitions
from spanwitness.semconv import spanwitness as sw

if TYPE_CHECKING:
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.spans import Attributes

__all__ = [
    "ToolResult",
    "effect_of",
    "read_result",
    "recorded_definitions",
]

_DEFINITIONS_CAP_FACTOR = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a server returned."""

    value: object
    """Plain JSON: the structured content, one text, or the list of blocks (without binary data)."""
    text: str
    """All its text."""
    is_error: bool
    is_empty: bool


def _first(value: object, *names: str) -> Any:
    """Return the first of several attributes that is set: mcp 2 renamed them to snake case."""
    for name in names:
        found = getattr(value, name, None)
        if found is not None:
            return found
    return None


def effect_of(tool: object) -> Literal["read", "write"] | None:
    """Say what a tool's annotations say about its effect; `None` = nothing."""
    hints = getattr(tool, "annotations", None)
    is_read_only = _first(hints, "read_only_hint", "readOnlyHint")
    if is_read_only is None:
        # That it may destroy means that it writes; that it does not says nothing.
        is_destructive = _first(hints, "destructive_hint", "destructiveHint")
        return "write" if is_destructive else None
    return "read" if is_read_only else "write"


def read_result(result: object) -> ToolResult | None:
    """Read a call's result; `None` when it is none (a request for input)."""
    content = getattr(result, "content", None)
    if not isinstance(content, Sequence):
        return None
    texts = [text for block in content if (text := _text(block)) is not None]
    structured = _first(result, "structured_content", "structuredContent")
    value: object
    if structured is not None:
        value = structured
    elif len(texts) == len(content) == 1:
        value = texts[0]
    else:
        value = [_plain(block) for block in content]
    text = "\n".join(texts)
    return ToolResult(
        value=value,
        text=text,
        is_error=bool(_first(result, "is_error", "isError")),
        is_empty=_is_empty(structured, text, has_media=len(texts) < len(content)),
    )


def _is_empty(structured: object, text: str, *, has_media: bool) -> bool:
    if has_media:
        return False
    inner = structured
    if isinstance(inner, Mapping) and set(inner) == {"result"}:
        inner = inner["result"]  # the SDK's server wraps what is no object
    if structured is not None:
        return inner is None or inner in ("", [], {})
    return text.strip() in {"", "[]", "{}", "null"}


def _text(block: object) -> str | None:
    if getattr(block, "type", None) == "resource":
        block = getattr(block, "resource", None)
    text = getattr(block, "text", None)
    return text if isinstance(text, str) else None


def _plain(block: object) -> dict[str, object]:
    text = _text(block)
    kind = str(getattr(block, "type", "unknown"))
    if text is not None:
        return {"type": "text", "text": text}
    mime_type = _first(block, "mime_type", "mimeType")
    uri = getattr(block, "uri", None)
    found: dict[str, object] = {"type": kind, "base64_chars": len(str(getattr(block, "data", "")))}
    if mime_type is not None:
        found["mime_type"] = str(mime_type)
    if uri is not None:
        found["uri"] = str(uri).partition("?")[0]
    return found


def recorded_definitions(tools: Sequence[Any], policy: ContentPolicy) -> Attributes:
    """Return the definitions of listed tools, as far as they fit."""
    definitions = tuple(
        ToolDefinition(
            name=tool.name, side="mcp", parameters=_first(tool, "input_schema", "inputSchema")
        )
        for tool in tools
    )
    shown = json.loads(encode_definitions(definitions))
    encoded = encode(shown, policy, max_chars=policy.max_chars * _DEFINITIONS_CAP_FACTOR)
    if encoded.text is None:
        return {}
    found: Attributes = {sw.TOOLS_CONFIGURED_SCHEMAS: encoded.text}
    return found | marks([Mark(sw.TOOLS_CONFIGURED_SCHEMAS, encoded)])
