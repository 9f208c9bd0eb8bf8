from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import types
from opentelemetry import context as otel_context
from tests.capture.witnessing import ASK, watching

from spanwitness.capture.client import wrap_client
from spanwitness.capture.http_client import http_client
from spanwitness.capture.instrument import instrument, uninstrument
from spanwitness.errors import SettingsError
from spanwitness.testing import ScriptedProvider, call, reply, text


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_a_made_http_client_is_watched_in_the_sdk_that_takes_it(library):
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        with http_client(library=library, timeout=5) as http:
            assert type(http).__module__.partition(".")[0] == library
            assert http.follow_redirects
            client = openai.OpenAI(base_url=p.openai_url, api_key="k", http_client=http)
            client.chat.completions.create(**ASK)
        assert len(seen.chats) == 1


async def test_an_async_http_client_is_watched():
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        async with http_client(is_async=True) as http:
            client = openai.AsyncOpenAI(base_url=p.openai_url, api_key="k", http_client=http)
            await client.chat.completions.create(**ASK)
        assert len(seen.chats) == 1


def test_an_own_http_client_is_watched_in_place_with_its_own_transport():
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": "hi"}}], "model": "m"})

    with watching() as seen, httpx.Client(transport=httpx.MockTransport(answer)) as mine:
        assert http_client(mine) is mine
        assert wrap_client(mine) is mine
        got = mine.post("http://x/v1/chat/completions", json={"model": "m", "messages": []})
        assert got.json()["model"] == "m"
        assert mine.get("http://x/v1/models").status_code == 200
        assert len(seen.chats) == 1


@pytest.mark.parametrize(
    "arguments",
    [{"client": object()}, {"library": "requests"}, {"client": httpx.Client(), "library": "httpx"}],
)
def test_what_cannot_be_watched_is_refused(arguments):
    with pytest.raises(SettingsError):
        http_client(**arguments)


def test_instrument_watches_clients_that_are_made_afterwards():
    before = openai.OpenAI.__init__
    signature = openai._base_client.SyncAPIClient.__init__.__doc__
    instrument("openai")
    instrument("openai")
    try:
        with ScriptedProvider([text("hi")] * 2) as p, watching() as seen:
            with openai.OpenAI(base_url=p.openai_url, api_key="k") as client:
                client.chat.completions.create(**ASK)
                client.copy().chat.completions.create(**ASK)
            assert len(seen.chats) == 2
    finally:
        uninstrument("openai")
    assert openai.OpenAI.__init__ is before
    assert openai._base_client.SyncAPIClient.__init__.__doc__ == signature
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        with openai.OpenAI(base_url=p.openai_url, api_key="k") as client:
            client.chat.completions.create(**ASK)
        assert seen.chats == []


def test_instrument_watches_the_other_sdks():
    for sdk in ("anthropic", "google-genai"):
        instrument(sdk)
    try:
        with ScriptedProvider([text("hi")] * 2) as p, watching() as seen:
            client = anthropic.Anthropic(base_url=p.anthropic_url, api_key="k")
            client.messages.create(model="m", max_tokens=9, messages=ASK["messages"])
            options = types.HttpOptions(base_url=p.gemini_url)
            gemini = genai.Client(api_key="k", http_options=options)
            gemini.models.generate_content(model="m", contents="q")
            wires = [chat["spanwitness.wire"] for chat in seen.chats]
    finally:
        for sdk in ("anthropic", "google-genai"):
            uninstrument(sdk)
    assert wires == ["anthropic_messages", "gemini"]


def test_an_unknown_sdk_is_refused():
    with pytest.raises(SettingsError, match="'openai'"):
        instrument("gpt")  # type: ignore[arg-type]


