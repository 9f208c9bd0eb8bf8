"""Ids for calls that the provider left without one.

Gemini and some compatible servers send calls and results without ids. The k-th result of a name
then answers the k-th call of that name, so both get the id `<name>#<k>`, counted from the start of
the conversation; the calls of the reply go on where the request's history ends.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from spanwitness.model import Message, Part, ToolCallPart, ToolRequest, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.wire.facts import WireReply, WireRequest

__all__ = ["lack_ids", "number_messages", "number_more", "number_reply"]


def _lacks_id(part: Part) -> bool:
    kind = type(part)  # isinstance with a union costs ten times as much
    return (kind is ToolCallPart or kind is ToolResultPart) and not part.call_id  # type: ignore[union-attr]


def lack_ids(messages: Iterable[Message]) -> bool:
    """Say whether a call or a result among the messages has no id."""
    return any([_lacks_id(part) for message in messages for part in message.parts])  # noqa: C419


def number_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Give ids to the calls and results that have none; the same tuple when all have one."""
    return number_more(messages, Counter(), Counter()) if lack_ids(messages) else messages


def number_more(
    messages: tuple[Message, ...], calls: Counter[str], results: Counter[str]
) -> tuple[Message, ...]:
    """Number the next messages of a conversation.

    Args:
        messages: The messages.
        calls: How many calls without an id stood before them, by name; counted on.
        results: The same of results.
    """
    numbered: list[Message] = []
    for message in messages:
        if not any(map(_lacks_id, message.parts)):
            numbered.append(message)
            continue
        parts: list[Part] = []
        for part in message.parts:
            given = part
            if isinstance(part, ToolCallPart) and not part.call_id:
                calls[part.name] += 1
                given = replace(part, call_id=f"{part.name}#{calls[part.name]}")
            elif isinstance(part, ToolResultPart) and not part.call_id and part.name:
                results[part.name] += 1
                given = replace(part, call_id=f"{part.name}#{results[part.name]}")
            parts.append(given)
        numbered.append(replace(message, parts=tuple(parts)))
    return tuple(numbered)


def number_reply(reply: WireReply, request: WireRequest) -> WireReply:
    """Give ids to the calls of a reply that have none, so that a later history names them alike.

    Args:
        reply: The reply.
        request: The request that it answers, as `Codec.parse_request` read it.
    """
    if not lack_ids(reply.messages):
        return reply
    taken: Counter[str] = Counter()
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart) and _is_given(part):
                taken[part.name] += 1
    numbered: list[Message] = []
    requested: list[ToolRequest] = []
    for message in reply.messages:
        parts: list[Part] = []
        for part in message.parts:
            given = part
            if isinstance(part, ToolCallPart) and not part.call_id:
                taken[part.name] += 1
                given = replace(part, call_id=f"{part.name}#{taken[part.name]}")
            parts.append(given)
        numbered.append(replace(message, parts=tuple(parts)))
    pending = [p for m in numbered for p in m.parts if isinstance(p, ToolCallPart)]
    for call in reply.requested:
        given_call = call
        if not call.call_id:
            for part in pending:
                if part.name == call.name and part.arguments == call.arguments and _is_given(part):
                    given_call = replace(call, call_id=part.call_id)
                    pending.remove(part)
                    break
        requested.append(given_call)
    return replace(reply, messages=tuple(numbered), requested=tuple(requested))


def _is_given(part: ToolCallPart) -> bool:
    return bool(part.call_id) and str(part.call_id).startswith(f"{part.name}#")
