from __future__ import annotations

import pytest
from tests.rules.builders import call, chat, incomplete, judge, run, tool, without_content

VAIN = "Could not find [Goldsmith]. Similar: ['Goldsmiths', 'Jerry Goldsmith']"
PAGE = "Jerry Goldsmith was an American composer. He scored Alien, produced by Walter Hill."


def asked(answer, *results, question="Who produced the film scored by Jerry Goldsmith?", **fields):
    items = []
    for number, gives in enumerate(results):
        items += [
            chat(calls=[call("search", id=str(number), q=str(number))], offers=["search"]),
            tool("search", id=str(number), gives=gives, q=str(number)),
        ]
    return run(*items, chat(answer, offers=["search"]), prompt=question, **fields)


VIOLATED = {
    "a name from nowhere": asked("Joseph Levine", PAGE, VAIN),
    "part of a name": asked("Walter Vallance", PAGE, VAIN),
    "a name that opens a sentence": asked("Joseph Levine produced it.", PAGE, VAIN),
    "an empty result": asked("Joseph Levine", PAGE, "[]"),
    "no results": asked("Joseph Levine.", "No results found.", PAGE),
}
HOLDS = {
    "the name was read": asked("Walter Hill", PAGE, VAIN),
    "in another case": asked("WALTER HILL", PAGE, VAIN),
    "the name was asked for": asked("Jerry Goldsmith", PAGE, VAIN),
    "with an accent": asked("Walter H\u00edll", PAGE, VAIN),
    "a sentence without a name": asked("Your order has been cancelled. Thanks for it.", PAGE, VAIN),
    "no name": asked("a composer", PAGE, VAIN),
    "an abstention": asked("I could not find the producer, Levine perhaps.", PAGE, VAIN),
    "a long answer": asked("Levine " * 20, PAGE, VAIN),
    "the run failed": asked("Joseph Levine", PAGE, VAIN, status="error", error_type="E"),
}
OTHERWISE = {
    "no tool ran": (run(chat("Joseph Levine", offers=["search"])), "not_applicable"),
    "content off": (without_content(asked("Joseph Levine", PAGE, VAIN)), "not_assessed"),
    "a hole in the trace": (incomplete(asked("Joseph Levine", PAGE, VAIN)), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_name_from_nowhere_after_a_vain_look_up_is_told(of):
    verdict = judge("name_ungrounded", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == (
        "violated",
        "warning",
        "reasoning",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_a_name_that_was_given_or_is_none_is_not_told(of):
    assert judge("name_ungrounded", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("name_ungrounded", of).verdict == word


def test_a_name_from_memory_where_all_look_ups_gave_something_is_a_remark():
    verdict = judge("name_ungrounded", asked("Joseph Levine", PAGE))
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


def test_the_reason_holds_no_name():
    assert "Levine" not in judge("name_ungrounded", asked("Joseph Levine", PAGE, VAIN)).reason
