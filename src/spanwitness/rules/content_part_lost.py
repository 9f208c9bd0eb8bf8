"""`content_part_lost`: an image, a document or another part of a result did not arrive as such."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spanwitness.model import MediaPart
from spanwitness.rules.plain_loops import ODD_LOOP, ODD_PARTS
from spanwitness.rules.returned import holds_only_text
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Delivery, Execution
    from spanwitness.rules.facts import Arrival, Facts
    from spanwitness.rules.rule import Outcome

_TEXT = frozenset({"text", "json", "structured", "tool_reference", "opaque"})


@rule(
    "content_part_lost",
    severity="error",
    fault="harness",
    needs=CHATS | EXECUTIONS,
    signs=ODD_LOOP | ODD_PARTS,
)
def content_part_lost(facts: Facts) -> Outcome:
    """An image, a PDF or another part of a result did not arrive, or arrived as text.

    Claims: A tool returned a part that is no text and no request carries as many such parts for
        that result, or a binary payload stands in a text field of it. Parts that follow in a
        message of their own (where the wire format allows no other way) have arrived.
    Needs: The types of the parts as returned and as delivered.
    Not assessed when: What the tool returned was not seen, or delivered results are not recorded.
    Can be wrong: A harness that turns an image into a description on purpose is reported.
    """
    unknown = not facts.knows_deliveries
    for call_id, arrivals in facts.deliveries.items():
        if _is_surely_text(facts, call_id, arrivals) or _lost(facts, arrivals[0]) == "":
            continue
        reasons = [_lost(facts, arrival) for arrival in arrivals]
        if "" in reasons:
            continue
        if all(reason is None for reason in reasons):
            unknown = True
            continue
        at = next(n for n, reason in enumerate(reasons) if reason)
        if _is_unreadable(arrivals[at].chat, arrivals[at].delivery):
            unknown = True
            continue
        return _violated(facts, arrivals[at], reasons[at] or "")
    if unknown:
        return not_assessed("which parts the tools returned was not seen")
    return facts.nothing_found if facts.deliveries else facts.no_subject


def _is_surely_text(facts: Facts, call_id: str, arrivals: list[Arrival]) -> bool:
    """The common case, told apart cheaply: the tool returned a text, and a text arrived."""
    execution = facts.execution_of.get(call_id)
    if execution is None or not isinstance(execution.result, str):
        return False
    delivery = arrivals[0].delivery
    return delivery.returned_part_types in (None, ("text",)) and not delivery.has_binary_text


def _lost(facts: Facts, arrival: Arrival) -> str | None:
    """Return what is lost, an empty text when nothing is, `None` when it is not known."""
    delivery = arrival.delivery
    if delivery.has_binary_text:
        return "a binary payload stands in a text field"
    if delivery.returned_part_types is None:
        execution = facts.execution_of.get(delivery.call_id or "")
        return "" if execution is not None and _is_plain(execution) else None
    returned = Counter(kind for kind in delivery.returned_part_types if kind not in _TEXT)
    if not returned:
        return ""
    missing = returned - Counter(delivery.part_types)
    n_missing = sum(missing.values())
    # Names of kinds differ between formats ("file" for a document): count what is no text.
    n_delivered = sum(kind not in _TEXT for kind in delivery.part_types)
    n_missing = min(n_missing, max(sum(returned.values()) - n_delivered, 0))
    if not n_missing or _follows(arrival.chat, n_missing):
        return ""
    kind = next(iter(missing))
    return f"{n_missing} part{'s' * (n_missing != 1)} ({kind}) did not arrive"


def _is_plain(execution: Execution) -> bool:
    """Say whether a result is known to hold no part of another kind than text."""
    if not execution.has_result:
        return execution.outcome == "empty"
    return holds_only_text(execution.result)


def _follows(chat: ChatCall, n_missing: int) -> bool:
    n_media = sum(
        isinstance(part, MediaPart)
        for message in chat.input_messages or ()
        if message.role == "user"
        for part in message.parts
    )
    return n_media >= n_missing


def _is_unreadable(chat: ChatCall, delivery: Delivery) -> bool:
    """Without content, an image in a message of its own is not seen where that is the usual way.

    Our own recorder looked for it when the request left.
    """
    return (
        chat.input_messages is None
        and chat.dialect != "spanwitness"
        and not delivery.has_binary_text
        and chat.wire in ("openai_chat", "unknown")
    )


def _violated(facts: Facts, arrival: Arrival, reason: str) -> Outcome:
    delivery = arrival.delivery
    execution = facts.execution_of.get(delivery.call_id or "")
    tool = execution.tool if execution is not None else "a tool"
    spans = (arrival.chat.span_id, execution.span_id if execution is not None else "")
    return violated(
        f"A part of the result of {tool} was lost on its way to the model: {reason}.",
        span_ids=tuple(dict.fromkeys(s for s in spans if s)),
        evidence={
            "tool": tool,
            "call_id": delivery.call_id,
            "returned": list(delivery.returned_part_types or ()),
            "delivered": list(delivery.part_types),
            "size_bytes": delivery.size_bytes,
        },
    )
