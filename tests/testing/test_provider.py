"""The scripted provider, driven by the real SDKs."""

from __future__ import annotations

import time

import anthropic
import httpx
import openai
import pydantic
import pytest
from google import genai

from spanwitness.testing import (
    ScriptedProvider,
    SeenRequest,
    call,
    error,
    item,
    raw,
    reply,
    text,
    think,
)

TOOL = {
    "type": "function",
    "function": {
        "name": "read_page",
        "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}},
    },
}
ASK = [{"role": "user", "content": "How much is VDD?"}]


class Answer(pydantic.BaseModel):
    value: float


def openai_client(provider: ScriptedProvider, **more) -> openai.OpenAI:
    return openai.OpenAI(base_url=provider.openai_url, api_key="k", **({"max_retries": 0} | more))


def anthropic_client(provider: ScriptedProvider) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k", max_retries=0)


def gemini_client(provider: ScriptedProvider) -> genai.Client:
    return genai.Client(api_key="k", http_options={"base_url": provider.gemini_url})


def test_openai_chat_reads_a_call_then_a_text_in_order():
    script = [call("read_page", {"page": 3}, id="call_a"), text("VDD is 3.6 V")]
    with ScriptedProvider(script) as provider, openai_client(provider) as client:
        first = client.chat.completions.create(model="m", messages=ASK, tools=[TOOL])
        second = client.chat.completions.create(model="m", messages=ASK)
    (asked,) = first.choices[0].message.tool_calls
    assert (asked.id, asked.function.name) == ("call_a", "read_page")
    assert asked.function.arguments == '{"page":3}'
    assert first.choices[0].finish_reason == "tool_calls"
    assert second.choices[0].message.content == "VDD is 3.6 V"
    assert second.choices[0].finish_reason == "stop"
    assert second.model == "m"
    assert second.usage.prompt_tokens > 0
    assert [seen.path for seen in provider.requests] == ["/v1/chat/completions"] * 2
    assert provider.requests[0].json["tools"] == [TOOL]
    assert provider.requests[0].headers["authorization"] == "Bearer k"


def test_openai_chat_streams_the_same_reply():
    turn = [text("Let me look. "), call("read_page", {"page": 3}), call("read_page", {"page": 12})]
    with ScriptedProvider([turn, turn]) as provider, openai_client(provider) as client:
        with client.chat.completions.stream(model="m", messages=ASK) as stream:
            streamed = stream.get_final_completion()
        whole = client.chat.completions.create(model="m", messages=ASK)
    ours, theirs = streamed.choices[0], whole.choices[0]
    assert ours.message.content == theirs.message.content == "Let me look. "
    assert [c.function.arguments for c in ours.message.tool_calls] == ['{"page":3}', '{"page":12}']
    assert [c.function.name for c in theirs.message.tool_calls] == ["read_page", "read_page"]
    assert len({c.id for c in ours.message.tool_calls}) == 2
    assert ours.finish_reason == "tool_calls"


def test_openai_chat_sends_usage_in_a_stream_only_when_asked():
    with ScriptedProvider([text("a b c")] * 2) as provider, openai_client(provider) as client:
        plain = list(client.chat.completions.create(model="m", messages=ASK, stream=True))
        options = {"include_usage": True}
        asked = list(
            client.chat.completions.create(
                model="m", messages=ASK, stream=True, stream_options=options
            )
        )
    assert [chunk.usage for chunk in plain] == [None] * len(plain)
    assert asked[-1].usage.completion_tokens == 1
    assert "".join(c.choices[0].delta.content or "" for c in plain) == "a b c"


def test_openai_chat_parse_reads_a_structured_answer():
    with ScriptedProvider([text('{"value": 3.6}')]) as provider, openai_client(provider) as client:
        parsed = client.chat.completions.parse(model="m", messages=ASK, response_format=Answer)
    assert parsed.choices[0].message.parsed == Answer(value=3.6)


async def test_async_openai_chat_streams():
    with ScriptedProvider([text("3.6 V")]) as provider:
        async with openai.AsyncOpenAI(base_url=provider.openai_url, api_key="k") as client:
            stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
            said = [c.choices[0].delta.content or "" async for c in stream]
    assert "".join(said) == "3.6 V"


