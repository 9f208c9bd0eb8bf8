"""`call_not_executed`: the model asked for a call, and the run ended without a result for it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from spanwitness.model import ToolCallPart
from spanwitness.rules import tool_names
from spanwitness.rules.facts import is_reply
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, REQUESTS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome

_PENDING = re.compile(
    r"approv|interrupt|pending|await|confirm|pause|input.?required|human|hand.?off|transfer|defer|"
    r"cancel|abort|stopped by user",
    re.IGNORECASE,
)


@rule(
    "call_not_executed", severity="error", fault="harness", needs=CHATS | REQUESTS, signs=ODD_LOOP
)
def call_not_executed(facts: Facts) -> Outcome:
    """The model asked for a call, and the run ended without an execution or a result for it.

    Claims: A structured call for a client-side tool has no execution and its id stands in no later
        request, though the run went on, or ended by itself. Hand-offs, output and submission tools,
        pending approvals, cancellations, runs that ended in an error, and calls that a later reply
        asked for again are not reported.
    Needs: The calls of each reply, and the results that stand in later requests; for the last reply
        of a run, tool spans or a run without any earlier execution.
    Not assessed when: Calls or delivered results are not recorded, the run has no root of its own,
        its tools have no spans (the last call may have run unseen), the arguments of a last call
        that may be the answer itself are not recorded, or the trace has a hole.
    Can be wrong: A function that is not decorated, asked for once in a run of one model call, runs
        unseen and is reported.
    """
    asked = [r for r in facts.requests if r.call.side == "client"]
    missing = [r for r in _without_execution(facts, asked) if _is_due(facts, r)]
    if not missing and not any(_is_due(facts, r) for r in asked):
        if not facts.knows_requests:
            return not_assessed("which calls the replies asked for is not recorded")
        return facts.no_subject
    if not missing:
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    unknown = ""
    lost: list[Request] = []
    for request in missing:
        word = _judge(facts, request)
        if word == "lost":
            lost.append(request)
        elif word != "fine":
            unknown = word
    if lost:
        return _violated(lost, asked)
    return not_assessed(unknown) if unknown else facts.nothing_found


def _is_due(facts: Facts, request: Request) -> bool:
    name = request.call.name
    return (
        is_reply(request.chat)
        and name not in facts.output_tools
        and not tool_names.is_handoff(name)
    )


def _without_execution(facts: Facts, asked: list[Request]) -> list[Request]:
    linked = facts.execution_of
    open_ = [
        r
        for r in asked
        if r.call.call_id is None
        or (r.call.call_id not in linked and r.call.call_id not in facts.deliveries)
    ]
    if not open_:
        return []
    unlinked = Counter(
        tool_names.bare(e.tool)
        for e in facts.executions
        if e.call_id is None or (e.call is not None and e.call.link == "ambiguous")
    )
    missing: list[Request] = []
    for request in open_:
        name = tool_names.bare(request.call.name)
        if unlinked[name]:
            unlinked[name] -= 1
        else:
            missing.append(request)
    return missing


def _judge(facts: Facts, request: Request) -> str:
    """Return `lost`, `fine`, or why it cannot be told."""
    run = facts.run
    if _is_asked_again(facts, request):
        return "fine"
    later = run.chats[request.chat_index + 1 :]
    if later:
        return _judge_within(facts, request)
    if not facts.stands_as_success or _PENDING.search(run.termination or ""):
        return "fine"
    if run.root_span_id in {chat.span_id for chat in run.chats}:
        return "the model call is a trace of its own, so what followed it is not known"
    if _may_be_answer(facts, request):
        return "whether the last call is the answer, in the form of a call, is not recorded"
    if any(e.how == "span" and e.side == "client" for e in facts.executions):
        return "lost"
    if "spanwitness" in run.dialects and not facts.executions:
        return "lost"
    return "tools have no spans in this trace, so the last call may have run unseen"


def _may_be_answer(facts: Facts, request: Request) -> bool:
    """Without content: a reply that is nothing but a call, in a run that gave something back."""
    run, call = facts.run, request.call
    if call.arguments is not None or request.chat.text_chars:
        return False
    gave = run.submission is not None or bool(run.has_final)
    return gave and all(tool.name != call.name for tool in run.tools)


def _is_asked_again(facts: Facts, request: Request) -> bool:
    executed = {e.call_id for e in facts.executions} | set(facts.deliveries)
    return any(
        other.call.name == request.call.name
        and other.chat_index > request.chat_index
        and other.call.call_id in executed
        for other in facts.requests
    )


def _judge_within(facts: Facts, request: Request) -> str:
    """Judge a call that later model calls followed."""
    run = facts.run
    later = run.chats[request.chat_index + 1 :]
    if run.compacted:
        return "the history was compacted, so results may have left it"
    if any(chat.delivered is None for chat in later):
        return "which results later requests carry is not recorded"
    if any(d.call_id is None for chat in later for d in chat.delivered or ()):
        return "later requests carry results without an id"
    is_structured = any(chat.delivered for chat in run.chats) or any(
        e.how == "span" and e.side == "client" for e in facts.executions
    )
    if is_structured or _stands_in_history(facts, request):
        return "lost"
    if facts.run.content != "on" or any(chat.offered for chat in later):
        # The same loop went on, with its tools, as if the call had not been made.
        return "lost" if any(chat.offered for chat in later) else "later requests carry no calls"
    return "results may have been handed on as text"


def _stands_in_history(facts: Facts, request: Request) -> bool:
    call_id = request.call.call_id
    return any(
        isinstance(part, ToolCallPart) and part.call_id == call_id
        for chat in facts.run.chats[request.chat_index + 1 :]
        for message in chat.input_messages or ()
        for part in message.parts
    )


def _violated(lost: list[Request], asked: list[Request]) -> Outcome:
    n_asked = len(asked)
    names = ", ".join(_named(lost, Counter(r.call.name for r in asked))[:5])
    return violated(
        f"The model asked for {n_asked} call{'s' * (n_asked != 1)} and {len(lost)} of them"
        f" ({names}) {'was' if len(lost) == 1 else 'were'} never executed.",
        span_ids=tuple(dict.fromkeys(r.chat.span_id for r in lost)),
        evidence={
            "tools": [r.call.name for r in lost[:20]],
            "call_ids": [r.call.call_id for r in lost[:20]],
            "n_requested": n_asked,
        },
    )


def _named(lost: list[Request], asked: Counter[str]) -> list[str]:
    """Return the names of the lost calls, with their ids where the tool was asked for again."""
    found: dict[str, list[str]] = {}
    for request in lost:
        found.setdefault(request.call.name, []).append(request.call.call_id or "?")
    return [
        name if asked[name] == 1 or ids == ["?"] * len(ids) else f"{name} {' '.join(ids[:5])}"
        for name, ids in sorted(found.items())
    ]
