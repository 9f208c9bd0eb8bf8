from __future__ import annotations

import pytest
from tests.rules.builders import (
    call,
    chat,
    choice,
    contract,
    incomplete,
    json_schema,
    judge,
    offer,
    run,
    tool,
    without_content,
)

from spanwitness.rules.engine import evaluate

READ = offer("read_pdf", page="integer")
SCHEMA = offer("Invoice", side="output", total="number")
NAVIGATES = contract({"rule": "required_tool_missing", "tool": "read_pdf"})
FORCED = choice("named", "Invoice")


def posed(name="Invoice", *, offers=(READ, SCHEMA), total=41.5, fields=None, **chat_fields):
    reply = chat(calls=[call(name, total=total)], offers=offers, **chat_fields)
    return run(reply, **(fields or {}))


VIOLATED = {
    "by its side": posed(),
    "by force": posed(offers=[READ, offer("Invoice")], choice=FORCED),
    "by the format's name": posed(
        offers=[READ, offer("Invoice")], format=json_schema(name="Invoice")
    ),
    # A05: the schema replaced the tools of the agent
    "in place of configured tools": posed(
        offers=[offer("Invoice")], choice=FORCED, fields={"configured": ("read_pdf",)}
    ),
}
HOLDS = {
    "the tools were used before": run(
        chat(calls=[call("read_pdf", page=1)], offers=[READ, SCHEMA]),
        tool("read_pdf", gives="total 41.5", page=1),
        chat(calls=[call("Invoice", total=41.5)], offers=[READ, SCHEMA]),
    ),
    "the value stands in the question, nothing was due": run(
        chat(calls=[call("Invoice", total=41.5)], offers=[READ, SCHEMA]), prompt="Total: 41.5 EUR"
    ),
}
OTHERWISE = {
    "extraction without evidence tools": (posed(offers=[SCHEMA]), "not_applicable"),
    "no output tool": (
        run(chat(calls=[call("read_pdf", page=1)], offers=[READ]), tool("read_pdf", gives="x")),
        "not_applicable",
    ),
    "calls not recorded": (run(chat("x", offers=[READ, SCHEMA], requested=None)), "not_assessed"),
    "content off and nothing made due": (without_content(posed()), "not_assessed"),
    "a hole in the trace": (incomplete(posed()), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_schema_that_is_the_only_call_is_told_where_tools_were_due(of):
    verdict = judge("schema_posing_as_tool", of, NAVIGATES)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert verdict.evidence["output_tool"] == "Invoice"


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_structured_answers_of_healthy_runs_are_not_told(of):
    assert judge("schema_posing_as_tool", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("schema_posing_as_tool", of).verdict == word


def test_a_forced_schema_with_values_from_nowhere_is_a_warning_and_a_chosen_one_a_remark():
    forced = posed(offers=[READ, offer("Invoice")], choice=FORCED)
    assert judge("schema_posing_as_tool", forced).severity == "warning"
    assert judge("schema_posing_as_tool", posed()).severity == "info"


def test_it_explains_that_no_tool_was_used():
    evaluation = evaluate(posed(), [NAVIGATES])
    told = {v.rule: v.explained_by for v in evaluation.verdicts if v.verdict == "violated"}
    assert told["tool_bypass"] == "schema_posing_as_tool"
    assert told["schema_posing_as_tool"] is None


def test_replaced_tools_are_the_cause_of_the_posing_schema():
    told = {
        v.rule: v.explained_by
        for v in evaluate(VIOLATED["in place of configured tools"], [NAVIGATES]).verdicts
        if v.verdict == "violated"
    }
    assert told["tools_withheld"] is None
    assert told["schema_posing_as_tool"] == "tools_withheld"
