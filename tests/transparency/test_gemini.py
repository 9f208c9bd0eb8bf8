"""A wrapped google-genai client gives its caller exactly what the bare one gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google import genai
from google.genai import types
from tests.transparency import outcomes

from spanwitness.capture.client import wrap_client
from spanwitness.testing import call, error, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="read_page")])]
)
ASK: Any = {"model": "gemini-test", "contents": "How many mA?", "config": CONFIG}
SCRIPT: list[Any] = [[think("Page 2."), text("Let me look."), call("read_page", {"page": 2})]]
RETRY = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.01)


def create(c: genai.Client) -> object:
    return c.models.generate_content(**ASK)


def stream(c: genai.Client) -> object:
    return list(c.models.generate_content_stream(**ASK))


def break_early(c: genai.Client) -> object:
    for chunk in c.models.generate_content_stream(**ASK):
        return chunk
    return "nothing"


def chat(c: genai.Client) -> object:
    return c.chats.create(model="gemini-test").send_message("How many mA?")


def count_tokens(c: genai.Client) -> object:
    return c.models.count_tokens(model="gemini-test", contents="How many mA?")


def list_models(c: genai.Client) -> object:
    return [model.name for model in c.models.list()]


SYNC: list[tuple[Callable[[genai.Client], object], list[Any]]] = [
    (create, SCRIPT),
    (create, [reply(text("zipped"), gzip=True)]),
    (create, [error(400, "bad")]),
    (create, [error(500), error(503), text("third")]),
    (create, [error(503)] * 3),
    (stream, SCRIPT),
    (stream, [reply(text("a peer that dies"), dies_after=1)]),
    (break_early, SCRIPT),
    (chat, [text("250 mA")]),
    (count_tokens, []),
    (list_models, []),
]


def client_of(provider: Any) -> genai.Client:
    options = types.HttpOptions(base_url=provider.gemini_url, retry_options=RETRY)
    return genai.Client(api_key="scripted", http_options=options)


@pytest.mark.parametrize(("surface", "script"), SYNC, ids=lambda v: getattr(v, "__name__", ""))
def test_a_sync_call_gives_what_the_bare_client_gives(surface, script, serve):
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        client = client_of(provider)
        if is_wrapped:
            assert wrap_client(client) is client
        seen.append((outcomes.of(surface, client), [r.body for r in provider.requests]))
        client.close()
    assert seen[0] == seen[1]


async def a_create(c: genai.Client) -> object:
    return await c.aio.models.generate_content(**ASK)


async def a_stream(c: genai.Client) -> object:
    return [chunk async for chunk in await c.aio.models.generate_content_stream(**ASK)]


ASYNC: list[tuple[Callable[[genai.Client], Any], list[Any]]] = [
    (a_create, SCRIPT),
    (a_create, [error(400, "bad")]),
    (a_create, [error(500), text("second")]),
    (a_stream, SCRIPT),
]


# The bare client goes over aiohttp where that is installed, the wrapped one over httpx.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize(("surface", "script"), ASYNC, ids=lambda v: getattr(v, "__name__", ""))
async def test_an_async_call_gives_what_the_bare_client_gives(surface, script, serve):
    seen = []
    for is_wrapped in (False, True):
        provider = serve(script)
        client = client_of(provider)
        if is_wrapped:
            assert wrap_client(client) is client
        outcome = await outcomes.of_async(surface, client)
        seen.append((outcome, [r.body for r in provider.requests]))
        await client.aio.aclose()
        client.close()
    assert seen[0] == seen[1]
