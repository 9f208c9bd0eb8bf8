from __future__ import annotations

import pytest
from tests.rules.builders import call, chat, incomplete, judge, run, tool, without_content


def asked(question, *calls, tool_name="search"):
    items = []
    for number, arguments in enumerate(calls):
        items += [
            chat(calls=[call(tool_name, id=str(number), arguments=arguments)], offers=[tool_name]),
            tool(tool_name, id=str(number), gives="[1, 2]", arguments=arguments),
        ]
    return run(*items, chat("Here they are.", offers=[tool_name]), prompt=question)


OFF = {"q": "kettle", "available_only": False}
VIOLATED = {
    "switched off": asked("What is the cheapest available kettle?", OFF),
    "the word before": asked("List the active users.", {"only_active": False}),
    "two words": asked("Show in-stock items, please.", {"inStockOnly": False}),
}
HOLDS = {
    "switched on": asked("What is the cheapest available kettle?", {"available_only": True}),
    "not asked for": asked("What is the cheapest kettle?", OFF),
    "both are wanted": asked("List kettles, available or not.", OFF),
    "all are wanted": asked("List all kettles including available ones.", OFF),
    "set in another call": asked("The cheapest available kettle?", OFF, {"available_only": True}),
    "another kind of flag": asked("Wrap the gift.", {"gift": False}),
    "no such argument": asked("The cheapest available kettle?", {"q": "kettle"}),
    "named in another sentence": asked(
        "Which kettles do you have? I am not only available on Monday.", OFF
    ),
}
OTHERWISE = {
    "no call": (run(chat("x", offers=["search"])), "not_applicable"),
    "content off": (without_content(asked("The available kettle?", OFF)), "not_assessed"),
    "a hole in the trace": (incomplete(asked("The kettle?", {"q": "kettle"})), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_restriction_that_the_call_lifts_is_told(of):
    verdict = judge("restriction_dropped", of)
    assert (verdict.verdict, verdict.severity, verdict.kind) == (
        "violated",
        "warning",
        "selection",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_what_was_not_asked_for_or_not_lifted_is_not_told(of):
    assert judge("restriction_dropped", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("restriction_dropped", of).verdict == word
