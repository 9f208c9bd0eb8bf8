"""`tool_choice_ignored`: the request said how tools are to be used, and the reply did otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.replies import (
    CUT_REASONS,
    REFUSAL_REASONS,
    UNFINISHED_REASONS,
    finish_words,
)
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, CHOICES

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.model.calls import WireFormat
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_EXCUSED: dict[WireFormat, frozenset[str]] = {
    "openai_chat": frozenset({"network_error"}),
    "openai_responses": frozenset({"incomplete", "failed"}),
    "anthropic_messages": frozenset({"stop_sequence"}),
    "gemini": frozenset(
        {
            "malformed_function_call", "unexpected_tool_call", "too_many_tool_calls",
            "missing_thought_signature", "other", "finish_reason_unspecified",
        }
    ),
    "unknown": frozenset(),
}  # fmt: skip
"""Finish reasons, a wire format, that tell by themselves why the reply holds no call."""


@rule("tool_choice_ignored", severity="error", fault="harness", needs=CHATS | CHOICES)
def tool_choice_ignored(facts: Facts) -> Outcome:
    """The tool choice said required, a named tool, a subset or none, and the reply did otherwise.

    Claims: With `required`, no structured call came; with a named tool, it was not called; with an
        allowed subset, another tool was called; with `none`, a tool was called. A reply that was
        cut, refused, filtered, paused, or that says by its finish reason why there is no call, is
        excused.
    Needs: The tool choice of the request and the calls of the reply.
    Not assessed when: Either is not recorded for a call that might matter.
    Can be wrong: A hosted tool that is reported under a name unlike its definition's may look like
        another tool.
    """
    n_judged = 0
    is_unknown = False
    for chat in facts.replies:
        choice = chat.tool_choice
        if choice is None:
            is_unknown |= chat.offered != ()
            continue
        if choice.mode == "auto":
            continue
        n_judged += 1
        if chat.requested is None:
            is_unknown = True
        elif not _is_excused(chat):
            reason = _broken(chat)
            if reason:
                return violated(
                    reason,
                    span_ids=(chat.span_id,),
                    evidence={
                        "tool_choice": choice.mode,
                        "names": list(choice.names),
                        "requested": [c.name for c in chat.requested if c.source == "structured"],
                    },
                )
    if is_unknown:
        return not_assessed("the tool choice or the calls of a reply are not recorded")
    return facts.nothing_found if n_judged else facts.no_subject


def _is_excused(chat: ChatCall) -> bool:
    words = finish_words(chat)
    excused = CUT_REASONS | REFUSAL_REASONS | UNFINISHED_REASONS | _EXCUSED[chat.wire]
    if chat.tool_choice is not None and chat.tool_choice.mode == "none":
        return False
    return chat.has_refusal or not words.isdisjoint(excused)


def _broken(chat: ChatCall) -> str:
    choice = chat.tool_choice
    names = [c.name for c in chat.requested or () if c.source == "structured"]
    if choice is None:
        return ""
    if choice.mode == "required" and not names:
        return "The request required a tool call and the reply holds none."
    if choice.mode == "none" and names:
        return f"The request forbade tool calls and the reply calls {names[0]}."
    wanted = {tool_names.bare(name) for name in choice.names}
    if choice.mode == "named" and not any(_is_one_of(name, wanted) for name in names):
        instead = f"calls {names[0]} instead" if names else "holds no call"
        return f"The request named the tool {choice.names[0]} and the reply {instead}."
    if choice.mode == "allowed":
        others = [name for name in names if not _is_one_of(name, wanted)]
        if others:
            return f"The request allowed only some tools and the reply calls {others[0]}."
    return ""


def _is_one_of(name: str, wanted: set[str]) -> bool:
    """Hosted tools are reported as `web_search_call` for `web_search_preview`."""
    bare = tool_names.bare(name)
    if bare in wanted:
        return True
    stem = bare.removesuffix("_call")
    return stem != bare and any(other.startswith(stem) for other in wanted)
