"""Reading attributes whose type is not what it should be, as other writers leave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from spanwitness.normalize.plain import plain_value

__all__ = ["Attributes", "as_json", "decoded", "flag", "integer", "text", "texts"]

Attributes: TypeAlias = Mapping[str, object]
_decode = msgspec.json.decode


def text(value: object) -> str | None:
    """Return a text; an empty one is none."""
    return value if type(value) is str and value else None


def integer(value: object) -> int | None:
    """Return a count, also one written as a float or as text."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return int(value)
    return None


def flag(value: object) -> bool | None:
    """Return a boolean, also one written as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return None


def texts(value: object) -> tuple[str, ...] | None:
    """Return a list of texts, also one that stands as JSON in a text, or a text alone."""
    if isinstance(value, str):
        inner = decoded(value) if value.startswith("[") else value
        value = inner if isinstance(inner, list) else [value]
    if isinstance(value, (list, tuple)):
        return tuple(map(str, value))
    return None


def decoded(value: object) -> object:
    """Return what a text of JSON holds; a text that is no JSON, and all else, as it is."""
    if isinstance(value, str):
        try:
            return _decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return value
    return value if value is None else plain_value(value).value


def as_json(value: object) -> str:
    """Return a value of attributes as JSON text."""
    return msgspec.json.encode(plain_value(value).value).decode()
