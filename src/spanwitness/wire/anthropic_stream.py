"""Event streams of Anthropic Messages, put together into the message that would have come whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from spanwitness.wire.facts import WireReply
from spanwitness.wire.reading import integer, mapping, text
from spanwitness.wire.sse import read_items

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Collected", "collect", "finish"]


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    content: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    index: int | None = None
    delta: _Delta | None = None
    content_block: dict[str, object] | None = None
    message: dict[str, object] | None = None
    usage: dict[str, object] | None = None
    error: object = None


_decoder: Final = msgspec.json.Decoder(list[_Event])


def _lenient_event(payload: object, event: str) -> _Event | None:
    if not isinstance(payload, dict):
        return None
    delta = mapping(payload.get("delta"))

    def held(key: str) -> dict[str, object] | None:
        value = payload.get(key)
        return value if isinstance(value, dict) else None

    return _Event(
        type=text(payload.get("type")) or event,
        index=integer(payload.get("index")),
        delta=_Delta(
            type=text(delta.get("type")) or "",
            text=text(delta.get("text")),
            partial_json=text(delta.get("partial_json")),
            thinking=text(delta.get("thinking")),
            signature=text(delta.get("signature")),
            content=text(delta.get("content")),
            stop_reason=text(delta.get("stop_reason")),
        ),
        content_block=held("content_block"),
        message=held("message"),
        usage=held("usage"),
        error=payload.get("error"),
    )


class _Block:
    """One content block under construction."""

    __slots__ = ("is_stopped", "pieces", "start")

    def __init__(self, start: dict[str, object]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}
        self.is_stopped = False

    def add(self, delta: _Delta) -> None:
        for key, fragment in (
            ("text", delta.text),
            ("input", delta.partial_json),
            ("thinking", delta.thinking),
            ("signature", delta.signature),
            ("content", delta.content),
        ):
            if fragment:
                self.pieces.setdefault(key, []).append(fragment)

    def built(self) -> dict[str, object]:
        made = dict(self.start)
        for key, fragments in self.pieces.items():
            begun = made.get(key)
            begun = begun if isinstance(begun, str) else ""
            made[key] = begun + "".join(fragments)
        return made


class Collected(msgspec.Struct, kw_only=True):
    """A stream, put together."""

    body: dict[str, object]
    """As the whole message would have been; empty when nothing was told yet."""
    is_terminated: bool
    open_calls: frozenset[str]
    """Ids of calls that may still grow."""


class _Assembly:
    __slots__ = ("blocks", "body", "error", "is_terminated", "usage")

    def __init__(self) -> None:
        self.body: dict[str, object] = {}
        self.blocks: dict[int, _Block] = {}
        self.usage: dict[str, object] = {}
        self.error: object = None
        self.is_terminated = False

    def add(self, event: _Event) -> None:
        index = event.index or 0
        match event.type:
            case "content_block_delta":
                block = self.blocks.get(index)
                if block is None:
                    block = self.blocks[index] = _Block(_guessed(event.delta))
                if event.delta is not None:
                    block.add(event.delta)
            case "content_block_start":
                self.blocks[index] = _Block(event.content_block or {})
            case "content_block_stop":
                if index in self.blocks:
                    self.blocks[index].is_stopped = True
            case "message_start":
                self.body = dict(event.message or {})
                self._count(mapping(self.body.get("usage")))
            case "message_delta":
                if event.delta is not None and event.delta.stop_reason is not None:
                    self.body["stop_reason"] = event.delta.stop_reason
                self._count(event.usage or {})
            case "message_stop":
                self.is_terminated = True
            case _:
                if event.error is not None or event.type == "error":
                    self.error = event.error or "error"

    def _count(self, usage: dict[str, object]) -> None:
        # The counts of a later event are totals so far: they replace, they do not add.
        self.usage.update({key: value for key, value in usage.items() if value is not None})

    def finished(self) -> Collected:
        body = self.body
        if body or self.blocks:
            content = [self.blocks[index].built() for index in sorted(self.blocks)]
            if content or "content" not in body:
                body = {**body, "content": content}
        if self.usage:
            body = {**body, "usage": self.usage}
        if self.error is not None:
            body = {**body, "error": self.error}
        growing = frozenset(
            text(block.start.get("id")) or ""
            for block in self.blocks.values()
            if not block.is_stopped
        )
        return Collected(body=body, is_terminated=self.is_terminated, open_calls=growing)


def _guessed(delta: _Delta | None) -> dict[str, object]:
    """Make up the start of a block whose own start was missed."""
    kinds = {"thinking_delta": "thinking", "text_delta": "text", "input_json_delta": "tool_use"}
    return {"type": kinds.get(delta.type if delta is not None else "", "unknown")}


def collect(body: bytes) -> Collected:
    """Put the events of a stream together."""
    assembly = _Assembly()
    for event in read_items(body, _decoder, _lenient_event).items:
        assembly.add(event)
    return assembly.finished()


def finish(collected: Collected, read_reply: Callable[[object], WireReply]) -> WireReply:
    """Read the reply; calls that are not yet whole stand in its messages, not in `requested`."""
    if not collected.body:
        return WireReply(is_terminated=collected.is_terminated)
    reply = read_reply(collected.body)
    if collected.is_terminated:
        return reply
    requested = tuple(c for c in reply.requested if (c.call_id or "") not in collected.open_calls)
    return replace(reply, requested=requested, is_terminated=False)
