"""B01, B03, B04, B39, B57: however a stream is left, it is one span, ended once, and says how."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import threading
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from tests.capture.witnessing import calls_of, watching

from spanwitness.capture import spans
from spanwitness.capture.client import wrap_client
from spanwitness.testing import ScriptedProvider, call, reply, text, think

WORDS = "one two three four five six seven eight"
QUESTION: Any = [{"role": "user", "content": "q"}]
PARAMETERS: Any = {"type": "object", "properties": {"page": {"type": "integer"}}}
FUNCTION: Any = {"name": "read_page", "parameters": PARAMETERS}


class OpenAIChat:
    tools: Any = ({"type": "function", "function": FUNCTION},)

    def client(self, p: ScriptedProvider, *, is_async: bool) -> Any:
        kind = openai.AsyncOpenAI if is_async else openai.OpenAI
        return wrap_client(kind(base_url=p.openai_url, api_key="k", max_retries=0))

    def stream(self, client: Any) -> Any:
        more: Any = {"stream_options": {"include_usage": True}}
        return client.chat.completions.create(
            model="m", messages=QUESTION, tools=self.tools, stream=True, **more
        )

    def whole(self, client: Any) -> Any:
        return client.chat.completions.create(model="m", messages=QUESTION, tools=self.tools)


class OpenAIResponses(OpenAIChat):
    tools: Any = ({"type": "function", "strict": False, **FUNCTION},)

    def stream(self, client: Any) -> Any:
        return client.responses.create(model="m", input="q", tools=self.tools, stream=True)

    def whole(self, client: Any) -> Any:
        return client.responses.create(model="m", input="q", tools=self.tools)


class Anthropic:
    tools: Any = ({"name": "read_page", "input_schema": PARAMETERS},)

    def client(self, p: ScriptedProvider, *, is_async: bool) -> Any:
        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return wrap_client(kind(base_url=p.anthropic_url, api_key="k", max_retries=0))

    def stream(self, client: Any) -> Any:
        return client.messages.create(
            model="m", max_tokens=99, messages=QUESTION, tools=self.tools, stream=True
        )

    def whole(self, client: Any) -> Any:
        return client.messages.create(model="m", max_tokens=99, messages=QUESTION, tools=self.tools)


class Gemini:
    config: Any = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(
            name="read_page", parameters_json_schema=PARAMETERS
        )])]
    )  # fmt: skip

    def client(self, p: ScriptedProvider, *, is_async: bool) -> Any:
        http = types.HttpOptions(base_url=p.gemini_url)
        client = wrap_client(genai.Client(api_key="k", http_options=http))
        return client.aio if is_async else client

    def stream(self, client: Any) -> Any:
        return client.models.generate_content_stream(model="m", contents="q", config=self.config)

    def whole(self, client: Any) -> Any:
        return client.models.generate_content(model="m", contents="q", config=self.config)


@pytest.fixture(autouse=True, scope="module")
def quick_collection():
    """What was there before is not looked through at each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


SDKS = {sdk.__name__: sdk() for sdk in (OpenAIChat, OpenAIResponses, Anthropic, Gemini)}
SLOW = [reply(text(WORDS), delay_s=0.004)]


def close(stream: Any) -> None:
    stream.close()


def take_one(stream: Any) -> Any:
    return next(iter(stream))


def exhaust(stream: Any) -> None:
    for _ in stream:
        pass


def break_in_with(stream: Any) -> None:
    with contextlib.closing(stream):
        for _ in stream:
            break


def close_twice(stream: Any) -> None:
    take_one(stream)
    stream.close()
    stream.close()


def raise_in_body(stream: Any) -> None:
    error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as caught, contextlib.closing(stream):
        for _ in stream:
            raise error
    assert caught.value is error


def drop_midway(stream: Any) -> None:
    take_one(stream)


def never_iterate(stream: Any) -> None:
    pass


def read_in_another_thread(stream: Any) -> None:
    thread = threading.Thread(target=exhaust, args=(stream,))
    thread.start()
    thread.join()


def close_in_another_thread(stream: Any) -> None:
    take_one(stream)
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()


SYNC_WAYS = [
    exhaust, break_in_with, close, close_twice, raise_in_body, drop_midway, never_iterate,
    read_in_another_thread, close_in_another_thread,
]  # fmt: skip


