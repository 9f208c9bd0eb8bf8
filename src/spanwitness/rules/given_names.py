"""Whether an identifier stands in what the model had been given, however it is spelled there."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final, Literal

from spanwitness.model import (
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
)
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall, Message
    from spanwitness.rules.facts import Facts

__all__ = ["GivenNames"]


class GivenNames:
    """What the model of a run had been given, call by call.

    What the model itself had written (its replies and calls in this run) is no source; assistant
    messages from before the run are, since who wrote them is not known.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: set[str] = set()
        self._texts: list[str] = []
        self._squeezed: list[str] = []
        self._seen: set[int] = set()
        self._read_to = -1
        self._own: set[str] = set()
        self.reason = ""

    def holds(self, name: str, *, before: int) -> Literal["yes", "no", "unknown"]:
        """Say whether a name stands in what the model had been given.

        Args:
            name: An identifier.
            before: Position in `run.chats` of the reply that used it; its request counts.
        """
        self._read(before)
        if name in self._known:
            return "yes"
        if self._is_held(name):
            self._known.add(name)
            return "yes"
        return "unknown" if self.reason else "no"

    def _is_held(self, name: str) -> bool:
        if any(name in text for text in self._texts):
            return True
        if len(self._squeezed) < len(self._texts):
            self._squeezed += [_squeeze(text) for text in self._texts[len(self._squeezed) :]]
        wanted = _squeeze(name)
        return any(wanted in text for text in self._squeezed)

    def _read(self, to: int) -> None:
        for index in range(self._read_to + 1, to + 1):
            chat = self._facts.run.chats[index]
            self._read_one(chat)
            self._own.update(_written(chat))
        self._read_to = max(self._read_to, to)

    def _read_one(self, chat: ChatCall) -> None:
        if chat.input_messages is None:
            self.reason = self.reason or "the messages of a request are not recorded"
        elif chat.is_truncated:
            self.reason = self.reason or "recorded content was cut"
        if chat.has_server_state:
            self.reason = self.reason or "part of the input is held by the provider"
        for message in chat.input_messages or ():
            if id(message) not in self._seen:
                self._seen.add(id(message))
                for text in self._given_by(message):
                    if text not in self._own:
                        self._texts.append(text)
        for tool in chat.offered or ():
            if id(tool) not in self._seen and tool.parameters:
                self._seen.add(id(tool))
                self._texts.append(as_text(tool.parameters))

    def _given_by(self, message: Message) -> Iterator[str]:
        for part in message.parts:
            if isinstance(part, TextPart):
                yield part.text
            elif isinstance(part, ToolResultPart):
                yield from self._of_result(part)
            elif isinstance(part, (MediaPart, OpaquePart)):
                self.reason = self.reason or "the input holds a part that cannot be read"

    def _of_result(self, part: ToolResultPart) -> Iterator[str]:
        for inner in part.parts:
            if isinstance(inner, TextPart):
                yield inner.text
            else:
                self.reason = self.reason or "a result holds a part that cannot be read"
        if part.value is not None:
            yield as_text(part.value)


def _written(chat: ChatCall) -> Iterator[str]:
    for message in chat.output_messages or ():
        for part in message.parts:
            if isinstance(part, (TextPart, ReasoningPart)) and part.text:
                yield part.text


def _squeeze(text: str) -> str:
    """Keep letters and digits, in one case: `#W 123-4` and `w1234` are the same."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if c.isalnum()) if not folded.isascii() else _ascii(folded)


_DROPPED: Final = dict.fromkeys(c for c in range(128) if not chr(c).isalnum())


def _ascii(text: str) -> str:
    return text.translate(_DROPPED)
