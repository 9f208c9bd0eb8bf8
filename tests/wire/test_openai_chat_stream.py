"""Streams of OpenAI chat completions, as many servers write them."""

from __future__ import annotations

import json

import pytest
from tests.wire.bodies import sse, streamed
from tests.wire.chat_form import CODEC, call, reply

from spanwitness.model import TextPart, ToolCallPart


def chunk(delta, *, reason=None, index=0, **more):
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return {"id": "r", "model": "m", "choices": [choice], **more}


def piece(arguments=None, *, name=None, call_id=None, index: int | None = 0):
    made = {"index": index, "function": {"name": name, "arguments": arguments}}
    if call_id is not None:
        made["id"] = call_id
    return {"tool_calls": [made]}


USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def test_a_stream_gives_the_same_reply_as_the_whole_body():
    body = sse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "Let me "}),
        chunk({"content": "check é."}),
        chunk(piece("", name="a", call_id="c1")),
        chunk(piece('{"x"')),
        chunk(piece(": 1}")),
        chunk(piece("", name="b", call_id="c2", index=1)),
        chunk({}, reason="tool_calls"),
        {"id": "r", "model": "m", "choices": [], "usage": USAGE},
        done=True,
    )
    whole = reply(
        {
            "content": "Let me check é.",
            "reasoning_content": "hm",
            "tool_calls": [call("a", {"x": 1}), call("b", {}, "c2")],
        },
        reason="tool_calls",
        model="m",
        usage=USAGE,
    )

    assert streamed(CODEC, body) == whole


def test_any_split_of_a_stream_gives_one_reply():
    body = sse(chunk({"content": "né 漢"}), chunk(piece('{"x": "é"}', name="a", call_id="1")))
    body = body.replace(b"\n", b"\r\n")
    expected = streamed(CODEC, body)

    assert expected.messages[0].parts[0] == TextPart(text="né 漢")
    assert expected.messages[0].parts[1].arguments == {"x": "é"}
    for step in range(1, 40):
        assert streamed(CODEC, body, step=step) == expected


