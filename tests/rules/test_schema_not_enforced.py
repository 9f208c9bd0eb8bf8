"""The accepted reply does not satisfy the schema on its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    json_schema,
    run,
    step,
    tool,
    without_content,
)

from spanwitness.model import OutputFormat
from spanwitness.rules.facts import Facts
from spanwitness.rules.schema_not_enforced import schema_not_enforced

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run

HEIGHT: dict[str, object] = {
    "type": "object",
    "properties": {"height": {"type": "integer"}},
    "required": ["height"],
}
GEMINI: dict[str, object] = {
    "type": "OBJECT",
    "properties": {"height": {"type": "INTEGER", "nullable": True}},
    "required": ["height"],
}
JSON = OutputFormat(kind="json_object")


def reply(says: object, schema: dict[str, object] | None = HEIGHT, **fields: object) -> ChatCall:
    return chat(says, **({"format": json_schema(schema)} | fields))  # type: ignore[arg-type]


VIOLATED = {
    "wrong type": run(reply({"height": "about 330 m"})),
    "prose": run(reply("It is 330 m")),
    "empty object": run(reply({})),
    "prose around it": run(reply('Here you are: {"height": 330}')),
    "no JSON although asked": run(reply("It is 330 m", format=JSON)),
    "client's own check": run(reply({"height": "x"}, None, is_schema_satisfied=False)),
    "content off": without_content(run(reply("x", None, is_schema_satisfied=False))),
    "gemini": run(reply({"height": "330"}, GEMINI, wire="gemini")),
    "second choice": run(
        reply(
            {"height": 1},
            output_messages=(assistant('{"height": 1}'), assistant('{"height": "1"}')),
        )
    ),
    "last of a step": run(
        step("solve", span_id="s1"), reply("It is 330 m", step_span_id="s1"), chat("ok")
    ),
    "with a hole": incomplete(run(reply("It is 330 m"))),
}
HOLDS = {
    "satisfied": run(reply({"height": 330})),
    "extra keys": run(reply({"height": 330, "unit": "m"})),
    "null where allowed": run(reply({"height": None}, GEMINI, wire="gemini")),
    "JSON as asked": run(reply({"anything": 1}, format=JSON)),
    "client's own check": run(reply("-", None, is_schema_satisfied=True)),
    "commentary before the answer": run(
        reply(
            None,
            wire="openai_responses",
            text_chars=30,
            output_messages=(assistant("Let me see."), assistant('{"height": 330}')),
        )
    ),
}
NOT_APPLICABLE = {
    "no format": run(chat("It is 330 m")),
    "a call, not an answer": run(reply("Let me see.", calls=[call("read")]), tool("read")),
    "refusal": run(reply("I cannot.", has_refusal=True)),
    "cut is another rule's": run(reply('{"hei', finish_reasons=("length",))),
    "cut is another rule's, responses": run(reply('{"hei', finish_reasons=("incomplete",))),
    "empty is another rule's": run(reply(None)),
    "repeated until it fits": run(reply("It is 330 m"), chat("ok")),
    "refused by the step's parser": run(
        step("solve", span_id="s1", parser_valid=False), reply("no", step_span_id="s1"), chat("ok")
    ),
    "run failed": run(reply("It is 330 m"), status="error"),
}
NOT_ASSESSED = {
    "format not recorded": run(chat("x", format=None)),
    "schema not recorded": run(reply({"height": 1}, None)),
    "reply not recorded": without_content(run(reply({"height": 1}))),
    "reply cut by us": run(reply({"height": 1}, is_truncated=True)),
    "schema refers elsewhere": run(reply({}, {"$ref": "https://example.invalid/s.json"})),
    "no schema at all": run(reply({}, {"type": 7})),
    "pattern of another language": run(
        reply({"a": "x"}, {"properties": {"a": {"pattern": "(?<n>x)\\p{L}"}}})
    ),
    "hole": incomplete(run(reply({"height": 330}))),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_an_accepted_reply_against_its_schema_is_violated(one: Run) -> None:
    outcome = schema_not_enforced.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", None)
    assert outcome.span_ids


def test_a_code_fence_around_a_good_answer_is_a_warning() -> None:
    one = run(reply('```json\n{"height": 330}\n```'))
    outcome = schema_not_enforced.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", "warning")
    bad = run(reply('```json\n{"height": "330"}\n```'))
    assert schema_not_enforced.check(Facts(bad)).severity is None


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_a_reply_that_satisfies_its_schema_holds(one: Run) -> None:
    assert schema_not_enforced.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_APPLICABLE.values(), ids=NOT_APPLICABLE)
def test_replies_that_are_no_accepted_structured_answer_are_not_judged(one: Run) -> None:
    assert schema_not_enforced.check(Facts(one)).word == "not_applicable"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_cannot_be_checked_is_not_assessed(one: Run) -> None:
    assert schema_not_enforced.check(Facts(one)).word == "not_assessed"
