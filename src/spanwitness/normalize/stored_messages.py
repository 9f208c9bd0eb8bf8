"""Messages of a stored call, decoded when they are first read.

Requests repeat the whole history: the beginning of each is, byte for byte, an earlier request. So
the part that is known already is not decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, overload

from spanwitness.model import ToolResultPart
from spanwitness.normalize.messages import decode_messages
from spanwitness.normalize.plain_messages import decode_plain

if TYPE_CHECKING:
    from spanwitness.model import Delivery, Message

__all__ = ["History", "Known", "StoredMessages", "decode", "is_whole_list"]

Judge: TypeAlias = Callable[[ToolResultPart], "Delivery"]
_MAX_BYTES_A_CHAR: Final = 4
_MAX_KNOWN: Final = 4
"""Conversations of one trace that may go on side by side."""


def is_whole_list(value: object) -> bool:
    """Say whether an attribute holds a whole list, and not one that a length limit cut."""
    if value is None:
        return False
    if isinstance(value, str):
        return value[:1] in "[{ \n" and value[-4:].rstrip()[-1:] in ("]", "}")
    return isinstance(value, (list, dict))


def decode(value: object) -> tuple[Message, ...]:
    """Decode an attribute that holds messages; the common shape fast, every other one too."""
    if isinstance(value, str):
        found = decode_plain(value)
        if found is not None:
            return found
    return decode_messages(value)


class Known:
    """A list of messages that was decoded, and what is known of the results in it."""

    __slots__ = ("deliveries", "head", "messages", "text")

    def __init__(
        self, text: str, messages: tuple[Message, ...], deliveries: tuple[Delivery, ...]
    ) -> None:
        self.text = text
        self.head = text[:-1]
        """Where a longer history that repeats this one goes on."""
        self.messages = messages
        self.deliveries = deliveries


class History:
    """The requests decoded so far of one trace, to reuse what the next one repeats.

    Args:
        judge: Says what is known of a delivered result; `None` = nobody asks.
    """

    __slots__ = ("_judge", "_known")

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge = judge
        self._known: list[Known] = []

    def read(self, text: str) -> Known:
        """Decode a list of messages."""
        for known in self._known:
            if known.text == text:
                return known
            shared = len(known.head)
            if text.startswith(known.head) and text[shared] == ",":
                fresh = decode(f"[{text[shared + 1 :]}")
                found = Known(text, known.messages + fresh, known.deliveries + self._judged(fresh))
                self._known.remove(known)
                break
        else:
            fresh = decode(text)
            found = Known(text, fresh, self._judged(fresh))
        if text.startswith("[{") and text.endswith("}]"):
            self._known.insert(0, found)
            del self._known[_MAX_KNOWN:]
        return found

    def _judged(self, messages: tuple[Message, ...]) -> tuple[Delivery, ...]:
        judge = self._judge
        if judge is None:
            return ()
        return tuple(
            judge(part)
            for message in messages
            if message.role != "assistant"
            for part in message.parts
            if type(part) is ToolResultPart
        )


class StoredMessages(Sequence["Message"]):
    """A sequence of messages, decoded when it is first looked at; equal to a tuple of them."""

    __slots__ = ("_found", "_history", "_value", "most_bytes")

    def __init__(
        self, value: object, history: History, found: tuple[Message, ...] | None = None
    ) -> None:
        self._value = value
        self._history = history
        self._found = found
        self.most_bytes: int | None = None
        """More bytes than its texts can have, told without decoding; `None` = not known."""
        if isinstance(value, str):
            self.most_bytes = len(value) * (1 if value.isascii() else _MAX_BYTES_A_CHAR)

    def _all(self) -> tuple[Message, ...]:
        found = self._found
        if found is None:
            value = self._value
            if isinstance(value, str):
                found = self._history.read(value).messages
            else:
                found = decode_messages(value)
            self._found = found
            self._value = None
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
