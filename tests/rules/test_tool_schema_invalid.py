"""A tool was offered with arguments that are no object."""

from __future__ import annotations

import pytest
from tests.rules.builders import chat, incomplete, offer, run, without_content

from spanwitness.model import ToolDefinition
from spanwitness.rules.facts import Facts
from spanwitness.rules.tool_schema_invalid import tool_schema_invalid


def judge(parameters: object) -> str:
    tools = [offer("ok_tool"), ToolDefinition(name="ping", parameters=parameters)]  # type: ignore[arg-type]
    return tool_schema_invalid.check(Facts(run(chat("x", offers=tools)))).word


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": None},
        {"type": "null"},
        {"type": "array", "items": {}},
        {"type": ["string", "null"]},
        {"type": "object", "properties": []},
        True,
        False,
    ],
)
def test_a_root_that_is_no_object_is_violated(parameters: object) -> None:
    assert judge(parameters) == "violated"


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object"},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        {"type": ["object", "null"]},
        {"properties": {"a": {}}},
        {},
    ],
)
def test_objects_in_any_spelling_hold(parameters: object) -> None:
    assert judge(parameters) == "holds"


def test_the_tool_and_the_request_are_named() -> None:
    bad = ToolDefinition(name="ping", parameters={"type": "null"})
    one = run(chat("x", offers=[bad]), chat("y", offers=[bad]))
    outcome = tool_schema_invalid.check(Facts(one))
    assert outcome.evidence == {"tools": ["ping"]}
    assert outcome.span_ids == (one.chats[0].span_id,)


def test_definitions_that_are_not_recorded_are_not_assessed() -> None:
    one = run(chat("x", offers=[offer("a")]))
    assert tool_schema_invalid.check(Facts(without_content(one))).word == "not_assessed"
    assert tool_schema_invalid.check(Facts(run(chat("x", offers=None)))).word == "not_assessed"
    assert tool_schema_invalid.check(Facts(incomplete(one))).word == "not_assessed"


def test_a_run_without_tools_is_not_applicable() -> None:
    assert tool_schema_invalid.check(Facts(run(chat("x")))).word == "not_applicable"


def test_a_run_that_says_it_went_without_tools_is_an_error() -> None:
    bad = ToolDefinition(name="ping", parameters={"type": "null"})
    assert tool_schema_invalid.check(Facts(run(chat("Hi.", offers=[bad])))).severity is None
    denied = run(chat("I cannot use tools.", offers=[bad]))
    assert tool_schema_invalid.check(Facts(denied)).severity == "error"
