"""Executions of earlier runs of the conversation, which only the history of this run shows.

A chat service is traced turn by turn, and every turn's first request carries the turns before. What
ran then had its answer then: this run may rest on its results, and is not to blame for its outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.model import TextPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import Message
    from spanwitness.rules.facts import Facts

__all__ = ["inherited_calls"]


def inherited_calls(facts: Facts) -> frozenset[str]:
    """Return the ids of calls whose results stood in the history before this run's question.

    They stand in the first request, before its last message of the user, and no reply of the run
    asked for them.
    """
    chats = facts.run.chats
    if not chats or not chats[0].delivered or chats[0].input_messages is None:
        return frozenset()
    before = _before_question(chats[0].input_messages)
    return frozenset(before) - facts.request_of.keys()


def _before_question(messages: Iterable[Message]) -> set[str]:
    found: set[str] = set()
    pending: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.call_id is not None:
                pending.add(part.call_id)
            elif message.role == "user" and isinstance(part, TextPart) and part.text.strip():
                found |= pending
    return found
