"""Which tool results stand in a request, and whether each is what the tool returned."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from spanwitness.capture.histories import shared_prefix
from spanwitness.model import Delivery, MediaPart, ReasoningPart, TextPart, ToolResultPart
from spanwitness.normalize.delivery import compare, is_empty_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanwitness.capture.context import Board
    from spanwitness.model import Message
    from spanwitness.wire.facts import WireReply, WireRequest

__all__ = ["DeliveredResults", "look", "remember"]

_MAX_REMEMBERED = 1024
_BINARY_PREFIX = "data:"
_PLAIN = ("text",)


@dataclass(slots=True, frozen=True)
class DeliveredResults:
    """The results in one request."""

    fresh: tuple[Delivery, ...]
    """Those that stand there for the first time, or in another form than before."""
    call_ids: tuple[str, ...]
    """Of every result in the request."""
    reasoning_lost: int | None
    """Signed reasoning of the replies that asked for the fresh ones, missing in this request;
    `None` = none was due."""


@dataclass(slots=True)
class _Memory:
    """What earlier requests and replies of one run held, bounded."""

    messages: Sequence[Message] = ()
    """Of the last request; what begins with the same ones need not be looked at again."""
    call_ids: tuple[str, ...] = ()
    """Of the results in them."""
    forms: OrderedDict[str, int] = field(default_factory=OrderedDict)
    """Call id -> hash of the form in which its result was last delivered."""
    signed: OrderedDict[str, tuple[str, ...]] = field(default_factory=OrderedDict)
    """Call id -> digests of the signed reasoning of the reply that asked for it."""


def _memory(board: Board) -> _Memory:
    memory = board.delivered
    if not isinstance(memory, _Memory):
        memory = board.delivered = _Memory()
    return memory


def remember(board: Board, reply: WireReply) -> None:
    """Remember which signed reasoning has to come back with the results of a reply's calls."""
    signed = tuple(
        part.signature_digest
        for message in reply.messages
        for part in message.parts
        if isinstance(part, ReasoningPart) and part.signature_digest is not None
    )
    if not signed:
        return
    memory = _memory(board)
    for request in reply.requested:
        if request.call_id is not None and request.side == "client":
            memory.signed[request.call_id] = signed
    while len(memory.signed) > _MAX_REMEMBERED:
        memory.signed.popitem(last=False)


def look(request: WireRequest, board: Board) -> DeliveredResults:
    """Look at the tool results in a request and compare them with what the tools returned."""
    memory = _memory(board)
    messages = request.messages
    looked_at = shared_prefix(memory.messages, messages)
    call_ids = list(memory.call_ids) if looked_at else []
    fresh: list[Delivery] = []
    due: dict[str, None] = {}
    loose = _Loose(messages[looked_at:])
    for message in messages[looked_at:]:
        for part in message.parts:
            if not isinstance(part, ToolResultPart):
                continue
            call_id = part.call_id
            if call_id is not None:
                call_ids.append(call_id)
                form = _form(part)
                before = memory.forms.get(call_id)
                if before == form:
                    continue
                if before is None and memory.signed:
                    due.update(dict.fromkeys(memory.signed.get(call_id, ())))
                memory.forms[call_id] = form
            fresh.append(_delivery(part, board, loose))
    while len(memory.forms) > _MAX_REMEMBERED:
        memory.forms.popitem(last=False)
    memory.messages, memory.call_ids = messages, tuple(call_ids)
    return DeliveredResults(tuple(fresh), memory.call_ids, _n_missing(due, messages))


def _n_missing(due: Iterable[str], messages: Sequence[Message]) -> int | None:
    """Count the signatures that should have come back and did not; `None` = none was due."""
    wanted = set(due)
    if not wanted:
        return None
    present = {
        part.signature_digest
        for message in messages
        for part in message.parts
        if isinstance(part, ReasoningPart)
    }
    return len(wanted - present)


def _form(part: ToolResultPart) -> int:
    return hash(
        tuple(
            piece.text if isinstance(piece, TextPart) else getattr(piece, "digest", None)
            for piece in part.parts
        )
        or repr(part.value)
    )


class _Loose:
    """Images and files beside the results.

    Where a wire format takes only text in a result, they follow in a message of the user.
    """

    __slots__ = ("_media", "_messages")

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._media: list[MediaPart] | None = None

    def with_missing(self, part: ToolResultPart, returned: Sequence[str]) -> ToolResultPart:
        """Return the result together with what of it follows, where something is missing."""
        n_returned = sum(kind != "text" for kind in returned)
        n_missing = n_returned - sum(isinstance(piece, MediaPart) for piece in part.parts)
        if n_missing <= 0:
            return part
        if self._media is None:
            self._media = [
                piece
                for message in self._messages
                if message.role != "assistant"
                for piece in message.parts
                if isinstance(piece, MediaPart)
            ]
        taken, self._media = self._media[:n_missing], self._media[n_missing:]
        return msgspec.structs.replace(part, parts=(*part.parts, *taken)) if taken else part


def _delivery(part: ToolResultPart, board: Board, loose: _Loose) -> Delivery:
    held = board.held(part.call_id) if part.call_id is not None else None
    if held is not None and held.part_types != _PLAIN:
        part = loose.with_missing(part, held.part_types)
    texts = [piece.text for piece in part.parts if isinstance(piece, TextPart)]
    size = sum(map(len, texts)) + sum(
        piece.size_bytes or 0 for piece in part.parts if isinstance(piece, MediaPart)
    )
    has_value = part.value is not None
    return Delivery(
        call_id=part.call_id,
        state="unknown"
        if held is None
        else compare(
            held.value,
            part,
            returned_part_types=held.part_types,
            returned_is_cut=held.is_cut,
        ),
        part_types=tuple(_kind(piece) for piece in part.parts) or (("text",) if has_value else ()),
        returned_part_types=None if held is None else held.part_types,
        size_bytes=size,
        has_binary_text=any(_is_binary(text) for text in texts),
        is_error=part.is_error,
        is_empty=not has_value and len(texts) == len(part.parts) and all(map(is_empty_text, texts)),
    )


def _kind(piece: object) -> str:
    if isinstance(piece, TextPart):
        return "text"
    return piece.modality if isinstance(piece, MediaPart) else "opaque"


def _is_binary(text: str) -> bool:
    head = text[:200].lstrip()
    return head.startswith(_BINARY_PREFIX) and ";base64," in head
