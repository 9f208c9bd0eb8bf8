"""Finding the codec of an endpoint, the cache of histories, caps, and hostile bodies."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.bodies import sse, streamed

from spanwitness.model import TextPart
from spanwitness.wire import RequestCache, codec_for

ENDPOINTS = [
    ("/v1/chat/completions", "openai_chat"),
    ("/chat/completions", "openai_chat"),
    ("/openai/deployments/x/chat/completions?api-version=1", "openai_chat"),
    ("/api/v1/chat/completions/", "openai_chat"),
    ("/v1/responses", "openai_responses"),
    ("/openai/responses?api-version=1", "openai_responses"),
    ("/v1/messages", "anthropic_messages"),
    ("/anthropic/v1/messages?beta=true", "anthropic_messages"),
    ("/v1/projects/p/locations/l/publishers/anthropic/models/c@1:rawPredict", "anthropic_messages"),
    ("/model/anthropic.claude-x-v1%3A0/invoke", "anthropic_messages"),
    ("/v1beta/models/gemini-x:generateContent", "gemini"),
    ("/v1beta/models/gemini-x:streamGenerateContent?alt=sse", "gemini"),
    ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "gemini"),
]


@pytest.mark.parametrize(("path", "wire"), ENDPOINTS)
def test_an_endpoint_is_known_by_the_end_of_its_path(path, wire):
    assert codec_for("POST", "any.example", path).wire == wire


@pytest.mark.parametrize(
    "path",
    [
        "/v1/threads/t/messages",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/responses/resp_1/cancel",
        "/v1/responses/input_tokens",
        "/v1/embeddings",
        "/v1beta/models/gemini-x:countTokens",
        "/v1beta/models/gemini-x:batchEmbedContents",
        "/",
        "",
    ],
)
def test_other_endpoints_have_no_codec(path):
    assert codec_for("POST", "any.example", path) is None


def test_only_posts_carry_model_calls():
    assert codec_for("GET", "any.example", "/v1/responses") is None
    assert codec_for("post", "any.example", "/v1/responses") is not None


def test_the_path_tells_model_and_streaming_where_the_body_does_not():
    codec = codec_for("POST", "h", "/v1beta/models/gemini-x:streamGenerateContent")
    read = codec.parse_request(b'{"contents": []}')

    assert (read.model, read.is_streaming) == ("gemini-x", True)
    codec = codec_for("POST", "h", "/publishers/anthropic/models/claude@1:streamRawPredict")
    assert codec.parse_request(b"{}").model == "claude@1"


# --- the cache

CHAT = codec_for("POST", "h", "/v1/chat/completions")
GEMINI = codec_for("POST", "h", "/v1beta/models/g:generateContent")
RESPONSES = codec_for("POST", "h", "/v1/responses")
FORMS = {
    "chat": (CHAT, "messages", lambda word: {"role": "user", "content": word}),
    "responses": (RESPONSES, "input", lambda word: {"role": "user", "content": word}),
    "gemini": (
        GEMINI,
        "contents",
        lambda word: {"role": "model", "parts": [{"functionCall": {"name": word[:1] or "a"}}]},
    ),
}
words = st.text(alphabet='ab"\\]},[{:é messages', max_size=8)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(words, max_size=3), st.integers(0, 1)), max_size=8
    ),
    st.booleans(),
    st.booleans(),
)
def test_the_cache_changes_nothing(form, turns, is_compact, is_first):
    codec, key, make = FORMS[form]
    cache = RequestCache(slots=2)
    history: list[str] = []
    for n_dropped, added, temperature in turns:
        history = [*history[: max(len(history) - n_dropped, 0)], *added]
        items = [make(word) for word in history]
        tool = {"type": "function", "name": '"messages":['}
        rest = {"model": "m", "temperature": temperature, "tools": [tool]}
        body = {key: items, **rest} if is_first else {**rest, key: items}
        separators = (",", ":") if is_compact else (", ", ": ")
        raw = json.dumps(body, separators=separators, ensure_ascii=False).encode()

        assert codec.parse_request(raw, cache) == codec.parse_request(raw)


def test_a_history_that_goes_on_is_not_read_again():
    cache = RequestCache()
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(4)]

    def read(n):
        body = json.dumps({"messages": turns[:n], "model": "m"}, separators=(",", ":"))
        return CHAT.parse_request(body.encode(), cache)

    first, second, third = read(2), read(3), read(4)
    assert second.messages[0] is first.messages[0]
    assert third.messages[2] is second.messages[2]


def test_what_stands_around_a_history_is_read_once_and_may_change():
    cache = RequestCache()
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(4)]

    def read(items, **rest):
        return CHAT.parse_request(json.dumps({"messages": items, **rest}).encode(), cache)

    tools = [{"type": "function", "function": {"name": "a"}}]
    first = read(turns[:2], tools=tools)
    assert read(turns[2:], tools=tools).offered is first.offered
    last = read(turns[:3], tools=tools, tool_choice="none")
    assert last.messages[0] is first.messages[0]
    assert last.tool_choice is not None
    assert last.tool_choice.mode == "none"


def test_calls_without_ids_keep_theirs_as_a_history_goes_on():
    cache = RequestCache()
    codec = codec_for("POST", "h", "/v1beta/models/g:generateContent")
    call = {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]}
    turns = [call, result] * 3

    def read(n):
        return codec.parse_request(json.dumps({"contents": turns[:n]}).encode(), cache)

    first, second = read(2), read(6)
    assert second.messages[0] is first.messages[0]
    assert second.messages[5].parts[0].call_id == "a#3"


def test_conversations_that_take_turns_keep_their_places():
    cache = RequestCache(slots=2)

    def read(name, n):
        turns = [{"role": "user", "content": f"{name} {k}"} for k in range(n)]
        body = json.dumps({"messages": turns}, separators=(",", ":"))
        return CHAT.parse_request(body.encode(), cache)

    first, other = read("a", 2), read("b", 2)
    assert read("a", 3).messages[0] is first.messages[0]
    assert read("b", 3).messages[0] is other.messages[0]


@pytest.mark.parametrize(
    "later",
    [
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}',
        b'{"messages":[{"role":"user","content":"a"}',
        b'{"messages":[{"role":"user","content":"a"}]',
        b'{"messages":[{"role":"user","content":"a"},]}',
        b'{"messages":[{"role":"user","content":"a"}],"messages":5}',
        b'{"messages":[{"role":"user","content":"a"},,{"role":"user","content":"a"}]}',
        b'{"messages":[,{"role":"user","content":"a"}]}',
        b'{"messages":[{"role":"user","content":"a"}],"n":[{"role":"user","content":"a"}]}',
        b'{"messages":[}]}',
        b'{"messages":[]}',
        b'{"messages":]}',
    ],
)
def test_odd_bodies_are_read_alike_with_and_without_the_cache(later):
    cache = RequestCache()
    CHAT.parse_request(b'{"messages":[{"role":"user","content":"a"}]}', cache)

    assert CHAT.parse_request(later, cache) == CHAT.parse_request(later)


def test_the_cache_can_be_shared_by_threads():
    cache = RequestCache(slots=2)
    wrong = []

    def work(name):
        turns = []
        for n in range(60):
            turns.append({"role": "user", "content": f"{name} {n}"})
            body = json.dumps({"messages": turns}, separators=(",", ":")).encode()
            if CHAT.parse_request(body, cache) != CHAT.parse_request(body):
                wrong.append(body)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- caps


def test_a_stream_beyond_the_cap_is_marked_and_its_ending_still_known():
    pieces = [{"choices": [{"index": 0, "delta": {"content": "x" * 100}}]}] * 2000
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    body = sse(
        *pieces,
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
        done=True,
    )
    decoder = CHAT.decoder(max_bytes=1000)
    for start in range(0, len(body), 1000):
        decoder.feed(body[start : start + 1000])
    read = decoder.reply()

    assert read.is_cut is True
    assert read.is_terminated is True
    assert read.finish_reasons == ("stop",)
    assert read.usage.input_tokens == 9
    assert 0 < len(read.messages[0].parts[0].text) <= 1000
    assert decoder.n_bytes == len(body)


def test_a_body_beyond_the_cap_is_marked_and_nothing_is_made_up():
    body = json.dumps({"choices": [{"message": {"content": "x" * 5000}}]}).encode()
    decoder = CHAT.decoder(max_bytes=1000)
    decoder.feed(body)
    read = decoder.reply()

    assert (read.is_cut, read.is_terminated, read.error_type) == (True, False, None)
    assert read.messages == ()


def test_a_body_within_the_cap_is_not_marked():
    assert streamed(CHAT, b'{"choices": []}').is_cut is False


# --- hostile bodies

CODECS = {
    path: codec_for("POST", "h", path)
    for path in (
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1beta/models/g:streamGenerateContent",
    )
}
SEEDS = [
    {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    {"input": [{"type": "function_call_output", "call_id": "c", "output": [{"type": "text"}]}]},
    {"contents": [{"parts": [{"functionCall": {"name": "a", "args": {}}, "text": None}]}]},
    {"tools": [{"type": "mcp", "allowed_tools": ["a"]}, {"functionDeclarations": [{"name": "a"}]}]},
    {"choices": [{"message": {"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}}]},
    {"output": [{"type": "reasoning", "summary": [{"text": "x"}]}], "status": "completed"},
    {"content": [{"type": "tool_use", "id": "i", "name": "n", "input": {}}], "usage": {}},
    {"candidates": [{"content": {"parts": [{"executableCode": {"code": "x"}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {}}]}}]},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
    {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [{"type": "x"}]}}},
    {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}, "format": {}},
    {"system": [{"type": "text"}], "mcp_servers": [{"name": "a"}], "toolConfig": {}},
]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "name", "id", "content", "parts", "index", "input"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def put(value, path, new):
    if not path:
        return new
    first, *rest = path
    made = dict(value) if isinstance(value, dict) else list(value)
    made[first] = put(value[first], rest, new)
    return made


@st.composite
def mutants(draw):
    body = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 3))):
        body = put(body, draw(st.sampled_from(list(places(body)))), draw(junk))
    return body


@settings(max_examples=200, deadline=None)
@given(mutants())
def test_no_body_raises(body):
    raw = json.dumps(body).encode()
    cache = RequestCache()
    for codec in CODECS.values():
        codec.parse_reply(raw)
        assert codec.parse_request(raw, cache) == codec.parse_request(raw)
        streamed(codec, raw)
        streamed(codec, sse(body, body))
        streamed(codec, b"event: error\n" + sse(body))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 120))
def test_no_bytes_raise(tail, at):
    raw = json.dumps(SEEDS[0]).encode()[:at] + tail
    for codec in CODECS.values():
        codec.parse_request(raw, RequestCache())
        codec.parse_reply(raw)
        streamed(codec, b"data: " + raw)


@pytest.mark.parametrize("path", CODECS)
def test_depth_and_strange_numbers_raise_nothing(path):
    codec = CODECS[path]
    deep = b'{"messages":' * 100_000
    for raw in (
        deep,
        b"[" * 100_000,
        b'{"usage": {"prompt_tokens": 1e999}, "choices": []}',
        b'{"temperature": NaN, "seed": 123456789012345678901234567890, "messages": []}',
        b'{"model": "\xff\\ud800", "messages": [{"role": "user", "content": "\\udfff"}]}',
    ):
        codec.parse_request(raw)
        codec.parse_reply(raw)
        streamed(codec, b"data: " + raw + b"\n\n")


def test_a_lone_surrogate_in_a_request_is_kept():
    read = CHAT.parse_request(b'{"messages": [{"role": "user", "content": "a\\ud83e"}]}')

    assert read.messages[0].parts == (TextPart(text="a\ud83e"),)
