from __future__ import annotations

import pytest
from tests.rules.builders import (
    call,
    chat,
    choice,
    incomplete,
    judge,
    offer,
    run,
    without_content,
)

TOOLS = [offer("a"), offer("b")]


def asked(mode, *names, says=None, calls=(), **fields):
    return run(
        chat(
            says,
            calls=calls,
            offers=fields.pop("offers", TOOLS),
            choice=choice(mode, *names),
            **fields,
        )
    )


VIOLATED = {
    # A17
    "required, and text came": asked("required", says="My name is.."),
    "required, and an empty list came": asked("required", says="", finish_reasons=("tool_calls",)),
    "named, and another came": asked("named", "a", calls=[call("b")]),
    "named, and text came": asked("named", "a", says="It is fine."),
    "none, and a call came": asked("none", calls=[call("a")]),
    "allowed, and another came": asked("allowed", "a", calls=[call("b")]),
    "required, with content off": without_content(asked("required", says="My name is..")),
}
HOLDS = {
    "required, and a call came": asked("required", calls=[call("b")]),
    "required, with text before the call": asked("required", says="Let me see.", calls=[call("a")]),
    "required, and a hosted tool ran": asked(
        "required", calls=[call("web_search", side="provider")]
    ),
    "named, and it came twice": asked("named", "a", calls=[call("a", id="1"), call("a", id="2")]),
    "named, and the hosted form came": asked(
        "named", "web_search_preview", calls=[call("web_search_call", side="provider")]
    ),
    "none, and text came": asked("none", says="Fine."),
    "allowed, and text came": asked("allowed", "a", says="Fine."),
    "allowed, and one of them came": asked("allowed", "a", "b", calls=[call("b")]),
    "the reply was cut": asked("required", says="I will", finish_reasons=("length",)),
    "the reply was refused": asked("required", says="I can't help.", has_refusal=True),
    "the reply was filtered": asked("named", "a", says="", finish_reasons=("content_filter",)),
    "the turn is paused": asked(
        "required", says="", finish_reasons=("pause_turn",), wire="anthropic_messages"
    ),
    "the call was malformed and the reason says so": asked(
        "required", says="", finish_reasons=("MALFORMED_FUNCTION_CALL",), wire="gemini"
    ),
}
OTHERWISE = {
    "auto": (asked("auto", says="Fine."), "not_applicable"),
    "the caller gave up": (asked("required", says="", ending="abandoned"), "not_applicable"),
    "the call failed": (asked("required", error_type="APIError", ending="error"), "not_applicable"),
    "choice not recorded": (run(chat("x", offers=TOOLS, choice=None)), "not_assessed"),
    "calls not recorded": (asked("required", says="x", requested=None), "not_assessed"),
    "a hole in the trace": (incomplete(asked("required", calls=[call("a")])), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_reply_that_does_otherwise_is_told(of):
    verdict = judge("tool_choice_ignored", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_replies_that_obey_or_say_why_not_are_not_told(of):
    assert judge("tool_choice_ignored", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("tool_choice_ignored", of).verdict == word


def test_what_is_seen_in_an_incomplete_trace_is_still_told():
    of = incomplete(asked("none", calls=[call("a")]))
    assert judge("tool_choice_ignored", of).verdict == "violated"
