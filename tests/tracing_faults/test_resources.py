"""B45, B59, B60: memory and metric series are bounded, and watching does not watch itself."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import openai
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import spanwitness as sw
from spanwitness.capture import retries, spans
from spanwitness.capture.chat_span import ChatSpan
from spanwitness.capture.context import RunState, ambient_board
from spanwitness.testing import ScriptedProvider, call, reply, text

ROOT = Path(__file__).parents[2]
ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


def test_b45_memory_stays_flat_over_calls_abandoned_and_cancelled_streams():
    """B45: the benchmark's own program, with fewer calls; it checks object counts and memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--calls", "600", "--check"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["calls"] == 600
    assert found["open_spans"] == 0
    assert found["waiting_retries"] == 0
    assert found["unfinished_chats"] == 0
    assert found["traces_in_detector"] <= 1


async def test_b45_tables_are_bounded_where_calls_are_never_answered(tmp_path):
    """B45: calls that no tool claims, outside every run; streams nobody reads, runs nobody ends."""
    witness = sw.configure("svc", state_dir=tmp_path)
    n_calls = [0]

    def answer(request: Any) -> Any:
        n_calls[0] += 1
        return reply(*[call("t", {"n": i}, id=f"{n_calls[0]}-{i}") for i in range(40)])

    tools: Any = [{"type": "function", "function": {"name": "t", "parameters": {}}}]
    with ScriptedProvider(answer) as provider:
        client = sw.wrap_client(openai.AsyncOpenAI(base_url=provider.openai_url, api_key="k"))
        for n in range(60):
            stream = await client.chat.completions.create(**ASK, tools=tools, stream=n % 2 == 1)
            if n % 2:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(stream.__anext__(), 5)
            del stream
        await client.close()
    gc.collect()
    await asyncio.sleep(0.01)
    assert len(ambient_board._open) <= 1024
    assert sum(map(len, ambient_board.unclaimed.values())) <= 1024
    assert ambient_board.peeks == []
    assert spans.open_count() == 0
    assert witness.flush(10) is True
    assert not [o for o in gc.get_objects() if isinstance(o, ChatSpan) and not o._is_finished]
    assert len(retries._waiting) == 0


def test_b45_a_run_that_is_over_is_forgotten(tmp_path):
    """B45: neither tables of ours nor the caller's context keep its state alive."""
    witness = sw.configure("svc", state_dir=tmp_path)

    def once() -> None:
        with sw.run("soon forgotten"):
            sw.tool(name="t")(lambda: "x" * 10_000)()

    for _ in range(20):
        once()
    witness.flush(10)
    gc.collect()
    states = [o for o in gc.get_objects() if isinstance(o, RunState)]
    assert len([state for state in states if state.name == "soon forgotten"]) <= 1


def test_b59_an_exporter_over_a_watched_client_is_not_traced():
    """B59: a synchronous processor exports over a client that we watch; one span, no loop."""
    sent: list[str] = []

    def take(request: Any) -> Any:
        sent.append(request.url.path)
        return httpx2.Response(200, json={"choices": [], "model": "m"})

    http = httpx2.Client(transport=httpx2.MockTransport(take))
    sw.http_client(http)

    class OverHttp(SpanExporter):
        def export(self, found: Any) -> SpanExportResult:
            http.post("http://collector/v1/traces", content=b"x")
            http.post("http://judge/v1/chat/completions", json=ASK)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OverHttp()))
    witness = sw.configure(provider=provider)
    with sw.run("r"):
        sw.tool(name="t")(lambda: 1)()
    witness.flush(10)
    http.close()
    assert sent.count("/v1/traces") == 2


def test_b59_a_sink_that_asks_a_model_is_not_judged_for_it(tmp_path):
    """B59: a judge that calls a model through a watched client does not start itself again."""
    with ScriptedProvider(lambda _: [text("fine")]) as provider:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        judged: list[str] = []

        class Judge:
            def take(self, found: Any) -> None:
                judged.append(found.run.workflow)
                with sw.run("judging"):
                    client.chat.completions.create(**ASK)

        witness = sw.configure("svc", state_dir=tmp_path, sinks=[Judge()])
        with sw.run("judged"):
            client.chat.completions.create(**ASK)
        witness.flush(10)
        witness.flush(10)
        client.close()
        assert judged == ["judged"]
        assert len(provider.requests) == 2


def test_b60_labels_stay_bounded_whatever_models_and_users_invent(tmp_path):
    """B60: unique runs, items, sessions, invented tool names, error classes and messages."""
    reader = InMemoryMetricReader()
    witness = sw.configure("svc", state_dir=tmp_path, meter_provider=MeterProvider([reader]))
    n_runs = 300
    for n in range(n_runs):
        kind = type(f"Error{n}", (Exception,), {})

        def fails(kind: Any = kind, n: int = n) -> None:
            raise kind(f"message {n}")

        with contextlib.suppress(Exception), sw.run(
            f"w{n}", item_id=f"i{n}", conversation_id=f"c{n}", tags=[f"t{n}"], subject=f"s{n}"
        ):  # fmt: skip
            sw.tool(name=f"invented_{n}")(fails)()
    assert witness.flush(10) is True
    data = reader.get_metrics_data()
    series: dict[str, set[Any]] = {}
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                points = series.setdefault(metric.name, set())
                points.update(tuple(sorted(p.attributes.items())) for p in metric.data.data_points)
    assert "gen_ai.execute_tool.duration" in series
    for name, points in series.items():
        assert len(points) <= 140, (name, len(points))
    told = repr(series)
    for word in ("message 1", "'i1'", "'c1'", "'t1'", "'s1'", "w299"):
        assert word not in told
    assert "'other'" in told
