from __future__ import annotations

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

from spanwitness.model import ToolCallPart
from spanwitness.rules.engine import evaluate

OFFERS = ["search"]


def asked(*tries, says="I could not search."):
    items = []
    for number, fields in enumerate(tries):
        items += [
            chat(calls=[call("search", id=str(number))], offers=OFFERS),
            tool("search", id=str(number), **fields),
        ]
    return run(*items, chat(says, offers=OFFERS))


FAILED = {"error": "TimeoutError"}
EARLIER = [
    user("Search it."),
    assistant(ToolCallPart(name="search", call_id="0")),
    result("Error: it timed out", id="0"),
    assistant("It timed out."),
    user("Never mind."),
]
HOLDS = {
    "it worked": asked({"gives": "3 hits"}),
    "a retry worked": asked(FAILED, {"gives": "3 hits"}),
    "it failed in an earlier turn": run(chat("Fine.", offers=OFFERS, given=EARLIER)),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.", offers=OFFERS)), "not_applicable"),
    "a hole in which a retry may lie": (incomplete(asked(FAILED)), "not_assessed"),
    "how it ended is not recorded": (
        without_content(asked({"gives": "x", "fields": {"outcome": "unknown"}})),
        "not_assessed",
    ),
}


@pytest.mark.parametrize("fields", [FAILED, {"gives": "Error: it timed out"}])
def test_a_failure_that_the_answer_tells_is_a_remark_and_no_alarm(fields):
    evaluation = evaluate(asked(fields), [])
    verdict = next(v for v in evaluation.verdicts if v.rule == "tool_failed")
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "info", "tool")
    assert not evaluation.is_flagged


def test_a_failure_that_the_answer_hides_is_told_once():
    verdicts = evaluate(asked(FAILED, says="There are 3 hits."), []).verdicts
    found = {v.rule: v.explained_by for v in verdicts if v.verdict == "violated"}
    assert found["tool_failed"] == "tool_error_swallowed"


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_what_worked_in_the_end_or_failed_before_is_not_told(of):
    assert judge("tool_failed", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("tool_failed", of).verdict == word
