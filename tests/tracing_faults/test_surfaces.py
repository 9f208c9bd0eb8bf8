"""B28, B30, B31, B33, B34, B52: every surface of an SDK is seen, and stays what it was."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import pickle
import warnings
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from pydantic import BaseModel
from tests.capture.witnessing import watching

from spanwitness.capture.client import wrap_client
from spanwitness.testing import ScriptedProvider, reply, text

MESSAGES: Any = [{"role": "user", "content": "q"}]
ASK: Any = {"model": "m", "messages": MESSAGES}
CLAUDE: Any = {**ASK, "max_tokens": 9}


class Value(BaseModel):
    value: float


SAID = [reply(text('{"value": 1.5}'), input_tokens=3, output_tokens=2)]


def openai_of(provider: ScriptedProvider, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=provider.openai_url, api_key="k", max_retries=0, **options)


def raw_parse_twice(client: Any) -> Any:
    got = client.chat.completions.with_raw_response.create(**ASK)
    assert got.parse() is got.parse()
    return type(got), got.headers["content-type"], got.parse().choices[0].message.content


def raw_stream(client: Any) -> Any:
    got = client.chat.completions.with_raw_response.create(**ASK, stream=True)
    return type(got), type(got.parse()), [c.choices[0].delta.content for c in got.parse()]


def streaming_raw(client: Any) -> Any:
    with client.chat.completions.with_streaming_response.create(**ASK) as got:
        return type(got), got.headers["content-type"], got.parse().choices[0].message.content


def streaming_raw_lines(client: Any) -> Any:
    with client.chat.completions.with_streaming_response.create(**ASK, stream=True) as got:
        return [line[:6] for line in got.iter_lines() if line]


def streaming_raw_parsed(client: Any) -> Any:
    with client.chat.completions.with_streaming_response.create(**ASK, stream=True) as got:
        return [type(chunk) for chunk in got.parse()]


def streaming_raw_unread(client: Any) -> Any:
    with client.chat.completions.with_streaming_response.create(**ASK, stream=True) as got:
        return type(got), got.status_code


def claude_raw(client: Any) -> Any:
    got = client.messages.with_raw_response.create(**CLAUDE)
    return type(got), got.headers["content-type"], got.parse().content[0].text


def claude_streaming_raw(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**CLAUDE) as got:
        return type(got), got.parse().content[0].text


@pytest.mark.parametrize(
    "use",
    [raw_parse_twice, raw_stream, streaming_raw, streaming_raw_lines, streaming_raw_parsed,
     streaming_raw_unread],
)  # fmt: skip
def test_b28_raw_responses_of_openai_keep_types_and_values_and_are_one_span(use):
    """B28."""
    with ScriptedProvider(SAID * 2) as provider, watching() as seen:
        with openai_of(provider) as bare:
            expected = use(bare)
        assert seen.chats == []
        with openai_of(provider) as client:
            assert use(wrap_client(client)) == expected
        (chat,) = seen.chats
    is_unread = use is streaming_raw_unread
    assert chat["spanwitness.response.ending"] == ("abandoned" if is_unread else "complete")


@pytest.mark.parametrize("use", [claude_raw, claude_streaming_raw])
def test_b28_raw_responses_of_anthropic_keep_types_and_values_and_are_one_span(use):
    """B28."""
    with ScriptedProvider(SAID * 2) as provider, watching() as seen:
        with anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k") as bare:
            expected = use(bare)
        with anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k") as client:
            assert use(wrap_client(client)) == expected
        assert len(seen.chats) == 1


async def test_b30_async_stream_managers_stay_plain_methods():
    """B30: no coroutine that nobody awaits, `async with` works, one span each."""
    with ScriptedProvider(SAID * 2) as provider, watching() as seen, warnings.catch_warnings():
        warnings.simplefilter("error")
        claude = wrap_client(anthropic.AsyncAnthropic(base_url=provider.anthropic_url, api_key="k"))
        manager = claude.messages.stream(**CLAUDE)
        assert not asyncio.iscoroutine(manager)
        async with manager as stream:
            events = [event async for event in stream]
            assert (await stream.get_final_message()).content[0].text == '{"value": 1.5}'
        assert len(events) > 3
        client = wrap_client(openai.AsyncOpenAI(base_url=provider.openai_url, api_key="k"))
        async with client.chat.completions.stream(**ASK) as chunks:
            assert [c async for c in chunks]
        await claude.close()
        await client.close()
        assert [c["spanwitness.response.ending"] for c in seen.chats] == ["complete"] * 2


class StrangeMarker:
    """A third kind of "not given", as a future SDK may have it."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        raise TypeError("no length")


