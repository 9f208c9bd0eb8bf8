"""`call_in_text`: a tool call came out as text or inside reasoning, and nothing ran it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.model import ReasoningPart, TextPart
from spanwitness.rules import wording
from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.offers import index_of
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, OFFERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall, ToolRequest
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MARKS = ("{", "<", "[", "(")
"""Every written form of a call has one of these."""


@rule("call_in_text", severity="error", fault="harness", needs=CHATS | OFFERS, version=2)
def call_in_text(facts: Facts) -> Outcome:
    """A tool call came out as text or inside reasoning, and nothing executed it.

    Claims: The text or the reasoning of a reply holds a call that names an offered tool with
        arguments its schema accepts, the reply holds no structured call, and no execution of that
        tool follows. The server's parser did not lift the call out of the text. Inside reasoning
        it counts only where no visible answer stands beside it.
    Needs: Offered tools with their schemas; the reply, or the calls found in it when it was made.
    Not assessed when: Offered tools or the reply are not recorded.
    Can be wrong: An answer that consists of an unfenced example of a call looks the same. A run in
        which such calls are executed elsewhere works that way (its own protocol) and is not
        reported.
    """
    is_unknown = False
    n_judged = 0
    for index, chat in enumerate(facts.run.chats):
        if chat.offered == () or chat.error_type is not None:
            continue
        if chat.offered is None:
            is_unknown = True
            continue
        n_judged += 1
        if _is_structured(chat):
            continue
        if chat.output_messages is None and not _recorded(chat):
            is_unknown |= chat.dialect != "spanwitness" or chat.requested is None
            continue
        for call in _calls(chat):
            if _is_lost(facts, index, chat, call):
                return _violated(chat, call)
    if is_unknown:
        return not_assessed("offered tools or the text of a reply are not recorded")
    return facts.nothing_found if n_judged else facts.no_subject


def _is_structured(chat: ChatCall) -> bool:
    for call in chat.requested or ():  # noqa: SIM110  half the cost of any()
        if call.source == "structured":
            return True
    return False


def _recorded(chat: ChatCall) -> list[ToolRequest]:
    return [call for call in chat.requested or () if call.source != "structured"]


def _calls(chat: ChatCall) -> Iterator[ToolRequest]:
    recorded = _recorded(chat)
    if recorded or chat.dialect == "spanwitness":
        # The capture looked at the whole reply; looking again at recorded text finds no more.
        yield from recorded
        return
    for message in chat.output_messages or ():
        for part in message.parts:
            if isinstance(part, TextPart):
                yield from _written(part.text, chat, "text")
            elif isinstance(part, ReasoningPart) and part.text:
                yield from _written(part.text, chat, "reasoning")


def _written(text: str, chat: ChatCall, source: str) -> Iterator[ToolRequest]:
    if not any(mark in text for mark in _MARKS):
        return
    offered = chat.offered or ()
    if not any(tool.name in text for tool in offered):
        return
    from spanwitness.wire.text_calls import find_calls

    yield from find_calls(text, offered, source="text" if source == "text" else "reasoning")


def _is_lost(facts: Facts, index: int, chat: ChatCall, call: ToolRequest) -> bool:
    offers = index_of(chat.offered)
    if call.name not in offers.names:
        return False
    if not _accepts(offers.schemas.get(call.name), call.arguments):
        return False
    if call.source == "reasoning" and (chat.text_chars or _has_text(chat)):
        return False
    if _has_own_observation(chat):
        return False
    earlier: frozenset[str] | None = None
    for execution in facts.executions:
        if execution.tool == call.name and facts.chat_before(execution) >= index:
            earlier = inherited_calls(facts) if earlier is None else earlier
            if execution.call_id not in earlier:
                return False
    # Where such calls are executed elsewhere in the run, they are its own protocol.
    written = {found.name for other in facts.run.chats for found in _recorded(other)}
    return not any(e.call_id is None and e.tool in written for e in facts.executions)


def _accepts(schema: dict[str, object] | None, arguments: object) -> bool:
    if arguments is None or schema is None:
        return True  # not recorded: the capture has looked
    if not isinstance(arguments, dict):
        return False
    properties = schema.get("properties")
    required = schema.get("required")
    known = set(properties) if isinstance(properties, dict) else None
    if isinstance(required, list) and not set(map(str, required)) <= set(arguments):
        return False
    return known is None or schema.get("additionalProperties") is True or set(arguments) <= known


def _has_text(chat: ChatCall) -> bool:
    return any(
        isinstance(part, TextPart) and part.text.strip()
        for message in chat.output_messages or ()
        for part in message.parts
    )


def _has_own_observation(chat: ChatCall) -> bool:
    """The reply goes on with a result of its own making: that is another fault."""
    return any(
        isinstance(part, TextPart)
        and (wording.transcript_tool(part.text) or wording.has_result_block(part.text))
        for message in chat.output_messages or ()
        for part in message.parts
    )


def _violated(chat: ChatCall, call: ToolRequest) -> Outcome:
    where = "the text" if call.source == "text" else "the reasoning"
    return violated(
        f"A call of {call.name} stands in {where} of the reply instead of among its calls, and"
        " nothing executed it.",
        span_ids=(chat.span_id,),
        evidence={"tool": call.name, "source": call.source},
    )
