"""A tool that keeps its content in keeps it out of the model's messages as well.

Its arguments stand in the model's replies and in every later request, its results in the requests:
what its own span does not say, the chat spans must not say for it.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.model import Message, OpaquePart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.model.message import Part

__all__ = ["declare", "names", "withhold"]

_WITHHELD: Final = (OpaquePart(kind="withheld"),)
_declared: frozenset[str] = frozenset()
"""Tools whose decorator keeps content in."""


def declare(name: str, content: ContentPolicy | ContentMode | None) -> None:
    """Note what a tool's decorator says about its content.

    Tools are known to the model by name only: of several with one name, one that keeps its content
    in decides for all.
    """
    global _declared  # noqa: PLW0603
    if content is None or content == "on":
        return
    if isinstance(content, str) or not content.is_on or content.redact is not None:
        _declared |= {name}


def names(policy: ContentPolicy) -> frozenset[str]:
    """Return the tools whose content stays in where the policy lets content leave.

    A tool with a redaction of its own is one: chat spans do not know what it would take out.
    """
    if not policy.tools:
        return _declared
    given = {name: policy.for_tool(name) for name in policy.tools}
    kept = {name for name, own in given.items() if not own.is_on or own.redact is not policy.redact}
    return _declared | kept


def withhold(
    messages: tuple[Message, ...], tools: Collection[str], name_of: Callable[[str], str | None]
) -> tuple[Message, ...]:
    """Return messages without the arguments and results of some tools.

    Args:
        messages: The messages of one request or reply, in order.
        tools: Names of the tools.
        name_of: Returns the tool that a call id belongs to, where the messages do not say; a
            result that nobody can place is withheld.
    """
    if not tools:
        return messages
    known: dict[str, str] = {}

    def shown(part: Part) -> Part:
        if isinstance(part, ToolCallPart):
            if part.call_id is not None:
                known[part.call_id] = part.name
            return _replaced(part, arguments=None) if part.name in tools else part
        if isinstance(part, ToolResultPart):
            name = part.name
            if name is None and part.call_id is not None:
                name = known.get(part.call_id) or name_of(part.call_id)
            if name is None or name in tools:
                return _replaced(part, parts=_WITHHELD, value=None)
        return part

    made: list[Message] = []
    for message in messages:
        parts = tuple(map(shown, message.parts))
        is_same = all(map(is_, parts, message.parts))
        made.append(message if is_same else _replaced(message, parts=parts))
    return tuple(made)


_replaced = msgspec.structs.replace
