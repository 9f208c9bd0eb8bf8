"""Model calls as the model saw them: the tools on offer, what is new in each request, the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.model import (
    MediaPart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.review.web.shown_text import LIMIT_CHARS, ShownText, one_line, readable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.model import ChatCall, LedgerRow, Message, Run
    from spanwitness.model.message import Part

MAX_CALLS: Final = 8
"""Model calls whose messages stand on the item's page; the others have pages of their own."""
MAX_MESSAGES: Final = 30


class PartView(msgspec.Struct, frozen=True):
    """One part of a message."""

    title: str
    """`text`, `call of search_text`, `image`, ..."""
    tone: str
    text: ShownText | None


class MessageView(msgspec.Struct, frozen=True):
    """One message."""

    role: str
    parts: tuple[PartView, ...]


class CallView(msgspec.Struct, frozen=True):
    """One model call."""

    number: int
    """Place among the model calls, from 1."""
    span_id: str
    model: str
    facts: tuple[tuple[str, str], ...]
    """Name and value, for a list: tool choice, output form, finish reasons, tokens."""
    n_before: int
    """Messages at the start of this request that the one before carried as well."""
    n_hidden: int
    messages: tuple[MessageView, ...]
    """The new ones."""
    reply: tuple[MessageView, ...]
    has_content: bool
    """False where messages were not recorded or may not be seen."""
    is_named: bool
    error_type: str | None


class ToolOffer(msgspec.Struct, frozen=True):
    """A tool: offered, asked for, run."""

    name: str
    side: str
    n_offering: int
    """Requests that offer it."""
    n_requested: int
    n_executed: int


class OffersView(msgspec.Struct, frozen=True):
    """Offered against used tools."""

    tools: tuple[ToolOffer, ...]
    n_calls: int
    n_unknown: int
    """Model calls whose request does not show what it offered."""
    n_hidden: int


def offers_view(run: Run, ledger: Sequence[LedgerRow], *, limit: int = 60) -> OffersView:
    """Count, for each tool, the requests that offer it, the calls asked for, and those that ran."""
    sides: dict[str, str] = {row.tool: row.side for row in ledger}
    offering = dict.fromkeys(sides, 0)
    for chat in run.chats:
        for tool in chat.offered or ():
            offering[tool.name] = offering.get(tool.name, 0) + 1
            sides.setdefault(tool.name, tool.side)
    made = [
        ToolOffer(
            name=one_line(name, limit=80),
            side=sides[name],
            n_offering=n,
            n_requested=sum(r.tool == name and r.requested == "yes" for r in ledger),
            n_executed=sum(r.tool == name and r.executed not in ("no", "unknown") for r in ledger),
        )
        for name, n in list(offering.items())[:limit]
    ]
    n_unknown = sum(chat.offered is None for chat in run.chats)
    return OffersView(tuple(made), len(run.chats), n_unknown, max(0, len(offering) - limit))


def calls_view(run: Run, span_ids: Sequence[str], *, with_content: bool) -> tuple[CallView, ...]:
    """Return the model calls to show first: those that the finding names, the first and the last.

    Args:
        run: The run.
        span_ids: The spans that the finding names.
        with_content: Whether the reader may see messages.
    """
    n_calls = len(run.chats)
    named = [place for place, chat in enumerate(run.chats) if chat.span_id in set(span_ids)]
    wanted = dict.fromkeys([*named[: MAX_CALLS - 2], 0, n_calls - 1, *range(n_calls)])
    places = sorted([place for place in wanted if 0 <= place < n_calls][:MAX_CALLS])
    return tuple(
        call_view(run, place, with_content=with_content, is_named=place in named)
        for place in places
    )


