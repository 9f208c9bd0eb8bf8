"""Delivery states where the trace states none: what tools returned, against what requests hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import ToolResultPart
from spanwitness.normalize.delivery import compare
from spanwitness.normalize.otel_genai import result_text

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Delivery, ToolCall
    from spanwitness.model.calls import DeliveryState

__all__ = ["with_delivery_states"]


def with_delivery_states(chats: list[ChatCall], tools: list[ToolCall]) -> list[ChatCall]:
    """Fill in the state of delivered results whose return was seen by a tool span.

    Calls that state their deliveries themselves (ours do, compared live) are left as they are. A
    result is compared where it first stands; in later requests again only when it looks different.
    """
    returned = {
        tool.call_id: tool
        for tool in tools
        if tool.call_id is not None and tool.has_result and not tool.is_truncated
    }
    if not returned:
        return chats
    known: dict[tuple[str, str], DeliveryState] = {}
    return [_with_states(chat, returned, known) for chat in chats]


def _with_states(
    chat: ChatCall,
    returned: dict[str, ToolCall],
    known: dict[tuple[str, str], DeliveryState],
) -> ChatCall:
    if not chat.delivered or chat.dialect == "spanwitness" or chat.input_messages is None:
        return chat
    parts = {
        part.call_id: part
        for message in chat.input_messages
        for part in message.parts
        if isinstance(part, ToolResultPart) and part.call_id is not None
    }
    found: list[Delivery] = []
    for delivery in chat.delivered:
        call_id = delivery.call_id
        tool = None if call_id is None else returned.get(call_id)
        part = None if call_id is None else parts.get(call_id)
        if tool is None or part is None or call_id is None or delivery.state != "unknown":
            found.append(delivery)
            continue
        key = (call_id, result_text(part))
        state = known.get(key)
        if state is None:
            state = known[key] = compare(tool.result, part)
        found.append(msgspec.structs.replace(delivery, state=state))
    return msgspec.structs.replace(chat, delivered=tuple(found))
