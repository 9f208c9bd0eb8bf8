"""Runs of agents as OTel GenAI spans, told line by line: what a reviewer would really see."""

from __future__ import annotations

import json
from hashlib import md5
from typing import TYPE_CHECKING, Any

from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from datetime import datetime

_MS = 1_000_000


def parameters(**properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }


class Script:
    """One run of one agent, told in the order in which it happens."""

    def __init__(
        self,
        name: object,
        *,
        agent: str = "datasheet-extractor",
        service: str = "extraction",
        model: str = "gpt-5-mini",
        tools: dict[str, dict[str, Any]],
        at: datetime,
    ) -> None:
        self.trace_id = md5(repr(name).encode()).hexdigest()
        self.root_id = self.trace_id[:16]
        self._n = 0
        self._agent, self._model = agent, model
        self._now = int(at.timestamp()) * 1_000_000_000
        self._start = self._now
        self._resource = {"service.name": service}
        self._definitions = [
            {"type": "function", "name": name, "description": name, "parameters": schema}
            for name, schema in tools.items()
        ]
        self._history: list[dict[str, Any]] = []
        self._spans: list[SpanRecord] = []
        self._step: str | None = None
        self._root: dict[str, Any] = {}

    # --- what is told

    def system(self, text: str) -> Script:
        self._history.append({"role": "system", "parts": [{"type": "text", "content": text}]})
        return self

    def user(self, text: str) -> Script:
        self._history.append({"role": "user", "parts": [{"type": "text", "content": text}]})
        return self

    def reply(
        self, text: str = "", *calls: tuple[str, str, dict[str, Any]], finish: str = "", **more: Any
    ) -> Script:
        """The model answers; each call is (id, tool, arguments)."""
        parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
        parts += [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
        finish = finish or ("tool_calls" if calls else "stop")
        message = {"role": "assistant", "parts": parts, "finish_reason": finish}
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": self._model,
            "gen_ai.response.model": f"{self._model}-2026-08-01",
            "gen_ai.response.finish_reasons": [finish],
            "gen_ai.usage.input_tokens": 60 + sum(len(str(m)) for m in self._history) // 4,
            "gen_ai.usage.output_tokens": 8 + len(str(parts)) // 4,
            "gen_ai.input.messages": json.dumps(self._history),
            "gen_ai.output.messages": json.dumps([message]),
            "gen_ai.tool.definitions": json.dumps(self._definitions),
            **more,
        }
        self._span(f"chat {self._model}", attributes, ms=900)
        self._history.append(message)
        return self

    def ran(
        self,
        call_id: str,
        tool: str,
        arguments: dict[str, Any],
        result: Any,
        *,
        error: str = "",
        delivered: bool = True,
    ) -> Script:
        """A tool runs; its result stands in the history from then on."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": result if isinstance(result, str) else json.dumps(result),
        }
        if error:
            attributes["error.type"] = error
        self._span(f"execute_tool {tool}", attributes, ms=140, status="error" if error else "unset")
        if delivered:
            part = {"type": "tool_call_response", "id": call_id, "response": result}
            self._history.append({"role": "tool", "parts": [part]})
        return self

    def revise(self, name: str, *, before: bool, after: bool) -> Script:
        """A step that takes an answer and gives one."""
        self._span(
            f"step {name}",
            {
                "spanwitness.step.name": name,
                "spanwitness.step.kind": "revise",
                "spanwitness.success.before": before,
                "spanwitness.success.after": after,
                "spanwitness.success.rule": "unit_test@1",
            },
            ms=20,
            scope="spanwitness",
        )
        return self

    def gave(self, text: str) -> Script:
        self._root["gen_ai.output.messages"] = json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
        )
        return self

    # --- the spans

    def _span(
        self,
        name: str,
        attributes: dict[str, Any],
        *,
        ms: int,
        status: Any = "unset",
        scope: str = "sample",
    ) -> None:
        self._n += 1
        self._now += 30 * _MS
        self._spans.append(
            SpanRecord(
                trace_id=self.trace_id,
                span_id=f"{self._n:016x}",
                parent_span_id=self.root_id,
                name=name,
                start_ns=self._now,
                end_ns=self._now + ms * _MS,
                status=status,
                attributes=attributes,
                resource=self._resource,
                scope=scope,
            )
        )
        self._now += ms * _MS

    @property
    def spans(self) -> list[SpanRecord]:
        root = SpanRecord(
            trace_id=self.trace_id,
            span_id=self.root_id,
            name=f"invoke_agent {self._agent}",
            start_ns=self._start,
            end_ns=self._now + 5 * _MS,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": self._agent,
                **self._root,
            },
            resource=self._resource,
            scope="sample",
        )
        return [root, *self._spans]


DATASHEET = {
    "open_document": parameters(path="string"),
    "search_text": parameters(query="string"),
    "read_page": parameters(page="integer"),
    "verify_quote": parameters(quote="string"),
}
SUPPORT = {
    "find_order": parameters(order_id="string"),
    "refund_order": parameters(order_id="string", amount="number"),
    "send_email": parameters(to="string", body="string"),
}
_PAGE = (
    "5.1 Absolute maximum ratings\n"
    "Supply voltage VDD ........ 3.6 V\n"
    "Output current ............ 250 mA (T = 25 °C, pulsed, 1 % duty cycle)\n"
    "Storage temperature ....... -40 to 125 °C"
)


def healthy_extraction(name: object, at: datetime) -> Script:
    return (
        Script(name, tools=DATASHEET, at=at)
        .system("You extract values from a datasheet. Use the tools; do not guess.")
        .user("What is the maximum output current of the DPS310?")
        .reply("", ("c1", "search_text", {"query": "maximum output current"}))
        .ran("c1", "search_text", {"query": "maximum output current"}, {"pages": [2, 7]})
        .reply("", ("c2", "read_page", {"page": 2}))
        .ran("c2", "read_page", {"page": 2}, _PAGE)
        .reply('{"field": "max_current", "value": "250 mA", "page": 2}')
        .revise("check the unit", before=True, after=True)
        .gave('{"field": "max_current", "value": "250 mA", "page": 2}')
    )


def bypassed_extraction(name: object, at: datetime) -> Script:
    """The founding story: a schema disables the tools, and the answer stands on nothing."""
    answer = (
        '{"field": "max_current", "value": "400 mA", '
        '"quote": "The output current shall not exceed 400 mA.", "page": 3}'
    )
    return (
        Script(name, tools=DATASHEET, at=at)
        .system("You extract values from a datasheet. Use the tools; do not guess.")
        .user("What is the maximum output current of the DPS310? Quote the sentence.")
        .reply(answer, **{"gen_ai.output.type": "json"})
        .gave(answer)
    )


def unexecuted_call(name: object, at: datetime) -> Script:
    return (
        Script(name, agent="support-bot", service="shop", tools=SUPPORT, at=at)
        .system("You help customers of a shop.")
        .user("Please refund my order A-1009.")
        .reply("", ("f1", "find_order", {"order_id": "A-1009"}))
        .ran("f1", "find_order", {"order_id": "A-1009"}, {"order_id": "A-1009", "total": 49.9})
        .reply("", ("f2", "refund_order", {"order_id": "A-1009", "amount": 49.9}))
        .reply("Done: I have refunded 49.90 to your card.")
        .gave("Done: I have refunded 49.90 to your card.")
    )


def swallowed_error(name: object, at: datetime) -> Script:
    said = "Your order A-2231 was shipped on 12 November and arrives on Friday."
    return (
        Script(name, agent="support-bot", service="shop", tools=SUPPORT, at=at)
        .system("You help customers of a shop.")
        .user("Where is my order A-2231?")
        .reply("", ("f1", "find_order", {"order_id": "A-2231"}))
        .ran(
            "f1", "find_order", {"order_id": "A-2231"},
            {"error": "503: order service is down"}, error="ServiceUnavailable",
        )
        .reply(said)
        .gave(said)
    )  # fmt: skip


def lost_result(name: object, at: datetime) -> Script:
    return (
        Script(name, tools=DATASHEET, agent="datasheet-extractor", at=at)
        .system("You extract values from a datasheet. Use the tools; do not guess.")
        .user("What is the supply voltage of the DPS310?")
        .reply("", ("c1", "read_page", {"page": 2}))
        .ran("c1", "read_page", {"page": 2}, _PAGE, delivered=False)
        .reply("The supply voltage is 3.6 V (page 2).")
        .revise("check the unit", before=False, after=True)
        .gave("The supply voltage is 3.6 V (page 2).")
    )


def cut_short(name: object, at: datetime) -> Script:
    said = "The three risks are: first, the supplier's single site; second, the exchange ra"
    return (
        Script(name, agent="report-writer", service="research", tools={}, at=at)
        .user("Summarise the three risks.")
        .reply(said, finish="length")
        .revise("tighten", before=True, after=False)
        .gave(said)
    )


def long_run(name: object, at: datetime, *, n_spans: int) -> Script:
    """Many calls and executions; the last reply asks for one that nothing runs."""
    script = Script(name, agent="crawler", service="research", tools=DATASHEET, at=at)
    script.system("You look through documents.").user("Look at every page.")
    page = 0
    while script._n < n_spans - 3:
        page += 1
        # A crawler keeps a short history: what it read last.
        del script._history[2:-6]
        script.reply("", (f"c{page}", "read_page", {"page": page}))
        script.ran(f"c{page}", "read_page", {"page": page}, f"Page {page}: nothing of note.")
    script.reply("", ("last", "verify_quote", {"quote": "nothing of note"}))
    script.reply("Every page was read and the quote is verified.")
    return script.gave("Every page was read and the quote is verified.")


HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</pre></textarea><svg onload=alert(1)> {{ 7*7 }} javascript:alert(1) "
    "\u202egnp.exe\u202c \u2066hidden\u2069 \x1b[31mred\x1b[0m \x00 \u200b"
)


def hostile_run(name: object, at: datetime, *, n_chars: int = 0) -> Script:
    """Every text of the run wants to be more than text."""
    bad = HOSTILE
    return (
        Script(name, agent=f"agent{bad}", service=f"svc{bad}", tools={bad: {}}, model=bad, at=at)
        .system(bad)
        .user(bad + "A" * n_chars)
        .reply(bad, (bad, bad, {bad: bad}))
        .reply(bad)
        .gave(bad)
    )
