"""The harness stopped the run, and it was reported as success."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, incomplete, run, submission, tool, without_content

from spanwitness.contracts import Contract
from spanwitness.rules.cap_reached import cap_reached
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from spanwitness.model import Run


def stopped(**fields: object) -> Run:
    """A loop of two turns whose last reply still asks for a tool."""
    return run(
        chat(calls=[call("read", id="1")]),
        tool("read", gives="x", id="1"),
        chat(calls=[call("read", id="2")]),
        tool("read", gives="y", id="2"),
        **fields,  # type: ignore[arg-type]
    )


def ended(**fields: object) -> Run:
    return run(chat(calls=[call("read")]), tool("read", gives="x"), chat("It is x."), **fields)  # type: ignore[arg-type]


VIOLATED = {
    "declared cap": stopped(max_turns=25, turns=25, final_text="Goal reached."),
    "counted turns": stopped(max_turns=2),
    "declared reason": ended(termination="max_turns"),
    "reason in another spelling": ended(termination="MaxIterations"),
    "recursion limit": ended(termination="recursion_limit"),
    "time": ended(termination="timeout"),
    "budget": ended(termination="token budget exhausted"),
    "sentence in place of an answer": stopped(
        final_text="Agent stopped due to iteration limit or time limit."
    ),
    "nothing given back": stopped(termination="max_turns", final_text=None),
    "content off": without_content(stopped(max_turns=2, turns=2)),
}
HOLDS = {
    "ended on its last turn": ended(max_turns=2),
    "ended by itself": ended(termination="completed", max_turns=10),
    "stop reason of the model": ended(termination="end_turn"),
    "below the cap": stopped(max_turns=3),
    "reported as an error": stopped(max_turns=2, status="error"),
    "cancelled": stopped(termination="max_turns", is_cancelled=True),
    "submitted": run(
        chat(calls=[call("read")]), tool("read", gives="x"), submission("x"), max_turns=1
    ),
    "last call ends the run": run(chat(calls=[call("submit_answer", v=1)]), max_turns=1),
}
NOT_ASSESSED = {
    "calls not recorded": run(chat("x", requested=None), max_turns=1),
    "turns of sub-agents": stopped(max_turns=2, child_run_ids=("c",)),
    "hole": incomplete(ended(max_turns=5)),
    "nothing declared, with a hole": incomplete(ended()),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_stopped_run_reported_as_success_is_violated(one: Run) -> None:
    outcome = cap_reached.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.span_ids[0] == one.root_span_id


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_runs_that_ended_by_themselves_or_loudly_hold(one: Run) -> None:
    assert cap_reached.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_cannot_be_told_is_not_assessed(one: Run) -> None:
    assert cap_reached.check(Facts(one)).word == "not_assessed"


def test_without_a_cap_there_is_nothing_to_judge() -> None:
    assert cap_reached.check(Facts(stopped())).word == "not_applicable"


def test_a_contract_declares_the_cap_and_the_ends_that_are_fine() -> None:
    contract = Contract(
        contract="c", version="1", max_turns=2, allowed_terminations=("token_budget",)
    )
    assert cap_reached.check(Facts(stopped(), (contract,))).word == "violated"
    assert cap_reached.check(Facts(ended(), (contract,))).word == "holds"
    spent = ended(termination="token_budget")
    assert cap_reached.check(Facts(spent, (contract,))).word == "holds"
