"""A wrapped Anthropic client gives its caller exactly what the bare one gives."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from pydantic import BaseModel
from tests.transparency import outcomes

from spanwitness.capture.client import wrap_client
from spanwitness.testing import call, error, raw, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Callable

ASK: Any = {
    "model": "claude-test",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "How many mA?"}],
    "tools": [
        {
            "name": "read_page",
            "input_schema": {"type": "object", "properties": {"page": {"type": "integer"}}},
        }
    ],
}
SCRIPT: list[Any] = [
    [think("Page 2."), text("Let me look."), call("read_page", {"page": 2}, id="toolu_1")]
]


class Value(BaseModel):
    value: float


def create(c: Anthropic) -> object:
    return c.messages.create(**ASK)


def stream(c: Anthropic) -> object:
    return list(c.messages.create(**ASK, stream=True))


def helper(c: Anthropic) -> object:
    with c.messages.stream(**ASK) as events:
        return [[event.type for event in events], events.get_final_message()]


def helper_text(c: Anthropic) -> object:
    with c.messages.stream(**ASK) as events:
        return list(events.text_stream)


def break_inside(c: Anthropic) -> object:
    seen = []
    with c.messages.create(**ASK, stream=True) as events:
        for event in events:
            seen.append(event)
            if len(seen) == 3:
                break
    return seen


def with_raw(c: Anthropic) -> object:
    response = c.messages.with_raw_response.create(**ASK)
    return [outcomes.headers(response), response.parse(), response.parse()]


def with_streaming(c: Anthropic) -> object:
    with c.messages.with_streaming_response.create(**ASK) as response:
        return [outcomes.headers(response), list(response.iter_lines())]


def derived(c: Anthropic) -> object:
    return c.with_options(timeout=9, max_retries=0).copy().messages.create(**ASK)


def beta(c: Anthropic) -> object:
    return c.beta.messages.create(**ASK)


def parse(c: Anthropic) -> object:
    if not hasattr(c.messages, "parse"):
        return "no parse in this version"
    given = {key: value for key, value in ASK.items() if key != "tools"}
    return c.messages.parse(**given, output_format=Value)


def count_tokens(c: Anthropic) -> object:
    return c.messages.count_tokens(model="claude-test", messages=ASK["messages"])


SYNC: list[tuple[Callable[[Anthropic], object], list[Any]]] = [
    (create, SCRIPT),
    (create, [reply(text("zipped"), gzip=True)]),
    (create, [error(400, "bad", kind="invalid_request_error")]),
    (create, [error(529, "overloaded"), error(500), text("third")]),
    (create, [error(500)] * 3),
    (create, [raw(b'{"content": [{"ty', headers={"content-type": "application/json"})]),
    (stream, SCRIPT),
    (stream, [reply(text("a peer that dies"), dies_after=3)]),
    (helper, SCRIPT),
    (helper_text, SCRIPT),
    (break_inside, SCRIPT),
    (with_raw, SCRIPT),
    (with_streaming, SCRIPT),
    (derived, SCRIPT),
    (beta, SCRIPT),
    (parse, [text('{"value": 1.5}')]),
    (count_tokens, []),
]


@pytest.mark.parametrize(("surface", "script"), SYNC, ids=lambda v: getattr(v, "__name__", ""))
def test_a_sync_call_gives_what_the_bare_client_gives(surface, script, serve, monkeypatch):
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.01)
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        with Anthropic(base_url=provider.anthropic_url, api_key="sk-scripted") as client:
            if is_wrapped:
                assert wrap_client(client) is client
            seen.append((outcomes.of(surface, client), [r.body for r in provider.requests]))
    assert seen[0] == seen[1]


async def a_create(c: AsyncAnthropic) -> object:
    return await c.messages.create(**ASK)


async def a_stream(c: AsyncAnthropic) -> object:
    return [event async for event in await c.messages.create(**ASK, stream=True)]


async def a_helper(c: AsyncAnthropic) -> object:
    async with c.messages.stream(**ASK) as events:
        return [[event.type async for event in events], await events.get_final_message()]


async def a_raw(c: AsyncAnthropic) -> object:
    response = await c.messages.with_raw_response.create(**ASK)
    parsed: Any = response.parse()
    return [outcomes.headers(response), await parsed if inspect.isawaitable(parsed) else parsed]


async def a_cancelled(c: AsyncAnthropic) -> object:
    task = asyncio.ensure_future(a_stream(c))
    await asyncio.sleep(1.0)
    task.cancel("enough")
    try:
        await task
    except asyncio.CancelledError as cancelled:
        return ["cancelled", list(cancelled.args)]
    return "not cancelled"


ASYNC: list[tuple[Callable[[AsyncAnthropic], Any], list[Any]]] = [
    (a_create, SCRIPT),
    (a_create, [error(500), text("second")]),
    (a_create, [error(401, "who are you")]),
    (a_stream, SCRIPT),
    (a_stream, [reply(text("a peer that dies"), dies_after=3)]),
    (a_helper, SCRIPT),
    (a_raw, SCRIPT),
    (a_cancelled, [reply(text("one two three four"), delay_s=1.5)]),
]


@pytest.mark.parametrize(("surface", "script"), ASYNC, ids=lambda v: getattr(v, "__name__", ""))
async def test_an_async_call_gives_what_the_bare_client_gives(surface, script, serve, monkeypatch):
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.01)
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        url = provider.anthropic_url
        async with AsyncAnthropic(base_url=url, api_key="sk-scripted") as client:
            if is_wrapped:
                assert wrap_client(client) is client
            outcome = await outcomes.of_async(surface, client)
            # How far a call that the clock cuts off came is a matter of the machine's load.
            is_timed = surface is a_cancelled
            seen.append((outcome, [] if is_timed else [r.body for r in provider.requests]))
    assert seen[0] == seen[1]
