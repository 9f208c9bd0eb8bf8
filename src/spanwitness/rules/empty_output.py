"""`empty_output`: a reply without anything in it was taken as the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.replies import (
    CUT_REASONS,
    REFUSAL_REASONS,
    UNFINISHED_REASONS,
    finish_words,
    has_visible,
    reply_texts,
)
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import SILENCE
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("empty_output", severity="error", fault="harness", needs=CHATS, signs=SILENCE)
def empty_output(facts: Facts) -> Outcome:
    """An empty reply was accepted as success.

    Claims: The last reply of the run or of a step holds no visible text, no call and no refusal,
        and nothing else stands as its output. An empty form (`{}`) under an output constraint is
        told by `output_constraint_bypass`.
    Needs: The length of the visible text and the calls of each reply.
    Not assessed when: They are not recorded; the run gave something back that the trace does not
        show; the reply follows a tool of which nobody says whether it reads or writes; spans are
        missing.
    Can be wrong: An end in silence is right after a completed write, a submission or a tool that
        ends the run, and is not told then; nor are refusals, `pause_turn` and streams that the
        caller left. A harness that gives out an earlier text of the run is taken for empty if that
        text came with a tool call.
    """
    unknown = ""
    for chat in facts.accepted:
        shown = has_visible(chat)
        if shown is None:
            unknown = "The trace does not show whether an accepted reply holds anything."
        elif not shown and not _is_meant(chat):
            verdict = _judge(chat, facts)
            if verdict == "":
                return _told(chat)
            unknown = unknown or verdict or ""
    return not_assessed(unknown) if unknown else facts.nothing_found


def _is_meant(chat: ChatCall) -> bool:
    return chat.has_refusal or bool(finish_words(chat) & (REFUSAL_REASONS | UNFINISHED_REASONS))


def _judge(chat: ChatCall, facts: Facts) -> str | None:
    """Return `None` when the silence is fine, why it cannot be told, or `""` when it is not."""
    run = facts.run
    if chat.step_span_id is not None:
        step = next((s for s in run.steps if s.span_id == chat.step_span_id), None)
        if step is not None and step.output_is_empty is not None:
            return "" if step.output_is_empty else None
    submission = run.submission
    if submission is not None and submission.answer not in (None, "", {}, []):
        return None
    if run.final_text and run.final_text.strip() and not _was_said_before(run.final_text, facts):
        return None
    last = _last_effect(facts)
    if last == "write":
        return None
    if submission is not None and not submission.has_answer:
        return "The submitted answer is not recorded."
    if run.final_text is None and run.has_final:
        return "The last reply is empty; what the run gave back is not recorded."
    if last == "unknown":
        return "The run ended in silence after a tool that may have been a write."
    return ""


def _was_said_before(final: str, facts: Facts) -> bool:
    wanted = final.strip()
    return any(
        wanted == text.strip() for chat in facts.run.chats for text in reply_texts(chat) or ()
    )


def _last_effect(facts: Facts) -> str:
    """Say what the last successful execution of the run was: `write`, `read`, `unknown`, `none`."""
    for done in reversed(facts.executions):
        if done.outcome in ("error", "cancelled"):
            continue
        tool = done.tool
        if done.side == "output" or tool in facts.output_tools or tool_names.is_handoff(tool):
            return "write"
        if any(c.is_write(tool) or c.is_terminal(tool) for c in facts.contracts):
            return "write"
        return done.effect or tool_names.effect_of(tool) or "unknown"
    return "none"


def _told(chat: ChatCall) -> Outcome:
    reasons = list(chat.finish_reasons or ())
    spent = chat.usage.output_tokens
    why = ""
    if finish_words(chat) & CUT_REASONS or "incomplete" in finish_words(chat):
        why = f"; the budget went without a visible word ({spent} tokens)" if spent else ""
    told = f" (finish reason {', '.join(reasons)}{why})" if reasons else ""
    return violated(
        f"An empty reply{told} was accepted as success.",
        span_ids=(chat.span_id,),
        evidence={
            "finish_reasons": reasons,
            "output_tokens": spent,
            "reasoning_chars": chat.reasoning_chars,
        },
    )
