"""What kinds of content parts a result has; plain values have one, a text."""

from __future__ import annotations

from typing import Final

CONTAINERS: Final = frozenset({str, list, dict, tuple, set, frozenset, bytes})
BUILTIN: Final = frozenset({*CONTAINERS, int, float, bool, type(None)})
_TEXT: Final = ("text",)
_TEXTUAL: Final = frozenset({str, int, float, list})


def own_fields(value: object) -> object:
    """Fields of an instance without running its code; `None` if it has none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def part_types(value: object) -> tuple[str, ...]:
    """Content-part types of an MCP-like result; plain values are one text part."""
    kind = type(value)
    parts: object = None
    if kind is list:
        parts = value
    elif kind is dict:
        parts = value.get("content")  # type: ignore[attr-defined]
    elif kind not in BUILTIN:
        fields = own_fields(value)
        parts = fields.get("content") if isinstance(fields, dict) else None
    if not isinstance(parts, list) or not parts or type(parts[0]) in _TEXTUAL:
        return _TEXT
    types: list[str] = []
    for part in parts[:64]:
        own = part if isinstance(part, dict) else own_fields(part)
        found = own.get("type") if isinstance(own, dict) else None
        if not isinstance(found, str):
            return _TEXT
        types.append("image" if found == "image_url" else found)
    return tuple(types)