@pytest.mark.parametrize("how", SYNC_WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
def test_a_stream_is_one_span_however_it_is_left(sdk, how, caplog):
    """B01, B03."""
    with caplog.at_level(logging.WARNING), ScriptedProvider(SLOW) as p, watching() as seen:
        client = sdk.client(p, is_async=False)

        def use() -> None:
            how(sdk.stream(client))

        use()
        gc.collect()
        # An SDK whose stream is a generator has sent nothing before its first item is asked for.
        n_sent = len(p.requests)
        chats = seen.chats
        client.close()
    is_lazy = sdk is SDKS["Gemini"]
    assert n_sent == (0 if is_lazy and how in (close, never_iterate) else 1)
    assert len(chats) == n_sent
    assert seen.state.started == seen.state.ended
    # Sent by a bare thread, a request carries no run.
    assert seen.state.ended == (0 if is_lazy and how is read_in_another_thread else n_sent)
    assert spans.open_count() == 0
    assert caplog.records == []
    for chat in chats:
        is_read = how in (exhaust, read_in_another_thread)
        assert chat["spanwitness.response.ending"] == ("complete" if is_read else "abandoned")
        said = chat.get("gen_ai.output.messages", "")
        if is_read:
            assert WORDS in said
        elif how not in (close, never_iterate):
            assert WORDS not in said
        # A caller that has read enough is no error.
        assert seen.named("chat")[0].status.status_code.name == "UNSET"


async def _exhaust(stream: Any) -> None:
    async for _ in stream:
        pass


async def _break(stream: Any) -> None:
    async for _ in stream:
        break


async def _close(stream: Any) -> None:
    await _aclose(stream)
    await _aclose(stream)


async def _raise(stream: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async for _ in stream:
            raise ZeroDivisionError


async def _never(stream: Any) -> None:
    pass


async def _cancel(stream: Any) -> None:
    task = asyncio.create_task(_exhaust(stream))
    await asyncio.sleep(0.012)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _time_out(stream: Any) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(_exhaust(stream), 0.012)


async def _close_in_another_task(stream: Any) -> None:
    await _break(stream)
    await asyncio.create_task(_aclose(stream))


async def _read_in_another_task(stream: Any) -> None:
    await asyncio.create_task(_exhaust(stream))


async def _aclose(stream: Any) -> None:
    await (stream.aclose if hasattr(stream, "aclose") else stream.close)()


ASYNC_WAYS = [
    _exhaust, _break, _close, _raise, _never, _cancel, _time_out, _close_in_another_task,
    _read_in_another_task,
]  # fmt: skip


@pytest.mark.parametrize("how", ASYNC_WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
async def test_an_async_stream_is_one_span_however_it_is_left(sdk, how, caplog):
    """B01, B03, B04, B39."""
    asyncio.get_running_loop().slow_callback_duration = 60
    caplog.set_level(logging.WARNING)
    with ScriptedProvider(SLOW) as p, watching() as seen:
        client = sdk.client(p, is_async=True)

        async def use() -> None:
            await how(await sdk.stream(client))

        await use()
        gc.collect()
        for _ in range(3):  # the loop's hook closes dropped generators in a task of its own
            await asyncio.sleep(0.002)
        await _aclose(client)
        await asyncio.sleep(0.002)
        gc.collect()
        n_sent = len(p.requests)
        chats = seen.chats
    # A request that was cancelled before it arrived is a call as well.
    assert n_sent <= len(chats) <= (0 if sdk is SDKS["Gemini"] and how is _never else 1)
    assert len(chats) == n_sent or how in (_cancel, _time_out)
    assert seen.state.started == seen.state.ended == len(chats)
    assert spans.open_count() == 0
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []
    assert [r for r in caplog.records if r.name.startswith(("spanwitness", "opentelemetry"))] == []
    for chat in chats:
        is_read = how in (_exhaust, _read_in_another_task)
        wanted = {"complete"} if is_read else {"abandoned", "cancelled"}
        assert chat["spanwitness.response.ending"] in wanted
        assert (WORDS in chat.get("gen_ai.output.messages", "")) is is_read


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
def test_what_was_read_of_a_stream_stands_on_its_span(sdk, is_async):
    """B01: closed early, the span holds the partial text."""
    steps = [reply(text(" ".join([f"word{n}" for n in range(40)])), delay_s=0.001)]
    with ScriptedProvider(steps) as p, watching() as seen:
        if is_async:

            async def use() -> None:
                client = sdk.client(p, is_async=True)
                n_items = 0
                stream = await sdk.stream(client)
                async for _ in stream:
                    n_items += 1
                    if n_items == 12:
                        break
                await _aclose(stream)

            asyncio.run(use())
        else:
            client = sdk.client(p, is_async=False)
            stream = sdk.stream(client)
            for _ in range(12):
                next(stream)
            stream.close()
            client.close()
        gc.collect()
        (chat,) = seen.chats
    said = chat["gen_ai.output.messages"]
    assert "word0" in said
    assert "word39" not in said
    assert chat["spanwitness.response.ending"] == "abandoned"
    assert chat["spanwitness.response.text_chars"] > 4


PARTS = [
    think("Where would that be?"), text("Let me look."),
    call("read_page", {"page": 1, "note": "ä \U0001f600 \"x\""}, id="call_1"),
    call("read_page", {}, id="call_2"),
]  # fmt: skip
CHANGING = {
    "spanwitness.run_id", "spanwitness.seq", "spanwitness.request.bytes", "gen_ai.request.stream",
    "gen_ai.response.time_to_first_chunk", "server.port", "gen_ai.response.id",
}  # fmt: skip


@pytest.mark.parametrize("chunk_bytes", [None, 11])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
def test_a_streamed_reply_stands_on_its_span_like_a_whole_one(sdk, is_async, chunk_bytes):
    """B57, B37: calls in fragments, two indexes, a call without arguments, usage at the end."""
    found = []
    for stream in (False, True):
        script = [reply(*PARTS, chunk_bytes=chunk_bytes, input_tokens=25, output_tokens=15)]
        with ScriptedProvider(script) as p, watching() as seen:
            if is_async:

                async def use(p: Any = p, stream: bool = stream) -> None:
                    client = sdk.client(p, is_async=True)
                    got = await (sdk.stream if stream else sdk.whole)(client)
                    if stream:
                        await _exhaust(got)
                    await _aclose(client)

                asyncio.run(use())
            else:
                client = sdk.client(p, is_async=False)
                got = (sdk.stream if stream else sdk.whole)(client)
                if stream:
                    exhaust(got)
                client.close()
            (chat,) = seen.chats
        found.append({key: value for key, value in chat.items() if key not in CHANGING})
    whole, streamed = found
    assert json.loads(streamed["gen_ai.output.messages"])[0]["role"] == "assistant"
    assert streamed == whole
    assert [c["name"] for c in calls_of(streamed)] == ["read_page", "read_page"]
    assert streamed["gen_ai.usage.output_tokens"] == 15
    assert streamed["gen_ai.usage.input_tokens"] == 25
