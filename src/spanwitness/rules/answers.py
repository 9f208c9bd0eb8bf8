"""What a run gave as its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.replies import reply_texts
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts

__all__ = ["answer_text", "is_answer_left"]


def answer_text(facts: Facts) -> str | None:
    """Return what was submitted, else given back, else the last reply's text or output call.

    Returns:
        `None` where none is recorded.
    """
    run = facts.run
    submitted = run.submission
    if submitted is not None and submitted.has_answer:
        return as_text(submitted.answer)
    if run.final_text is not None:
        return run.final_text
    for chat in reversed(facts.replies):
        texts = reply_texts(chat)
        if texts is None:
            return None
        if texts:
            return "\n".join(texts)
        for call in chat.requested or ():
            if call.name in facts.output_tools and call.arguments is not None:
                return as_text(call.arguments)
    return None


def is_answer_left(facts: Facts) -> bool:
    """Say whether the caller left the last reply before its end: its last words may be cut."""
    chats = facts.run.chats
    return (
        facts.run.submission is None
        and bool(chats)
        and chats[-1].ending in ("abandoned", "cancelled")
    )
