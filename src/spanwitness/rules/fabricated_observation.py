"""`fabricated_observation`: the text reports a tool's output or use that the run does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names, wording
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.told_records import reports_finding

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("fabricated_observation", severity="error", fault="reasoning", version=2)
def fabricated_observation(facts: Facts) -> Outcome:
    """The text reports a tool's output or use, and no such execution lies in the run.

    Claims: A reply or the answer writes an observation itself (`Action: ... Observation: ...`, a
        `<tool_response>` block), reports what a tool, search or query returned, says in the first
        person that something was looked up, or names a tool it used; and the run holds no execution
        at all, or none of the tool it names. Plain look-up words count only where tools were
        offered, configured or listed; "I found your order" where a tool is about orders.
    Needs: The replies or the answer; executions by whatever evidence, those in the history
        included.
    Not assessed when: No text was recorded, executions cannot be known (calls or results not
        recorded, state kept by the provider), or the trace has a hole.
    Can be wrong: A look-up that the caller's own code did outside the trace counts as fabricated; a
        report in other words, or in another language than English, is missed.
    """
    texts = _texts(facts)
    if not texts:
        is_silent = facts.run.has_final is False or _is_silent(facts)
        if is_silent and facts.run.is_complete:
            return facts.no_subject
        return not_assessed("no text of a reply was recorded")
    for span_id, text in texts:
        found = _reported(facts, text)
        if found:
            if not facts.run.is_complete:
                return facts.incomplete
            unknown = _why_unknown(facts)
            if unknown:
                return not_assessed(unknown)
            return violated(
                f"{found} No such execution lies in the run.",
                span_ids=(span_id,),
                evidence={"n_executions": len(facts.executions)},
            )
    return facts.nothing_found


def _texts(facts: Facts) -> list[tuple[str, str]]:
    run = facts.run
    texts = [
        (chat.span_id, text)
        for chat in facts.replies
        if chat.text_chars != 0
        for text in reply_texts(chat) or ()
    ]
    seen = {text for _, text in texts}
    if run.final_text and run.final_text not in seen:
        texts.append((run.root_span_id, run.final_text))
    return texts


def _is_silent(facts: Facts) -> bool:
    return all(chat.text_chars == 0 or reply_texts(chat) == () for chat in facts.replies)


def _reported(facts: Facts, text: str) -> str:
    """Return what the text reports that did not happen, as a sentence; empty when nothing."""
    happened = facts.has_executions
    tool = wording.transcript_tool(text)
    if tool is not None and not _ran(facts, tool):
        return f"A reply wrote the observation of {tool} itself."
    if not happened:
        if wording.has_result_block(text):
            return "A reply wrote a block of tool results itself."
        if wording.reports_tool_output(text):
            return "The text reports what a tool returned."
        if _had_tools(facts) and wording.reports_look_up(text):
            return "The text says that something was looked up."
        thing = reports_finding(facts, text)
        if thing:
            return f"The text says that the {thing} was looked up."
    unused = frozenset(n for n in facts.offered_names if n in text and not _ran(facts, n))
    used = wording.reported_tools(text, unused) if unused else ()
    return f"The text says that {used[0]} was used." if used else ""


def _ran(facts: Facts, name: str) -> bool:
    wanted = tool_names.bare(name)
    return any(
        tool_names.bare(e.tool) == wanted or (e.side != "client" and e.how == "provider")
        for e in facts.executions
    )


def _had_tools(facts: Facts) -> bool:
    run = facts.run
    return bool(run.configured or run.discoveries or any(chat.offered for chat in run.chats))


def _why_unknown(facts: Facts) -> str:
    for chat in facts.run.chats:
        if chat.has_server_state:
            return "part of the history is held by the provider"
        if chat.delivered is None and chat.input_messages is None:
            return "which results stood in the requests is not recorded"
    if not facts.knows_requests:
        return "which calls the replies asked for is not recorded"
    return ""
