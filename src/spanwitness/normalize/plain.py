"""Values of any kind as plain JSON values, and content blocks as the text they carry."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["PlainValue", "plain_value", "unblock"]

_MAX_DEPTH = 64
_MAX_NODES = 100_000
"""Cyclic and huge values end here."""


class PlainValue(NamedTuple):
    """A value of JSON types only."""

    value: object
    is_exact: bool
    """False when some object had no known plain form: another writer may show it otherwise."""


def plain_value(value: object) -> PlainValue:
    """Turn mappings, sequences, dataclasses, models, enums and arrays into plain JSON values."""
    found = _Plain()
    return PlainValue(found.plain(value, 0), found.is_exact)


class _Plain:
    def __init__(self) -> None:
        self.is_exact = True
        self._n = 0

    def plain(self, value: object, depth: int) -> object:
        if value is None or isinstance(value, (str, bool, int, float)):
            return _bare(value)
        self._n += 1
        if depth > _MAX_DEPTH or self._n > _MAX_NODES:
            self.is_exact = False
            return ""
        if isinstance(value, Mapping):
            return {str(k): self.plain(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(item, depth + 1) for item in value]
        return self._object(value, depth)

    def _object(self, value: object, depth: int) -> object:
        dump = getattr(value, "model_dump", None) or getattr(value, "tolist", None)
        if callable(dump):
            return self.plain(dump(), depth + 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return {name: self.plain(getattr(value, name), depth + 1) for name in names}
        self.is_exact = False
        if isinstance(value, enum.Enum):
            return self.plain(value.value, depth + 1)
        if isinstance(value, (set, frozenset)):
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        return str(value)


def _bare(value: object) -> object:
    return value.value if isinstance(value, enum.Enum) else value


def unblock(value: object) -> object:
    """Reduce content blocks and MCP results to what they carry.

    `[{"type": "text", "text": x}]` is x; other blocks beside it are no text and are left out.
    `{"content": [...], "isError": false}` is its content.
    """
    if isinstance(value, Mapping):
        content = value.get("content")
        if isinstance(content, list) and ("isError" in value or "structuredContent" in value):
            return unblock(content)
        if value.get("type") == "text" and isinstance(value.get("text"), str):
            return value["text"]
        return value
    if not isinstance(value, list) or not value:
        return value
    if not all(isinstance(item, Mapping) and isinstance(item.get("type"), str) for item in value):
        return value
    if not any(item["type"] == "text" and isinstance(item.get("text"), str) for item in value):
        return value
    return "\n".join(item["text"] for item in value if item["type"] == "text")
