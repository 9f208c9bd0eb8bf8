"""Synthetic OTLP/JSON files for `check`: seeded, about 2 kB a span (plain) and 3 kB (ours).

A trace is one agent run over a datasheet: a root `invoke_agent` span, model calls with the whole
history in each, and one tool call between two model calls. The number of turns is drawn from 1 to
5; questions, queries, results, numbers and ids differ from trace to trace, the tool definitions are
the same everywhere, as in a real deployment. In every twentieth trace a tool fails and is called
again. Written in two dialects:

* `own`: what `spanwitness.capture` writes (attributes of a captured run, see `docs/attributes.md`);
* `genai`: plain OpenTelemetry GenAI conventions, messages and definitions as JSON text.

One export request a line, as the collector's file exporter writes. Traces stand together, or
interleaved as they leave a busy process: 200 runs at a time, span by span in turn.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Literal, TypeAlias

from spanwitness.archive.otlp_json import encode_request
from spanwitness.model import SpanRecord
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Dialect: TypeAlias = Literal["own", "genai"]

_BATCH = 512
_N_OPEN = 200
_START_NS = 1_795_983_545_000_000_000
_TEXT = (
    "supply voltage current maximum rating operating conditions temperature range output input"
    " regulator threshold typical minimum pin package thermal resistance junction ambient leakage"
    " frequency noise density bandwidth gain offset drift accuracy resolution conversion settling"
)
_WORDS = _TEXT.split()
_NAMES = ("search_text", "read_page", "verify_quote")
_PROPERTIES = {"query": {"type": "string"}, "page": {"type": "integer"}}
_DEFINITIONS = json.dumps(
    [
        {
            "type": "function",
            "name": name,
            "description": f"{name.replace('_', ' ').capitalize()} in the datasheet.",
            "parameters": {"type": "object", "properties": _PROPERTIES, "required": ["query"]},
        }
        for name in _NAMES
    ]
)
_SYSTEM = "You extract values from a datasheet. Use the tools; do not guess."
_RESOURCE: dict[str, object] = {"service.name": "datasheet-agent"}
_SCOPES = {"own": "spanwitness", "genai": "opentelemetry.instrumentation.genai.openai"}


def write(
    path: Path, *, n_spans: int, dialect: Dialect, is_interleaved: bool = False, seed: int = 1
) -> int:
    """Write at least so many spans, whole traces only, in constant memory; return how many."""
    n_written = 0
    with path.open("wb") as file:
        batch: list[SpanRecord] = []
        for span in _spans(n_spans, dialect, seed, n_open=_N_OPEN if is_interleaved else 1):
            batch.append(span)
            if len(batch) == _BATCH:
                file.write(encode_request(batch) + b"\n")
                batch.clear()
            n_written += 1
        if batch:
            file.write(encode_request(batch) + b"\n")
    return n_written


def traces(n_spans: int, dialect: Dialect, seed: int = 1) -> Iterator[list[SpanRecord]]:
    """Make whole traces until there are so many spans."""
    draw = random.Random(seed)
    n_made = number = 0
    while n_made < n_spans:
        spans = _Trace(draw, number, dialect).spans()
        n_made += len(spans)
        number += 1
        yield spans


def _spans(n_spans: int, dialect: Dialect, seed: int, *, n_open: int) -> Iterator[SpanRecord]:
    source = traces(n_spans, dialect, seed)
    is_left = True
    waiting: list[Iterator[SpanRecord]] = []
    while is_left or waiting:
        while is_left and len(waiting) < n_open:
            found = next(source, None)
            is_left = found is not None
            if found is not None:
                waiting.append(iter(found))
        still = []
        for each in waiting:
            span = next(each, None)
            if span is not None:
                yield span
                still.append(each)
        waiting = still


class _Trace:
    """One run being written."""

    def __init__(self, draw: random.Random, number: int, dialect: Dialect) -> None:
        self._draw = draw
        self._number = number
        self._is_own = dialect == "own"
        self._scope = _SCOPES[dialect]
        self._trace_id = f"{draw.getrandbits(128) | 1:032x}"
        self._run_id = f"{draw.getrandbits(128):032x}"
        self._root_id = self._id()
        self._clock_ns = _START_NS + number * 1_000_000_000
        self._seq = 1
        self._spans: list[SpanRecord] = []
        self._messages: list[dict[str, object]] = [
            _message("system", {"type": "text", "content": f"{_SYSTEM} {self._text(100)}"}),
            _message("user", {"type": "text", "content": f"What is the {self._text(60)}?"}),
        ]
        self._delivered: list[str] = []
        self._fresh: list[dict[str, object]] = []

    def spans(self) -> list[SpanRecord]:
        """Make the spans, in the order in which they end."""
        n_turns = self._draw.randint(1, 5)
        fails_at = n_turns // 2 if self._number % 20 == 7 else -1
        turn = 0
        while turn < n_turns:
            name = _NAMES[min(turn, 1) if turn < n_turns - 1 else 2]
            self._turn(turn, name, fails=turn == fails_at)
            if turn == fails_at:
                self._turn(turn + 100, name, fails=False)
            turn += 1
        value = f"{self._draw.randint(1, 99)}.{self._draw.randint(0, 9)}"
        self._messages[-1] = _with_value(self._messages[-1], value)
        self._answer(f"The {self._text(40)} is {value} V.")
        self._root()
        return self._spans

    def _turn(self, turn: int, name: str, *, fails: bool) -> None:
        call_id = f"call_{self._number}_{turn}"
        arguments = {"query": self._text(30), "page": self._draw.randint(1, 40) + turn}
        self._chat([{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}])
        result = f"Error: page {arguments['page']} cannot be read" if fails else self._text(260)
        self._tool(call_id, name, arguments, result, fails=fails)
        part = {"type": "tool_call_response", "id": call_id, "response": result}
        self._messages.append(_message("tool", part))
        self._delivered.append(call_id)
        self._fresh = [
            {"call_id": call_id, "state": "whole", "part_types": ["text"],
             "returned_part_types": ["text"], "size_bytes": len(result),
             "has_binary_text": False, "is_error": True if fails else None, "is_empty": False}
        ]  # fmt: skip

    def _answer(self, text: str) -> None:
        self._chat([{"type": "text", "content": text}])

    def _chat(self, parts: list[dict[str, object]]) -> None:
        calls = [part for part in parts if part["type"] == "tool_call"]
        finish = "tool_calls" if calls else "stop"
        reply = {"role": "assistant", "parts": parts, "finish_reason": finish}
        attributes: dict[str, object] = {
            gen_ai.OPERATION_NAME: gen_ai.CHAT,
            gen_ai.PROVIDER_NAME: "openai",
            gen_ai.REQUEST_MODEL: "gpt-5.2",
            gen_ai.SERVER_ADDRESS: "api.openai.com",
            gen_ai.SERVER_PORT: 443,
            gen_ai.RESPONSE_ID: f"chatcmpl-{self._number}-{self._seq}",
            gen_ai.RESPONSE_MODEL: "gpt-5.2",
            gen_ai.RESPONSE_FINISH_REASONS: (finish,),
            gen_ai.USAGE_INPUT_TOKENS: 200 + 120 * self._seq,
            gen_ai.USAGE_OUTPUT_TOKENS: self._draw.randint(10, 90),
            gen_ai.INPUT_MESSAGES: json.dumps(self._messages),
            gen_ai.OUTPUT_MESSAGES: json.dumps([reply]),
            gen_ai.TOOL_DEFINITIONS: _DEFINITIONS,
        }
        if self._is_own:
            attributes |= self._own_chat(parts, calls)
        self._add(f"{gen_ai.CHAT} gpt-5.2", attributes)
        self._messages.append({"role": "assistant", "parts": parts})
        self._fresh = []

    def _own_chat(
        self, parts: list[dict[str, object]], calls: list[dict[str, object]]
    ) -> dict[str, object]:
        requested = [
            {"name": c["name"], "call_id": c["id"], "side": "client", "source": "structured"}
            for c in calls
        ]
        found: dict[str, object] = {
            own.WIRE: "openai_chat",
            own.TOOLS_OFFERED: _NAMES,
            own.TOOLS_OFFERED_COUNT: len(_NAMES),
            own.TOOLS_OFFERED_DIGEST: "dae9223c73db2610",
            own.TOOL_CHOICE: "auto",
            own.RESPONSE_FORMAT: "text",
            own.REQUEST_BYTES: 900 + 700 * self._seq,
            own.DELIVERED_IDS: tuple(self._delivered),
            own.TEXT_CHARS: sum(len(str(part.get("content", ""))) for part in parts),
            own.REASONING_CHARS: 0,
            own.TOOL_CALLS: json.dumps(requested),
            own.ENDING: "complete",
            own.ATTEMPTS: ("200",),
        }
        if self._fresh:
            found[own.DELIVERED] = json.dumps(self._fresh)
        return found

    def _tool(
        self, call_id: str, name: str, arguments: dict[str, object], result: str, *, fails: bool
    ) -> None:
        attributes: dict[str, object] = {
            gen_ai.OPERATION_NAME: gen_ai.EXECUTE_TOOL,
            gen_ai.TOOL_NAME: name,
            gen_ai.TOOL_TYPE: "function",
            gen_ai.TOOL_CALL_ID: call_id,
            gen_ai.TOOL_CALL_ARGUMENTS: json.dumps(arguments),
            gen_ai.TOOL_CALL_RESULT: json.dumps(result),
        }
        if fails:
            attributes[gen_ai.ERROR_TYPE] = "tool_error"
        if self._is_own:
            attributes |= {
                own.TOOL_EFFECT: "read",
                own.TOOL_LINK: "exact",
                own.TOOL_OUTCOME: "error" if fails else "value",
            }
        self._add(f"{gen_ai.EXECUTE_TOOL} {name}", attributes, is_error=fails)

    def _root(self) -> None:
        attributes: dict[str, object] = {
            gen_ai.OPERATION_NAME: gen_ai.INVOKE_AGENT,
            gen_ai.AGENT_NAME: "datasheet-agent",
        }
        if self._is_own:
            n_spans = len(self._spans) + 1
            attributes |= {
                own.SEQ: 1,
                own.RUN_ID: self._run_id,
                own.CONTENT: "on",
                own.TOOLS_CONFIGURED: _NAMES,
                own.SPANS_STARTED: n_spans,
                own.SPANS_ENDED: n_spans,
                own.SPANS_LOST: 0,
                own.INTERNAL_ERRORS: 0,
                own.COMPLETE: True,
                own.FLAGGED: False,
                own.STACK: "openai/gpt-5.2 text #b322e86e0c27a22c",
            }
        self._spans.append(
            SpanRecord(
                trace_id=self._trace_id,
                span_id=self._root_id,
                name=f"{gen_ai.INVOKE_AGENT} datasheet-agent",
                start_ns=_START_NS + self._number * 1_000_000_000,
                end_ns=self._clock_ns + 1000,
                attributes=attributes,
                resource=_RESOURCE,
                scope=self._scope,
            )
        )

    def _add(self, name: str, attributes: dict[str, object], *, is_error: bool = False) -> None:
        self._seq += 1
        if self._is_own:
            attributes |= {own.SEQ: self._seq, own.RUN_ID: self._run_id}
        start_ns = self._clock_ns = self._clock_ns + 1_000_000
        self._spans.append(
            SpanRecord(
                trace_id=self._trace_id,
                span_id=self._id(),
                parent_span_id=self._root_id,
                name=name,
                start_ns=start_ns,
                end_ns=start_ns + 900_000,
                status="error" if is_error else "unset",
                attributes=attributes,
                resource=_RESOURCE,
                scope=self._scope,
            )
        )

    def _id(self) -> str:
        return f"{self._draw.getrandbits(64) | 1:016x}"

    def _text(self, n_chars: int) -> str:
        words: list[str] = []
        length = 0
        while length < n_chars:
            word = self._draw.choice(_WORDS)
            words.append(word)
            length += len(word) + 1
        return " ".join(words)


def _message(role: str, part: dict[str, object]) -> dict[str, object]:
    return {"role": role, "parts": [part]}


def _with_value(message: dict[str, object], value: str) -> dict[str, object]:
    """Let the last result hold the value that the answer states."""
    parts: object = message["parts"]
    part = dict(parts[0])  # type: ignore[index]
    part["response"] = f"{part['response']} {value} V"
    return {"role": message["role"], "parts": [part]}
