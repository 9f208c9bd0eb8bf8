"""`schema_posing_as_tool`: the only tool that was called is the output schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.rule import HOLDS, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, REQUESTS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome


@rule("schema_posing_as_tool", severity="error", fault="harness", needs=CHATS | REQUESTS)
def schema_posing_as_tool(facts: Facts) -> Outcome:
    """Only the output schema was called as a tool, while evidence tools were offered and due.

    Claims: Every call in the run is one of a "tool" that only carries the structured answer,
        although evidence tools were offered (or configured and replaced by the schema), and tools
        were due. Where nothing made them due but the answer states values that no input holds:
        `warning` when the schema was forced by the tool choice, else `info`.
    Needs: Requested calls, offered tools, and a sign of the output tool: its side, the name of the
        output format, a contract's `output` group, or a forced call that nobody ran.
    Not assessed when: Requested calls are not recorded, what makes tools due cannot be read, or the
        trace has a hole.
    Can be wrong: An undecorated tool that is forced in the last request and run unseen looks like
        an output tool; an output tool that bears no sign is taken for a tool.
    """
    carried = [r for r in facts.requests if r.call.name in facts.schema_tools]
    if not carried:
        if not facts.knows_requests:
            return not_assessed("which calls the replies asked for is not recorded")
        return facts.no_subject
    if facts.used_evidence:
        return HOLDS
    evidence_tools = sorted(_evidence_tools(facts))
    if not evidence_tools:
        return facts.no_subject
    if not facts.run.is_complete:
        return facts.incomplete
    return _judge(facts, carried, evidence_tools)


def _evidence_tools(facts: Facts) -> set[str]:
    run = facts.run
    names = {t.name for c in facts.offering for t in c.offered or () if facts.is_evidence(t)}
    for configured in (run.configured, *(step.configured for step in run.steps)):
        names.update(
            name
            for name in configured or ()
            if name not in facts.output_tools and not tool_names.is_terminal(name)
        )
    return names


def _judge(facts: Facts, carried: list[Request], evidence_tools: list[str]) -> Outcome:
    due = facts.due
    unseen = 0
    unknown = ""
    for request in carried:
        said = facts.stated(request.chat)
        unseen += said.n_unseen or 0
        unknown = unknown or said.reason
    is_forced = any(
        r.chat.tool_choice is not None and r.call.name in r.chat.tool_choice.names for r in carried
    )
    if due.word != "yes" and not unseen:
        return not_assessed(unknown or due.reason) if unknown or due.word == "unknown" else HOLDS
    name = carried[-1].call.name
    why = due.reason if due.word == "yes" else "values are stated that no input holds"
    return violated(
        f"The only call is {name}, which carries the answer; no tool was used, although {why}.",
        span_ids=tuple(r.chat.span_id for r in carried),
        evidence={
            "output_tool": name,
            "evidence_tools": list(evidence_tools[:20]),
            "is_forced": is_forced,
            "due": due.word,
        },
        severity=None if due.word == "yes" else ("warning" if is_forced else "info"),
    )
