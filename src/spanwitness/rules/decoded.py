"""Results of tools as values, where their text is JSON."""

from __future__ import annotations

import msgspec

__all__ = ["decoded"]

_MAX_CHARS = 300_000
_decode = msgspec.json.decode


def decoded(result: object) -> object:
    """Return the value of a text that is a JSON object or list; all else as it is.

    A text that looks like JSON and is none, or is too large, stays a text.
    """
    if not isinstance(result, str) or len(result) > _MAX_CHARS:
        return result
    text = result.strip()
    if text[:1] not in ("[", "{"):
        return result
    try:
        value: object = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return result
    return value
