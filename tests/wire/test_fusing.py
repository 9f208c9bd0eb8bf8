"""Joining the words of a stream before it is decoded changes nothing but the cost."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.bodies import streamed
from tests.wire.chat_form import CODEC

from spanwitness.wire import openai_chat_stream
from spanwitness.wire.fusing import fuse

KEY = re.compile(rb'"delta":\s*\{\s*"content":\s*"')


def event(delta, *, reason=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice], **more}).encode()


def stream(events):
    return b"\n\n".join([*events, event({}, reason="stop"), b"data: [DONE]", b""])


def read_apart(body):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_chat_stream, "fuse", lambda body, _: body)
        return streamed(CODEC, body)


def words_of(body):
    return "".join(
        json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        for line in body.split(b"\n\n")
        if line.startswith(b"data: {")
    )


def test_a_long_stream_becomes_a_few_events():
    body = stream([event({"role": "assistant", "content": ""})] + [event({"content": "a "})] * 99)

    fused = fuse(body, KEY)
    assert fused.count(b"data: ") == 4
    assert words_of(fused) == "a " * 99


pieces = st.text(alphabet='a"\\\n é漢{}[]:,', max_size=6)


@settings(deadline=None)
@given(st.lists(pieces, max_size=60), st.integers(0, 60))
def test_joining_changes_no_word(words, place):
    events = [event({"content": word}) for word in words]
    events.insert(place, event({"reasoning_content": "hm"}))
    body = stream(events)

    assert words_of(fuse(body, KEY)) == "".join(words)
    assert streamed(CODEC, body) == read_apart(body)


@pytest.mark.parametrize("place", [0, 1, 20, 39])
@pytest.mark.parametrize(
    "odd",
    [
        b'data: {"choices": [{"index": 0, "delta": {"content": "cut\\"}, "finish_reason": null}]}',
        event({"content": "other"}, created=5),
        event({"reasoning": "thought"}),
        event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "content"}}]}),
        b": keep-alive",
        b'event: x\ndata: {"choices": []}',
    ],
)
def test_an_odd_event_is_read_as_without_joining(odd, place):
    events = [event({"content": f"w{i} "}) for i in range(40)]
    events.insert(place, odd)
    body = stream(events)

    assert streamed(CODEC, body) == read_apart(body)
