from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from tests.capture.witnessing import calls_of, watching

from spanwitness.capture.client import wrap_client
from spanwitness.testing import ScriptedProvider, call, error, reply, text

TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="read_page",
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={"page": types.Schema(type=types.Type.INTEGER)},
            ),
        )
    ]
)
CONFIG = types.GenerateContentConfig(tools=[TOOL])
ASK: Any = {"model": "gemini-test", "contents": "How many mA?", "config": CONFIG}


def client_of(provider: ScriptedProvider, **options: Any) -> genai.Client:
    http = types.HttpOptions(base_url=provider.gemini_url, **options)
    return wrap_client(genai.Client(api_key="canary-key", http_options=http))


def assert_is_whole(chat: dict[str, Any]) -> None:
    expected = {
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-test",
        "gen_ai.response.finish_reasons": ("STOP",),
        "spanwitness.wire": "gemini",
        "spanwitness.request.tools_offered": ("read_page",),
        "spanwitness.response.ending": "complete",
    }
    assert {key: chat[key] for key in expected} == expected
    assert calls_of(chat)[0]["name"] == "read_page"


SCRIPT = [[text("Let me look."), call("read_page", {"page": 2})]]


def test_a_sync_call_is_recorded():
    with ScriptedProvider(SCRIPT) as p, watching() as seen:
        client = client_of(p)
        client.models.generate_content(**ASK)
        (chat,) = seen.chats
    assert_is_whole(chat)


def test_a_sync_stream_is_recorded():
    with ScriptedProvider(SCRIPT) as p, watching() as seen:
        client = client_of(p)
        list(client.models.generate_content_stream(**ASK))
        (chat,) = seen.chats
    assert_is_whole(chat)
    assert chat["gen_ai.request.stream"] is True


async def test_an_async_call_is_recorded_although_aiohttp_is_there():
    import aiohttp  # noqa: F401  the SDK would prefer it

    with ScriptedProvider(SCRIPT) as p, watching() as seen:
        client = client_of(p)
        await client.aio.models.generate_content(**ASK)
        await client.aio.aclose()
        (chat,) = seen.chats
    assert_is_whole(chat)
    assert seen.state.incomplete_reasons == []


async def test_an_async_stream_is_recorded():
    with ScriptedProvider(SCRIPT) as p, watching() as seen:
        client = client_of(p)
        async for _ in await client.aio.models.generate_content_stream(**ASK):
            pass
        await client.aio.aclose()
        (chat,) = seen.chats
    assert_is_whole(chat)


def test_a_second_event_loop_is_seen_too():
    with ScriptedProvider([text("a"), text("b")]) as p, watching() as seen:
        client = client_of(p)

        async def use() -> None:
            await client.aio.models.generate_content(model="gemini-test", contents="q")
            await client.aio._api_client._async_httpx_client.aclose()
            client.aio._api_client._async_httpx_client._state = type(
                client.aio._api_client._async_httpx_client._state
            ).UNOPENED

        asyncio.run(use())
        asyncio.run(use())
        assert len(seen.chats) == 2


def test_wrapping_twice_gives_one_span():
    with ScriptedProvider([text("a")]) as p, watching() as seen:
        client = wrap_client(client_of(p))
        client.models.generate_content(model="gemini-test", contents="q")
        assert len(seen.chats) == 1


def test_calls_without_ids_are_linked_by_their_number():
    with ScriptedProvider(SCRIPT) as p, watching() as seen:
        client = client_of(p)
        client.models.generate_content(**ASK)
        claim = seen.state.board.claim("read_page", {"page": 2})
        (chat,) = seen.chats
    assert claim.link == "exact"
    assert claim.call_id == calls_of(chat)[0]["call_id"]


def test_retries_without_a_count_in_the_headers_are_one_call():
    script = [error(500), error(503), reply(text("third"))]
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.01)
    with ScriptedProvider(script) as p, watching() as seen:
        client = client_of(p, retry_options=retry)
        client.models.generate_content(model="gemini-test", contents="q")
        (chat,) = seen.chats
    assert chat["spanwitness.attempts"] == ("500", "503", "200")


def test_an_error_ends_the_call_with_its_status():
    with ScriptedProvider([error(400, "bad")]) as p, watching() as seen:
        client = client_of(p)
        with pytest.raises(errors.ClientError):
            client.models.generate_content(model="gemini-test", contents="q")
        (chat,) = seen.chats
    assert chat["error.type"] == "400"


def test_automatic_function_calling_is_one_span_a_request():
    def read_page(page: int) -> str:
        """Read a page."""
        return f"page {page}: 250 mA"

    with (
        ScriptedProvider([call("read_page", {"page": 2}), text("250 mA")]) as p,
        watching() as seen,
    ):
        client = client_of(p)
        answer = client.models.generate_content(
            model="gemini-test",
            contents="q",
            config=types.GenerateContentConfig(tools=[read_page]),
        )
        first, second = seen.chats
    assert answer.text == "250 mA"
    assert second["spanwitness.request.delivered_ids"] == (calls_of(first)[0]["call_id"],)
    (delivery,) = json.loads(second["spanwitness.request.delivered"])
    assert delivery["state"] == "unknown"  # the tool itself was not watched


async def test_an_own_aiohttp_session_is_left_alone_and_the_run_is_incomplete(caplog):
    import aiohttp

    with ScriptedProvider([text("a")]) as p, watching() as seen:
        async with aiohttp.ClientSession() as session:
            client = client_of(p, aiohttp_client=session)
            got = await client.aio.models.generate_content(model="gemini-test", contents="q")
            await client.aio.aclose()
        assert got.text == "a"
        assert seen.chats == []
    assert seen.state.incomplete_reasons == ["unseen_traffic"]
    assert "spanwitness.unseen_traffic" in caplog.text
