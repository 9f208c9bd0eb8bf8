from __future__ import annotations

import pytest
from tests.rules.builders import (
    call,
    chat,
    incomplete,
    judge,
    run,
    submission,
    tool,
    without_content,
)

TEXT = "API request failed: channel_not_found"


def post(says, *, final=None, fields=None, **kw):
    items = [chat(calls=[call("post")], offers=["post"]), tool("post", fields=fields or {}, **kw)]
    if says is not None:
        items.append(chat(says, offers=["post"]))
    return run(*items, **({"final_text": final} if final is not None else {}))


DIGESTS = {"error_text_digest": "e" * 16}
VIOLATED = {
    # A38: five times, then the string is the answer
    "the result as answer": post(None, gives=TEXT, final=TEXT),
    "the model repeats it": post(TEXT, gives=TEXT),
    "a marked error": post(None, error="channel_not_found", final="channel_not_found"),
    "without the exception's name": post("no page 9", error="ValueError: no page 9"),
    "in quotation marks": post('"no page 9."', error="no page 9"),
    "the message of an error object": post(
        "channel_not_found", gives={"ok": False, "error": "channel_not_found"}
    ),
    "the whole error object": post(
        '{"ok": false, "error": "Kanal nicht verfügbar"}',
        gives={"ok": False, "error": "Kanal nicht verfügbar"},
    ),
    "digests only": without_content(
        run(
            chat(calls=[call("post")]),
            tool("post", error="x", fields=DIGESTS),
            submission("x", digest="e" * 16),
        )
    ),
}
HOLDS = {
    "a result as answer": post(None, gives="ts=1732", final="ts=1732"),
    "the failure is told in other words": post("I could not post: no such channel.", gives=TEXT),
    "the run failed with it": run(
        chat(calls=[call("post")]), tool("post", error="boom"), status="error", final_text="boom"
    ),
    "nothing was given back": run(
        chat(calls=[call("post")]), tool("post", error="boom"), has_final=False
    ),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "content off": (without_content(post(TEXT, error=TEXT)), "not_assessed"),
    "a hole in the trace": (incomplete(post("Posted.", gives="ts=1732")), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_an_error_text_given_back_as_the_answer_is_told(of):
    verdict = judge("error_as_answer", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_other_answers_are_not_told(of):
    assert judge("error_as_answer", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("error_as_answer", of).verdict == word


def test_an_error_text_that_was_cut_to_a_size_cap_is_not_compared():
    of = post(
        "API request failed: channel not found",
        error="API request fail",
        fields={"is_truncated": True},
    )
    assert judge("error_as_answer", of).verdict == "not_assessed"
