"""B35, B37, B61, B66: what happened once counts once, however many layers say it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import spanwitness as sw
from spanwitness.live.evaluate import judge_trace
from spanwitness.live.records import resource_of, to_record
from spanwitness.normalize.ledger import build_ledger
from spanwitness.testing import ScriptedProvider, call, error, raw, reply, text

PARAMETERS: Any = {"type": "object", "properties": {"page": {"type": "integer"}}}
OPENAI_TOOLS: Any = [
    {"type": "function", "function": {"name": "read_page", "parameters": PARAMETERS}}
]
CLAUDE_TOOLS: Any = [{"name": "read_page", "input_schema": PARAMETERS}]


@sw.tool(effect="read")
def read_page(page: int) -> str:
    return f"page {page} says 250 mA"


class Watched:
    """The application's provider with ours attached, metrics, and the judged runs."""

    def __init__(self) -> None:
        self.memory = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))
        trace.set_tracer_provider(self.provider)
        self.reader = InMemoryMetricReader()
        self.judged: list[Any] = []
        self.witness = sw.configure(meter_provider=MeterProvider([self.reader]), sinks=[self])

    def take(self, judged: Any) -> None:
        self.judged.append(judged)

    def instrumented(self, name: str, **attributes: Any) -> Any:
        """A span as another OpenTelemetry instrumentation makes it."""
        tracer = self.provider.get_tracer("opentelemetry.instrumentation.framework")
        return tracer.start_as_current_span(
            name, attributes={k.replace("__", "."): v for k, v in attributes.items()}
        )

    def n_tokens(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for metric in self._metrics():
            if metric.name == "gen_ai.client.token.usage":
                for point in metric.data.data_points:
                    found[point.attributes["gen_ai.token.type"]] += int(point.sum)
        return dict(found)

    def n_calls(self) -> int:
        return sum(
            point.count
            for metric in self._metrics()
            if metric.name == "gen_ai.client.operation.duration"
            for point in metric.data.data_points
        )

    def _metrics(self) -> Any:
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                yield from scope.metrics

    def stored(self) -> Any:
        """The same trace, judged from its spans alone."""
        spans = self.memory.get_finished_spans()
        return judge_trace([to_record(s, resource=resource_of(s)) for s in spans], [])


@pytest.fixture
def watched():
    made = Watched()
    yield made
    made.witness.shutdown()


def openai_loop(client: openai.OpenAI, layer: Any) -> str:
    messages: list[Any] = [{"role": "user", "content": "How many mA?"}]
    while True:
        with layer() as outer:
            got = client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS)
            if outer is not None:
                assert got.usage is not None
                outer.set_attribute("gen_ai.response.id", got.id)
                outer.set_attribute("gen_ai.usage.input_tokens", got.usage.prompt_tokens)
                outer.set_attribute("gen_ai.usage.output_tokens", got.usage.completion_tokens)
                outer.set_attribute("gen_ai.response.finish_reasons", ["stop"])
        said = got.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content or ""
        for asked in said.tool_calls:
            result = read_page(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})


SCRIPT = [
    reply(call("read_page", {"page": 3}), input_tokens=100, output_tokens=7),
    reply(text("250 mA"), input_tokens=140, output_tokens=5),
]


