from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
from typing import Any

import httpx
import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from pydantic import BaseModel
from tests.capture.witnessing import ASK, ASK_WITH_TOOLS, calls_of, watching

from spanwitness.capture.client import wrap_client
from spanwitness.capture.content import ContentPolicy
from spanwitness.capture.context import Returned, before_flush, claim_anywhere
from spanwitness.errors import SettingsError
from spanwitness.model import Delivery
from spanwitness.testing import ScriptedProvider, call, error, raw, reply, text, think

SPEAK_AND_CALL = [
    [think("On page 2."), text("Let me look."), call("read_page", {"page": 2}, id="call_1")]
]


class Value(BaseModel):
    value: float


def client_of(provider: ScriptedProvider, **more: Any) -> OpenAI:
    return wrap_client(OpenAI(base_url=provider.openai_url, api_key="sk-canary-key", **more))


def test_a_call_records_what_left_and_what_came_back():
    script = [reply(*SPEAK_AND_CALL[0], input_tokens=25, output_tokens=15, model="gpt-test-1106")]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:
        client.chat.completions.create(
            **ASK_WITH_TOOLS, temperature=0.5, max_completion_tokens=99, tool_choice="required"
        )
        sent = provider.requests[0].body
    (chat,) = seen.chats
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.response.model": "gpt-test-1106",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 25,
        "gen_ai.usage.output_tokens": 15,
        "gen_ai.output.type": "text",
        "server.address": "127.0.0.1",
        "spanwitness.wire": "openai_chat",
        "spanwitness.request.tools_offered": ("read_page",),
        "spanwitness.request.tools_offered.count": 1,
        "spanwitness.request.tool_choice": "required",
        "spanwitness.request.response_format": "text",
        "spanwitness.request.bytes": len(sent),
        "spanwitness.request.delivered_ids": (),
        "spanwitness.response.text_chars": len("Let me look."),
        "spanwitness.response.reasoning_chars": len("On page 2."),
        "spanwitness.response.ending": "complete",
        "spanwitness.attempts": ("200",),
    }
    assert {key: chat[key] for key in expected} == expected
    (requested,) = calls_of(chat)
    assert requested == {
        "name": "read_page", "call_id": "call_1", "side": "client", "source": "structured",
    }  # fmt: skip
    assert "How many mA?" in chat["gen_ai.input.messages"]
    assert json.loads(chat["gen_ai.output.messages"])[0]["role"] == "assistant"
    assert "read_page" in chat["gen_ai.tool.definitions"]
    (span,) = seen.named("chat")
    assert span.name == "chat gpt-test"
    assert span.kind.name == "CLIENT"
    assert span.status.status_code.name == "UNSET"


@pytest.mark.parametrize("chunk_bytes", [None, 1, 7, 4096])
@pytest.mark.parametrize("gzip", [False, True])
def test_a_streamed_reply_is_recorded_like_a_whole_one(chunk_bytes, gzip):
    usage = {"input_tokens": 20, "output_tokens": 5}
    parts = [*SPEAK_AND_CALL[0], call("read_page", {"page": 3}, id="call_2")]
    chats = []
    for stream in (False, True):
        script = [reply(*parts, chunk_bytes=chunk_bytes, gzip=gzip, **usage)]
        more: Any = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        with ScriptedProvider(script) as p, watching() as seen, client_of(p) as client:
            got = client.chat.completions.create(**ASK_WITH_TOOLS, **more)
            if stream:
                list(got)
        (chat,) = seen.chats
        chats.append(chat)
    changing = {"spanwitness.run_id", "spanwitness.request.bytes", "gen_ai.request.stream"}
    changing |= {"gen_ai.response.time_to_first_chunk", "server.port"}
    whole, streamed = ({k: v for k, v in c.items() if k not in changing} for c in chats)
    assert streamed == whole
    assert chats[1]["gen_ai.response.time_to_first_chunk"] > 0


def exhaust(chunks):
    list(chunks)


def break_inside_with(chunks):
    with chunks:
        for _ in chunks:
            break


def break_and_close(chunks):
    for _ in chunks:
        break
    chunks.close()


def close_twice(chunks):
    chunks.close()
    chunks.close()


def raise_in_the_body(chunks):
    with pytest.raises(ZeroDivisionError), chunks:
        for _ in chunks:
            raise ZeroDivisionError


