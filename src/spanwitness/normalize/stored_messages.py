"""Messages of a stored call, decoded when they are first read.

Requests repeat the whole history: the beginning of each is, byte for byte, the request before. So
the part that is known already is not decoded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from spanwitness.normalize.messages import decode_instructions, decode_messages

if TYPE_CHECKING:
    from spanwitness.model import Message

__all__ = ["History", "StoredMessages", "is_whole_list"]


def is_whole_list(value: object) -> bool:
    """Say whether an attribute holds a whole list, and not one that a length limit cut."""
    if isinstance(value, str):
        return value[:1] in "[{ \n" and value.rstrip()[-1:] in ("]", "}")
    return isinstance(value, (list, dict))


class History:
    """The longest request decoded so far of one trace, to reuse what the next one repeats."""

    __slots__ = ("_messages", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._messages: tuple[Message, ...] = ()

    def decode(self, text: str) -> tuple[Message, ...]:
        """Decode a list of messages."""
        known = self._text
        if len(known) > 2 and text.startswith(known[:-1]):
            rest = text[len(known) - 1 :]
            if rest == "]":
                return self._messages
            after = rest.lstrip()
            if after.startswith(","):
                messages = self._messages + decode_messages(f"[{after[1:]}")
                self._keep(text, messages)
                return messages
        messages = decode_messages(text)
        self._keep(text, messages)
        return messages

    def _keep(self, text: str, messages: tuple[Message, ...]) -> None:
        if text.startswith("[{") and text.endswith("}]"):
            self._text, self._messages = text, messages


class StoredMessages(Sequence["Message"]):
    """A sequence of messages, decoded when it is first looked at; equal to a tuple of them."""

    __slots__ = ("_found", "_history", "_instructions", "_value")

    def __init__(self, value: object, history: History, instructions: object = None) -> None:
        self._value = value
        self._history = history
        self._instructions = instructions
        self._found: tuple[Message, ...] | None = None

    def _all(self) -> tuple[Message, ...]:
        found = self._found
        if found is None:
            value = self._value
            if isinstance(value, str):
                found = self._history.decode(value)
            else:
                found = () if value is None else decode_messages(value)
            if self._instructions is not None:
                found = (decode_instructions(self._instructions), *found)
            self._found = found
            self._value = self._instructions = None
        return found

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Message]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StoredMessages):
            return self._all() == other._all()
        return isinstance(other, tuple) and self._all() == other

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())