def test_suppressed_calls_leave_no_span():
    with ScriptedProvider([text("hi")] * 2) as p, watching() as seen:
        client = wrap_client(openai.OpenAI(base_url=p.openai_url, api_key="k"))
        for key in (otel_context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"):
            token = otel_context.attach(otel_context.set_value(key, True))
            client.chat.completions.create(**ASK)
            otel_context.detach(token)
        client.close()
        assert seen.chats == []


def test_an_export_over_a_watched_client_traces_nothing_of_its_own():
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    with ScriptedProvider([text("hi")] * 3) as p, watching() as seen:
        inner = wrap_client(openai.OpenAI(base_url=p.openai_url, api_key="k"))

        class ModelCallingExporter(SpanExporter):
            def export(self, spans: Any) -> SpanExportResult:
                inner.chat.completions.create(**ASK)
                return SpanExportResult.SUCCESS

        seen.provider.add_span_processor(SimpleSpanProcessor(ModelCallingExporter()))
        with wrap_client(openai.OpenAI(base_url=p.openai_url, api_key="k")) as client:
            client.chat.completions.create(**ASK)
        inner.close()
        assert len(seen.chats) == 1


@pytest.mark.contains_faults
def test_a_span_processor_that_raises_does_not_reach_the_caller():
    from opentelemetry.sdk.trace import SpanProcessor

    from spanwitness import guard

    class Raising(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            raise RuntimeError("on_start")

        def on_end(self, span: Any) -> None:
            raise RuntimeError("on_end")

    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        guard.set_strict(False)
        seen.provider.add_span_processor(Raising())
        with wrap_client(openai.OpenAI(base_url=p.openai_url, api_key="k")) as client:
            got = client.chat.completions.create(**ASK)
    assert got.choices[0].message.content == "hi"


def test_calls_of_many_threads_keep_apart():
    def answer(request: Any) -> Any:
        return reply(call("echo", {"n": request.json["seed"]}, id=f"call_{request.json['seed']}"))

    with ScriptedProvider(answer) as p, watching() as seen:
        client = wrap_client(openai.OpenAI(base_url=p.openai_url, api_key="k"))
        tools: Any = [{"type": "function", "function": {"name": "echo", "parameters": {}}}]

        def use(n: int) -> None:
            client.chat.completions.create(**ASK, seed=n, tools=tools)

        threads = [
            threading.Thread(target=__import__("contextvars").copy_context().run, args=(use, n))
            for n in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        chats = seen.chats
    seeds = {chat["gen_ai.request.seed"]: chat["spanwitness.response.tool_calls"] for chat in chats}
    assert len(seeds) == 12
    assert all(f'"call_{seed}"' in calls for seed, calls in seeds.items())


async def test_abandoned_and_cancelled_streams_leave_nothing_behind():
    from spanwitness.capture import retries, spans
    from spanwitness.capture.chat_span import ChatSpan

    script = lambda request: reply(text("one two three"))  # noqa: E731
    with ScriptedProvider(script) as p, watching() as seen:
        client = wrap_client(openai.AsyncOpenAI(base_url=p.openai_url, api_key="k"))

        async def abandon() -> None:
            chunks = await client.chat.completions.create(**ASK, stream=True)
            async for _ in chunks:
                break

        for _ in range(30):
            await abandon()
            task = asyncio.ensure_future(abandon())
            await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        del task
        await client.close()
        for _ in range(3):
            gc.collect()
            await asyncio.sleep(0.01)
        retries.settle_all()
        alive = [o for o in gc.get_objects() if isinstance(o, ChatSpan) and not o._is_finished]
        assert alive == []
        assert spans.open_count() == 0
        assert seen.state.board.peeks == []
        assert len(seen.chats) == seen.state.started


def test_capture_imports_no_http_library_and_no_sdk():
    import subprocess

    code = (
        "import sys, spanwitness.capture.client, spanwitness.capture.instrument\n"
        "heavy = ('httpx', 'httpx2', 'openai', 'anthropic', 'mcp', 'jsonschema')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_httpx2_is_preferred_where_it_is_installed():
    with http_client() as made:
        assert isinstance(made, httpx2.Client)