def drop_midway(chunks):
    for _ in chunks:
        break
    del chunks
    gc.collect()


def never_iterate(chunks):
    del chunks
    gc.collect()


# What is collected here may hold a socket that an earlier test left open, of which Python warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("consume", "ending"),
    [
        (exhaust, "complete"),
        (break_inside_with, "abandoned"),
        (break_and_close, "abandoned"),
        (close_twice, "abandoned"),
        (raise_in_the_body, "abandoned"),
        (drop_midway, "abandoned"),
        (never_iterate, "abandoned"),
    ],
)
def test_a_stream_ends_its_span_once_however_it_is_left(consume, ending):
    script = [reply(text("one two three four five"), delay_s=0.005)]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:

        def use():
            consume(client.chat.completions.create(**ASK, stream=True))

        use()
        gc.collect()
        (chat,) = seen.chats
    assert chat["spanwitness.response.ending"] == ending
    assert len(seen.named("chat")) == 1
    assert (seen.state.started, seen.state.ended) == (1, 1)


@pytest.mark.parametrize("how", ["exhaust", "break", "raise", "aclose", "cancel", "drop"])
async def test_an_async_stream_ends_its_span_once_however_it_is_left(how):
    script = [reply(text("one two three four five"), delay_s=0.01)]
    with ScriptedProvider(script) as provider, watching() as seen:
        client = wrap_client(AsyncOpenAI(base_url=provider.openai_url, api_key="sk-canary-key"))

        async def use() -> None:
            chunks = await client.chat.completions.create(**ASK, stream=True)
            if how == "aclose":
                await chunks.close()
                return
            if how == "drop":
                return
            async with chunks:
                async for _ in chunks:
                    if how == "break":
                        break
                    if how == "raise":
                        raise ZeroDivisionError

        task = asyncio.ensure_future(use())
        if how == "cancel":
            await asyncio.sleep(0.04)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        del task
        gc.collect()
        await asyncio.sleep(0.01)
        (chat,) = seen.chats
        await client.close()
    wanted = {"exhaust": ("complete",), "cancel": ("cancelled", "abandoned")}
    assert chat["spanwitness.response.ending"] in wanted.get(how, ("abandoned",))
    assert (seen.state.started, seen.state.ended) == (1, 1)


