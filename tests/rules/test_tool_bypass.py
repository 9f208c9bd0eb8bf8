from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    choice,
    contract,
    incomplete,
    judge,
    offer,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import MediaPart

TOOLS = [offer("read_page", page="integer"), offer("search_pdf", query="string")]
NAVIGATES = contract({"rule": "navigation_bypassed", "tool": "read_page", "at_least": 1})


def answered(says, **fields):
    return run(chat(says, offers=TOOLS, **fields))


ERRORS = {
    "cites a page": answered("The limit is 300 mA (page 9)."),
    "cites a section": answered("See section 4.2 for the limit."),
    "cites a file": answered("According to limits.pdf it is allowed."),
    "quotes": answered('The datasheet says "the output current is limited to 300 mA".'),
    "reports a look-up": answered("I searched the datasheet and the limit is fine."),
    "the tool choice required one": answered("It is fine.", choice=choice("required")),
    "the tool choice named one": answered("It is fine.", choice=choice("named", "read_page")),
}
INFO = {
    "general knowledge with optional tools": answered("The Eiffel Tower is 330 m high."),
    "a title in quotation marks": answered('That is from "The Road Not Taken" by Frost, yes?'),
    "an option in quotation marks": answered('Choose "no longer needed" or "too late".'),
}
HOLDS = {
    "a tool was called": run(
        chat(calls=[call("read_page", page=2)], offers=TOOLS),
        tool("read_page", gives="Maximum output current 250 mA.", page=2),
        chat("250 mA, page 2", offers=TOOLS),
    ),
    "a tool was called and the call failed": run(
        chat(calls=[call("read_page", page=9)], offers=TOOLS),
        tool("read_page", error="no page 9", page=9),
        chat("I could not read page 9.", offers=TOOLS),
    ),
    "a hosted tool was used": run(
        chat("It is 330 m.", calls=[call("web_search", side="provider")], offers=TOOLS)
    ),
    "a tool ran without being asked for": run(
        tool("search_pdf", gives="p. 2", id=None), chat("It is 300 mA (page 9).", offers=TOOLS)
    ),
    "small talk": answered("Hello! How can I help you today?"),
    "a clarifying question": answered("Which of the two datasheets do you mean?"),
    "an honest abstention": answered("I could not find that."),
    "the page stands in the question": run(
        chat("Page 9 says so.", offers=TOOLS), prompt="What does page 9 say? It says: so."
    ),
    "the value stands in the history": answered(
        "It is 250 mA, page 2.",
        given=[
            user("And again?"),
            assistant("..."),
            result("page 2: 250 mA", id="old", name="read_page"),
        ],
    ),
    "the run failed": run(chat("page 9", offers=TOOLS), status="error", error_type="ValueError"),
}
OTHERWISE = {
    "values were counted, and whether one is a citation is not recorded": (
        without_content(answered("It is 330 m.", n_values=1, n_values_unseen=1)),
        "not_assessed",
    ),
    "no tools": (run(chat("It is on page 9.")), "not_applicable"),
    "tools were forbidden": (answered("page 9", choice=choice("none")), "not_applicable"),
    "offered tools not recorded": (run(chat("page 9", offers=None)), "not_assessed"),
    "calls not recorded": (answered("page 9", requested=None, delivered=()), "not_assessed"),
    "content off": (without_content(answered("page 9")), "not_assessed"),
    "an image that may hold it": (
        answered("It is 41.5 (page 9).", given=[user("Total?", MediaPart(modality="image"))]),
        "not_assessed",
    ),
    "state kept by the provider": (answered("41.5, page 9", has_server_state=True), "not_assessed"),
    "a hole in the trace": (incomplete(answered("page 9")), "not_assessed"),
}


@pytest.mark.parametrize("of", ERRORS.values(), ids=ERRORS)
def test_tools_that_were_due_and_not_called_are_told(of):
    verdict = judge("tool_bypass", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("of", INFO.values(), ids=INFO)
def test_optional_tools_are_told_at_info_at_most(of):
    verdict = judge("tool_bypass", of)
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_normal_life_is_not_told(of):
    assert judge("tool_bypass", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("tool_bypass", of).verdict == word


def test_a_contract_makes_tools_due_even_with_content_off():
    of = without_content(answered("It is fine."))
    assert judge("tool_bypass", of, NAVIGATES).severity == "error"
    assert judge("tool_bypass", of, NAVIGATES).verdict == "violated"


def test_a_contract_about_other_runs_makes_nothing_due():
    other = contract(
        {"rule": "navigation_bypassed", "tool": "read_page"}, when={"agent": "someone-else"}
    )
    assert judge("tool_bypass", answered("It is fine."), other).verdict == "holds"


def test_an_answer_that_denies_the_tools_it_was_offered_is_the_harness_fault():
    # A57, after one null-typed schema voided the whole list
    verdict = judge("tool_bypass", answered("I cannot use tools."))
    assert (verdict.verdict, verdict.fault) == ("violated", "harness")


def test_a_hole_does_not_hide_that_a_tool_was_called():
    assert judge("tool_bypass", incomplete(HOLDS["a tool was called"])).verdict == "holds"
