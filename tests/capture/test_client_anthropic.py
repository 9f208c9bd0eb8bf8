from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from opentelemetry import trace
from tests.capture.witnessing import calls_of, watching

from spanwitness.capture.client import wrap_client
from spanwitness.testing import ScriptedProvider, call, raw, reply, text, think

ASK: Any = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "How many mA?"}],
}
TOOLS: Any = [
    {
        "name": "read_page",
        "description": "Read a page.",
        "input_schema": {"type": "object", "properties": {"page": {"type": "integer"}}},
    }
]


def client_of(provider: ScriptedProvider, **more: Any) -> Anthropic:
    return wrap_client(Anthropic(base_url=provider.anthropic_url, api_key="sk-canary", **more))


def surfaces(client: Anthropic) -> dict[str, Any]:
    def helper() -> None:
        with client.messages.stream(**ASK, tools=TOOLS) as events:
            for _ in events:
                pass

    messages = client.messages
    return {
        "create": lambda: messages.create(**ASK, tools=TOOLS),
        "stream": lambda: list(messages.create(**ASK, tools=TOOLS, stream=True)),
        "helper": helper,
        "raw": lambda: messages.with_raw_response.create(**ASK, tools=TOOLS).parse(),
        "copy": lambda: client.copy().messages.create(**ASK, tools=TOOLS),
        "with_options": lambda: client.with_options(timeout=5).messages.create(**ASK, tools=TOOLS),
        "beta": lambda: client.beta.messages.create(**ASK, tools=TOOLS),
    }


@pytest.mark.parametrize("surface", surfaces(Anthropic(api_key="k")))
def test_every_surface_gives_one_span_with_the_same_facts(surface):
    script = [
        [think("Page 2."), text("Let me look."), call("read_page", {"page": 2}, id="toolu_1")]
    ]
    with ScriptedProvider(script) as p, watching() as seen, client_of(p) as client:
        surfaces(client)[surface]()
        (chat,) = seen.chats
        claim = seen.state.board.claim("read_page", {"page": 2})
    expected = {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-test",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "spanwitness.wire": "anthropic_messages",
        "spanwitness.request.tools_offered": ("read_page",),
        "spanwitness.request.tool_choice": "auto",
        "spanwitness.response.text_chars": len("Let me look."),
        "spanwitness.response.reasoning_chars": len("Page 2."),
        "spanwitness.response.ending": "complete",
    }
    assert {key: chat[key] for key in expected} == expected
    assert calls_of(chat)[0]["call_id"] == "toolu_1"
    assert (claim.call_id, claim.link) == ("toolu_1", "exact")


def events(*usages: dict[str, int], start: dict[str, int]) -> bytes:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    made: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        *(
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": u}
            for u in usages
        ),
        {"type": "message_stop"},
    ]
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in made
    )


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (events({"output_tokens": 15}, start={"input_tokens": 25, "output_tokens": 1}), (25, 15)),
        (
            events(
                {"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 64},
                start={"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 4},
            ),
            (47121, 64),
        ),
        (
            events(
                {"output_tokens": 10}, {"output_tokens": 15},
                start={"input_tokens": 5, "output_tokens": 1},
            ),
            (5, 15),
        ),
    ],
)  # fmt: skip
def test_streamed_usage_is_not_added_up(body, tokens):
    headers = {"content-type": "text/event-stream"}
    with ScriptedProvider([raw(body, headers=headers)]) as p, watching() as seen, client_of(p) as c:
        list(c.messages.create(**ASK, stream=True))
        (chat,) = seen.chats
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == tokens


async def test_the_async_stream_helper_is_no_coroutine_and_gives_one_span():
    with ScriptedProvider([[text("one two")]]) as p, watching() as seen:
        async with (
            wrap_client(AsyncAnthropic(base_url=p.anthropic_url, api_key="sk-canary")) as client,
            client.messages.stream(**ASK) as stream,
        ):
            kinds = [event.type async for event in stream]
        (chat,) = seen.chats
    assert kinds[-1] == "message_stop"
    assert chat["spanwitness.response.ending"] == "complete"


@pytest.fixture
def global_provider(monkeypatch):
    """Make a provider the global one for a test, so that the SDK traces itself."""

    def use(provider: Any) -> None:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    return use


@pytest.mark.skipif(
    not hasattr(anthropic, "_tracing"), reason="this version of the SDK emits no spans of its own"
)
def test_the_sdks_own_span_is_the_parent_of_ours(global_provider):
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        global_provider(seen.provider)
        with client_of(p) as client:
            client.messages.create(**ASK)
        (ours,) = seen.named("chat")
        theirs = [span for span in seen.spans if span is not ours]
    assert ours.parent is not None
    assert ours.parent.span_id in {span.context.span_id for span in theirs}


def test_signed_reasoning_that_does_not_come_back_is_counted():
    script = [
        [think("Why.", signature="c2lnbmVk"), call("read_page", {"page": 2}, id="toolu_1")],
        text("a"),
    ]
    with ScriptedProvider(script) as p, watching() as seen, client_of(p) as client:
        client.messages.create(**ASK, tools=TOOLS)
        use = {"type": "tool_use", "id": "toolu_1", "name": "read_page", "input": {"page": 2}}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "250 mA"}
        more: Any = [
            *ASK["messages"],
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
        client.messages.create(**{**ASK, "messages": more}, tools=TOOLS)
        second = seen.chats[1]
    assert second["spanwitness.request.reasoning_lost"] == 1


def test_unset_markers_offer_nothing():
    omit = getattr(anthropic, "omit", anthropic.NOT_GIVEN)
    with ScriptedProvider([reply(text("hi"))]) as p, watching() as seen, client_of(p) as client:
        client.messages.create(**ASK, tools=omit, stop_sequences=anthropic.NOT_GIVEN, system=omit)
        (chat,) = seen.chats
    assert chat["spanwitness.request.tools_offered"] == ()
    assert json.loads(chat["gen_ai.input.messages"])[0]["role"] == "user"