def test_b31_markers_for_unset_arguments_offer_nothing():
    """B31: only what left on the wire is read, so an omitted list of tools is no tool."""
    marks = [openai.omit, openai.NOT_GIVEN]
    with ScriptedProvider(SAID * 4) as provider, watching() as seen:
        with wrap_client(openai_of(provider)) as client:
            for mark in marks:
                more: Any = dict.fromkeys(
                    ("temperature", "tools", "tool_choice", "metadata", "max_tokens"), mark
                )
                client.chat.completions.create(**ASK, **more)
        claude = wrap_client(anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k"))
        for mark in (anthropic.omit, anthropic.NOT_GIVEN):
            more = dict.fromkeys(("tools", "tool_choice", "system", "thinking"), mark)
            claude.messages.create(**CLAUDE, **more)
        claude.close()
        chats = seen.chats
    assert len(chats) == 4
    for chat in chats:
        assert chat["spanwitness.request.tools_offered.count"] == 0
        assert chat["spanwitness.request.tools_offered"] == ()
        assert "gen_ai.request.temperature" not in chat
        assert "Omit" not in repr(chat)
        assert "NotGiven" not in repr(chat)


def test_b31_a_marker_of_an_unknown_kind_as_a_tools_argument_changes_nothing():
    """B31: our own decorators meet such values as well."""
    import spanwitness as sw

    @sw.tool
    def search(query: str, limit: Any = None) -> str:
        return query

    with watching() as seen:
        assert search("q", StrangeMarker()) == "q"
        (span,) = seen.named("execute_tool")
    assert "StrangeMarker" in str((span.attributes or {})["gen_ai.tool.call.arguments"])


@pytest.mark.parametrize("library", [httpx, httpx2, None], ids=["httpx", "httpx2", "default"])
def test_b33_a_client_is_seen_on_whatever_http_library_it_runs(library):
    """B33: httpx2 (openai 3.x by itself), and a client given `http_client=httpx.Client()`."""
    with ScriptedProvider(SAID) as provider, watching() as seen:
        options = {} if library is None else {"http_client": library.Client()}
        with wrap_client(openai_of(provider, **options)) as client:
            client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert chat["spanwitness.response.ending"] == "complete"


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
async def test_b33_an_async_client_is_seen_on_both(library):
    """B33, async."""
    with ScriptedProvider(SAID) as provider, watching() as seen:
        http: Any = library.AsyncClient()
        client = openai.AsyncOpenAI(base_url=provider.openai_url, api_key="k", http_client=http)
        await wrap_client(client).chat.completions.create(**ASK)
        await client.close()
        assert len(seen.chats) == 1


SYNC_SURFACES: dict[str, Any] = {
    "create": lambda c: c.chat.completions.create(**ASK),
    "with_options": lambda c: c.with_options(timeout=9).chat.completions.create(**ASK),
    "copy": lambda c: c.copy().chat.completions.create(**ASK),
    "copied": lambda c: copy.copy(c).chat.completions.create(**ASK),
    "raw": lambda c: c.chat.completions.with_raw_response.create(**ASK),
    "parse": lambda c: c.chat.completions.parse(**ASK, response_format=Value),
    "beta": lambda c: c.beta.chat.completions.parse(**ASK, response_format=Value),
    "responses": lambda c: c.responses.create(model="m", input="q"),
    "responses.parse": lambda c: c.responses.parse(model="m", input="q", text_format=Value),
}
CLAUDE_SURFACES: dict[str, Any] = {
    "create": lambda c: c.messages.create(**CLAUDE),
    "with_options": lambda c: c.with_options(timeout=9).messages.create(**CLAUDE),
    "copy": lambda c: c.copy().messages.create(**CLAUDE),
    "raw": lambda c: c.messages.with_raw_response.create(**CLAUDE),
    "parse": lambda c: c.messages.parse(**CLAUDE, output_format=Value),
    "beta": lambda c: c.beta.messages.create(**CLAUDE),
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_b34_each_surface_gives_exactly_one_span_of_one_wrapped_client(sdk, is_async):
    """B34: derived clients, raw, parse, beta, responses, and the async twins."""
    surfaces = SYNC_SURFACES if sdk == "openai" else CLAUDE_SURFACES
    kinds: Any = {
        ("openai", False): openai.OpenAI, ("openai", True): openai.AsyncOpenAI,
        ("anthropic", False): anthropic.Anthropic, ("anthropic", True): anthropic.AsyncAnthropic,
    }  # fmt: skip
    with ScriptedProvider(SAID * len(surfaces)) as provider, watching() as seen:
        url = provider.openai_url if sdk == "openai" else provider.anthropic_url

        async def use() -> None:
            client = wrap_client(kinds[sdk, is_async](base_url=url, api_key="k", max_retries=0))
            for n, surface in enumerate(surfaces.values(), 1):
                got = surface(client)
                if inspect.isawaitable(got):
                    await got
                assert len(seen.chats) == n
            closed = client.close()
            if closed is not None:
                await closed

        asyncio.run(use())
        assert len(provider.requests) == len(seen.chats) == len(surfaces)


# Half of a client that could not be copied complains when it is collected, bare or wrapped.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("operation", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic])
def test_b52_a_wrapped_client_can_be_copied_and_pickled_where_the_bare_one_can(kind, operation):
    """B52: same as bare, also in how it fails."""

    def outcome(client: Any) -> Any:
        try:
            return type(operation(client))
        except Exception as error:
            return type(error), str(error)

    bare = outcome(kind(api_key="k"))
    assert outcome(wrap_client(kind(api_key="k"))) == bare
    gc.collect()
