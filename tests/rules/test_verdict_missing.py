"""A judging step gave no verdict that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import chat, incomplete, run, step

if TYPE_CHECKING:
    from spanwitness.model import Run

from spanwitness.rules.facts import Facts
from spanwitness.rules.verdict_missing import verdict_missing


def judging(**fields: object) -> object:
    return step("check", "verify", declares_verdict=True, **fields)


VIOLATED = {
    "no verdict and no error": run(judging()),
    "one of several": run(judging(verdict=True), judging(), judging(verdict=False)),
    "failed, and the run went on": run(judging(error_type="KeyError"), chat("all good")),
    "failed for one case, judged another": run(
        judging(error_type="KeyError", case_id="1"), judging(verdict=True, case_id="2")
    ),
    "seen in a trace with a hole": incomplete(run(judging())),
}
HOLDS = {
    "pass": run(judging(verdict=True)),
    "rejection is a verdict": run(judging(verdict=False)),
    "failed and repeated": run(judging(error_type="Timeout"), judging(verdict=True)),
    "failed loudly": run(judging(error_type="KeyError"), status="error"),
    "cancelled with the run": run(judging(error_type="CancelledError"), is_cancelled=True),
}
NOT_APPLICABLE = {
    "no step": run(chat("x")),
    "a step that declares none": run(step("check", "verify")),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_step_without_its_verdict_is_violated(one: Run) -> None:
    outcome = verdict_missing.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.evidence["n_missing"] == 1
    assert "does not count as a pass" in outcome.reason


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_a_readable_verdict_and_a_loud_failure_hold(one: Run) -> None:
    assert verdict_missing.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_APPLICABLE.values(), ids=NOT_APPLICABLE)
def test_without_a_judging_step_there_is_nothing_to_judge(one: Run) -> None:
    assert verdict_missing.check(Facts(one)).word == "not_applicable"


def test_a_hole_leaves_it_open() -> None:
    assert verdict_missing.check(Facts(incomplete(run(judging(verdict=True))))).word == (
        "not_assessed"
    )
