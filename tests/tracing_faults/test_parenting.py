"""B04, B06, B08, B50: spans hang where they belong, and the application's tracing is its own."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.capture.witnessing import watching

import spanwitness as sw
from spanwitness.normalize.ledger import build_ledger
from spanwitness.testing import ScriptedProvider, call, text


@sw.tool
def look(n: int) -> int:
    return n


@sw.tool
async def look_later(n: int) -> int:
    for _ in range(3):
        await asyncio.sleep(0.001 * (3 - n % 3))
    if n == 99:
        raise ValueError("only this one")
    return n


def _by_pool(numbers: list[int]) -> None:
    with sw.ContextThreadPoolExecutor(3) as pool:
        assert list(pool.map(look, numbers)) == numbers


def _by_bound_threads(numbers: list[int]) -> None:
    threads = [threading.Thread(target=sw.bind_context(look), args=(n,)) for n in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _by_copied_context(numbers: list[int]) -> None:
    with ThreadPoolExecutor(3) as pool:
        for n in numbers:
            pool.submit(contextvars.copy_context().run, look, n).result()


def _by_executor(numbers: list[int]) -> None:
    async def use() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(
            *[loop.run_in_executor(None, sw.bind_context(look), n) for n in numbers]
        )

    asyncio.run(use())


def _by_to_thread(numbers: list[int]) -> None:
    async def use() -> None:
        await asyncio.gather(*[asyncio.to_thread(look, n) for n in numbers])

    asyncio.run(use())


@pytest.mark.parametrize(
    "call", [_by_pool, _by_bound_threads, _by_copied_context, _by_executor, _by_to_thread]
)
def test_b06_tools_in_threads_are_children_of_the_step(call):
    """B06: with the helper (or what copies the context by itself) in every kind of thread."""
    with watching(with_run=False) as seen:
        with sw.run("r") as run, run.step("s", kind="solve"):
            call([1, 2, 3])
        (step,) = seen.named("spanwitness.step")
        tools = seen.named("execute_tool")
    assert len(tools) == 3
    assert {t.parent.span_id for t in tools} == {step.context.span_id}
    assert len({span.context.trace_id for span in seen.spans}) == 1


def test_b06_a_bare_pool_makes_roots_and_the_run_does_not_call_the_tool_absent(tmp_path):
    """B06: without any context nothing can be nested; what a model asked for is linked anyway."""
    judged: list[Any] = []

    class Keep:
        def take(self, found: Any) -> None:
            judged.append(found)

    tools: Any = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    script = [[call("look", {"n": 7}, id="c1")], [text("seven")]]
    witness = sw.configure("svc", state_dir=tmp_path, sinks=[Keep()])
    with ScriptedProvider(script) as provider, ThreadPoolExecutor(1) as pool, sw.run("pooled"):
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        messages: Any = [{"role": "user", "content": "q"}]
        asked = client.chat.completions.create(model="m", messages=messages, tools=tools)
        said = asked.choices[0].message
        arguments = json.loads(said.tool_calls[0].function.arguments)
        result = pool.submit(look, **arguments).result()
        messages += [said.model_dump(exclude_none=True),
                     {"role": "tool", "tool_call_id": "c1", "content": str(result)}]  # fmt: skip
        client.chat.completions.create(model="m", messages=messages, tools=tools)
        client.close()
    witness.flush(10)
    run = next(j for j in judged if j.run.workflow == "pooled")
    (row,) = build_ledger(run.run)
    assert row.executed in {"messages", "span"}
    assert not run.is_flagged


@pytest.mark.parametrize("form", ["gather", "return_exceptions", "group"])
async def test_b08_parallel_tools_are_siblings_and_only_the_failing_one_has_an_error(form):
    """B08: interleaved awaits under gather and TaskGroup."""
    numbers = [1, 2, 99]
    with watching(with_run=False) as seen:
        with sw.run("r") as run, run.step("s", kind="solve"):
            if form == "group":
                with pytest.raises(ExceptionGroup):
                    async with asyncio.TaskGroup() as group:
                        for n in numbers:
                            group.create_task(look_later(n))
            elif form == "gather":
                with pytest.raises(ValueError, match="only this one"):
                    await asyncio.gather(*map(look_later, numbers))
                await asyncio.sleep(0.02)
            else:
                got = await asyncio.gather(*map(look_later, numbers), return_exceptions=True)
                assert got[:2] == [1, 2]
        (step,) = seen.named("spanwitness.step")
        tools = seen.named("execute_tool")
    assert len(tools) == 3
    assert {t.parent.span_id for t in tools} == {step.context.span_id}
    failed = [t for t in tools if t.status.status_code.name == "ERROR"]
    assert len(failed) == 1
    assert "99" in failed[0].attributes["gen_ai.tool.call.arguments"]


async def test_b04_a_generator_closed_anywhere_logs_nothing_and_keeps_its_parent(caplog):
    """B04: closed in another task, in another thread's context, cancelled, collected."""

    @sw.tool
    async def stream() -> Any:
        for n in range(9):
            await asyncio.sleep(0)
            yield n

    @sw.agent
    async def talk() -> Any:
        async for n in stream():
            yield n

    with watching(with_run=False) as seen, caplog.at_level(logging.WARNING):
        async with sw.run("r"):
            for made in (stream, talk):
                generator = made()
                await generator.__anext__()
                await asyncio.create_task(generator.aclose())
                generator = made()
                await generator.__anext__()
                await contextvars.Context().run(asyncio.create_task, generator.aclose())
                del generator
        await asyncio.sleep(0.01)
        (root,) = seen.named("invoke_workflow")
    assert caplog.records == []
    inner = [s for s in seen.spans if s is not root]
    assert len(inner) == 6
    assert {s.context.trace_id for s in inner} == {root.context.trace_id}
    known = {s.context.span_id for s in seen.spans}
    assert all(s.parent.span_id in known for s in inner)


