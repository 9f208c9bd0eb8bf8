"""`truncated_output`: a reply that was cut was taken as a whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.replies import CUT_REASONS, REFUSAL_REASONS, finish_words, has_visible
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_ENDS
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MEANT_TOKENS = 16
"""A budget up to this many tokens is meant to cut (a label, a yes or no)."""


@rule("truncated_output", severity="error", fault="harness", needs=CHATS, signs=ODD_ENDS)
def truncated_output(facts: Facts) -> Outcome:
    """A cut reply was accepted as success, or a call that stood in one was executed.

    Claims: The last reply of the run or of a step was cut (its finish reason says so, its stream
        broke off, or it used the whole token budget under another finish reason), yet it was
        taken; or a tool ran on the arguments of a cut reply. A budget used up under another
        finish reason is told at `warning`: it is a strong sign, not a statement of the provider.
    Needs: Finish reasons; for the weaker sign the budget on the request and the reported usage.
    Not assessed when: The finish reason of an accepted reply is not recorded, or spans are
        missing.
    Can be wrong: A reply may end by chance at exactly its budget. A harness that notices the cut
        and says so only in its own text looks as if it had accepted it. Empty replies
        (`empty_output`), refusals, streams that the caller left, `pause_turn`, budgets of at most
        16 tokens and replies that a later one continued or repeated are not told here.
    """
    stated: list[ChatCall] = []
    suspected: list[ChatCall] = []
    is_unknown = False
    for chat in facts.run.chats:
        how = _how_cut(chat)
        if not how:
            continue
        is_accepted = any(chat is accepted for accepted in facts.accepted)
        if how == "unknown":
            is_unknown = is_unknown or is_accepted
        elif how == "broken":
            if is_accepted and _was_kept(chat, facts):
                stated.append(chat)
        elif is_accepted or (chat.requested and _was_executed(chat, facts)):
            (stated if how == "stated" else suspected).append(chat)
    if stated or suspected:
        return _told(stated, suspected)
    if is_unknown:
        return not_assessed("The finish reason of an accepted reply is not recorded.")
    return facts.nothing_found


def _told(stated: list[ChatCall], suspected: list[ChatCall]) -> Outcome:
    shown = stated or suspected
    first = shown[0]
    reasons = sorted({reason for chat in shown for reason in chat.finish_reasons or ()})
    if stated:
        why = f"finish reason {', '.join(reasons)}" if reasons else "its stream broke off"
        told = f"A reply that was cut ({why}) was taken as a whole one."
    else:
        told = (
            f"A reply used its whole budget of {first.max_tokens} tokens although its finish reason"
            f" is {', '.join(reasons) or 'absent'}, and was taken as a whole one."
        )
    return violated(
        told,
        span_ids=tuple(chat.span_id for chat in shown[:10]),
        evidence={
            "finish_reasons": list(reasons),
            "max_tokens": first.max_tokens,
            "output_tokens": first.usage.output_tokens,
            "n_replies": len(shown),
        },
        severity=None if stated else "warning",
    )


def _how_cut(chat: ChatCall) -> str:
    how = _sign_of_cut(chat)
    if not how or chat.has_refusal or has_visible(chat) is False:
        return ""
    budget = chat.max_tokens
    is_meant = budget is not None and budget <= _MEANT_TOKENS and not chat.requested
    return "" if is_meant and how in ("stated", "budget") else how


def _sign_of_cut(chat: ChatCall) -> str:
    words = finish_words(chat)
    if not words.isdisjoint(REFUSAL_REASONS):
        return ""
    if not words.isdisjoint(CUT_REASONS) or "incomplete" in words:
        return "stated"
    if chat.ending == "error":
        return "broken"
    budget, used = chat.max_tokens, chat.usage.output_tokens
    if budget is not None and used is not None and used >= budget:
        return "budget"
    return "unknown" if chat.finish_reasons is None else ""


def _was_kept(chat: ChatCall, facts: Facts) -> bool:
    """Say whether the part that came through a broken stream is what the run gave back."""
    if chat.error_type is None:
        return True
    final = facts.run.final_text
    if final is None or chat.output_messages is None:
        return False
    from spanwitness.rules.replies import reply_texts

    return any(text.strip() == final.strip() for text in reply_texts(chat) or ())


def _was_executed(chat: ChatCall, facts: Facts) -> bool:
    ids = {call.call_id for call in chat.requested or () if call.call_id is not None}
    return any(
        e.call_id in ids and e.how != "provider" and e.outcome not in ("error", "cancelled")
        for e in facts.executions
    )
