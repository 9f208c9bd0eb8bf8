"""The four wire formats, written: a scripted reply as a JSON body and as server-sent events."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from spanwitness.testing.script import Call, Item, Part, Reply, Say, SeenRequest, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonDict = dict[str, object]
_EPOCH_S = 1_764_374_400


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A reply together with what it answers."""

    reply: Reply
    request: SeenRequest
    number: int
    """Counts the replies of a provider from 1; ids are made of it."""
    body: JsonDict = field(default_factory=dict)
    """The decoded request."""

    @property
    def model(self) -> str:
        """The response model."""
        asked = self.body.get("model")
        if not isinstance(asked, str):
            found = re.search(r"models/([^/:]+)", self.request.path)
            asked = found.group(1) if found else "scripted"
        return self.reply.model or asked

    @property
    def input_tokens(self) -> int:
        """Scripted, else a quarter of the request's bytes."""
        given = self.reply.input_tokens
        return len(self.request.body) // 4 if given is None else given

    @property
    def output_tokens(self) -> int:
        """Scripted, else a quarter of the reply's characters, at least 1."""
        given = self.reply.output_tokens
        size = sum(len(_text_of(part)) for part in self.reply.parts)
        return max(1, size // 4) if given is None else given

    def call_id(self, call: Call, prefix: str) -> str:
        """The scripted id of a call, else one that is unique in this provider."""
        if call.id is not None:
            return call.id
        place = next(i for i, part in enumerate(self.reply.parts) if part is call)
        return f"{prefix}{self.number:04d}{place:02d}"

    @property
    def has_calls(self) -> bool:
        """Whether the reply asks for a tool."""
        return any(isinstance(part, Call) for part in self.reply.parts)


class Form(Protocol):
    """One wire format."""

    def is_streaming(self, turn: Turn) -> bool:
        """Say whether the request asks for a stream."""
        ...

    def whole(self, turn: Turn) -> JsonDict:
        """Write the reply as one JSON body."""
        ...

    def events(self, turn: Turn) -> Iterator[bytes]:
        """Write the reply event by event, each with its closing blank line."""
        ...


def arguments_text(call: Call) -> str:
    """The arguments as the JSON string that OpenAI's formats carry."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(dict(call.arguments), ensure_ascii=False, separators=(",", ":"))


def pieces(text: str) -> list[str]:
    """Cut a text into the pieces that a stream sends: words with the space before them."""
    return re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+", text) or [text]


def sse(value: object, *, event: str | None = None) -> bytes:
    """Write one server-sent event."""
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data}\n\n".encode()


def _text_of(part: Part) -> str:
    match part:
        case Say(text) | Think(text):
            return text
        case Call():
            return part.name + arguments_text(part)
        case Item(value):
            return json.dumps(value)


class OpenAiChat:
    """OpenAI chat completions, as OpenAI and the compatible servers speak it."""

    def is_streaming(self, turn: Turn) -> bool:
        """See `Form`."""
        return bool(turn.body.get("stream"))

    def whole(self, turn: Turn) -> JsonDict:
        """See `Form`."""
        message: JsonDict = {"role": "assistant", "content": None, "refusal": None}
        calls: list[JsonDict] = []
        for part in turn.reply.parts:
            match part:
                case Say(text):
                    message["content"] = str(message["content"] or "") + text
                case Think(text):
                    message["reasoning_content"] = text
                case Call():
                    calls.append(self._call(turn, part))
                case Item(value):
                    message.update(value)
        if calls:
            message["tool_calls"] = calls
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self._finish(turn),
        }
        whole = self._envelope(turn, "chat.completion") | {"choices": [choice]}
        if turn.reply.with_usage:
            whole["usage"] = self._usage(turn)
        return whole

    def events(self, turn: Turn) -> Iterator[bytes]:
        """See `Form`."""
        envelope = self._envelope(turn, "chat.completion.chunk")

        def chunk(delta: JsonDict, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return sse(envelope | {"choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        n_calls = 0
        for part in turn.reply.parts:
            match part:
                case Say(text):
                    yield from (chunk({"content": piece}) for piece in pieces(text))
                case Think(text):
                    yield from (chunk({"reasoning_content": piece}) for piece in pieces(text))
                case Call():
                    yield from (
                        chunk({"tool_calls": [d]}) for d in self._deltas(turn, part, n_calls)
                    )
                    n_calls += 1
                case Item(value):
                    yield chunk(dict(value))
        yield chunk({}, self._finish(turn))
        options = turn.body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage") and turn.reply.with_usage:
            yield sse(envelope | {"choices": [], "usage": self._usage(turn)})
        yield sse("[DONE]")

    def _deltas(self, turn: Turn, call: Call, index: int) -> Iterator[JsonDict]:
        first = self._call(turn, call)
        first["function"] = {"name": call.name, "arguments": ""}
        yield {"index": index} | first
        text = arguments_text(call)
        for start in range(0, len(text), 12):
            yield {"index": index, "function": {"arguments": text[start : start + 12]}}

    def _call(self, turn: Turn, call: Call) -> JsonDict:
        function = {"name": call.name, "arguments": arguments_text(call)}
        return {"id": turn.call_id(call, "call_"), "type": "function", "function": function}

    def _finish(self, turn: Turn) -> str:
        return turn.reply.finish_reason or ("tool_calls" if turn.has_calls else "stop")

    def _envelope(self, turn: Turn, kind: str) -> JsonDict:
        return {
            "id": f"chatcmpl-{turn.number:06d}",
            "object": kind,
            "created": _EPOCH_S,
            "model": turn.model,
            "system_fingerprint": "fp_scripted",
        }

    def _usage(self, turn: Turn) -> JsonDict:
        return {
            "prompt_tokens": turn.input_tokens,
            "completion_tokens": turn.output_tokens,
            "total_tokens": turn.input_tokens + turn.output_tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }


class AnthropicMessages:
    """Anthropic Messages."""

    def is_streaming(self, turn: Turn) -> bool:
        """See `Form`."""
        return bool(turn.body.get("stream"))

    def whole(self, turn: Turn) -> JsonDict:
        """See `Form`."""
        blocks = [self._block(turn, part) for part in turn.reply.parts]
        return self._message(turn) | {
            "content": blocks,
            "stop_reason": self._stop(turn),
            "usage": {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens},
        }

    def events(self, turn: Turn) -> Iterator[bytes]:
        """See `Form`."""

        def event(kind: str, **more: object) -> bytes:
            return sse({"type": kind, **more}, event=kind)

        usage = {"input_tokens": turn.input_tokens, "output_tokens": 1}
        start = self._message(turn) | {"content": [], "stop_reason": None, "usage": usage}
        yield event("message_start", message=start)
        yield event("ping")
        for index, part in enumerate(turn.reply.parts):
            block = self._block(turn, part)
            empty = {k: v for k, v in _EMPTY.items() if k in block}
            opening = block if isinstance(part, Item) else block | empty
            yield event("content_block_start", index=index, content_block=opening)
            for delta in self._deltas(part):
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        yield event(
            "message_delta",
            delta={"stop_reason": self._stop(turn), "stop_sequence": None},
            usage={"output_tokens": turn.output_tokens},
        )
        yield event("message_stop")

    def _deltas(self, part: Part) -> Iterator[JsonDict]:
        match part:
            case Say(text):
                for piece in pieces(text):
                    yield {"type": "text_delta", "text": piece}
            case Think(text, signature):
                for piece in pieces(text):
                    yield {"type": "thinking_delta", "thinking": piece}
                yield {"type": "signature_delta", "signature": signature}
            case Call():
                written = arguments_text(part)
                yield {"type": "input_json_delta", "partial_json": ""}
                for start in range(0, len(written), 12):
                    yield {"type": "input_json_delta", "partial_json": written[start : start + 12]}
            case Item():
                return

    def _block(self, turn: Turn, part: Part) -> JsonDict:
        match part:
            case Say(text):
                return {"type": "text", "text": text}
            case Think(text, signature):
                return {"type": "thinking", "thinking": text, "signature": signature}
            case Call():
                given = part.arguments
                values = dict(given) if not isinstance(given, str) else json.loads(given)
                ids = {"type": "tool_use", "id": turn.call_id(part, "toolu_")}
                return {**ids, "name": part.name, "input": values}
            case Item(value):
                return dict(value)

    def _stop(self, turn: Turn) -> str:
        return turn.reply.finish_reason or ("tool_use" if turn.has_calls else "end_turn")

    def _message(self, turn: Turn) -> JsonDict:
        return {
            "id": f"msg_{turn.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": turn.model,
            "stop_sequence": None,
        }


_EMPTY: JsonDict = {"text": "", "thinking": "", "signature": "", "input": {}}


class Gemini:
    """Gemini generateContent and streamGenerateContent."""

    def is_streaming(self, turn: Turn) -> bool:
        """See `Form`."""
        return turn.request.path.endswith(":streamGenerateContent")

    def whole(self, turn: Turn) -> JsonDict:
        """See `Form`."""
        return self._response(turn, [self._part(part) for part in turn.reply.parts], is_last=True)

    def events(self, turn: Turn) -> Iterator[bytes]:
        """See `Form`."""
        parts: list[JsonDict] = []
        for part in turn.reply.parts:
            match part:
                case Say(text):
                    parts.extend({"text": piece} for piece in pieces(text))
                case _:
                    parts.append(self._part(part))
        parts = parts or [{"text": ""}]
        for place, value in enumerate(parts, 1):
            body = self._response(turn, [value], is_last=place == len(parts))
            yield f"data: {json.dumps(body, ensure_ascii=False)}\r\n\r\n".encode()

    def _part(self, part: Part) -> JsonDict:
        match part:
            case Say(text):
                return {"text": text}
            case Think(text, signature):
                return {"text": text, "thought": True, "thoughtSignature": signature}
            case Call(name, arguments, call_id):
                values = (
                    dict(arguments) if not isinstance(arguments, str) else json.loads(arguments)
                )
                function: JsonDict = {"name": name, "args": values}
                return {"functionCall": function if call_id is None else {"id": call_id} | function}
            case Item(value):
                return dict(value)

    def _response(self, turn: Turn, parts: list[JsonDict], *, is_last: bool) -> JsonDict:
        candidate: JsonDict = {"content": {"role": "model", "parts": parts}, "index": 0}
        body: JsonDict = {
            "candidates": [candidate],
            "modelVersion": turn.model,
            "responseId": f"gemini{turn.number:06d}",
        }
        if is_last:
            candidate["finishReason"] = turn.reply.finish_reason or "STOP"
        if is_last and turn.reply.with_usage:
            body["usageMetadata"] = {
                "promptTokenCount": turn.input_tokens,
                "candidatesTokenCount": turn.output_tokens,
                "totalTokenCount": turn.input_tokens + turn.output_tokens,
            }
        return body
