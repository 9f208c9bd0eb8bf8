"""Event streams of OpenAI Responses."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.bodies import sse, streamed
from tests.wire.responses_form import CODEC, answer, call, reply, response

from spanwitness.model import TextPart


def events(final_output=()):
    """Write the events of a reply with reasoning, text, a call and a search."""
    begun = response(status="in_progress", usage=None)
    reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "SEALED"}
    done_reasoning = {**reasoning, "summary": [{"type": "summary_text", "text": "hm ha"}]}
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"q": "é"}}
    usage = {"input_tokens": 9, "output_tokens": 3}
    final = response(*final_output, usage=usage)

    def event(kind, **fields):
        return {"type": kind, "sequence_number": 1, **fields}

    def at(index, kind, **fields):
        return event(kind, output_index=index, item_id="i", **fields)

    return [
        event("response.created", response=begun),
        event("response.in_progress", response=begun),
        at(0, "response.output_item.added", item=reasoning),
        at(0, "response.reasoning_summary_text.delta", summary_index=0, delta="hm "),
        at(0, "response.reasoning_summary_text.delta", summary_index=0, delta="ha"),
        at(0, "response.output_item.done", item=done_reasoning),
        at(1, "response.output_item.added", item={**answer(""), "content": []}),
        at(1, "response.output_text.delta", content_index=0, delta="Let "),
        at(1, "response.output_text.delta", content_index=0, delta="mé."),
        at(1, "response.output_item.done", item=answer("Let mé.")),
        at(2, "response.output_item.added", item=call(arguments="", status="in_progress")),
        at(2, "response.function_call_arguments.delta", delta='{"pa'),
        at(2, "response.function_call_arguments.delta", delta='ge": 1}'),
        at(2, "response.function_call_arguments.done", arguments='{"page": 1}'),
        at(2, "response.output_item.done", item=call()),
        at(3, "response.output_item.added", item={**search, "status": "in_progress"}),
        at(3, "response.web_search_call.completed"),
        at(3, "response.output_item.done", item=search),
        event("response.completed", response=final),
    ], (done_reasoning, answer("Let mé."), call(), search)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("is_repeated", [True, False])
def test_a_stream_gives_the_same_reply_as_the_whole_body(named, is_repeated):
    _, output = events()
    told, _ = events(output if is_repeated else ())
    whole = reply(*output, usage={"input_tokens": 9, "output_tokens": 3})

    assert streamed(CODEC, sse(*told, named=named)) == whole


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(min_value=0, max_value=3000), max_size=30))
def test_any_split_of_a_stream_gives_one_reply(cuts):
    body = sse(*events()[0], named=True).replace(b"\n", b"\r\n")
    decoder = CODEC.decoder()
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, stop in itertools.pairwise(places):
        decoder.feed(body[start:stop])

    assert decoder.reply() == streamed(CODEC, body)
    assert decoder.reply().is_terminated is True


def test_an_unfinished_stream_shows_whole_calls_only():
    told = events()[0]
    in_call = streamed(CODEC, sse(*told[:12], named=True))
    after_call = streamed(CODEC, sse(*told[:15], named=True))

    assert in_call.requested == ()
    assert in_call.is_terminated is False
    assert in_call.messages[0].parts[1] == TextPart(text="Let mé.")
    assert in_call.messages[0].parts[2].arguments == '{"pa'
    assert [c.arguments for c in after_call.requested] == [{"page": 1}]


def test_text_in_progress_is_read():
    read = streamed(CODEC, sse(*events()[0][:8], named=True))

    assert read.messages[0].parts[1] == TextPart(text="Let ")
    assert read.finish_reasons == ()


def test_an_incomplete_stream_is_terminated_and_says_why():
    final = response(
        answer("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    read = streamed(CODEC, sse({"type": "response.incomplete", "response": final}, named=True))

    assert read.is_terminated is True
    assert read.finish_reasons == ("incomplete", "max_output_tokens")


def test_a_failed_stream_gives_its_code():
    final = response(status="failed", error={"code": "rate_limit_exceeded", "message": "secret"})
    read = streamed(CODEC, sse({"type": "response.failed", "response": final}, named=True))

    assert read.error_type == "rate_limit_exceeded"
    assert read.is_terminated is True


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "secret"},
        {"type": "error", "error": {"code": "server_error", "message": "secret"}},
    ],
)
def test_an_error_event_is_told(event):
    read = streamed(CODEC, sse(*events()[0][:8], event, named=True))

    assert read.error_type == "server_error"
    assert read.is_terminated is False
