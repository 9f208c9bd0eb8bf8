"""`evidence_out_of_window`: the support of a value had left the window when it was stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.model import TextPart, ToolResultPart
from spanwitness.normalize.values import find_values, missing
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.stated import input_texts
from spanwitness.rules.subjects import CHATS, EXECUTIONS
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall, Delivery
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("evidence_out_of_window", severity="warning", fault="harness", needs=CHATS | EXECUTIONS)
def evidence_out_of_window(facts: Facts) -> Outcome:
    """A value of the answer was stated after its only support had left the window.

    Claims: A value of the answer (a number, date, quotation or reference) stood in a tool result
        of an earlier request, and in no part of the request whose reply first states it: the
        result had been dropped, compacted away or not passed on.
    Needs: The messages of the requests and replies, and the answer.
    Not assessed when: Results left the window, and messages are not recorded or cut, or the
        request holds parts that cannot be read (an image, a file id, state kept by the provider);
        spans are missing.
    Can be wrong: Compaction that carries a copy is seen as a copy, and fine; a copy that
        paraphrases the value (rounded otherwise, in words) is not seen. A value may have been
        guessed and be equal by chance.
    """
    if len(facts.replies) < 2:
        return facts.no_subject
    if not _has_dropped(facts):
        return facts.nothing_found
    answer = facts.answer_text
    if answer is None:
        return not_assessed("Results left the window; the answer is not recorded.")
    wanted = set(find_values(answer))
    if not wanted:
        return facts.nothing_found
    results: list[str] = []
    unknown = ""
    for chat in facts.replies:
        said = _said(chat)
        if said is None or chat.input_messages is None or chat.is_truncated:
            return not_assessed("Results left the window; messages are not recorded, or were cut.")
        stated = wanted & find_values(said)
        wanted -= stated
        absent = missing(stated, input_texts(chat)) if stated else frozenset()
        supported = absent - missing(absent, results) if absent else frozenset()
        if supported:
            if not _is_readable(chat, facts):
                unknown = "Results left the window; a request holds parts that cannot be read."
            else:
                return _told(chat, len(supported))
        results.extend(_result_texts(chat))
    return not_assessed(unknown) if unknown else facts.nothing_found


def _has_dropped(facts: Facts) -> bool:
    """Say whether some result stood in a request and not in a later one, or this is not known."""
    seen: set[str | None] = set()
    before: tuple[Delivery, ...] | None = None
    for chat in facts.run.chats:
        delivered = chat.delivered
        if before is not None and delivered is not None and delivered[: len(before)] == before:
            # Histories grow: this one holds all that the one before it held.
            seen.update([d.call_id for d in delivered[len(before) :]])
            before = delivered
            continue
        before = delivered
        if delivered is None:
            if chat.input_messages is None:
                return True
            parts = (part for message in chat.input_messages for part in message.parts)
            ids = {part.call_id for part in parts if isinstance(part, ToolResultPart)}
        else:
            ids = {d.call_id for d in delivered}
        if not seen <= ids:
            return True
        seen = ids
    return False


def _said(chat: ChatCall) -> str | None:
    """Return the visible text of a reply and the arguments of its calls."""
    if chat.output_messages is None:
        return None
    found = [p.text for m in chat.output_messages for p in m.parts if isinstance(p, TextPart)]
    found.extend(
        as_text(call.arguments) for call in chat.requested or () if call.arguments is not None
    )
    return "\n".join(found)


def _result_texts(chat: ChatCall) -> Iterator[str]:
    for message in chat.input_messages or ():
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                for piece in part.parts:
                    if isinstance(piece, TextPart):
                        yield piece.text
                if part.value is not None:
                    yield as_text(part.value)


def _is_readable(chat: ChatCall, facts: Facts) -> bool:
    return facts.stated(chat).n_unseen is not None


def _told(chat: ChatCall, n_values: int) -> Outcome:
    plural = "s" if n_values != 1 else ""
    return violated(
        f"{n_values} value{plural} of the answer stood only in tool results that had left the"
        " window when the model stated them.",
        span_ids=(chat.span_id,),
        evidence={"n_values": n_values},
    )
