"""A wrapped OpenAI client gives its caller exactly what the bare one gives."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from tests.transparency import outcomes

from spanwitness.capture.client import wrap_client
from spanwitness.testing import call, error, raw, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES: Any = [{"role": "user", "content": "What is the maximum current?"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "read_page",
            "description": "Read a page.",
            "parameters": {
                "type": "object",
                "properties": {"page": {"type": "integer"}},
                "required": ["page"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
]
ASK: Any = {"model": "gpt-test", "messages": MESSAGES}
ASK_WITH_TOOLS: Any = {**ASK, "tools": TOOLS}
SCRIPT: list[Any] = [
    [think("Look at page 2."), text("Let me look."), call("read_page", {"page": 2}, id="call_1")]
]
ANSWER = [text('{"value": 250.0, "unit": "mA"}')]
BROKEN_JSON = [raw(b'{"choices": [{"mess', headers={"content-type": "application/json"})]


class Value(BaseModel):
    value: float
    unit: str


def create(c: OpenAI) -> object:
    return c.chat.completions.create(**ASK_WITH_TOOLS)


def create_and_read_headers(c: OpenAI) -> object:
    raw_response = c.chat.completions.with_raw_response.create(**ASK_WITH_TOOLS)
    return [
        type(raw_response).__name__,
        raw_response.status_code,
        outcomes.headers(raw_response),
        raw_response.parse(),
        raw_response.parse(),
        raw_response.http_response.text,
    ]


def stream(c: OpenAI) -> object:
    return list(c.chat.completions.create(**ASK_WITH_TOOLS, stream=True))


def stream_with_usage(c: OpenAI) -> object:
    return list(
        c.chat.completions.create(
            **ASK_WITH_TOOLS, stream=True, stream_options={"include_usage": True}
        )
    )


def stream_and_break(c: OpenAI) -> object:
    seen = []
    with c.chat.completions.create(**ASK_WITH_TOOLS, stream=True) as chunks:
        for chunk in chunks:
            seen.append(chunk)
            if len(seen) == 2:
                break
    chunks.close()
    return seen


def stream_helper(c: OpenAI) -> object:
    with c.chat.completions.stream(**ASK_WITH_TOOLS) as events:
        seen = [event.type for event in events]
        return [seen, events.get_final_completion()]


def stream_raw(c: OpenAI) -> object:
    response = c.chat.completions.with_raw_response.create(**ASK_WITH_TOOLS, stream=True)
    return [outcomes.headers(response), list(response.parse())]


def streaming_raw(c: OpenAI) -> object:
    with c.chat.completions.with_streaming_response.create(**ASK_WITH_TOOLS) as response:
        return [outcomes.headers(response), list(response.iter_lines())]


def streaming_raw_parsed(c: OpenAI) -> object:
    with c.chat.completions.with_streaming_response.create(**ASK, stream=True) as response:
        return list(response.parse())


def streaming_raw_closed_unread(c: OpenAI) -> object:
    with c.chat.completions.with_streaming_response.create(**ASK_WITH_TOOLS) as response:
        return response.status_code


def parse(c: OpenAI) -> object:
    return c.chat.completions.parse(**ASK, response_format=Value).choices[0].message.parsed


def with_options(c: OpenAI) -> object:
    return c.with_options(timeout=7.0).chat.completions.create(**ASK)


def copied(c: OpenAI) -> object:
    return c.copy(default_headers={"x-more": "1"}).chat.completions.create(**ASK)


def shallow_copied(c: OpenAI) -> object:
    return copy.copy(c).chat.completions.create(**ASK)


def beta(c: OpenAI) -> object:
    return c.beta.chat.completions.parse(**ASK, response_format=Value).choices[0].message.parsed


def responses(c: OpenAI) -> object:
    return c.responses.create(model="gpt-test", input="What?").output_text


def responses_stream(c: OpenAI) -> object:
    return [event.type for event in c.responses.create(model="m", input="What?", stream=True)]


def responses_helper(c: OpenAI) -> object:
    with c.responses.stream(model="gpt-test", input="What?") as events:
        return [[event.type for event in events], events.get_final_response().output_text]


def responses_parse(c: OpenAI) -> object:
    return c.responses.parse(model="gpt-test", input="What?", text_format=Value).output_parsed


def list_models(c: OpenAI) -> object:
    return [model.id for model in c.models.list()]


def unset_markers(c: OpenAI) -> object:
    omit = getattr(openai, "omit", openai.NOT_GIVEN)
    return c.chat.completions.create(
        **ASK, temperature=openai.NOT_GIVEN, tools=omit, tool_choice=omit, metadata=openai.NOT_GIVEN
    )


SYNC: list[tuple[Callable[[OpenAI], object], list[Any]]] = [
    (create, SCRIPT),
    (create, [reply(text("zipped"), gzip=True)]),
    (create, [error(400, "bad request", kind="invalid_request_error")]),
    (create, [error(401, "who are you")]),
    (create, [error(500), error(429, headers={"retry-after": "0.01"}), text("third time")]),
    (create, [error(500), error(500), error(500)]),
    (create, BROKEN_JSON),
    (create, [reply(text("dead"), dies_after=0)] * 3),
    (create_and_read_headers, SCRIPT),
    (stream, SCRIPT),
    (stream, [reply(text("zipped words here"), gzip=True, chunk_bytes=7)]),
    (stream, [reply(text("a peer that dies"), dies_after=2)]),
    (stream_with_usage, SCRIPT),
    (stream_and_break, SCRIPT),
    (stream_helper, SCRIPT),
    (stream_raw, SCRIPT),
    (streaming_raw, SCRIPT),
    (streaming_raw_parsed, SCRIPT),
    (streaming_raw_closed_unread, SCRIPT),
    (parse, ANSWER),
    (with_options, ANSWER),
    (copied, ANSWER),
    (shallow_copied, ANSWER),
    (beta, ANSWER),
    (responses, ANSWER),
    (responses_stream, ANSWER),
    (responses_helper, ANSWER),
    (responses_parse, ANSWER),
    (list_models, []),
    (unset_markers, ANSWER),
]


@pytest.mark.parametrize(("surface", "script"), SYNC, ids=lambda v: getattr(v, "__name__", ""))
def test_a_sync_call_gives_what_the_bare_client_gives(surface, script, serve, monkeypatch):
    monkeypatch.setattr("openai._constants.INITIAL_RETRY_DELAY", 0.01, raising=False)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        with OpenAI(base_url=provider.openai_url, api_key="sk-scripted") as client:
            if is_wrapped:
                assert wrap_client(client) is client
            seen.append((outcomes.of(surface, client), [r.body for r in provider.requests]))
    assert seen[0] == seen[1]


async def a_create(c: AsyncOpenAI) -> object:
    return await c.chat.completions.create(**ASK_WITH_TOOLS)


async def a_raw(c: AsyncOpenAI) -> object:
    response = await c.chat.completions.with_raw_response.create(**ASK_WITH_TOOLS)
    return [outcomes.headers(response), response.parse()]


async def a_stream(c: AsyncOpenAI) -> object:
    chunks = await c.chat.completions.create(**ASK_WITH_TOOLS, stream=True)
    return [chunk async for chunk in chunks]


async def a_stream_and_break(c: AsyncOpenAI) -> object:
    seen = []
    async with await c.chat.completions.create(**ASK_WITH_TOOLS, stream=True) as chunks:
        async for chunk in chunks:
            seen.append(chunk)
            if len(seen) == 2:
                break
    return seen


async def a_stream_helper(c: AsyncOpenAI) -> object:
    async with c.chat.completions.stream(**ASK_WITH_TOOLS) as events:
        seen = [event.type async for event in events]
        return [seen, await events.get_final_completion()]


async def a_streaming_raw(c: AsyncOpenAI) -> object:
    async with c.chat.completions.with_streaming_response.create(**ASK_WITH_TOOLS) as response:
        return [outcomes.headers(response), [line async for line in response.iter_lines()]]


async def a_parse(c: AsyncOpenAI) -> object:
    done = await c.chat.completions.parse(**ASK, response_format=Value)
    return done.choices[0].message.parsed


async def a_gathered(c: AsyncOpenAI) -> object:
    asked = (c.with_options(timeout=9).chat.completions.create(**ASK) for _ in range(3))
    return [done.choices[0].message.content for done in await asyncio.gather(*asked)]


async def a_timed_out(c: AsyncOpenAI) -> object:
    async with asyncio.timeout(1.0):
        return await c.chat.completions.create(**ASK)


async def a_cancelled(c: AsyncOpenAI) -> object:
    task = asyncio.ensure_future(a_stream(c))
    await asyncio.sleep(1.0)
    task.cancel("enough")
    try:
        await task
    except asyncio.CancelledError as cancelled:
        return ["cancelled", list(cancelled.args), task.cancelled()]
    return "not cancelled"


async def a_responses(c: AsyncOpenAI) -> object:
    async with c.responses.stream(model="gpt-test", input="What?") as events:
        return [event.type async for event in events]


ASYNC: list[tuple[Callable[[AsyncOpenAI], Any], list[Any]]] = [
    (a_create, SCRIPT),
    (a_create, [error(400, "bad request")]),
    (a_create, [error(500), text("second time")]),
    (a_create, BROKEN_JSON),
    (a_raw, SCRIPT),
    (a_stream, SCRIPT),
    (a_stream, [reply(text("a peer that dies"), dies_after=2)]),
    (a_stream_and_break, SCRIPT),
    (a_stream_helper, SCRIPT),
    (a_streaming_raw, SCRIPT),
    (a_parse, ANSWER),
    (a_gathered, [text("same")] * 3),
    (a_timed_out, [reply(text("too late"), delay_s=5.0)]),
    (a_cancelled, [reply(text("one two three four"), delay_s=1.5)]),
    (a_responses, ANSWER),
]


@pytest.mark.parametrize(("surface", "script"), ASYNC, ids=lambda v: getattr(v, "__name__", ""))
async def test_an_async_call_gives_what_the_bare_client_gives(surface, script, serve, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        async with AsyncOpenAI(base_url=provider.openai_url, api_key="sk-scripted") as client:
            if is_wrapped:
                assert wrap_client(client) is client
            outcome = await outcomes.of_async(surface, client)
            # How far a call that is cut off by the clock came is a matter of the machine's load.
            is_timed = surface in (a_timed_out, a_cancelled)
            seen.append((outcome, [] if is_timed else [r.body for r in provider.requests]))
    assert seen[0] == seen[1]


def test_the_exception_that_a_loop_body_raises_is_the_one_that_comes_out(serve):
    client = wrap_client(OpenAI(base_url=serve(SCRIPT).openai_url, api_key="sk-scripted"))
    mine = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught, client:
        for _ in client.chat.completions.create(**ASK, stream=True):
            raise mine
    assert caught.value is mine
    assert mine.__context__ is None


def test_the_first_item_of_a_stream_comes_when_the_provider_sends_it(serve):
    import time

    slow = reply(text("one two three four five six"), delay_s=0.2)
    client = wrap_client(OpenAI(base_url=serve([slow]).openai_url, api_key="sk-scripted"))
    with client:
        begun = time.monotonic()
        chunks = client.chat.completions.create(**ASK, stream=True)
        next(iter(chunks))
        to_first = time.monotonic() - begun
        rest = len(list(chunks))
        to_last = time.monotonic() - begun
    assert rest >= 6
    assert to_first < to_last / 2
