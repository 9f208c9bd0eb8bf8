from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    offer,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import Delivery

REACT = 'Action: multiply\nAction Input: {"a":2123,"b":21}\nObservation: 44583\nAnswer: 44583'
MULTIPLY = offer("multiply", a="integer", b="integer")
SEARCH = offer("search_web", query="string")

VIOLATED = {
    # A34
    "a whole transcript": run(chat(REACT)),
    "a transcript beside offered tools": run(chat(REACT, offers=[MULTIPLY])),
    # A30
    "what the tool returned": run(chat("[Checking records...] The tool returned: 3 open claims.")),
    "a result block": run(chat('<tool_response>\n{"total": 41.5}\n</tool_response>\nIt is 41.5.')),
    "a look-up in the first person": run(
        chat("I searched the web and the shop opens at nine.", offers=[SEARCH])
    ),
    "a named tool that did not run": run(
        chat(calls=[call("search_web", query="x")], offers=[SEARCH, MULTIPLY]),
        tool("search_web", gives="42", query="x"),
        chat("I used multiply to check the total.", offers=[SEARCH, MULTIPLY]),
    ),
    "only the final text was recorded": run(
        chat(output_messages=None, offers=[SEARCH]),
        final_text="According to the search, it is open.",
    ),
}
HOLDS = {
    "the look-up happened": run(
        chat(calls=[call("search_web", query="x")], offers=[SEARCH]),
        tool("search_web", gives="opens at nine", query="x"),
        chat("I searched the web: the shop opens at nine.", offers=[SEARCH]),
    ),
    "it happened earlier in the conversation": run(
        chat(
            "As I said, the search returned nine o'clock.",
            offers=[SEARCH],
            given=[
                user("When?"),
                assistant("..."),
                result("nine", id="old", name="search_web"),
                user("Really?"),
            ],
            delivered=(Delivery(call_id="old"),),
        )
    ),
    "an announcement": run(chat("I will search the web for that.", offers=[SEARCH])),
    "a denial": run(chat("I have not searched the web for this.", offers=[SEARCH])),
    "an offer": run(chat("If you like, I can search the web.", offers=[SEARCH])),
    "what the user provided": run(
        chat("I checked the document you provided: page one is blank.", offers=[SEARCH])
    ),
    "code in a fence": run(chat("Write it so:\n```\nAction: f\nObservation: 3\n```\nThat is all.")),
    "plain words without any tools": run(chat("I checked the records in your table: all add up.")),
    "a hosted tool did it": run(
        chat(
            "I searched the web: nine.",
            calls=[call("web_search", side="provider")],
            offers=[SEARCH],
        )
    ),
    "a ReAct run in which the tool ran": run(
        chat("Action: multiply\nAction Input: {}\nObservation: 6"),
        tool("multiply", gives=6, id=None),
        chat("6"),
    ),
}
OTHERWISE = {
    "content off": (without_content(run(chat(REACT))), "not_assessed"),
    "nothing was said": (
        run(chat(calls=[call("multiply")]), tool("multiply", gives=6)),
        "not_applicable",
    ),
    "state kept by the provider": (run(chat(REACT, has_server_state=True)), "not_assessed"),
    "calls not recorded": (run(chat(REACT, requested=None)), "not_assessed"),
    "a hole in the trace": (incomplete(run(chat(REACT))), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_report_of_what_never_happened_is_told(of):
    verdict = judge("fabricated_observation", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_true_reports_and_plans_are_not_told(of):
    assert judge("fabricated_observation", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("fabricated_observation", of).verdict == word


def test_running_the_tool_repairs_it():
    broken = run(chat("I searched the web and it is open.", offers=[SEARCH]))
    repaired = run(
        chat(calls=[call("search_web", query="x")], offers=[SEARCH]),
        tool("search_web", gives="open", query="x"),
        chat("I searched the web and it is open.", offers=[SEARCH]),
    )
    words = [judge("fabricated_observation", of).verdict for of in (broken, repaired)]
    assert words == ["violated", "holds"]