def test_responses_reads_reasoning_calls_and_text():
    turn = [think("which page?"), call("read_page", {"page": 3}, id="c1"), text("done")]
    with ScriptedProvider([turn]) as provider, openai_client(provider) as client:
        response = client.responses.create(model="m", input="VDD?", instructions="Read it.")
    assert [o.type for o in response.output] == ["reasoning", "function_call", "message"]
    assert response.output[1].call_id == "c1"
    assert response.output_text == "done"
    assert (response.status, response.instructions) == ("completed", "Read it.")


def test_responses_stream_and_parse_give_the_same_reply():
    turn = [think("hm"), call("read_page", {"page": 3}), text('{"value": 3.6}')]
    with ScriptedProvider([turn, turn]) as provider, openai_client(provider) as client:
        with client.responses.stream(model="m", input="VDD?", text_format=Answer) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_response()
        parsed = client.responses.parse(model="m", input="VDD?", text_format=Answer)
    assert streamed.output_parsed == parsed.output_parsed == Answer(value=3.6)
    assert streamed.output[1].arguments == parsed.output[1].arguments == '{"page":3}'
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert "response.function_call_arguments.delta" in kinds


def test_responses_cut_by_the_token_limit_is_incomplete():
    script = [reply(text("VDD is"), finish_reason="max_output_tokens")]
    with ScriptedProvider(script) as provider, openai_client(provider) as client:
        response = client.responses.create(model="m", input="VDD?")
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"


def test_a_hosted_tools_item_is_sent_as_it_stands():
    search = {"type": "web_search_call", "status": "completed", "id": "ws_1"}
    search["action"] = {"type": "search", "query": "dps310"}
    with (
        ScriptedProvider([[item(search), text("ok")]]) as provider,
        openai_client(provider) as client,
    ):
        response = client.responses.create(model="m", input="VDD?")
    assert response.output[0].type == "web_search_call"


def test_anthropic_whole_and_stream_give_equal_messages():
    turn = [think("which page?"), text("Let me look."), call("read_page", {"page": 3, "at": "é"})]
    asking = {"model": "claude", "max_tokens": 100, "messages": ASK}
    with ScriptedProvider([turn, turn]) as provider, anthropic_client(provider) as client:
        whole = client.messages.create(**asking)
        with client.messages.stream(**asking) as stream:
            streamed = stream.get_final_message()
    assert [b.type for b in whole.content] == ["thinking", "text", "tool_use"]
    assert whole.content[2].input == streamed.content[2].input == {"page": 3, "at": "é"}
    assert streamed.content[0].thinking == "which page?"
    assert streamed.content[0].signature == whole.content[0].signature
    assert streamed.content[1].text == "Let me look."
    assert streamed.stop_reason == whole.stop_reason == "tool_use"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


def test_gemini_whole_and_stream_give_equal_texts_and_calls():
    turn = [think("hm"), text("Let me look at it."), call("read_page", {"page": 3})]
    with ScriptedProvider([turn, turn]) as provider:
        client = gemini_client(provider)
        whole = client.models.generate_content(model="gemini-x", contents="VDD?")
        chunks = list(client.models.generate_content_stream(model="gemini-x", contents="VDD?"))
        client.close()
    assert whole.text == "".join(c.text or "" for c in chunks) == "Let me look at it."
    assert whole.function_calls[0].args == {"page": 3}
    assert [f.name for c in chunks for f in c.function_calls or ()] == ["read_page"]
    assert whole.model_version == "gemini-x"
    assert chunks[-1].candidates[0].finish_reason == "STOP"
    assert chunks[0].candidates[0].finish_reason is None


def test_models_are_listed_in_the_form_of_the_asking_sdk():
    with ScriptedProvider([], models=["a", "b"]) as provider:
        with openai_client(provider) as client:
            assert [m.id for m in client.models.list()] == ["a", "b"]
        with anthropic_client(provider) as other:
            assert [m.id for m in other.models.list()] == ["a", "b"]
        gemini = gemini_client(provider)
        assert [m.name for m in gemini.models.list()] == ["models/a", "models/b"]
        gemini.close()
    assert provider.requests == []


def test_scripted_errors_reach_the_sdk_and_its_retries():
    script = [error(500), error(429, "slow down", headers={"retry-after": "0"}), text("ok")]
    with ScriptedProvider(script) as provider, openai_client(provider, max_retries=2) as client:
        got = client.chat.completions.create(model="m", messages=ASK)
    assert got.choices[0].message.content == "ok"
    assert len(provider.requests) == 3
    assert provider.requests[2].headers["x-stainless-retry-count"] == "2"


