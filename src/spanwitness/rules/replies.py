"""What several rules ask of model replies: which were accepted, what they hold, how they ended."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spanwitness.model import TextPart

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Message, Run

CUT_REASONS = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "error_limit",
    }
)
"""Finish reasons, in lower case, by which providers say that the reply was cut."""

REFUSAL_REASONS = frozenset(
    {
        "refusal",
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "language",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "model_armor",
        "guardrail_intervened",
        "error_toxic",
    }
)
"""Finish reasons, in lower case, of replies that were declined or stopped by a filter."""

UNFINISHED_REASONS = frozenset({"pause_turn", "queued", "in_progress", "cancelled"})
"""Finish reasons of replies that are not over, or that the caller itself stopped."""


def finish_words(chat: ChatCall) -> frozenset[str]:
    """Return the finish reasons of a reply in lower case; empty when none is recorded."""
    return _lowered(chat.finish_reasons) if chat.finish_reasons else frozenset()


@lru_cache(maxsize=256)
def _lowered(reasons: tuple[str, ...]) -> frozenset[str]:
    return frozenset(reason.lower() for reason in reasons)


def accepted_replies(run: Run) -> tuple[ChatCall, ...]:
    """Return the replies that stood as the output of the run, or of one of its steps.

    The last reply of the run's own part and of each step, unless the run or the step ended in an
    error or a cancellation, the step's parser refused it, the call itself failed, the caller left
    the reply, or the answer had been submitted before. A reply that a later one of its step
    replaced (a retry, a continuation) was not accepted.
    """
    if run.status == "error" or run.is_cancelled:
        return ()
    last: dict[str | None, ChatCall] = {}
    for chat in run.chats:
        last[chat.step_span_id] = chat
    for step in run.steps:
        if step.error_type is not None or step.parser_valid is False:
            last.pop(step.span_id, None)
    return tuple(chat for chat in last.values() if _is_standing(chat, run))


def _is_standing(chat: ChatCall, run: Run) -> bool:
    if chat.ending in ("abandoned", "cancelled"):
        return False
    if chat.error_type is not None and not chat.text_chars and not chat.requested:
        return False
    submission = run.submission
    if submission is None or chat.step_span_id is not None:
        return True
    if submission.seq is not None and chat.seq is not None:
        return chat.seq < submission.seq
    return not submission.start_ns or chat.start_ns < submission.start_ns


def message_text(message: Message) -> str:
    """Return the visible text of a message."""
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def reply_texts(chat: ChatCall) -> tuple[str, ...] | None:
    """Return the visible texts of a reply, one a message that has any.

    Returns:
        `None` when the reply was not recorded, or was cut to a size cap.
    """
    if chat.output_messages is None or chat.is_truncated:
        return None
    texts = (message_text(m) for m in chat.output_messages if m.role in ("assistant", "model"))
    return tuple(text for text in texts if text.strip())


FEW_CHARS = 16
"""Up to so many characters may be nothing but spaces and line ends."""


def has_visible(chat: ChatCall) -> bool | None:
    """Say whether a reply holds visible text or a call; `None` when the trace does not show it."""
    if chat.requested or (chat.text_chars or 0) > FEW_CHARS:
        return True
    if chat.output_messages is not None:
        from spanwitness.model import MediaPart, OpaquePart, ToolCallPart

        shown = (MediaPart, OpaquePart, ToolCallPart)
        for message in chat.output_messages:
            for part in message.parts:
                if isinstance(part, shown) or (isinstance(part, TextPart) and part.text.strip()):
                    return True
        return False
    if chat.text_chars:
        return True
    return None if chat.text_chars is None or chat.requested is None else False
