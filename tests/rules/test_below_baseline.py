"""A run against clean runs of its own stack."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.rules.builders import chat, contract, incomplete, judge, run, tool

from spanwitness.contracts import Contract, load
from spanwitness.contracts.baseline import Baseline, load_baseline
from spanwitness.errors import RuleError
from spanwitness.rules.engine import evaluate

ENTRY = {
    "agent": "agent",
    "stack": "s1",
    "n_runs": 100,
    "n_with_tools": 99,
    "tools": {"open": 99, "read": 95, "check": 94},
    "executions": {"0": 1, "2": 4, "3": 95},
}
FILE = {"schema": "spanwitness.baseline/1", "stacks": [ENTRY]}


def held(*expect: dict[str, object], **entry: object) -> Contract:
    file = {**FILE, "stacks": [{**ENTRY, **entry}]}
    return contract(*(expect or ({"rule": "below_baseline"},)), baseline=file)


def of(*names: str, **fields: object):
    tools = [tool(name, id=f"c{n}", gives="x") for n, name in enumerate(names)]
    own = {"stack": "s1"} | fields
    return run(chat("ok", offers=["open"]), *tools, chat("done", offers=["open"]), **own)


def word(one, against: Contract) -> str:
    found = [v for v in evaluate(one, [against]).verdicts if v.contract is not None]
    assert [v.rule for v in found] == ["below_baseline"]
    return found[0].verdict


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (("open", "read", "check"), "holds"),
        (("open", "read"), "holds"),
        (("open", "check"), "violated"),
        (("read", "check"), "violated"),
        ((), "violated"),
    ],
)
def test_a_tool_that_95_percent_of_clean_runs_used_is_due(names, verdict):
    assert word(of(*names), held()) == verdict


def test_fewer_executions_than_all_but_one_percent_of_clean_runs_are_too_few():
    few = held(tools={"open": 99}, executions={"0": 1, "2": 4, "3": 95})
    assert word(of("open"), few) == "violated"
    assert word(of("open", "open"), few) == "holds"


def test_a_clause_that_names_a_tool_judges_that_tool_alone():
    only_read = held({"rule": "below_baseline", "tool": "read"})
    assert word(of("read"), only_read) == "holds"
    assert word(of("open"), only_read) == "violated"


@pytest.mark.parametrize(
    ("fields", "entry"),
    [
        ({"stack": "s2"}, {}),
        ({"stack": None}, {}),
        ({"agent": "other"}, {}),
        ({}, {"n_runs": 19, "n_with_tools": 19, "tools": {"open": 19}, "executions": {"3": 19}}),
    ],
)
def test_a_run_of_another_stack_and_a_small_baseline_are_not_assessed(fields, entry):
    assert word(of("check", **fields), held(**entry)) == "not_assessed"


def test_a_trace_with_a_hole_is_not_assessed_where_a_tool_is_missing():
    assert word(incomplete(of("open")), held()) == "not_assessed"
    assert word(incomplete(of("open", "read")), held()) == "holds"


def test_a_run_that_ended_in_an_error_is_not_held_against_clean_ones():
    assert word(of("open", error_type="TimeoutError", status="error"), held()) == "not_applicable"


def test_a_failed_execution_is_no_use():
    one = run(
        chat("ok", offers=["open"]), tool("open", id="c1", error="boom"),
        tool("read", id="c2", gives="x"), chat("done", offers=["open"]), stack="s1",
    )  # fmt: skip
    assert word(one, held()) == "violated"


def test_the_reason_names_the_tools_and_how_many_clean_runs_used_them():
    verdict = next(v for v in evaluate(of("open"), [held()]).verdicts if v.contract)
    assert verdict.reason == "Not executed, though clean runs of this stack did: read (95 of 100)."
    assert verdict.evidence["tools"] == ["read"]


def test_tools_are_due_where_clean_runs_of_the_stack_used_them():
    silent = run(chat("The limit is 42 mA.", offers=["open"]), stack="s1")
    assert judge("tool_bypass", silent).severity == "info"
    due = judge("tool_bypass", silent, held({"rule": "forbidden_tool", "tool": "web"}))
    assert (due.verdict, due.severity) == ("violated", "error")
    assert "99 of 100 clean runs of this stack used them" in due.reason
    other = msgspec.structs.replace(silent, stack="s2")
    assert judge("tool_bypass", other, held()).severity == "info"


def test_a_file_is_read_relative_to_the_contract(tmp_path):
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "baseline.json").write_text(json.dumps(FILE))
    file = folder / "c.yaml"
    file.write_text(
        "contract: c\nversion: '1'\nbaseline: baseline.json\nexpect: [{rule: below_baseline}]\n"
    )
    loaded = load(file)
    assert loaded.baseline == Baseline.model_validate(FILE)
    assert load(loaded.as_json()) == loaded


def test_a_baseline_comes_back_from_its_own_text(tmp_path):
    file = tmp_path / "b.json"
    file.write_text(Baseline.model_validate(FILE).as_text())
    assert load_baseline(file) == Baseline.model_validate(FILE)
    assert json.loads(file.read_text())["schema"] == "spanwitness.baseline/1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ('{"schema": "other/1"}', "schema"),
        ('{"stacks": [{"stack": "s"}]}', r"stacks\.0\.n_runs"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_baseline_is_an_error_that_names_it(tmp_path, text, said):
    file = tmp_path / "b.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(RuleError, match=said) as caught:
        load({"contract": "c", "version": "1", "baseline": str(file)})
    assert "b.json" in str(caught.value)


def test_a_clause_without_a_baseline_is_an_error():
    with pytest.raises(RuleError, match="needs the contract's 'baseline'"):
        load({"contract": "c", "version": "1", "expect": [{"rule": "below_baseline"}]})
