"""What a tool gave back: value, empty, or an error that was returned instead of raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanwitness.capture.content import exception_text
from spanwitness.capture.context import Board, Returned, boards
from spanwitness.capture.result_parts import BUILTIN, CONTAINERS, own_fields, part_types

if TYPE_CHECKING:
    from spanwitness.capture.content import Encoded

Outcome: TypeAlias = Literal["value", "error", "empty", "cached", "cancelled"]

_MAX_HELD_CHARS: Final = 65_536
NUMBERS: Final = frozenset({int, float, bool})


def is_empty(value: object) -> bool:
    """Say whether a result holds nothing: `None`, `""`, `[]`, `{}`; 0 and False are values."""
    return value is None or (type(value) in CONTAINERS and not value)


def is_plain_value(value: object) -> bool:
    """Say at a glance that a result is a value: not empty, no error; `False` = look closer."""
    kind = type(value)
    if kind is dict:
        return bool(value) and "isError" not in value and "is_error" not in value  # type: ignore[operator]
    return kind in BUILTIN and (bool(value) or kind in NUMBERS)


def is_cancel(error: BaseException) -> bool:
    """Say whether this is an interruption (cancelled, Ctrl-C, exit) and no fault of the tool."""
    return not isinstance(error, Exception)


def returned_error(value: object) -> str | None:
    """Return the text of an error that stands in a result, or `None`.

    An exception object is one, and an MCP result (or a mapping like it) that says `isError: true`.
    Everything else needs the decorator's `error_when`.
    """
    kind = type(value)
    if kind is not dict and kind in BUILTIN:
        return None
    if isinstance(value, BaseException):
        return exception_text(value)
    fields = value if kind is dict else own_fields(value)
    if isinstance(fields, dict) and (
        fields.get("isError") is True or fields.get("is_error") is True
    ):
        return _text_of(fields.get("content"))
    return None


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = []
        for part in content:
            fields = part if isinstance(part, dict) else own_fields(part)
            text = fields.get("text") if isinstance(fields, dict) else None
            if isinstance(text, str):
                texts.append(text)
        return "\n".join(texts)
    return ""


def hold(
    board: Board | None, call_id: str, name: str, value: object, encoded: Encoded, outcome: Outcome
) -> None:
    """Hold a result, bounded, until a request delivers it.

    Args:
        board: Where the call was asked for; `None` = the first board that knows it.
        call_id: The model's call.
        name: The tool.
        value: What was returned.
        encoded: The same, made ready to leave; held instead of a value that is too large.
        outcome: How the call ended.
    """
    if board is None:
        board = next((b for b in boards() if b.knows(call_id)), None)
        if board is None:
            return
    types = part_types(value)  # of all that was returned: a cut text shows no image
    size = encoded.chars
    is_cut = False
    if type(value) is str:
        size = len(value)
        if size > _MAX_HELD_CHARS:
            value, is_cut, size = value[:_MAX_HELD_CHARS], True, _MAX_HELD_CHARS
    elif size < 0 or size > _MAX_HELD_CHARS:
        value, is_cut, size = encoded.text, True, _MAX_HELD_CHARS
    board.hold(
        call_id,
        Returned(
            name=name,
            value=value,
            part_types=types,
            is_error=outcome == "error",
            is_empty=outcome == "empty",
            is_cut=is_cut,
            size_chars=size,
        ),
    )
