"""The fast reader of common replies reads what the careful one reads, or leaves it to that one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.wire.openai_chat import read_reply
from spanwitness.wire.openai_chat_plain import read_plain

CALL = {"id": "c", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}
MESSAGE = {"role": "assistant", "content": "3.6 V", "refusal": None, "annotations": []}
REPLY = {
    "id": "r",
    "model": "m",
    "choices": [{"message": {**MESSAGE, "tool_calls": [CALL]}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 0},
    },
}


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


def test_a_common_reply_is_read_alike():
    raw = json.dumps(REPLY).encode()

    assert read_plain(raw) == read_reply(json.loads(raw))
    assert read_plain(raw).requested[0].arguments == {"x": 1}


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(list(places(REPLY))),
    st.sampled_from([None, "", "$x", 0, -1, True, 1.5, [], {}, [None], [CALL], {"name": ""}]),
)
def test_whatever_stands_anywhere_is_read_alike_or_left(place, new):
    raw = json.dumps(put(REPLY, place, new)).encode()

    assert read_plain(raw) in (None, read_reply(json.loads(raw)))


@pytest.mark.parametrize(
    "key",
    ["audio", "executed_tools", "function_call", "reasoning", "reasoning_content", "refusal"],
)
def test_what_is_rare_is_left_to_the_careful_reader(key):
    message = {**MESSAGE, key: {"content": "x"}}

    assert read_plain(json.dumps(put(REPLY, ("choices", 0, "message"), message)).encode()) is None
