"""What a reply states, and how much of it no input part of its request holds.

"Input" is every part of every request: system text, history, results, the output schema, the tool
definitions. A part that cannot be read (an image, a file id, state kept by the provider) may hold
anything, so nothing can be called unseen then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import (
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.normalize.values import find_values, unseen
from spanwitness.rules.attributing import attributes
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.wording import as_text, json_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall, Part

_CITES = (
    "page:",
    "section:",
    "table:",
    "figure:",
    "chapter:",
    "appendix:",
    "file:",
    "url:",
    "quote:",
)
_IDENTIFIER = re.compile(r"(?=\D*\d)[^\W\d_][\w.\-/:@#]{4,79}\Z")
_FEWEST_WORDS = 5
"""Words of a quotation that may be given for evidence."""
_LONG_INPUT = 400
"""Characters of input above which an empty answer may well be drawn from the input itself."""


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """What one reply states that its request does not hold; counts are `None` when not known."""

    n_values: int | None = None
    n_unseen: int | None = None
    cited: tuple[str, ...] | None = None
    """Kinds of sources it cites that no input holds (`page`, `quote`); `None` = not known."""
    is_empty_form: bool = False
    """JSON without any content: it says that nothing was found, without a look."""
    is_counted_only: bool = False
    """The reply was not recorded, only its values counted: names and empty forms were not seen."""
    reason: str = ""
    """Why something is not known (one sentence)."""

    @property
    def has_unseen(self) -> bool:
        """Whether it states something that no input holds."""
        return bool(self.n_unseen) or bool(self.cited)


def stated(chat: ChatCall) -> Stated:
    """Return what a reply states beyond its input.

    Counts that were taken when the call was made are used where they are recorded: they saw the
    whole request, also with content off.
    """
    hidden = _hidden(chat)
    texts = _texts_of_reply(chat)
    if texts is None:
        return _from_counts(chat, hidden)
    answer = "\n".join(texts)
    if hidden is not None:
        n_values = len(find_values(answer))
        if n_values == 0 and not any(_identifiers(text) for text in texts):
            return Stated(n_values=0, n_unseen=0, cited=())
        return Stated(n_values=n_values, reason=hidden)
    inputs = list(input_texts(chat))
    found = [unseen(text, inputs) for text in texts if text]
    n_values = sum(each.n_values for each in found)
    n_unseen = sum(each.n_values_unseen for each in found)
    if n_unseen == 0:
        n_unseen = _n_unseen_identifiers(texts, inputs)
        n_values += n_unseen
    return Stated(
        n_values=n_values,
        n_unseen=n_unseen,
        cited=_unseen_sources(texts, inputs) if n_unseen else (),
        is_empty_form=_is_empty_form(texts) and sum(map(len, inputs)) < _LONG_INPUT,
    )


def input_texts(chat: ChatCall) -> Iterator[str]:
    """Yield every text of a request, the output schema and the tool definitions included."""
    for message in chat.input_messages or ():
        for part in message.parts:
            yield from _texts_of_part(part)
    if chat.output_format is not None and chat.output_format.schema is not None:
        yield as_text(chat.output_format.schema)
    for tool in chat.offered or ():
        if tool.parameters:
            yield as_text(tool.parameters)


def _texts_of_part(part: Part) -> Iterator[str]:
    if isinstance(part, TextPart):
        yield part.text
    elif isinstance(part, ReasoningPart):
        if part.text:
            yield part.text
    elif isinstance(part, ToolCallPart):
        if part.arguments is not None:
            yield as_text(part.arguments)
    elif isinstance(part, ToolResultPart):
        for inner in part.parts:
            if isinstance(inner, TextPart):
                yield inner.text
        if part.value is not None:
            yield as_text(part.value)


def _texts_of_reply(chat: ChatCall) -> list[str] | None:
    """Return visible texts and the arguments of output tools; `None` when not recorded."""
    texts = reply_texts(chat)
    if texts is None:
        return None
    found = list(texts)
    found.extend(
        as_text(call.arguments)
        for call in chat.requested or ()
        if call.source == "structured" and call.arguments is not None
    )
    return found


def _hidden(chat: ChatCall) -> str | None:
    if chat.has_server_state:
        return "part of the input is held by the provider"
    if chat.n_values_unseen is None and chat.is_truncated:
        return "recorded content was cut"
    for message in chat.input_messages or ():
        for part in message.parts:
            if isinstance(part, (MediaPart, OpaquePart)):
                return "the input holds a part that cannot be read"
            if isinstance(part, ToolResultPart) and any(
                isinstance(inner, (MediaPart, OpaquePart)) for inner in part.parts
            ):
                return "a result holds a part that cannot be read"
    if chat.input_messages is None and chat.n_values_unseen is None:
        return "the input was not recorded"
    return None


def _from_counts(chat: ChatCall, hidden: str | None) -> Stated:
    if chat.n_values == 0:
        return Stated(n_values=0, n_unseen=0, cited=(), is_counted_only=True)
    if hidden is not None or chat.n_values_unseen is None:
        return Stated(n_values=chat.n_values, reason=hidden or "the reply was not recorded")
    return Stated(
        n_values=chat.n_values,
        n_unseen=chat.n_values_unseen,
        cited=() if chat.n_values_unseen == 0 else None,
        is_counted_only=True,
        reason="" if chat.n_values_unseen == 0 else "the reply was not recorded",
    )


def _unseen_sources(texts: list[str], inputs: list[str]) -> tuple[str, ...]:
    kinds: set[str] = set()
    for text in texts:
        for value in find_values(text):
            kind, _, content = value.partition(":")
            if kind == "quote" and (len(content.split()) < _FEWEST_WORDS or not attributes(text)):
                continue  # a title, an option, a word that is spoken of, what somebody says
            if value.startswith(_CITES):
                asked = f'"{content}"' if kind == "quote" else f"{kind} {content}"
                if unseen(asked, inputs).n_values_unseen:
                    kinds.add(kind)
    return tuple(sorted(kinds))


def _n_unseen_identifiers(texts: list[str], inputs: list[str]) -> int:
    wanted = {found for text in texts for found in _identifiers(text)}
    if not wanted:
        return 0
    given = "\n".join(inputs).casefold()
    return sum(identifier.casefold() not in given for identifier in wanted)


def _identifiers(text: str) -> list[str]:
    """Return leaves of a JSON answer that name one thing and no other, such as `my_repo_1`."""
    leaves = json_leaves(text)
    return [x for x in leaves or () if isinstance(x, str) and _IDENTIFIER.match(x)]


def _is_empty_form(texts: list[str]) -> bool:
    return len(texts) == 1 and json_leaves(texts[0]) == []