def test_b35_a_framework_an_instrumentor_and_a_client_wrapped_twice_give_one_call_each(watched):
    """B35: step + foreign chat span + client wrapped twice + its HTTP client wrapped, too."""
    with ScriptedProvider(SCRIPT) as provider:
        http = httpx2.Client()
        sw.http_client(http)
        client = openai.OpenAI(base_url=provider.openai_url, api_key="k", http_client=http)
        for _ in range(3):
            assert sw.wrap_client(client) is client
        sw.instrument("openai")
        try:
            with sw.run("layers") as run, run.step("solve", kind="solve"):
                openai_loop(
                    client,
                    lambda: watched.instrumented(
                        "chat m", gen_ai__operation__name="chat", gen_ai__request__model="m"
                    ),
                )
        finally:
            sw.uninstrument("openai")
        client.close()
    watched.witness.flush(10)
    (judged,) = watched.judged
    chats = [s for s in watched.memory.get_finished_spans() if s.name == "chat m"]
    assert len(chats) == 4  # two of the instrumentor's, two of ours
    for run in (judged.run, watched.stored()[0].run):
        assert [c.usage.input_tokens for c in run.chats] == [100, 140]
        assert [c.usage.output_tokens for c in run.chats] == [7, 5]
        rows = build_ledger(run)
        assert [(r.tool, r.requested, r.executed, r.delivered) for r in rows] == [
            ("read_page", "yes", "span", "whole")
        ]
    assert watched.n_tokens() == {"input": 240, "output": 12}
    assert watched.n_calls() == 2
    assert judged.is_flagged is False


def test_b35_the_spans_of_the_anthropic_sdk_and_ours_are_one_call(watched):
    """B35: anthropic 2.x makes a span of its own as soon as there is a global provider."""
    with ScriptedProvider([SCRIPT[1]] * 2) as provider:
        client = sw.wrap_client(
            anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k", max_retries=0)
        )
        asking: Any = {
            "model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}],
            "tools": CLAUDE_TOOLS,
        }  # fmt: skip
        with sw.run("claude"):
            client.messages.create(**asking)
            with client.messages.stream(**asking) as stream:
                stream.get_final_message()
        client.close()
    watched.witness.flush(10)
    scopes = {s.instrumentation_scope.name for s in watched.memory.get_finished_spans()}
    assert any("anthropic" in scope for scope in scopes), scopes
    (judged,) = watched.judged
    for run in (judged.run, watched.stored()[0].run):
        assert [c.usage.input_tokens for c in run.chats] == [140, 140]
    assert watched.n_tokens() == {"input": 280, "output": 10}


def test_b35_a_frameworks_tool_span_around_ours_is_one_execution(watched):
    """B35: the framework says `execute_tool`, our decorator says it again."""
    with sw.run("tools"), watched.instrumented(
        "execute_tool read_page", gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="read_page",
    ):  # fmt: skip
        read_page(3)
    watched.witness.flush(10)
    (judged,) = watched.judged
    assert [row.tool for row in build_ledger(judged.run)] == ["read_page"]


def test_b35_healthy_two_calls_that_are_equal_stay_two(watched):
    """B35, healthy: nothing is joined that really happened twice."""
    with ScriptedProvider([SCRIPT[1]] * 2) as provider, sw.run("twice"):
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        for _ in range(2):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}])
            read_page(3)
        client.close()
    watched.witness.flush(10)
    (judged,) = watched.judged
    assert len(judged.run.chats) == 2
    assert len(judged.run.tools) == 2
    assert watched.n_tokens()["input"] == 280


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("script", "attempts"),
    [
        ([error(500), error(500)], [500, 500, 200]),
        ([error(429, headers={"retry-after": "0.01"})], [429, 200]),
        ([error(529)], [529, 200]),
        ([], [200]),
    ],
)
def test_b66_retries_are_attempts_of_one_call_and_usage_counts_once(
    watched, sdk, script, attempts, monkeypatch
):
    """B66."""
    monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.01)
    with ScriptedProvider([*script, SCRIPT[1]]) as provider, sw.run("retried"):
        _ask_once(sdk, provider)
        assert len(provider.requests) == len(attempts)
    watched.witness.flush(10)
    (judged,) = watched.judged
    for run in (judged.run, watched.stored()[0].run):
        (chat,) = run.chats
        assert [a.status_code for a in chat.attempts] == attempts
        assert (chat.usage.input_tokens, chat.usage.output_tokens) == (140, 5)
        assert chat.error_type is None
    assert watched.n_calls() == 1
    assert watched.n_tokens() == {"input": 140, "output": 5}
    assert judged.is_flagged is False