class App:
    """An application with a provider of its own."""

    def __init__(self) -> None:
        self.memory = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))

    @property
    def names(self) -> list[str]:
        return sorted(span.name for span in self.memory.get_finished_spans())


def _use_both() -> None:
    with trace.get_tracer("app").start_as_current_span("GET /items"):
        pass
    with sw.run("r"):
        look(1)


OURS = ["execute_tool look", "invoke_workflow r"]


def test_b50_the_application_first(tmp_path):
    """B50: its provider stays the global one and gets ours as well; its spans are not exported."""
    app, mine = App(), InMemorySpanExporter()
    trace.set_tracer_provider(app.provider)
    witness = sw.configure(exporter=mine, state_dir=tmp_path)
    assert trace.get_tracer_provider() is app.provider
    _use_both()
    assert witness.flush(10) is True
    assert app.names == ["GET /items", *OURS]
    assert sorted(s.name for s in mine.get_finished_spans()) == OURS


def test_b50_ours_first(tmp_path, caplog):
    """B50: an application that sets its provider later is not in anybody's way."""
    app, mine = App(), InMemorySpanExporter()
    witness = sw.configure("svc", exporter=mine)
    with caplog.at_level(logging.WARNING):
        trace.set_tracer_provider(app.provider)
    assert caplog.records == []
    assert trace.get_tracer_provider() is app.provider
    _use_both()
    assert witness.flush(10) is True
    assert app.names == ["GET /items"]
    assert sorted(s.name for s in mine.get_finished_spans()) == OURS


def test_b50_an_import_alone_does_nothing():
    """B50: no provider, no thread, no handler, no file."""
    code = """
import logging, threading, sys
import spanwitness as sw
for name in sw.__all__:
    getattr(sw, name)
from opentelemetry import trace, metrics
assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider"
assert "Proxy" in type(metrics.get_meter_provider()).__name__
assert threading.active_count() == 1, threading.enumerate()
assert logging.getLogger().handlers == []
assert logging.getLogger("spanwitness").handlers == []
import signal
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
