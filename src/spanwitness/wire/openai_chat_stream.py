"""Streams of chat completion chunks, put together into the reply that would have come whole."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec.structs import replace

from spanwitness.wire.fusing import fuse
from spanwitness.wire.reading import NOTHING, integer, is_objects, items, load, mapping, text
from spanwitness.wire.sse import read_events, read_items, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.wire.facts import WireReply

__all__ = ["Collected", "collect", "finish"]


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    tool_calls: list[object] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[object] | None = None
    refusal: str | None = None
    function_call: dict[str, object] | None = None
    audio: dict[str, object] | None = None
    annotations: list[object] | None = None
    executed_tools: list[object] | None = None
    parts: list[object] | None = None
    """Content that came as an array of parts (only by the lenient road)."""


class _Choice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, gc=False, rename={"what": "object"}):
    choices: list[_Choice] | None = None
    usage: dict[str, object] | None = None
    error: object = None
    what: str | None = None


class _PlainDelta(msgspec.Struct, gc=False):
    """A delta that holds nothing rare: what is declared `None` here makes the decoder refuse."""

    content: str | None = None
    tool_calls: list[object] | None = None
    reasoning_content: None = None
    reasoning: None = None
    reasoning_details: None = None
    refusal: None = None
    function_call: None = None
    audio: None = None
    annotations: None = None
    executed_tools: None = None


class _PlainChoice(msgspec.Struct, gc=False):
    delta: _PlainDelta
    index: int | None = None
    finish_reason: str | None = None


class _PlainChunk(msgspec.Struct, gc=False, rename={"what": "object"}):
    choices: list[_PlainChoice]
    usage: dict[str, object] | None = None
    error: None = None
    what: Literal["chat.completion.chunk", ""] | None = None


_CONTENT: Final = re.compile(rb'"delta":\s*\{\s*"content":\s*"')
_plain_decoder: Final = msgspec.json.Decoder(list[_PlainChunk])
_decoder: Final = msgspec.json.Decoder(list[_Chunk])


def _lenient_chunk(payload: object, event: str) -> _Chunk | None:
    if not isinstance(payload, dict):
        return None
    failed = payload.get("error")
    if failed is None and (event == "error" or payload.get("object") == "error"):
        failed = payload
    choices = None
    if is_objects(payload.get("choices")):
        choices = [_lenient_choice(choice) for choice in items(payload["choices"])]
    usage = payload.get("usage")
    return _Chunk(
        choices=choices,
        usage=usage if isinstance(usage, dict) else None,
        error=failed,
    )


def _lenient_choice(choice: dict[str, object]) -> _Choice:
    delta = mapping(choice.get("delta"))
    content = delta.get("content")

    def array(key: str) -> list[object] | None:
        value = delta.get(key)
        return value if is_objects(value) else None

    call, audio = delta.get("function_call"), delta.get("audio")
    return _Choice(
        index=integer(choice.get("index")),
        finish_reason=text(choice.get("finish_reason")),
        delta=_Delta(
            content=text(content),
            parts=content if is_objects(content) else None,
            tool_calls=array("tool_calls"),
            reasoning_content=text(delta.get("reasoning_content")),
            reasoning=text(delta.get("reasoning")),
            reasoning_details=array("reasoning_details"),
            refusal=text(delta.get("refusal")),
            function_call=call if isinstance(call, dict) else None,
            audio=audio if isinstance(audio, dict) else None,
            annotations=array("annotations"),
            executed_tools=array("executed_tools"),
        ),
    )


class _Slot:
    """One call under construction."""

    __slots__ = ("call_id", "is_custom", "name", "pieces")

    def __init__(self, call_id: str, *, is_custom: bool) -> None:
        self.call_id = call_id
        self.name = ""
        self.pieces: list[str] = []
        self.is_custom = is_custom

    @property
    def arguments(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def is_whole(self) -> bool:
        return self.is_custom or _is_whole(self.arguments)

    def as_call(self) -> dict[str, object]:
        if self.is_custom:
            custom = {"name": self.name, "input": self.arguments}
            return {"id": self.call_id, "type": "custom", "custom": custom}
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.call_id, "type": "function", "function": function}


def _is_whole(fragment: str) -> bool:
    stripped = fragment.strip()
    return stripped[:1] == "{" and stripped[-1:] == "}" and load(stripped) is not NOTHING


class _Growing:
    """One choice under construction."""

    __slots__ = ("at_index", "content", "extra", "finish_reason", "merged", "slots")

    def __init__(self) -> None:
        self.content: list[str] = []
        self.merged: dict[str, list[str]] = {}
        self.extra: dict[str, list[object]] = {}
        self.slots: list[_Slot] = []
        self.at_index: dict[int, _Slot] = {}
        self.finish_reason: str | None = None

    def add(self, delta: _Delta) -> None:
        for key, piece in (
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("refusal", delta.refusal),
        ):
            if piece:
                self.merged.setdefault(key, []).append(piece)
        if delta.tool_calls:
            for call in items(delta.tool_calls):
                self.add_call(call)
        if delta.function_call is not None:
            self.add_call({"index": 0, "function": delta.function_call, "type": "legacy"})
        self._add_rare(delta)

    def _add_rare(self, delta: _Delta) -> None:
        if delta.parts:
            self.extra.setdefault("content", []).extend(delta.parts)
        if delta.annotations:
            self.extra.setdefault("annotations", []).extend(delta.annotations)
        if delta.executed_tools:
            self.extra.setdefault("executed_tools", []).extend(delta.executed_tools)
        if delta.reasoning_details:
            self.extra.setdefault("reasoning_details", []).extend(delta.reasoning_details)
        if delta.audio is not None:
            self.extra.setdefault("audio", []).append(delta.audio)

    def add_call(self, call: dict[str, object]) -> None:
        call_id = text(call.get("id")) or ""
        custom = call.get("custom")
        inner = custom if isinstance(custom, dict) else mapping(call.get("function"))
        name = text(inner.get("name")) or ""
        fragment = inner.get("input" if isinstance(custom, dict) else "arguments")
        if isinstance(fragment, dict):
            fragment = msgspec.json.encode(fragment).decode()
        piece = text(fragment) or ""
        slot = self._slot_for(integer(call.get("index")), call_id, name, piece)
        if slot is None:
            slot = _Slot(call_id, is_custom=isinstance(custom, dict))
            self.slots.append(slot)
        elif piece and piece == slot.arguments and _is_whole(piece):
            piece = ""  # the whole call, sent again
        index = integer(call.get("index"))
        if index is not None:
            self.at_index[index] = slot
        slot.call_id = slot.call_id or call_id
        slot.name = slot.name or name
        if piece:
            slot.pieces.append(piece)

    def _slot_for(self, index: int | None, call_id: str, name: str, piece: str) -> _Slot | None:
        """Find the call that a fragment belongs to; `None` when it begins a new one.

        The index alone does not tell: some servers leave it out or send 0 for every call, each of
        which comes whole with its own id.
        """
        if call_id:
            for slot in self.slots:
                if slot.call_id == call_id:
                    return slot
        if index is None:
            begins = bool(call_id or name) or not self.slots
            return None if begins else self.slots[-1]
        found = self.at_index.get(index)
        if found is None:
            return None
        if call_id and found.call_id:
            return None
        if name and found.name and _is_whole(piece) and found.is_whole():
            return found if piece == found.arguments and name == found.name else None
        return found

    def message(self) -> dict[str, object]:
        made: dict[str, object] = {key: "".join(pieces) for key, pieces in self.merged.items()}
        if self.content:
            made["content"] = "".join(self.content)
        for key, values in self.extra.items():
            if key == "content":
                written = "".join(self.content)
                made[key] = [{"type": "text", "text": written}, *values] if written else values
            elif key == "audio":
                made[key] = _join_audio(items(values))
            elif key == "reasoning_details":
                made[key] = _join_signatures(items(values))
            else:
                made[key] = values
        made["tool_calls"] = [slot.as_call() for slot in self.slots]
        return made


def _join_audio(pieces: list[dict[str, object]]) -> dict[str, object]:
    joined: dict[str, object] = {}
    for key in ("id", "data"):
        found = [word for piece in pieces if (word := text(piece.get(key)))]
        if found:
            joined[key] = "".join(found) if key == "data" else found[0]
    return joined


def _join_signatures(pieces: list[dict[str, object]]) -> list[object]:
    """Join the fragments of signed reasoning, which some gateways split over chunks, by index."""
    joined: dict[object, dict[str, object]] = {}
    for piece in pieces:
        into = joined.setdefault(integer(piece.get("index")), {})
        for key in ("signature", "data"):
            word = text(piece.get(key))
            if word:
                into[key] = f"{into.get(key, '')}{word}"
    return list(joined.values())


class Collected(msgspec.Struct, kw_only=True):
    """A stream, put together."""

    body: dict[str, object]
    """As the whole reply would have been."""
    is_terminated: bool
    open_calls: frozenset[tuple[str, str]]
    """Ids and names of calls that may still grow."""


def collect(body: bytes) -> Collected:
    """Put the chunks of a stream together."""
    body = fuse(body, _CONTENT)
    growing: dict[int, _Growing] = {}
    plain = read_regular(body, _plain_decoder)
    if plain is not None:
        head = _read_head(body, plain.first) if plain.items else {}
        is_done = plain.is_done
        _grow_plainly(plain.items, growing, head)
    else:
        stream = read_items(body, _decoder, _lenient_chunk)
        head = _read_head(body, stream.first) if stream.items else {}
        is_done = stream.is_done
        _grow(stream.items, growing, head)
    ordered = [growing[index] for index in sorted(growing)]
    head["choices"] = [
        {"message": one.message(), "finish_reason": one.finish_reason} for one in ordered
    ]
    is_terminated = is_done or (bool(ordered) and all(one.finish_reason for one in ordered))
    return Collected(body=head, is_terminated=is_terminated, open_calls=_open_calls(ordered))


def _grow_plainly(
    chunks: list[_PlainChunk], growing: dict[int, _Growing], head: dict[str, object]
) -> None:
    for chunk in chunks:
        for choice in chunk.choices:
            index = choice.index or 0
            found = growing.get(index)
            if found is None:
                found = growing[index] = _Growing()
            delta = choice.delta
            if delta.content:
                found.content.append(delta.content)
            if delta.tool_calls:
                for call in items(delta.tool_calls):
                    found.add_call(call)
            if choice.finish_reason is not None:
                found.finish_reason = choice.finish_reason or found.finish_reason
        if chunk.usage is not None:
            head["usage"] = chunk.usage


def _grow(chunks: list[_Chunk], growing: dict[int, _Growing], head: dict[str, object]) -> None:
    for chunk in chunks:
        for choice in chunk.choices or ():
            index = choice.index or 0
            found = growing.get(index)
            if found is None:
                found = growing[index] = _Growing()
            if choice.delta is not None:
                if choice.delta.content:
                    found.content.append(choice.delta.content)
                found.add(choice.delta)
            if choice.finish_reason is not None:
                found.finish_reason = choice.finish_reason or found.finish_reason
        if chunk.usage is not None:
            head["usage"] = chunk.usage
        if chunk.error is not None or chunk.what == "error":
            head["error"] = chunk.error or "error"


def _read_head(body: bytes, first: bytes) -> dict[str, object]:
    """Read id and model from the first chunk, or from the first that has them."""
    head = _with_head({}, first)
    if len(head) < 2:
        for event in itertools.islice(read_events(body), 20):
            head = _with_head(head, event.data)
    return head


def _with_head(head: dict[str, object], payload: bytes) -> dict[str, object]:
    chunk = mapping(load(payload))
    found = {key: word for key in ("id", "model") if (word := text(chunk.get(key)))}
    return {**found, **head}


def _open_calls(ordered: list[_Growing]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (slot.call_id, slot.name)
        for one in ordered
        if one.finish_reason is None
        for slot in one.slots
        if not slot.is_whole() or (slot.is_custom and slot is one.slots[-1])
    )


def finish(collected: Collected, read_reply: Callable[[object], WireReply]) -> WireReply:
    """Read the reply; calls that are not yet whole stand in its messages, not in `requested`."""
    reply = read_reply(collected.body)
    if collected.is_terminated:
        return reply
    requested = tuple(
        call
        for call in reply.requested
        if (call.call_id or "", call.name) not in collected.open_calls
    )
    return replace(reply, requested=requested, is_terminated=False)
