"""Which "tools" are no tools: those whose call is the answer, or only ends the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.offers import index_of

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run
    from spanwitness.rules.facts import Facts


def schema_tools(facts: Facts) -> frozenset[str]:
    """Return the names of "tools" that only carry the structured answer."""
    found: set[str] = set()
    for offers in facts.offers:
        found |= offers.output_names
    for chat in facts.run.chats:
        schema = None if chat.output_format is None else chat.output_format.name
        if schema is not None and schema in index_of(chat.offered).names:
            found.add(schema)
        for call in chat.requested or ():
            if call.side == "output":
                found.add(call.name)
    if facts.contracts:
        names = facts.offered_names
        found.update(n for n in names if any(c.is_output(n) for c in facts.contracts))
    last = facts.replies[-1] if facts.replies else None
    if last is not None and last.tool_choice is not None and last.tool_choice.mode == "named":
        # A call forced in the last request and run by nobody is the answer in the form of a call.
        run_by_someone = {tool.name for tool in facts.run.tools}
        called = {call.name for call in last.requested or ()}
        found.update(n for n in last.tool_choice.names if n in called - run_by_someone)
    if last is not None and last.requested:
        found.update(_answering(facts.run, last))
    return frozenset(found)


def _answering(run: Run, last: ChatCall) -> list[str]:
    """Return names of the last calls that nobody ran and whose arguments are the run's output."""
    asked = [c for c in last.requested or () if type(c.arguments) is dict and c.arguments]
    if not asked or last is not run.chats[-1]:
        return []
    submitted = run.submission
    if submitted is not None and submitted.has_answer:
        answer: object = submitted.answer
    else:
        answer = run.final_text
    if isinstance(answer, str) and answer.lstrip()[:1] == "{":
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            return []
    if type(answer) is not dict:
        return []
    ran = {tool.name for tool in run.tools}
    given = _without_defaults(answer)
    return [
        call.name
        for call in asked
        if call.name not in ran and _without_defaults(call.arguments) == given
    ]


def _without_defaults(fields: object) -> object:
    """A parser fills in what was left out: nothing, or an empty value."""
    if type(fields) is not dict:
        return fields
    return {k: v for k, v in fields.items() if v is not None and v not in ([], {})}


def terminal_tools(facts: Facts) -> frozenset[str]:
    """Return the names of tools that only submit the answer or end the run."""
    found: set[str] = set()
    for offers in facts.offers:
        found |= offers.terminal_names
    for request in facts.requests:
        if tool_names.is_terminal(request.call.name):
            found.add(request.call.name)
    if facts.contracts:
        names = {*facts.offered_names, *(r.call.name for r in facts.requests)}
        found.update(n for n in names if any(c.is_terminal(n) for c in facts.contracts))
    return frozenset(found)