def test_an_error_body_is_read_by_each_sdk():
    with ScriptedProvider([error(429, "slow down", kind="rate_limit_error")] * 3) as provider:
        with openai_client(provider) as client, pytest.raises(openai.RateLimitError, match="slow"):
            client.chat.completions.create(model="m", messages=ASK)
        with anthropic_client(provider) as other, pytest.raises(anthropic.RateLimitError):
            other.messages.create(model="m", max_tokens=9, messages=ASK)
        gemini = gemini_client(provider)
        with pytest.raises(genai.errors.ClientError, match="slow down"):
            gemini.models.generate_content(model="m", contents="VDD?")
        gemini.close()


def test_a_stream_can_die_in_its_middle():
    with (
        ScriptedProvider([reply(text("one two three four"), dies_after=3)]) as provider,
        openai_client(provider) as client,
    ):
        stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
        got = []
        with pytest.raises(openai.APIConnectionError):
            got.extend(chunk.choices[0].delta.content for chunk in stream)


def test_a_whole_reply_can_die_in_its_middle():
    with (
        ScriptedProvider([reply(text("one"), dies_after=0)]) as provider,
        openai_client(provider) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.chat.completions.create(model="m", messages=ASK)


@pytest.mark.parametrize("chunk_bytes", [1, 7, 4096])
def test_any_chunk_size_gives_the_same_stream(chunk_bytes):
    script = [reply(text("µ is 3,6 V → ok"), chunk_bytes=chunk_bytes)]
    with ScriptedProvider(script) as provider, openai_client(provider) as client:
        stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
        said = "".join(c.choices[0].delta.content or "" for c in stream)
    assert said == "µ is 3,6 V → ok"


@pytest.mark.parametrize("streaming", [False, True])
def test_a_compressed_reply_is_readable(streaming):
    with ScriptedProvider([reply(text("zipped"), gzip=True)]) as provider:
        got = httpx.post(
            f"{provider.openai_url}/chat/completions", json={"model": "m", "stream": streaming}
        )
    assert got.headers["content-encoding"] == "gzip"
    assert "zipped" in got.text


def test_chunks_come_with_the_delay_between_them():
    script = [reply(text("one two three"), delay_s=0.03)]
    with ScriptedProvider(script) as provider, openai_client(provider) as client:
        start = time.monotonic()
        times = [
            time.monotonic() - start
            for _ in client.chat.completions.create(model="m", messages=ASK, stream=True)
        ]
    assert times[-1] - times[0] >= 0.03 * (len(times) - 2)


def test_recorded_bytes_are_sent_as_they_stand():
    body = '{"choices": null}'
    with ScriptedProvider([raw(body, headers={"x-served-by": "old"})]) as provider:
        got = httpx.post(f"{provider.openai_url}/chat/completions", json={"model": "m"})
    assert got.text == body
    assert got.headers["x-served-by"] == "old"


def test_a_function_answers_by_the_request():
    def answer(request: SeenRequest):
        return text("streamed" if request.json.get("stream") else "whole")

    with ScriptedProvider(answer) as provider, openai_client(provider) as client:
        got = client.chat.completions.create(model="m", messages=ASK)
    assert got.choices[0].message.content == "whole"


def test_a_scripted_model_name_replaces_the_one_asked_for():
    with (
        ScriptedProvider([reply(text("x"), model="other-mini")]) as provider,
        openai_client(provider) as client,
    ):
        assert client.chat.completions.create(model="m", messages=ASK).model == "other-mini"


def test_a_request_beyond_the_script_fails_and_says_so():
    with (
        ScriptedProvider([]) as provider,
        openai_client(provider) as client,
        pytest.raises(openai.BadRequestError, match="no reply for request 1"),
    ):
        client.chat.completions.create(model="m", messages=ASK)


def test_an_unknown_path_is_not_found():
    with ScriptedProvider([text("x")]) as provider:
        assert httpx.post(f"{provider.base_url}/v1/other", json={}).status_code == 404
    assert provider.requests == []


def test_many_clients_at_once_get_one_reply_each():
    import threading

    script = [text(str(n)) for n in range(40)]
    got = []
    with ScriptedProvider(script) as provider, openai_client(provider) as client:

        def ask():
            done = client.chat.completions.create(model="m", messages=ASK)
            got.append(int(done.choices[0].message.content))

        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(got) == list(range(40))


def test_a_turn_that_is_no_part_is_named():
    from spanwitness.testing.script import as_reply

    with pytest.raises(TypeError, match="no part of a reply"):
        as_reply([{"text": "x"}])
