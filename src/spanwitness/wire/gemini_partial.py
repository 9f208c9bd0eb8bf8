"""Gemini function calls whose arguments arrive in pieces, each with its place in them."""

from __future__ import annotations

import itertools
import re
from typing import Final

from spanwitness.wire.reading import is_objects, items, mapping, text

__all__ = ["PartialCall", "is_partial"]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]")
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")
_MAX_STEPS: Final = 64


def is_partial(call: dict[str, object]) -> bool:
    """Say whether more pieces of this call follow."""
    return call.get("willContinue") is True or call.get("partialArgs") is not None


class PartialCall:
    """One call under construction.

    Args:
        first: Its first piece.
    """

    __slots__ = ("call",)

    def __init__(self, first: dict[str, object]) -> None:
        self.call: dict[str, object] = {
            "id": first.get("id"),
            "name": first.get("name"),
            "args": dict(mapping(first.get("args"))),
        }

    def add(self, piece: dict[str, object]) -> bool:
        """Take the next piece; `False` when it was the last."""
        for one in items(piece.get("partialArgs")):
            path = text(one.get("jsonPath"))
            value = next((one[key] for key in _VALUES if key in one), None)
            if path is not None:
                _put(mapping(self.call["args"]), path, value)
        return piece.get("willContinue") is True


def _put(args: dict[str, object], path: str, value: object) -> None:
    """Put a value at a JSON path such as `$.a.b[0]`; text goes on where text stands already."""
    steps: list[str | int] = [
        int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)
    ][:_MAX_STEPS]
    holder: object = args
    for step, following in itertools.pairwise(steps):
        holder = _enter(holder, step, [] if isinstance(following, int) else {})
    if not steps:
        return
    last = steps[-1]
    if isinstance(holder, dict) and isinstance(last, str):
        before = holder.get(last)
        is_text = isinstance(before, str) and isinstance(value, str)
        holder[last] = f"{before}{value}" if is_text else value
    elif is_objects(holder) and isinstance(last, int):
        if last < len(holder):
            before = holder[last]
            is_text = isinstance(before, str) and isinstance(value, str)
            holder[last] = f"{before}{value}" if is_text else value
        else:
            holder.append(value)


def _enter(holder: object, step: str | int, empty: object) -> object:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, empty)
    if is_objects(holder) and isinstance(step, int):
        if step >= len(holder):
            holder.append(empty)
        return holder[min(step, len(holder) - 1)]
    return None
