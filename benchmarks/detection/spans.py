"""From dialogs to the spans that a user's tracer leaves of them: plain OTel GenAI, OTLP/JSON.

Two layouts. `turns`: every turn (a message of the user and all that the agent does until it
answers) is one `invoke_agent` in a trace of its own, joined by the conversation id, as frameworks
trace a chat service. `dialog`: the whole dialog is one `invoke_agent`, as a harness traces a task.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from benchmarks.detection.dialogs import Call, Dialog, Said

__all__ = ["Layout", "spans_of", "trace_ids"]

Layout: TypeAlias = Literal["turns", "dialog"]
_SECOND = 1_000_000_000
_BEGIN = 1_780_000_000 * _SECOND
_AGENT = "customer-service"


def spans_of(dialog: Dialog, layout: Layout = "turns") -> list[SpanRecord]:
    """Return the spans of a dialog; the labels are in none of them."""
    writer = _Writer(dialog)
    turns = _turns(dialog)
    if layout == "dialog":
        turns = [[place for turn in turns for place in turn]] if turns else []
    for number, turn in enumerate(turns):
        writer.run(number, turn)
    return writer.spans


def trace_ids(dialog: Dialog) -> str:
    """Return the beginning that the ids of all traces of a dialog share."""
    return hashlib.sha256(dialog.key.encode()).hexdigest()[:28]


def _turns(dialog: Dialog) -> list[list[int]]:
    """Return the places of the agent's messages, turn by turn."""
    turns: list[list[int]] = []
    is_open = False
    for place, said in enumerate(dialog.said):
        if said.role == "user":
            is_open = False
        elif not said.is_canned:
            if not is_open:
                turns.append([])
                is_open = True
            turns[-1].append(place)
    return turns


class _Writer:
    def __init__(self, dialog: Dialog) -> None:
        self._dialog = dialog
        self._trace_start = trace_ids(dialog)
        self._now = _BEGIN
        self._definitions = json.dumps(dialog.definitions)
        self._system = json.dumps([{"type": "text", "content": dialog.system}])
        self.spans: list[SpanRecord] = []

    def run(self, number: int, places: list[int]) -> None:
        """Write one run: its root, and a chat span and the tool spans of each message."""
        trace = f"{self._trace_start}{number:04x}"
        root_id = self._id(trace, "root")
        begin = self._now
        spans: list[SpanRecord] = []
        for place in places:
            said = self._dialog.said[place]
            start = self._tick()
            spans.append(self._chat(trace, root_id, place, start))
            spans += [self._tool(trace, root_id, call, self._tick()) for call in said.calls]
        root = SpanRecord(
            trace_id=trace,
            span_id=root_id,
            name=f"invoke_agent {_AGENT}",
            start_ns=begin,
            end_ns=self._tick(),
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": _AGENT,
                "gen_ai.conversation.id": self._dialog.key,
            },
            resource={"service.name": "customer-service"},
            scope="agent-framework",
        )
        self.spans += [root, *spans]

    def _tick(self) -> int:
        self._now += _SECOND
        return self._now

    def _id(self, *words: object) -> str:
        text = "/".join(map(str, (self._dialog.key, *words)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _chat(self, trace: str, parent: str, place: int, start: int) -> SpanRecord:
        said = self._dialog.said[place]
        finish = "tool_calls" if said.calls else "stop"
        history = [m for each in self._dialog.said[:place] for m in _messages(each)]
        reply = {**_messages(said)[0], "finish_reason": finish}
        return SpanRecord(
            trace_id=trace,
            span_id=self._id("chat", place),
            parent_span_id=parent,
            name=f"chat {self._dialog.model}",
            start_ns=start,
            end_ns=start + _SECOND // 2,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": self._dialog.model,
                "gen_ai.response.model": self._dialog.model,
                "gen_ai.response.finish_reasons": [finish],
                "gen_ai.conversation.id": self._dialog.key,
                "gen_ai.system_instructions": self._system,
                "gen_ai.tool.definitions": self._definitions,
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([reply]),
            },
            resource={"service.name": "customer-service"},
            scope="opentelemetry.instrumentation.genai.openai",
        )

    def _tool(self, trace: str, parent: str, call: Call, start: int) -> SpanRecord:
        return SpanRecord(
            trace_id=trace,
            span_id=self._id("tool", call.id),
            parent_span_id=parent,
            name=f"execute_tool {call.name}",
            start_ns=start,
            end_ns=start + _SECOND // 10,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.call.arguments": json.dumps(call.arguments),
                "gen_ai.tool.call.result": call.returned,
            },
            resource={"service.name": "customer-service"},
            scope="agent-framework",
        )


def _messages(said: Said) -> list[dict[str, Any]]:
    """Return a message and, after it, the results of its calls as the model is given them."""
    parts: list[dict[str, Any]] = []
    if said.text:
        parts.append({"type": "text", "content": said.text})
    parts += [
        {"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments}
        for c in said.calls
    ]
    results = [
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": call.id,
                    "response": call.returned if call.delivered is None else call.delivered,
                }
            ],
        }
        for call in said.calls
    ]
    return [{"role": said.role, "parts": parts}, *results]
