"""What a tool returned, by its shape."""

from __future__ import annotations

__all__ = ["holds_only_text"]

_TEXT_BLOCKS = (None, "text")


def holds_only_text(result: object) -> bool:
    """Say whether a result, as returned, holds no content block of another kind than text."""
    if isinstance(result, dict):
        result = result.get("content", result)
    for block in result if isinstance(result, list) else [result]:
        if isinstance(block, dict) and block.get("type") not in _TEXT_BLOCKS:
            return False
    return True
