"""`result_not_delivered`: later model calls could have carried a result, and none did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.model import ToolCallPart
from spanwitness.rules import tool_names
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.stated import input_texts
from spanwitness.rules.subjects import CHATS, EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Execution
    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome

_GAVE = ("value", "error", "empty", "cached")


@rule(
    "result_not_delivered",
    severity="error",
    fault="harness",
    needs=CHATS | EXECUTIONS,
    signs=ODD_LOOP,
)
def result_not_delivered(facts: Facts) -> Outcome:
    """A tool ran for the model, later calls of the same loop could carry its result, and none did.

    Claims: An execution that the model asked for ended, the loop went on with another model call,
        and the id of the call stands in none of the later requests of that loop, nor does its
        result as text. Terminal and submission tools, hand-offs, and results after which no model
        call came are not reported.
    Needs: Tool spans with call ids, and the results that each request carries.
    Not assessed when: Delivered results are not recorded or bear no ids, the history is held by the
        provider or was compacted, call ids are missing, or the trace has a hole.
    Can be wrong: A model call outside the loop that bears the same parent (a judge, a summary) and
        needs no result is taken for the loop's next call if it offers tools.
    """
    n_judged = 0
    unknown = ""
    lost: list[tuple[Execution, ChatCall]] = []
    for execution in facts.executions:
        if execution.how not in ("span", "cache") or execution.outcome not in _GAVE:
            continue
        if execution.tool in facts.output_tools or tool_names.is_handoff(execution.tool):
            continue
        request = facts.request_of.get(execution.call_id) if execution.call_id else None
        if request is None:
            unknown = unknown or "some executions are not linked to a call of the model"
            continue
        n_judged += 1
        if execution.call_id in facts.deliveries:
            continue
        later = _later(facts, request, execution)
        if not later:
            continue
        word = _judge(facts, execution, later)
        if word == "lost":
            lost.append((execution, later[0]))
        elif word:
            unknown = word
    if lost:
        return _violated(lost) if facts.run.is_complete else facts.incomplete
    if unknown:
        return not_assessed(unknown)
    if n_judged:
        return facts.nothing_found
    return facts.no_subject if facts.executions else facts.no_execution


def _later(facts: Facts, request: Request, execution: Execution) -> list[ChatCall]:
    """Return the later model calls of the same loop."""
    asked = request.chat
    call = execution.call
    later = [
        chat
        for chat in facts.run.chats[request.chat_index + 1 :]
        if call is None or chat.start_ns >= call.end_ns or call.end_ns == 0
    ]
    same = [
        chat
        for chat in later
        if chat.parent_span_id == asked.parent_span_id and chat.step_span_id == asked.step_span_id
    ]
    if same:
        return same
    carried = {d.call_id for d in asked.delivered or ()}
    return [
        chat
        for chat in later
        if carried.intersection(d.call_id for d in chat.delivered or ())
        or _has_call(chat, request.call.call_id)
    ]


def _judge(facts: Facts, execution: Execution, later: list[ChatCall]) -> str:
    """Return `lost`, an empty text when it arrived another way, or why it cannot be told."""
    if facts.run.compacted:
        return "the history was compacted, so results may have left it"
    if any(chat.has_server_state for chat in later):
        return "part of the history is held by the provider"
    if any(chat.delivered is None for chat in later):
        return "which results the requests carry is not recorded"
    if any(d.call_id is None for chat in later for d in chat.delivered or ()):
        return "the requests carry results without an id"
    if _stands_as_text(execution, later):
        return ""
    if any(_has_call(chat, execution.call_id) for chat in later):
        return "lost"
    if any(chat.offered or chat.delivered for chat in later):
        return "lost"
    return "a later call without tools may have got the result as text"


def _has_call(chat: ChatCall, call_id: str | None) -> bool:
    return call_id is not None and any(
        isinstance(part, ToolCallPart) and part.call_id == call_id
        for message in chat.input_messages or ()
        for part in message.parts
    )


def _stands_as_text(execution: Execution, later: list[ChatCall]) -> bool:
    if not execution.has_result or execution.result is None:
        return False
    wanted = "".join(str(execution.result).split())
    if len(wanted) < 2:
        return False
    return any(wanted in "".join(text.split()) for chat in later for text in input_texts(chat))


def _violated(lost: list[tuple[Execution, ChatCall]]) -> Outcome:
    names = ", ".join(sorted({execution.tool for execution, _ in lost})[:5])
    spans = [span for execution, chat in lost for span in (chat.span_id, execution.span_id)]
    return violated(
        f"The result of {names} stands in no later request, although the model was called again.",
        span_ids=tuple(dict.fromkeys(s for s in spans if s)),
        evidence={
            "tools": [execution.tool for execution, _ in lost[:20]],
            "call_ids": [execution.call_id for execution, _ in lost[:20]],
        },
    )
