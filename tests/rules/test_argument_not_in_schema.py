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

LOG = offer("get_log", hours_back="integer")
NESTED = offer(
    "find", filter={"type": "object", "properties": {"a": {}}, "additionalProperties": False}
)


def defined(**parameters):
    return ToolDefinition(name="f", parameters=parameters)


def asked(definition, **arguments):
    return run(chat(calls=[call(definition.name, **arguments)], offers=[definition]))


VIOLATED = {
    # A47
    "misspelled and unknown": asked(LOG, hours=1, status_filter="failure"),
    "unknown in a closed object": asked(NESTED, filter={"b": 1}),
}
HOLDS = {
    "declared": asked(LOG, hours_back=1),
    "fewer than declared": asked(LOG),
    "the tool takes any": asked(
        defined(type="object", properties={"a": {}}, additionalProperties=True), b=1
    ),
    "patterns": asked(defined(type="object", properties={}, patternProperties={"^x": {}}), xy=1),
    "declared by reference": asked(defined(**{"$ref": "#/$defs/X", "properties": {}}), b=1),
    "no properties are listed": asked(defined(type="object"), b=1),
    "an open nested object": asked(
        offer("find", filter={"type": "object", "properties": {"a": {}}}), filter={"b": 1}
    ),
    "the tool refused it": run(
        chat(calls=[call("get_log", hours=1)], offers=[LOG]),
        tool("get_log", error="unexpected argument: hours", hours=1),
        chat("Again.", offers=[LOG]),
    ),
    "arguments that are no JSON": run(
        chat(calls=[call("get_log", arguments='{"hours_back": ')], offers=[LOG])
    ),
}
OTHERWISE = {
    "no call": (run(chat("x", offers=[LOG])), "not_applicable"),
    "content off": (without_content(asked(LOG, hours=1)), "not_assessed"),
    "schema not recorded": (asked(ToolDefinition(name="f"), hours=1), "not_assessed"),
    "a hole in the trace": (incomplete(asked(LOG, hours_back=1)), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_an_argument_that_the_tool_does_not_declare_is_told(of):
    verdict = judge("argument_not_in_schema", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == (
        "violated",
        "warning",
        "reasoning",
    )
    assert verdict.evidence["arguments"]


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_arguments_that_a_tool_may_take_are_not_told(of):
    assert judge("argument_not_in_schema", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("argument_not_in_schema", of).verdict == word
