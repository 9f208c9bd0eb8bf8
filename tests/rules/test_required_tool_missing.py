"""A tool that the contract requires was not executed."""

from __future__ import annotations

from tests.rules.builders import call, chat, incomplete, run, tool
from tests.rules.clauses import judge

DONE = run(chat(calls=[call("update_order")]), tool("update_order", gives="ok"), chat("Done."))
NOT_DONE = run(chat("Done."))
FAILED = run(
    chat(calls=[call("update_order")]), tool("update_order", error="locked"), chat("Done.")
)


def test_a_required_tool_that_was_not_executed_is_violated() -> None:
    outcome = judge(NOT_DONE, "required_tool_missing", tool="update_order")
    assert outcome.word == "violated"
    assert outcome.reason == "update_order was never executed; at least 1 is expected."


def test_a_failed_execution_is_not_enough_unless_the_clause_says_so() -> None:
    assert judge(FAILED, "required_tool_missing", tool="update_order").word == "violated"
    counted = judge(FAILED, "required_tool_missing", tool="update_order", failed="count")
    assert counted.word == "holds"


def test_an_executed_tool_holds_and_a_hole_leaves_it_open() -> None:
    assert judge(DONE, "required_tool_missing", tool="update_*").word == "holds"
    hole = incomplete(NOT_DONE)
    assert judge(hole, "required_tool_missing", tool="update_order").word == "not_assessed"
