"""`prompt_truncated`: the server counted far fewer tokens than the request holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.model import TextPart, ToolResultPart
from spanwitness.rules.rule import NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MIN_BYTES = 8_000
_BYTES_A_TOKEN = 10
"""No tokenizer in use packs ordinary text so tightly: English needs 4 to 5 bytes a token."""
_MAX_BYTES_A_CHAR = 4
_SPACES = re.compile(r"\s+")


@rule("prompt_truncated", severity="warning", fault="harness", needs=CHATS)
def prompt_truncated(facts: Facts) -> Outcome:
    """The reported prompt tokens are far too few for the text of the request.

    Claims: The server cut the prompt (or part of it never reached the model): the text of the
        request, spaces collapsed, has more than 10 bytes for each prompt token that the server
        reports.
    Needs: Reported input tokens, cached ones included, and the messages of the request.
    Not assessed when: A large request (8 kB or more) lacks one of them, or its recorded text was
        cut.
    Can be wrong: A prompt cut by less than about half is not seen. Long runs of one repeated
        character may pack tighter than ordinary text. A server may report the tokens of something
        else.
    """
    unknown = False
    looked = False
    for chat in facts.run.chats:
        size = chat.request_bytes
        if size is not None and size < _MIN_BYTES:
            looked = True
            continue
        tokens = _tokens(chat)
        if tokens is None:
            unknown = unknown or size is not None
            continue
        if size is not None and size <= tokens * _BYTES_A_TOKEN:
            looked = True
            continue
        if chat.input_messages is None:
            unknown = unknown or size is not None
            continue
        enough = max(tokens * _BYTES_A_TOKEN, _MIN_BYTES - 1)
        n_bytes = _text_bytes(chat, enough=enough)
        if n_bytes > enough:
            return violated(
                f"The server reports {tokens} prompt tokens for a request with at least {n_bytes}"
                " bytes of text: most of the prompt did not reach the model.",
                span_ids=(chat.span_id,),
                evidence={"input_tokens": tokens, "text_bytes_at_least": n_bytes},
            )
        # Text that was cut to a size cap may go on for any length.
        unknown, looked = unknown or chat.is_truncated, True
    if unknown:
        return not_assessed("A large request lacks its reported tokens or its whole text.")
    return facts.nothing_found if looked else NOT_APPLICABLE


def _tokens(chat: ChatCall) -> int | None:
    usage = chat.usage
    if not usage.input_tokens:
        return None
    if chat.dialect == "spanwitness":
        return usage.input_tokens
    # Some recorders leave the cached part out of the input tokens.
    return usage.input_tokens + (usage.cached_input_tokens or 0)


def _text_bytes(chat: ChatCall, *, enough: int) -> int:
    """Count the bytes of the text, spaces collapsed; 0 when they cannot be more than enough.

    Counting exactly costs fifty times as much as looking at lengths, so that is done first; and
    the JSON of a stored history, which is longer than the texts in it, need not even be decoded.
    """
    longest = getattr(chat.input_messages, "most_bytes", None)
    if longest is not None and longest <= enough:
        return 0
    texts = [text for text in _texts(chat) if not text.startswith("data:")]
    at_most = sum(len(text) * (1 if text.isascii() else _MAX_BYTES_A_CHAR) for text in texts)
    if at_most <= enough:
        return 0
    total = 0
    for text in texts:
        total += len(_SPACES.sub(" ", text).encode("utf-8", "replace"))
        if total > enough * 4:
            break
    return total


def _texts(chat: ChatCall) -> Iterator[str]:
    for message in chat.input_messages or ():
        for part in message.parts:
            if isinstance(part, TextPart):
                yield part.text
            elif isinstance(part, ToolResultPart):
                yield from (piece.text for piece in part.parts if isinstance(piece, TextPart))