def _ask_once(sdk: str, provider: ScriptedProvider, **options: Any) -> None:
    messages: Any = [{"role": "user", "content": "q"}]
    options = {"api_key": "k", "max_retries": 2, **options}
    if sdk == "openai":
        client: Any = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, **options))
        client.chat.completions.create(model="m", messages=messages)
    else:
        client = sw.wrap_client(anthropic.Anthropic(base_url=provider.anthropic_url, **options))
        client.messages.create(model="m", max_tokens=9, messages=messages)
    client.close()


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_b66_a_timeout_after_the_server_has_worked_is_an_attempt_of_the_same_call(
    watched, sdk, monkeypatch
):
    """B66: the server executed the first request, too; the client saw one reply."""
    monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.01)
    late = reply(text("late"), delay_s=1.2)
    with ScriptedProvider([late, SCRIPT[1]]) as provider, sw.run("timed out"):
        _ask_once(sdk, provider, timeout=0.5)
        assert len(provider.requests) == 2
    watched.witness.flush(10)
    (judged,) = watched.judged
    (chat,) = judged.run.chats
    first, second = chat.attempts
    assert (first.status_code, second.status_code) == (None, 200)
    assert "Timeout" in (first.error or "")
    assert chat.usage.input_tokens == 140


def _event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


@pytest.mark.parametrize(
    ("start", "deltas", "tokens"),
    [
        ({"input_tokens": 25, "output_tokens": 1}, [{"output_tokens": 15}], (25, 15)),
        (
            {"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 4},
            [{"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 64}],
            (47121, 64),
        ),
        (
            {"input_tokens": 9, "output_tokens": 1},
            [{"output_tokens": 10}, {"output_tokens": 15}],
            (9, 15),
        ),
    ],
)
def test_b37_cumulative_usage_of_a_stream_is_not_added_up(watched, start, deltas, tokens):
    """B37: through the real SDK, on the span, in the run and in the metrics."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    body = b"".join(
        [
            _event({"type": "message_start", "message": {**message, "usage": start}}),
            _event({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": "hi"}}),
            _event({"type": "content_block_stop", "index": 0}),
            *(
                _event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": u})
                for u in deltas
            ),
            _event({"type": "message_stop"}),
        ]
    )  # fmt: skip
    script = [raw(body, headers={"content-type": "text/event-stream"})]
    with ScriptedProvider(script) as provider, sw.run("usage"):
        client = sw.wrap_client(anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k"))
        with client.messages.stream(
            model="c", max_tokens=9, messages=[{"role": "user", "content": "q"}]
        ) as stream:
            stream.get_final_message()
        client.close()
    watched.witness.flush(10)
    (judged,) = watched.judged
    (chat,) = judged.run.chats
    assert (chat.usage.input_tokens, chat.usage.output_tokens) == tokens
    assert watched.n_tokens() == {"input": tokens[0], "output": tokens[1]}


def test_b61_an_exception_is_one_event_on_each_span_that_it_passes(watched):
    """B61: recorded by hand, raised through tool, step, agent and run: one event a span."""
    raised = ValueError("no such page")

    @sw.tool
    def fails() -> None:
        trace.get_current_span().record_exception(raised)
        raise raised

    @sw.step(kind="solve")
    def solve() -> None:
        fails()

    @sw.agent
    def helper() -> None:
        solve()

    with pytest.raises(ValueError, match="no such page") as caught, sw.run("failing"):
        helper()
    assert caught.value is raised
    watched.witness.flush(10)
    spans = watched.memory.get_finished_spans()
    assert len(spans) == 4
    for span in spans:
        events = [event for event in span.events if event.name == "exception"]
        assert len(events) == 1, span.name
        assert span.status.status_code is StatusCode.ERROR
