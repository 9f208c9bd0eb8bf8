from __future__ import annotations

import pytest
from tests.rules.builders import (
    call,
    chat,
    incomplete,
    judge,
    offer,
    run,
    tool,
    without_content,
)

from spanwitness.model import ToolDefinition

FIND = offer("find_item", product="string", item="string")
COUNT = offer("count_items", page={"type": "integer"}, ids={"type": "array"})


def asked(definition=FIND, *, error=None, gives=None, then=(), **arguments):
    return run(
        chat(calls=[call(definition.name, id="1", **arguments)], offers=[definition]),
        tool(definition.name, id="1", error=error, gives=gives, **arguments),
        *then,
        chat("That did not work.", offers=[definition]),
    )


RETRY = (
    chat(calls=[call("find_item", id="2", product="7", item="9")], offers=[FIND]),
    tool("find_item", id="2", gives="a kettle", product="7", item="9"),
)
VIOLATED = {
    "a required argument is missing": asked(product="7", error="item is required"),
    "a number for a text": asked(product=0, item="9", error="product must be a string"),
    "refused in the text of the result": asked(product="7", gives="Error: item is required"),
    "an object for a number": asked(COUNT, page={"n": 1}, ids=[1], error="bad page"),
    "never executed": run(
        chat(calls=[call("find_item", id="1", product="7")], offers=[FIND]),
        chat("It is a kettle.", offers=[FIND]),
    ),
}
HOLDS = {
    "all that is required": asked(product="7", item="9", gives="a kettle"),
    "refused for another reason": asked(product="7", item="9", error="no such product"),
    "the tool took it all the same": asked(product="7", gives="a kettle"),
    "a retry that was right": asked(product="7", error="item is required", then=RETRY),
    "a text that spells a number": asked(COUNT, page="3", ids="[1]", error="no such page"),
    "null for what is optional": asked(
        offer("find_item", product="string"), product="7", item=None, error="gone"
    ),
    "nothing is declared": asked(
        ToolDefinition(name="find_item", parameters={"type": "object"}), product=7, error="gone"
    ),
}
OTHERWISE = {
    "no call": (run(chat("x", offers=[FIND])), "not_applicable"),
    "content off": (without_content(asked(product="7", error="x")), "not_assessed"),
    "schema not recorded": (
        asked(ToolDefinition(name="find_item"), product="7", error="x"),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(asked(product="7", item="9", gives="x")), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_call_that_its_tool_could_not_take_is_told(of):
    verdict = judge("argument_invalid", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == (
        "violated",
        "warning",
        "reasoning",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_a_call_that_was_taken_made_up_for_or_well_formed_is_not_told(of):
    assert judge("argument_invalid", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("argument_invalid", of).verdict == word


def test_the_reason_names_what_is_missing_and_no_value():
    verdict = judge("argument_invalid", asked(product="secret", error="item is required"))
    assert "item" in verdict.reason
    assert "secret" not in verdict.reason
