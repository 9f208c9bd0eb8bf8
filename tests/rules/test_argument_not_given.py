"""Arguments that the contract wants from the input."""

from __future__ import annotations

import pytest
from tests.rules.builders import call, chat, contract, incomplete, run, tool, without_content

from spanwitness.contracts import load
from spanwitness.errors import RuleError
from spanwitness.rules.engine import evaluate

CLAUSE = {"rule": "argument_not_given", "tool": "read_order", "argument": "order"}


def asks(**arguments: object):
    return [
        chat(calls=[call("read_order", **arguments)], offers=["read_order"]),
        tool("read_order", gives={"state": "sent", "next": "W-0000457"}, **arguments),
        chat("It was sent.", offers=["read_order"]),
    ]


def verdict(one, *clauses):
    against = contract(*(clauses or (CLAUSE,)))
    return next(v for v in evaluate(one, [against]).verdicts if v.rule == "argument_not_given")


@pytest.mark.parametrize(
    ("prompt", "order", "word"),
    [
        ("Where is W-0000456?", "W-0000456", "holds"),
        ("Where is w0000456?", "#W-0000456", "holds"),
        ("Where is my parcel?", "W-0000456", "violated"),
        ("Where are 4521 and 4522?", ["4521", "4522"], "holds"),
        ("Where is 4521?", ["4521", "4599"], "violated"),
        ("Where is 4521?", 4521, "holds"),
        ("Where is my parcel?", 4521, "violated"),
        ("Where is my parcel?", "7", "not_applicable"),
        ("Where is my parcel?", None, "not_applicable"),
    ],
)
def test_each_value_must_stand_in_what_the_model_was_given(prompt, order, word):
    assert verdict(run(*asks(order=order), prompt=prompt)).verdict == word


def test_a_value_of_an_earlier_result_was_given():
    one = run(
        *asks(order="W-0000456")[:2],
        chat(calls=[call("read_order", id="c2", order="W-0000457")], offers=["read_order"]),
        tool("read_order", id="c2", gives="lost", order="W-0000457"),
        chat("Lost.", offers=["read_order"]),
        prompt="Where is W-0000456?",
    )
    assert verdict(one).verdict == "holds"


def test_other_arguments_and_other_tools_are_not_judged():
    one = run(*asks(order="W-0000456", note="please hurry"), prompt="Where is W-0000456?")
    assert verdict(one).verdict == "holds"
    assert verdict(one, {**CLAUSE, "tool": "read_bill"}).verdict == "not_applicable"


def test_a_call_that_failed_is_not_told():
    one = run(
        chat(calls=[call("read_order", order="W-0000456")], offers=["read_order"]),
        tool("read_order", error="no such order", order="W-0000456"),
        chat("There is no such order.", offers=["read_order"]),
        prompt="Where is my parcel?",
    )
    assert verdict(one).verdict == "holds"


def test_what_is_not_recorded_is_not_assessed():
    one = run(*asks(order="W-0000456"), prompt="Where is W-0000456?")
    assert verdict(without_content(one)).verdict == "not_assessed"
    assert verdict(incomplete(one)).verdict == "not_assessed"


def test_the_reason_names_tool_and_argument_and_never_the_value():
    found = verdict(run(*asks(order="W-0000456"), prompt="Where is my parcel?"))
    assert found.reason == "order of read_order was once given a value that nothing holds."
    assert "0000456" not in str(found.evidence)
    assert (found.severity, found.fault, found.kind) == ("warning", "reasoning", "selection")


def test_an_argument_that_the_built_in_rule_tells_is_one_finding():
    one = run(*asks(order_id="W-0000456"), prompt="Where is my parcel?")
    against = contract({**CLAUSE, "argument": "order_id"})
    found = {v.rule for v in evaluate(one, [against]).findings}
    assert found & {"argument_ungrounded", "argument_not_given"} == {"argument_ungrounded"}


def test_a_clause_without_an_argument_is_an_error():
    with pytest.raises(RuleError, match="needs 'argument'"):
        load({"contract": "c", "version": "1", "expect": [{**CLAUSE, "argument": None}]})
