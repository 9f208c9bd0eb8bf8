"""What a run was asked: the last message of the user before its first reply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.rules.replies import message_text

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts

__all__ = ["question_of", "stands_in"]

_WORD = re.compile(r"[^\W_]+")


def question_of(facts: Facts) -> str | None:
    """Return the question of a run; `None` when it was not recorded."""
    run = facts.run
    for chat in run.chats[:1]:
        for message in reversed(chat.input_messages or ()):
            if message.role == "user":
                text = message_text(message)
                if text.strip():
                    return text
    return run.input_text


def stands_in(words: str, text: str) -> bool:
    """Say whether all words of a name stand in a text, whole, in any order; plurals count."""
    wanted = [_stem(word) for word in _WORD.findall(words.casefold())]
    given = {_stem(word) for word in _WORD.findall(text.casefold())}
    return bool(wanted) and given.issuperset(wanted)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