PARALLEL = {
    "no index": [
        chunk(piece('{"city": "A"}', name="get", call_id="1", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
    ],
    "index 0 for both": [
        chunk(piece('{"city": "A"}', name="get", call_id="1")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
    ],
    "sent again": [
        chunk(piece('{"city": "A"}', name="get", call_id="1", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
    ],
    "sent again at index 0": [
        chunk(piece('{"city": "A"}', name="get", call_id="1")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
    ],
    "interleaved": [
        chunk(piece("", name="get", call_id="1", index=0)),
        chunk(piece("", name="get", call_id="2", index=1)),
        chunk(piece('{"city"', index=0)),
        chunk(piece('{"city": ', index=1)),
        chunk(piece(': "A"}', index=0)),
        chunk(piece('"B"}', index=1)),
    ],
    "id in every fragment": [
        chunk(piece('{"city"', name="get", call_id="1", index=0)),
        chunk(piece(': "A"}', name="get", call_id="1", index=0)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=1)),
    ],
    "fragments after the id without index": [
        chunk(piece("", name="get", call_id="1", index=None)),
        chunk(piece('{"city": "A"}', index=None)),
        chunk(piece("", name="get", call_id="2", index=None)),
        chunk(piece('{"city": "B"}', index=None)),
    ],
}


@pytest.mark.parametrize("chunks", PARALLEL.values(), ids=PARALLEL)
def test_two_parallel_calls_stay_two(chunks):
    read = streamed(CODEC, sse(*chunks, chunk({}, reason="tool_calls"), done=True))

    assert [(c.call_id, c.arguments) for c in read.requested] == [
        ("1", {"city": "A"}),
        ("2", {"city": "B"}),
    ]


def test_whole_calls_without_ids_at_one_index_stay_two():
    body = sse(
        chunk(piece('{"city": "A"}', name="get")),
        chunk(piece('{"city": "B"}', name="get")),
        chunk({}, reason="tool_calls"),
    )

    assert [c.arguments for c in streamed(CODEC, body).requested] == [{"city": "A"}, {"city": "B"}]


def test_text_and_a_call_by_name_only_are_both_there():
    body = sse(
        chunk({"content": "Let me check."}),
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ping"}}]}),
        chunk({}, reason="tool_calls"),
        done=True,
    )
    read = streamed(CODEC, body)

    assert read.messages[0].parts == (
        TextPart(text="Let me check."),
        ToolCallPart(name="ping", call_id="c", arguments={}),
    )
    assert read.finish_reasons == ("tool_calls",)


def test_an_unfinished_stream_shows_whole_calls_only():
    begun = sse(
        chunk(piece('{"x": 1}', name="a", call_id="1", index=0)),
        chunk(piece('{"y": ', name="b", call_id="2", index=1)),
    )
    read = streamed(CODEC, begun)

    assert read.is_terminated is False
    assert [c.call_id for c in read.requested] == ["1"]
    assert [p.call_id for p in read.messages[0].parts] == ["1", "2"]


def test_a_call_by_name_only_is_open_until_the_stream_says_why_it_ended():
    begun = sse(chunk(piece("", name="a", call_id="1")))

    assert streamed(CODEC, begun).requested == ()
    assert len(streamed(CODEC, begun + sse(chunk({}, reason="tool_calls"))).requested) == 1


def test_a_reply_can_be_asked_for_while_the_stream_goes_on():
    first, second = sse(chunk({"content": "a"})), sse(chunk({"content": "b"}, reason="stop"))
    decoder = CODEC.decoder()
    decoder.feed(first)
    decoder.feed(second[:9])
    assert decoder.reply().messages[0].parts == (TextPart(text="a"),)
    decoder.feed(second[9:])

    assert decoder.reply().messages[0].parts == (TextPart(text="ab"),)
    assert decoder.reply().is_terminated is True


def test_an_error_in_the_stream_is_told():
    body = sse(chunk({"content": "a"}), {"error": {"code": "server_error", "message": "secret"}})
    read = streamed(CODEC, body)

    assert read.error_type == "server_error"
    assert read.is_terminated is False


def test_a_named_error_event_is_told():
    body = sse(chunk({"content": "a"})) + b'event: error\ndata: {"code": "overloaded"}\n\n'

    assert streamed(CODEC, body).error_type == "overloaded"


def test_an_error_body_in_place_of_a_stream_is_read():
    read = streamed(CODEC, b'{"error": {"code": "rate_limit_exceeded"}}')

    assert read.error_type == "rate_limit_exceeded"
    assert read.is_terminated is True


def test_a_whole_body_in_place_of_a_stream_is_read():
    body = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})

    assert streamed(CODEC, body.encode()).messages[0].parts == (TextPart(text="x"),)


def test_id_and_model_are_taken_from_the_first_chunk_that_has_them():
    first = {"id": "", "model": "", "choices": [], "prompt_filter_results": []}
    read = streamed(CODEC, sse(first, chunk({"content": "a"}, reason="stop"), done=True))

    assert (read.response_id, read.model) == ("r", "m")


def test_wrong_types_in_one_chunk_do_not_hide_the_others():
    body = sse(
        chunk({"content": "a"}),
        {"choices": [{"index": "0", "delta": {"content": 7, "tool_calls": "x"}}]},
        {"choices": {"0": 1}},
        chunk({"content": [{"type": "text", "text": "b"}]}),
        chunk({}, reason="stop"),
    )

    read = streamed(CODEC, body)
    assert [p.text for p in read.messages[0].parts] == ["a", "b"]
    assert read.finish_reasons == ("stop",)


def test_several_choices_of_a_stream_are_kept_apart():
    body = sse(
        chunk({"content": "a"}, index=0),
        chunk({"content": "b"}, index=1),
        chunk({}, reason="stop", index=0),
        chunk({}, reason="length", index=1),
    )
    read = streamed(CODEC, body)

    assert [m.parts[0].text for m in read.messages] == ["a", "b"]
    assert read.finish_reasons == ("stop", "length")


def test_the_older_function_call_form_is_streamed():
    body = sse(
        chunk({"function_call": {"name": "a", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"x": 1}'}}),
        chunk({}, reason="function_call"),
    )

    assert [(c.name, c.arguments) for c in streamed(CODEC, body).requested] == [("a", {"x": 1})]