async def test_a_call_cancelled_before_its_response_is_recorded_as_cancelled():
    with ScriptedProvider([reply(text("late"), delay_s=5.0)]) as provider, watching() as seen:
        client = wrap_client(AsyncOpenAI(base_url=provider.openai_url, api_key="sk-canary-key"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await client.chat.completions.create(**ASK)
        (chat,) = seen.chats
        await client.close()
    assert chat["spanwitness.response.ending"] == "cancelled"
    assert chat["spanwitness.attempts"] == ("CancelledError",)


def test_a_peer_that_dies_in_a_stream_is_an_error():
    script = [reply(text("one two three four"), dies_after=2)]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:
        with pytest.raises(openai.APIConnectionError):
            list(client.chat.completions.create(**ASK, stream=True))
        (chat,) = seen.chats
    assert chat["spanwitness.response.ending"] == "error"
    assert chat["error.type"]


def test_retries_are_attempts_of_one_call_and_usage_counts_once(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    last = reply(text("third"), input_tokens=7, output_tokens=3)
    script = [error(500), error(429, headers={"retry-after": "0.01"}), last]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:
        client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert chat["spanwitness.attempts"] == ("500", "429", "200")
    assert chat["gen_ai.usage.input_tokens"] == 7
    assert "error.type" not in chat
    assert len(provider.requests) == 3


def test_a_call_that_runs_out_of_retries_ends_when_its_last_attempt_did(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with ScriptedProvider([error(500)] * 2) as provider, watching() as seen:
        with client_of(provider, max_retries=1) as client:
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(**ASK)
            assert seen.named("chat") == []  # another retry may still come
            threading.Event().wait(0.05)
            for settle in seen.state.before_end:
                settle(seen.state)
        (span,) = seen.named("chat")
    assert span.attributes["spanwitness.attempts"] == ("500", "500")
    assert span.attributes["error.type"] == "500"
    assert span.attributes["spanwitness.response.ending"] == "error"
    assert span.status.status_code.name == "ERROR"
    assert (span.end_time - span.start_time) / 1e9 < 0.05 + 0.04


def test_the_same_question_asked_again_is_another_call(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    script = [error(500), text("first"), text("second")]
    with ScriptedProvider(script) as provider, watching() as seen:
        with client_of(provider, max_retries=0) as client:
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(**ASK)
            client.chat.completions.create(**ASK)
            client.chat.completions.create(**ASK)
        chats = seen.chats
    assert [c["spanwitness.attempts"] for c in chats] == [("500",), ("200",), ("200",)]


def test_a_refused_request_ends_at_once():
    script = [error(400, "no canary-prompt", kind="invalid_request_error")]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(**ASK)
        (span,) = seen.named("chat")
    assert span.attributes["error.type"] == "400"
    assert "spanwitness.response.tool_calls" not in span.attributes
    assert "canary-prompt" not in seen.everything()


def test_a_connection_that_cannot_be_made_is_one_call_with_its_attempts(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with watching() as seen:
        client = wrap_client(OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=2))
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert chat["spanwitness.attempts"] == ("ConnectError",) * 3
    assert chat["error.type"].endswith("ConnectError")


def surfaces(client: OpenAI) -> dict[str, Any]:
    chat = client.chat.completions
    return {
        "create": lambda: chat.create(**ASK),
        "with_options": lambda: client.with_options(timeout=5).chat.completions.create(**ASK),
        "copy": lambda: client.copy().chat.completions.create(**ASK),
        "raw": lambda: chat.with_raw_response.create(**ASK).parse(),
        "parse": lambda: chat.parse(**ASK, response_format=Value),
        "stream": lambda: list(chat.create(**ASK, stream=True)),
        "beta": lambda: client.beta.chat.completions.parse(**ASK, response_format=Value),
        "responses": lambda: client.responses.create(model="m", input="q"),
        "responses_stream": lambda: list(
            client.responses.create(model="m", input="q", stream=True)
        ),
        "responses_parse": lambda: client.responses.parse(model="m", input="q", text_format=Value),
    }


@pytest.mark.parametrize("surface", surfaces(OpenAI(api_key="k")))
def test_every_surface_gives_exactly_one_span(surface):
    with ScriptedProvider([text('{"value": 1.5}')]) as p, watching() as seen, client_of(p) as c:
        wrap_client(c)
        surfaces(c)[surface]()
        (chat,) = seen.chats
    assert chat["spanwitness.response.ending"] == "complete"
    if "responses" in surface:
        assert chat["spanwitness.wire"] == "openai_responses"
    if "parse" in surface or surface == "beta":
        assert chat["spanwitness.request.response_format"] == "json_schema"
        assert chat["gen_ai.output.type"] == "json"


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_clients_of_both_http_libraries_are_seen(library):
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        with library.Client() as http, client_of(p, http_client=http) as client:
            client.chat.completions.create(**ASK)
        assert len(seen.chats) == 1


def test_traffic_through_a_proxy_is_seen(monkeypatch):
    with ScriptedProvider([text("hi")]) as p, watching() as seen:
        monkeypatch.setenv("HTTP_PROXY", p.base_url)
        client = wrap_client(OpenAI(base_url="http://models.invalid/v1", api_key="k"))
        client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert chat["server.address"] == "models.invalid"


def test_other_endpoints_pass_without_a_span():
    with ScriptedProvider([]) as p, watching() as seen, client_of(p) as client:
        list(client.models.list())
    assert seen.spans == []
    assert seen.state.incomplete_reasons == []


def test_a_batch_is_announced_as_unseen(caplog):
    caplog.set_level(logging.WARNING)
    with ScriptedProvider([]) as p, watching() as seen, client_of(p) as client:
        asked: Any = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
        with pytest.raises(openai.NotFoundError):
            client.batches.create(input_file_id="f", **asked)
    assert seen.state.incomplete_reasons == ["unseen_traffic"]


def test_an_object_that_is_no_client_is_refused_at_once():
    for wrong in (object(), openai, OpenAI, "client"):
        with pytest.raises(SettingsError, match="cannot be watched"):
            wrap_client(wrong)


def test_the_call_of_the_model_is_on_the_board_for_the_tool():
    with ScriptedProvider(SPEAK_AND_CALL) as p, watching() as seen, client_of(p) as client:
        client.chat.completions.create(**ASK_WITH_TOOLS)
        claim = seen.state.board.claim("read_page", {"page": 2, "lang": "en"})
    assert (claim.call_id, claim.link) == ("call_1", "exact")


def test_a_tool_that_starts_before_its_stream_has_ended_finds_its_call():
    with ScriptedProvider(SPEAK_AND_CALL) as p, watching() as seen, client_of(p) as client:
        chunks = client.chat.completions.create(**ASK_WITH_TOOLS, stream=True)
        for chunk in chunks:
            if chunk.choices[0].finish_reason:
                break
        claim = seen.state.board.claim("read_page", {"page": 2})
        assert seen.named("chat") == []
        chunks.close()
    assert (claim.call_id, claim.link) == ("call_1", "exact")
    assert len(seen.chats) == 1


def test_outside_a_run_spans_are_made_and_tools_linked():
    with ScriptedProvider(SPEAK_AND_CALL) as p, watching(with_run=False) as seen:
        with client_of(p) as client:
            client.chat.completions.create(**ASK_WITH_TOOLS)
        assert claim_anywhere("read_page", {"page": 2}).link == "process"
        (chat,) = seen.chats
    assert "spanwitness.run_id" not in chat


def history(result: str) -> Any:
    return [
        *ASK["messages"],
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read_page", "arguments": '{"page": 2}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        ('{"current": "250 mA", "page": 2}', "whole"),
        ("{'current': '250 mA', 'page': 2}", "whole"),
        ('{"current": "300 mA", "page": 2}', "altered"),
    ],
)
def test_a_delivered_result_is_compared_with_what_the_tool_returned(sent, state):
    with ScriptedProvider([text("250 mA"), text("yes")]) as p, watching() as seen:
        returned = Returned(name="read_page", value={"current": "250 mA", "page": 2})
        seen.state.board.hold("call_1", returned)
        with client_of(p) as client:
            client.chat.completions.create(model="m", messages=history(sent))
            client.chat.completions.create(
                model="m", messages=[*history(sent), {"role": "user", "content": "Sure?"}]
            )
        first, second = seen.chats
    (delivery,) = [
        Delivery(**_tupled(d)) for d in json.loads(first["spanwitness.request.delivered"])
    ]
    assert (delivery.call_id, delivery.state) == ("call_1", state)
    assert delivery.part_types == ("text",)
    assert first["spanwitness.request.delivered_ids"] == ("call_1",)
    # It stands in the second request in the same form, so nothing is said again.
    assert "spanwitness.request.delivered" not in second
    assert second["spanwitness.request.delivered_ids"] == ("call_1",)


def _tupled(value: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}


def test_a_result_that_no_span_saw_is_unknown():
    with ScriptedProvider([text("ok")]) as p, watching() as seen, client_of(p) as client:
        client.chat.completions.create(model="m", messages=history("250 mA"))
        (chat,) = seen.chats
    assert json.loads(chat["spanwitness.request.delivered"])[0]["state"] == "unknown"


@pytest.mark.parametrize(
    ("result", "is_empty"),
    [("", True), (" \n", True), ("[]", True), ("null", True), ("0", False), ("none left", False)],
)
def test_an_empty_result_that_no_span_saw_counts_as_empty(result, is_empty):
    with ScriptedProvider([text("ok")]) as p, watching() as seen, client_of(p) as client:
        client.chat.completions.create(model="m", messages=history(result))
        (chat,) = seen.chats
    assert json.loads(chat["spanwitness.request.delivered"])[0].get("is_empty", False) is is_empty


CANARY = "canary-7f3a"


def test_with_content_off_no_content_leaves_and_the_ledger_stays():
    script = [
        [text(f"text {CANARY}"), call("read_page", {"page": CANARY}, id="call_1")],
        error(400, f"failed on {CANARY}"),
        reply(text(f'{{"value": 300.5, "why": "{CANARY}"}}')),
    ]
    with ScriptedProvider(script) as p, watching(policy=ContentPolicy(mode="off")) as seen:
        with client_of(p, default_headers={"x-acme-token": CANARY}) as client:
            asked: Any = [{"role": "user", "content": CANARY}]
            client.chat.completions.create(model="m", messages=asked, tools=ASK_WITH_TOOLS["tools"])
            with pytest.raises(openai.BadRequestError):
                client.chat.completions.create(model="m", messages=asked)
            client.chat.completions.create(
                model="m",
                messages=asked,
                tools=ASK_WITH_TOOLS["tools"],
                response_format={
                    "type": "json_schema",
                    "json_schema": {
                        "name": "v",
                        "schema": {
                            "type": "object",
                            "description": CANARY,
                            "properties": {"value": {"type": "number"}},
                            "required": ["value"],
                        },
                    },
                },
            )
        first, _, last = seen.chats
    everything = seen.everything()
    assert CANARY not in everything
    assert "sk-canary-key" not in everything
    assert calls_of(first)[0]["name"] == "read_page"
    assert last["spanwitness.response.schema_satisfied"] is True
    assert last["spanwitness.response.values"] >= 1
    assert last["spanwitness.response.values_unseen"] >= 1


def test_an_unsampled_run_keeps_a_structural_record():
    with ScriptedProvider(SPEAK_AND_CALL) as p, watching(sampler=ALWAYS_OFF) as seen:
        seen.state.is_recording = False
        with client_of(p) as client:
            client.chat.completions.create(**ASK_WITH_TOOLS)
        (record,) = seen.state.records
    assert seen.spans == []
    assert record.name == "chat gpt-test"
    assert record.attributes["spanwitness.request.tools_offered"] == ("read_page",)
    assert not any("messages" in key or "definitions" in key for key in record.attributes)


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": null}',
        b'{"choices": [{"message": {"content": [{"type": "new"}]}, "finish_reason": 5}]}',
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"choices": [{"message": {"tool_calls": [null, 1, {}]}}]}',
    ],
)
def test_a_reply_of_an_unexpected_shape_costs_no_span(body):
    with ScriptedProvider([raw(body)]) as p, watching() as seen, client_of(p) as client:
        with client.chat.completions.with_streaming_response.create(**ASK) as response:
            assert response.read() == body
        assert len(seen.chats) == 1


def test_lone_surrogates_reach_no_attribute():
    body = b'{"model": "m\\ud800", "choices": [{"message": {"content": "x\\udfff", "tool_calls": '
    body += b'[{"id": "c\\ud800", "function": {"name": "n\\ud800", "arguments": "{}"}}]}}]}'
    with ScriptedProvider([raw(body)]) as p, watching() as seen, client_of(p) as client:
        with client.chat.completions.with_streaming_response.create(**ASK) as response:
            response.read()
        (chat,) = seen.chats
    assert calls_of(chat)
    assert chat["gen_ai.response.model"] == "m\ufffd"
    for value in chat.values():
        str(value).encode()


def test_an_unknown_content_encoding_is_told():
    script = [raw(b"odd bytes", headers={"content-encoding": "x-odd"})]
    with ScriptedProvider(script) as p, watching() as seen, client_of(p) as client:
        with client.chat.completions.with_streaming_response.create(**ASK) as response:
            response.read()
        (chat,) = seen.chats
    assert "spanwitness.response.tool_calls" not in chat
    assert "unread_reply" in seen.state.incomplete_reasons


def test_a_huge_body_is_passed_on_and_copied_only_in_part():
    body = b'{"choices": [{"message": {"content": "' + b"x" * (9 * 1024 * 1024) + b'"}}]}'
    with ScriptedProvider([raw(body)]) as p, watching() as seen, client_of(p) as client:
        got = client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert len(got.choices[0].message.content) == 9 * 1024 * 1024
    assert "unread_reply" in seen.state.incomplete_reasons
    assert len(str(chat)) < 100_000


def test_waiting_retries_are_settled_by_a_flush(monkeypatch):
    with ScriptedProvider([error(500)]) as p, watching() as seen:
        with client_of(p, max_retries=0) as client, pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**ASK)
        assert seen.named("chat") == []
        for settle in before_flush:
            settle()
        assert len(seen.named("chat")) == 1


def test_only_response_headers_on_the_allow_list_are_recorded():
    secret = {"x-request-id": "req_7", "set-cookie": "canary", "x-acme-token": "canary"}
    script = [reply(text("done"), headers=secret)]
    with ScriptedProvider(script) as provider, watching() as seen, client_of(provider) as client:
        client.chat.completions.create(**ASK)
        (chat,) = seen.chats
    assert chat["http.response.header.x-request-id"] == ("req_7",)
    assert "canary" not in str(chat)