def call_view(
    run: Run,
    place: int,
    *,
    with_content: bool,
    is_named: bool = False,
    whole: bool = False,
    limit: int = LIMIT_CHARS,
) -> CallView:
    """Return one model call.

    Args:
        run: The run.
        place: Index of the call in `run.chats`.
        with_content: Whether the reader may see messages.
        is_named: Whether the finding names it.
        whole: Show every message of the request, not only what is new in it.
        limit: Characters shown of each text.
    """
    chat = run.chats[place]
    before = run.chats[place - 1].input_messages if place and with_content else None
    given = chat.input_messages if with_content else None
    n_before = 0 if whole else _n_shared(before, given)
    fresh = given[n_before:] if given is not None else ()
    shown_messages = fresh if whole else fresh[-MAX_MESSAGES:]
    replied = (chat.output_messages or ()) if with_content else ()
    return CallView(
        number=place + 1,
        span_id=chat.span_id,
        model=one_line(chat.response_model or chat.request_model or "model not recorded", limit=80),
        facts=tuple(_facts(chat)),
        n_before=n_before,
        n_hidden=len(fresh) - len(shown_messages),
        messages=tuple(_message(m, limit) for m in shown_messages),
        reply=tuple(_message(m, limit) for m in replied),
        has_content=with_content and (given is not None or chat.output_messages is not None),
        is_named=is_named,
        error_type=one_line(chat.error_type, limit=120) if chat.error_type else None,
    )


def _n_shared(before: Sequence[Message] | None, given: Sequence[Message] | None) -> int:
    if before is None or given is None:
        return 0
    n = 0
    for old, new in zip(before, given, strict=False):
        if old is not new and old != new:
            break
        n += 1
    return n


def _facts(chat: ChatCall) -> Iterator[tuple[str, str]]:
    if chat.offered is not None:
        yield "tools offered", str(len(chat.offered))
    if chat.tool_choice is not None:
        choice = chat.tool_choice
        names = f" ({', '.join(choice.names)})" if choice.names else ""
        yield "tool choice", one_line(choice.mode + names, limit=120)
    if chat.output_format is not None:
        form = chat.output_format
        name = f" ({form.name})" if form.name else ""
        yield "output form", one_line(form.kind + name, limit=120)
    if chat.requested is not None:
        yield "calls asked for", str(len(chat.requested))
    if chat.finish_reasons:
        yield "finish", one_line(", ".join(chat.finish_reasons), limit=80)
    if chat.usage.input_tokens is not None or chat.usage.output_tokens is not None:
        numbers = (chat.usage.input_tokens, chat.usage.output_tokens)
        yield "tokens in / out", " / ".join("?" if n is None else f"{n:,}" for n in numbers)
    if chat.ending not in ("complete", "unknown"):
        yield "ended", chat.ending
    if chat.has_server_state:
        yield "state", "part of the input is held by the provider"
    if chat.is_truncated:
        yield "record", "cut to a size cap"


def _message(message: Message, limit: int) -> MessageView:
    parts = tuple(_part(part, limit) for part in message.parts)
    return MessageView(one_line(message.role, limit=24), parts)


def _part(part: Part, limit: int) -> PartView:
    match part:
        case TextPart(text=text):
            return PartView("text", "plain", shown(text, limit=limit))
        case ReasoningPart(text=text):
            return PartView("reasoning", "dim", shown(text, limit=limit) if text else None)
        case RefusalPart(text=text):
            return PartView("refusal", "bad", shown(text, limit=limit))
        case ToolCallPart():
            title = f"call of {one_line(part.name, limit=60)}"
            arguments = readable(part.arguments) if part.arguments is not None else ""
            return PartView(title, "call", shown(arguments, limit=limit) if arguments else None)
        case ToolResultPart():
            return _result(part, limit)
        case MediaPart():
            size = f", {part.size_bytes:,} bytes" if part.size_bytes is not None else ""
            title = f"{part.modality}, {part.mime_type or 'type not recorded'}{size}"
            return PartView(one_line(title, limit=120), "dim", None)
        case OpaquePart():
            return PartView(f"not readable: {one_line(part.kind, limit=60)}", "unknown", None)


def _result(part: ToolResultPart, limit: int) -> PartView:
    name = f" of {one_line(part.name, limit=60)}" if part.name else ""
    mark = " (marked as an error)" if part.is_error else ""
    texts = [p.text if isinstance(p, TextPart) else _placeholder(p) for p in part.parts]
    if part.value is not None:
        texts.append(readable(part.value))
    tone = "bad" if part.is_error else "result"
    return PartView(f"result{name}{mark}", tone, shown("\n".join(texts), limit=limit))


def _placeholder(part: MediaPart | OpaquePart) -> str:
    return f"[{part.modality}]" if isinstance(part, MediaPart) else f"[{part.kind}]"
