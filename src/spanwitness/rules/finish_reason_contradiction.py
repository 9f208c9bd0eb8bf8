"""`finish_reason_contradiction`: the finish reason says one thing, the reply another."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spanwitness.rules.replies import (
    CUT_REASONS,
    REFUSAL_REASONS,
    UNFINISHED_REASONS,
    finish_words,
    has_visible,
)
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_ENDS
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_CALLS = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})
"""Reasons that promise a call."""
_ENDS = frozenset(
    {
        "stop", "end", "end_turn", "stop_sequence", "stop_token", "eos", "eos_token",
        "complete", "completed", "done", "normal", "finished",
    }
)  # fmt: skip
_KNOWN = _CALLS | _ENDS | CUT_REASONS | REFUSAL_REASONS | UNFINISHED_REASONS | {"incomplete", ""}
"""In lower case, of all wire formats. Anything else is told, never folded into `stop`."""
_NO_CALL_ENDS = {"anthropic_messages": frozenset({"end_turn", "stop_sequence"})}
"""By wire format: reasons that never stand beside a call. Elsewhere `stop` with calls is a known
habit (Gemini; OpenAI when the choice names a function; many compatible servers)."""


@rule(
    "finish_reason_contradiction", severity="warning", fault="harness", needs=CHATS, signs=ODD_ENDS
)
def finish_reason_contradiction(facts: Facts) -> Outcome:
    """A finish reason and the content of its reply disagree, or the reason is one of failure.

    Claims: A reason promises calls and the reply holds none; or denies them (Anthropic's
        `end_turn`) beside a call; or the accepted reply ended for a reason that is no good end in
        any wire format (`MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL`, a word nobody knows).
        `error` when the reply is also empty.
    Needs: Raw finish reasons, as the provider spelled them, and the calls of the reply.
    Not assessed when: One of them is recorded for no reply; a foreign recorder shows no calls,
        yet tools ran (it lost them); spans are missing.
    Can be wrong: A new word for a good end is told until it is known here. Habits that are known
        and not told: `stop` or `STOP` beside calls (Gemini, OpenAI with a named function,
        compatible servers), Responses' `completed` beside calls. A budget used up under
        `tool_calls` is told by `truncated_output`.
    """
    found: list[tuple[ChatCall, str]] = []
    is_known = False
    is_recorder_loss = False
    for chat in facts.run.chats:
        reasons, requested = chat.finish_reasons, chat.requested
        if reasons is None:
            continue
        is_known = is_known or requested is not None
        kind = _kind(reasons)
        if kind == "calls" and (requested or requested is None):
            continue
        if kind == "quiet" and (not requested or chat.wire not in _NO_CALL_ENDS):
            continue
        how = _how(chat, kind, facts)
        if how == "no_call" and chat.dialect != "spanwitness" and facts.executions:
            is_recorder_loss = True
        elif how:
            found.append((chat, how))
    if found:
        return _told(found)
    if is_recorder_loss:
        return not_assessed("The recorder shows no calls in a reply that promises some; tools ran.")
    if not is_known:
        return not_assessed("Finish reasons or the calls of the replies are not recorded.")
    return facts.nothing_found


@lru_cache(maxsize=256)
def _kind(reasons: tuple[str, ...]) -> str:
    words = {reason.lower() for reason in reasons}
    if words & _CALLS:
        return "calls"
    return "quiet" if words <= _KNOWN else "bad"


def _how(chat: ChatCall, kind: str, facts: Facts) -> str:
    if chat.error_type is not None or chat.ending in ("abandoned", "cancelled", "error"):
        return ""
    if kind == "calls":
        return "no_call"
    if kind == "bad":
        return "bad_end" if any(chat is accepted for accepted in facts.accepted) else ""
    is_denied = finish_words(chat) & _NO_CALL_ENDS[chat.wire] and any(
        c.source == "structured" and c.side == "client" for c in chat.requested or ()
    )
    return "call_denied" if is_denied else ""


_SENTENCES = {
    "no_call": "The finish reason {} promises a call, and the reply holds none.",
    "call_denied": "The reply holds a call, and its finish reason {} says that it has none.",
    "bad_end": "The accepted reply ended for the reason {}, which is no good end.",
}


def _told(found: list[tuple[ChatCall, str]]) -> Outcome:
    first, how = found[0]
    reasons = list(first.finish_reasons or ())
    is_empty = any(has_visible(chat) is False for chat, _ in found)
    return violated(
        _SENTENCES[how].format(", ".join(reasons)),
        span_ids=tuple(chat.span_id for chat, _ in found[:10]),
        evidence={
            "finish_reasons": reasons,
            "wire": first.wire,
            "kinds": sorted({kind for _, kind in found}),
            "n_replies": len(found),
        },
        severity="error" if is_empty else None,
    )
