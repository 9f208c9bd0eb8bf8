"""The OpenAI Responses format, written."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from spanwitness.testing.forms import JsonDict, Turn, arguments_text, pieces, sse
from spanwitness.testing.script import Call, Item, Part, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

_EPOCH_S = 1_764_374_400
_ECHOED = (
    "instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "previous_response_id",
    "reasoning", "temperature", "text", "tool_choice", "tools", "top_p", "truncation",
)  # fmt: skip


class OpenAiResponses:
    """OpenAI Responses."""

    def is_streaming(self, turn: Turn) -> bool:
        """See `Form`."""
        return bool(turn.body.get("stream"))

    def whole(self, turn: Turn) -> JsonDict:
        """See `Form`."""
        output = [self._item(turn, place, part) for place, part in enumerate(turn.reply.parts)]
        reason = turn.reply.finish_reason
        is_done = reason in {None, "completed"}
        return self._envelope(turn, "completed" if is_done else "incomplete") | {
            "incomplete_details": None if is_done else {"reason": reason},
            "output": output,
            "usage": self._usage(turn) if turn.reply.with_usage else None,
        }

    def events(self, turn: Turn) -> Iterator[bytes]:
        """See `Form`."""
        numbers = itertools.count()

        def event(kind: str, **more: object) -> bytes:
            return sse({"type": kind, "sequence_number": next(numbers), **more}, event=kind)

        opening = self._envelope(turn, "in_progress") | {
            "incomplete_details": None,
            "output": [],
            "usage": None,
        }
        yield event("response.created", response=opening)
        yield event("response.in_progress", response=opening)
        for place, part in enumerate(turn.reply.parts):
            done = self._item(turn, place, part)
            opened = done if isinstance(part, Item) else done | _emptied(part)
            yield event("response.output_item.added", output_index=place, item=opened)
            for kind, more in self._deltas(part):
                yield event(kind, item_id=done.get("id"), output_index=place, **more)
            yield event("response.output_item.done", output_index=place, item=done)
        final = self.whole(turn)
        yield event(f"response.{final['status']}", response=final)

    def _deltas(self, part: Part) -> Iterator[tuple[str, JsonDict]]:
        match part:
            case Say(text):
                at: JsonDict = {"content_index": 0}
                yield "response.content_part.added", at | {"part": _text_part("")}
                for piece in pieces(text):
                    yield "response.output_text.delta", at | {"delta": piece, "logprobs": []}
                yield "response.output_text.done", at | {"text": text, "logprobs": []}
                yield "response.content_part.done", at | {"part": _text_part(text)}
            case Think(text):
                at = {"summary_index": 0}
                summary = {"type": "summary_text", "text": ""}
                yield "response.reasoning_summary_part.added", at | {"part": summary}
                for piece in pieces(text):
                    yield "response.reasoning_summary_text.delta", at | {"delta": piece}
                yield "response.reasoning_summary_text.done", at | {"text": text}
                yield (
                    "response.reasoning_summary_part.done",
                    at | {"part": summary | {"text": text}},
                )
            case Call(name):
                written = arguments_text(part)
                for start in range(0, len(written), 12):
                    delta: JsonDict = {"delta": written[start : start + 12]}
                    yield "response.function_call_arguments.delta", delta
                whole: JsonDict = {"arguments": written, "name": name}
                yield "response.function_call_arguments.done", whole
            case Item():
                return

    def _item(self, turn: Turn, place: int, part: Part) -> JsonDict:
        number = f"{turn.number:04d}{place:02d}"
        match part:
            case Say(text):
                head = {"id": f"msg_{number}", "type": "message", "status": "completed"}
                return {**head, "role": "assistant", "content": [_text_part(text)]}
            case Think(text, signature):
                summary = [{"type": "summary_text", "text": text}]
                head = {"id": f"rs_{number}", "type": "reasoning", "encrypted_content": signature}
                return {**head, "summary": summary}
            case Call(name):
                return {
                    "id": f"fc_{number}",
                    "type": "function_call",
                    "status": "completed",
                    "call_id": turn.call_id(part, "call_"),
                    "name": name,
                    "arguments": arguments_text(part),
                }
            case Item(value):
                return {"id": f"item_{number}", **value}

    def _envelope(self, turn: Turn, status: str) -> JsonDict:
        defaults: JsonDict = {
            "metadata": {},
            "parallel_tool_calls": True,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
        }
        echoed = {key: turn.body.get(key, defaults.get(key)) for key in _ECHOED}
        return {
            "id": f"resp_{turn.number:06d}",
            "object": "response",
            "created_at": _EPOCH_S,
            "status": status,
            "error": None,
            "model": turn.model,
        } | echoed

    def _usage(self, turn: Turn) -> JsonDict:
        return {
            "input_tokens": turn.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": turn.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input_tokens + turn.output_tokens,
        }


def _text_part(text: str) -> JsonDict:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _emptied(part: Part) -> JsonDict:
    match part:
        case Say():
            return {"content": [], "status": "in_progress"}
        case Think():
            return {"summary": []}
        case _:
            return {"arguments": "", "status": "in_progress"}
