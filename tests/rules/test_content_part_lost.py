from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import Delivery, MediaPart
from spanwitness.rules.engine import evaluate

SHOT = [{"type": "text", "text": "screenshot taken"}, {"type": "image", "data": "iVBOR"}]
NEXT = [user("Chart?"), assistant("..."), result("screenshot taken", id="call_shot")]


def story(delivery, *, gives=SHOT, given=NEXT, **chat_fields):
    return run(
        chat(calls=[call("shot")], offers=["shot"]),
        tool("shot", gives=gives),
        chat("It grew.", offers=["shot"], given=given, delivered=(delivery,), **chat_fields),
    )


def delivery(*parts, returned=("text", "image"), **fields):
    return Delivery(call_id="call_shot", part_types=parts, returned_part_types=returned, **fields)


VIOLATED = {
    # A24
    "the image is gone": story(delivery("text", state="altered")),
    "one of two images is gone": story(delivery("image", returned=("image", "image"))),
    "a document is gone": story(delivery("text", returned=("document",))),
    # A26
    "a payload stands in a text field": story(
        delivery("text", returned=None, has_binary_text=True)
    ),
    "the image is gone, content off": without_content(
        story(delivery("text"), wire="anthropic_messages")
    ),
}
HOLDS = {
    "all parts arrived": story(delivery("text", "image")),
    "under another name of its kind": story(delivery("file", returned=("document",))),
    "the image follows in a message of its own": story(
        delivery("text"), given=[*NEXT, user(MediaPart(modality="image"))]
    ),
    "text only": story(delivery("text", returned=("text",)), gives="a text"),
    "text only, as recorded": story(delivery("text", returned=None), gives="a text"),
}


def seen_by_another(of):
    """The same run, recorded by an instrumentation that does not look for loose images."""
    chats = tuple(msgspec.structs.replace(c, dialect="otel_genai") for c in of.chats)
    return msgspec.structs.replace(of, chats=chats)


OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "what was returned was not seen": (story(delivery("text", returned=None)), "not_assessed"),
    "delivered results not recorded": (
        run(chat("Hello.", dialect="otel_genai"), dialects=("otel_genai",)),
        "not_assessed",
    ),
    "the image may stand in a message of its own, content off": (
        seen_by_another(without_content(story(delivery("text")))),
        "not_assessed",
    ),
    "looked for when the request left, content off": (
        without_content(story(delivery("text"))),
        "violated",
    ),
    "a hole in the trace": (incomplete(story(delivery("text", "image"))), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_part_that_did_not_arrive_as_such_is_told(of):
    verdict = judge("content_part_lost", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert verdict.evidence["tool"] == "shot"


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_parts_that_arrived_are_not_told(of):
    assert judge("content_part_lost", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("content_part_lost", of).verdict == word


def test_a_lost_part_explains_the_altered_result():
    told = {
        v.rule: v.explained_by
        for v in evaluate(VIOLATED["the image is gone"]).verdicts
        if v.verdict == "violated"
    }
    assert told["content_part_lost"] is None
    assert told["result_altered"] == "content_part_lost"
