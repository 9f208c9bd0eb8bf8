"""Which runs a contract is about; what the trace cannot show is `unknown`, not `no`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from spanwitness.contracts import Contract
from spanwitness.model import ChatCall, Run, Step, ToolDefinition


def run(**keys: object) -> Run:
    return Run(
        **{"run_id": "r", "trace_id": "t", "root_span_id": "s", "name": "n", **keys}  # type: ignore[arg-type]
    )


def about(**when: object) -> Contract:
    return Contract.model_validate({"contract": "c", "version": "1", "when": when})


READ = (ToolDefinition(name="read_page"),)


@dataclass(frozen=True)
class Case:
    when: dict[str, object]
    run: Run
    scope: str


STEP = Step(span_id="1", name="check", kind="verify")
CASES = {
    "agent by name": Case({"agent": "a"}, run(agent="a"), "yes"),
    "agent by glob": Case({"agent": ["x", "a*"]}, run(agent="abc"), "yes"),
    "another agent": Case({"agent": "a"}, run(agent="b", name="a"), "no"),
    "no agent, run's own name": Case({"agent": "a"}, run(name="a"), "yes"),
    "no agent, service's name": Case({"agent": "a"}, run(service="a"), "yes"),
    "workflow": Case({"workflow": "w"}, run(workflow="w"), "yes"),
    "no workflow": Case({"workflow": "w"}, run(), "no"),
    "tag": Case({"tag": "prod"}, run(tags=("eu", "prod")), "yes"),
    "no tag": Case({"tag": "prod"}, run(), "no"),
    "step by name": Case({"step": "check"}, run(steps=(STEP,)), "yes"),
    "step by kind": Case({"step": "verify"}, run(steps=(STEP,)), "yes"),
    "no step": Case({"step": "audit"}, run(steps=(STEP,)), "no"),
    "no step in a run with a hole": Case({"step": "audit"}, run(is_complete=False), "unknown"),
    "offered": Case(
        {"offered": "read_*"}, run(chats=(ChatCall(span_id="1", offered=READ),)), "yes"
    ),
    "not offered": Case(
        {"offered": "write_*"}, run(chats=(ChatCall(span_id="1", offered=READ),)), "no"
    ),
    "offered not recorded": Case(
        {"offered": "read_*"}, run(chats=(ChatCall(span_id="1", offered=None),)), "unknown"
    ),
    "input": Case({"input_matches": r"\bclaim\b"}, run(input_text="a claim"), "yes"),
    "other input": Case({"input_matches": r"\bclaim\b"}, run(input_text="claims"), "no"),
    "input not recorded": Case({"input_matches": "x"}, run(), "unknown"),
    "all conditions": Case({"agent": "a", "tag": "prod"}, run(agent="a", tags=("prod",)), "yes"),
    "one condition fails": Case({"agent": "a", "tag": "prod"}, run(agent="a"), "no"),
    "no beats unknown": Case({"input_matches": "x", "agent": "a"}, run(agent="b"), "no"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_scope_of_a_contract(case: Case) -> None:
    contract = about(**case.when)
    assert contract.scope(case.run) == case.scope
    assert contract.applies_to(case.run) is (case.scope != "no")


def test_a_contract_without_conditions_is_about_every_run() -> None:
    assert Contract(contract="c", version="1").scope(run()) == "yes"


def test_executed_tools_may_be_handed_in() -> None:
    contract = about(executed="read_*")
    assert contract.scope(run(), executed={"read_page"}) == "yes"
    assert contract.scope(run(), executed=set()) == "no"
    unseen = run(chats=(ChatCall(span_id="1"),))
    assert contract.scope(unseen, executed=set()) == "unknown"
