"""One tool was executed before another that must come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, incomplete, result, run, step, submission, tool, user
from tests.rules.clauses import judge

if TYPE_CHECKING:
    from spanwitness.model import Run
    from spanwitness.rules.rule import Outcome

OPEN = tool("open_document", gives="ok")
READ = tool("read_section", gives="x")
BOTH = chat(calls=[call("open_document"), call("read_section")])


def order(one: Run, **keys: object) -> Outcome:
    given: dict[str, object] = {"first": "open_document", "then": "read_section"}
    return judge(one, "out_of_order", **(given | keys))


def timed(name: str, start_ns: int, end_ns: int) -> object:
    return tool(name, gives=1, fields={"start_ns": start_ns, "end_ns": end_ns})


VIOLATED = {
    "reversed": run(READ, OPEN),
    "first never ran": run(READ),
    "first failed": run(tool("open_document", error="no"), READ),
    "at the same time": run(timed("open_document", 10, 90), timed("read_section", 20, 50)),
    "too late for the earliest": run(READ, OPEN, tool("read_section", gives="y", id="2")),
}
HOLDS = {
    "in order": run(OPEN, READ),
    "parallel calls, run one after the other": run(
        BOTH, timed("open_document", 10, 20), timed("read_section", 30, 40), chat("3")
    ),
    "opened again later": run(OPEN, READ, tool("open_document", gives="ok", id="2")),
    "in order, with a hole": incomplete(run(OPEN, READ)),
}
SHOWN_TOGETHER = run(
    BOTH,
    chat(
        "3",
        given=[
            user("q"),
            result("ok", id="call_open_document"),
            result("x", id="call_read_section"),
        ],
    ),
)
NOT_ASSESSED = {
    "first may be unseen": incomplete(run(READ)),
    "then may be unseen": incomplete(run(OPEN)),
    "both shown by one request": SHOWN_TOGETHER,
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_tool_before_its_first_is_violated(one: Run) -> None:
    outcome = order(one)
    assert outcome.word == "violated"
    assert outcome.span_ids[0] in {t.span_id for t in one.tools}


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_tools_in_order_hold(one: Run) -> None:
    assert order(one).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_an_order_that_is_not_recorded_is_not_assessed(one: Run) -> None:
    assert order(one).word == "not_assessed"


def test_without_the_second_tool_there_is_no_order() -> None:
    assert order(run(OPEN)).word == "not_applicable"


def test_groups_and_the_submission_may_be_named() -> None:
    keys: dict[str, object] = {"first": "verification", "then": "submit"}
    check = tool("read_table", gives=1)
    assert order(run(check, submission("3")), **keys).word == "holds"
    assert order(run(submission("3"), check), **keys).word == "violated"
    assert order(run(step("hand in", "submit"), check), **keys).word == "violated"
    assert order(run(tool("submit_extraction", gives=1)), **keys).word == "violated"
    assert order(run(check), **keys).word == "not_applicable"
