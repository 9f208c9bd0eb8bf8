"""The run looked, and did not check what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, incomplete, run, submission, tool
from tests.rules.clauses import judge

from spanwitness.rules.verification_skipped import verification_skipped

if TYPE_CHECKING:
    from spanwitness.model import Run
    from spanwitness.rules.rule import Outcome

READ = (chat(calls=[call("read_page")]), tool("read_page", gives="x"))
CHECK = (chat(calls=[call("search_text")]), tool("search_text", gives="x"))


def verification(one: Run, **keys: object) -> Outcome:
    given: dict[str, object] = {"group": "verification", "before": "submit"}
    return judge(one, "verification_skipped", **(given | keys))


VIOLATED = {
    "read, not checked": run(*READ, chat("3"), submission("3")),
    "checked after the submission": run(*READ, submission("3"), *CHECK),
    "check failed": run(*READ, tool("search_text", error="no"), submission("3")),
}
HOLDS = {
    "read and checked": run(*READ, *CHECK, submission("3")),
    "one tool does both": run(*CHECK, submission("3")),
    "checked in a trace with a hole": incomplete(run(*CHECK)),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_navigation_without_verification_is_violated(one: Run) -> None:
    assert verification(one).word == "violated"
    assert verification_skipped.kind == "skipped_verification"
    assert verification_skipped.fault == "reasoning"


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_verified_runs_hold(one: Run) -> None:
    assert verification(one).word == "holds"


def test_a_run_that_did_not_navigate_is_another_rules_matter() -> None:
    assert verification(run(chat("3"), submission("3"))).word == "not_applicable"


def test_a_hole_leaves_it_open() -> None:
    assert verification(incomplete(run(*READ))).word == "not_assessed"
    assert verification(incomplete(run(chat("3")))).word == "not_assessed"


def test_without_a_navigation_group_any_other_tool_is_navigation() -> None:
    groups: dict[str, object] = {"tools": {"verification": ["search_text"]}}
    one = run(chat(calls=[call("frob")]), tool("frob", gives="x"), chat("3"))
    assert verification(one, contract=groups).word == "violated"
    ended = run(chat(calls=[call("submit_x")]), tool("submit_x", gives="x"))
    assert verification(ended, contract=groups).word == "not_applicable"
