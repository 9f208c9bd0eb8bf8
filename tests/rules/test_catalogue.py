"""Family A of the catalogue of public reports: each recipe as a run, healthy variants beside.

The recipes go through the engine, so that what counts is the findings: unexplained violations at
`warning` or above, with their fault. `docs/catalogue.md` has the sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    choice,
    json_schema,
    listing,
    offer,
    result,
    run,
    step,
    system,
    tool,
    user,
)

from spanwitness.model import Delivery, MediaPart, ToolDefinition, Usage
from spanwitness.model.verdict import at_least
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from spanwitness.model import Run

TOTAL: dict[str, object] = {
    "type": "object",
    "properties": {"total": {"type": "number"}},
    "required": ["total"],
}
REPOSITORIES: dict[str, object] = {
    "type": "object",
    "properties": {"repositories": {"type": "array"}},
}
PDF = offer("read_pdf", page="integer")
REPOS = offer("list_repos")
FILE = offer("read_file", path="string")
LIST = offer("list_dir", path="string")
WRITE = offer("write_file", path="string")
CITY = offer("get", city="string")
MARKUP = (
    "<tool_call>\n<function=read_file>\n<parameter=path>a.txt</parameter>\n</function>\n"
    "</tool_call>"
)
LONG = "The quick brown fox jumps over the lazy dog, again and again. " * 1000


def read(gives: str, then: Any, **fields: Any) -> Run:
    """A run that reads the page and answers."""
    asks = chat(calls=[call("read_pdf", page=1)], offers=[PDF])
    return run(asks, tool("read_pdf", gives=gives, page=1), chat(then, offers=[PDF]), **fields)


def finds(one: Run) -> set[tuple[str, str]]:
    found = evaluate(one).findings
    return {(v.rule, v.fault) for v in found if at_least(v.severity, "warning")}


def delivered(one: Run, delivery: Delivery) -> Run:
    """The same run with another delivery in its last request."""
    last = msgspec.structs.replace(one.chats[-1], delivered=(delivery,))
    return msgspec.structs.replace(one, chats=(*one.chats[:-1], last))


SIDE_BY_SIDE: dict[str, Any] = {"offers": [PDF], "format": json_schema(TOTAL)}

RECIPES: dict[str, tuple[Run, set[tuple[str, str]]]] = {
    "A01 schema beside tools": (
        run(chat({"total": 41.5}, **SIDE_BY_SIDE)),
        {("output_constraint_bypass", "harness")},
    ),
    "A03 placeholders": (
        run(
            chat(
                {"repositories": [{"name": "my_repo_1"}, {"name": "my_repo_2"}]},
                offers=[REPOS],
                format=json_schema(REPOSITORIES),
            )
        ),
        {("output_constraint_bypass", "harness")},
    ),
    "A03 empty list": (
        run(chat({"repositories": []}, offers=[REPOS], format=json_schema(REPOSITORIES))),
        {("output_constraint_bypass", "harness")},
    ),
    "A03 empty object": (
        run(chat({}, offers=[REPOS], format=json_schema(REPOSITORIES))),
        {("output_constraint_bypass", "harness")},
    ),
    "A08 wrong type": (
        run(chat({"total": "about 330"}, format=json_schema(TOTAL))),
        {("schema_not_enforced", "harness")},
    ),
    "A08 prose": (
        run(chat("It is 330", format=json_schema(TOTAL))),
        {("schema_not_enforced", "harness")},
    ),
    "A09 call in text": (
        run(chat(MARKUP, offers=[FILE], calls=[call("read_file", source="text", path="a.txt")])),
        {("call_in_text", "harness")},
    ),
    "A13 one of two calls": (
        run(
            chat(
                calls=[call("get", id="1", city="A"), call("get", id="2", city="B")], offers=[CITY]
            ),
            tool("get", gives="10C", id="2", city="B"),
            chat("Done.", offers=[CITY]),
        ),
        {("call_not_executed", "harness")},
    ),
    "A17 required": (
        run(chat("My name is..", offers=[CITY], choice=choice("required"))),
        {("tool_choice_ignored", "harness")},
    ),
    "A17 promised": (
        run(chat("Sure.", finish_reasons=("tool_calls",), offers=[CITY])),
        {("finish_reason_contradiction", "harness")},
    ),
    "A17 promised, and empty": (
        run(chat("", finish_reasons=("tool_calls",), offers=[CITY])),
        {("finish_reason_contradiction", "harness")},
    ),
    "A17 none": (
        run(
            chat(calls=[call("get", city="A")], offers=[CITY], choice=choice("none")),
            tool("get", gives="10C", city="A"),
            chat("It is cold.", offers=[CITY], choice=choice("none")),
        ),
        {("tool_choice_ignored", "harness")},
    ),
    "A19 relabelled cut": (
        run(
            chat(
                calls=[call("write_file", path="a", text="abc")],
                offers=[offer("write_file", path="string", text="string")],
                max_tokens=64,
                usage=Usage(input_tokens=10, output_tokens=64),
            ),
            tool("write_file", gives="ok", path="a", text="abc"),
            chat("Written."),
        ),
        {("truncated_output", "harness")},
    ),
    "A21 budget spent thinking": (
        run(
            chat("", finish_reasons=("length",), usage=Usage(input_tokens=630, output_tokens=32000))
        ),
        {("empty_output", "harness")},
    ),
    "A22 malformed": (
        run(chat("", finish_reasons=("MALFORMED_FUNCTION_CALL",), wire="gemini")),
        {("finish_reason_contradiction", "harness")},
    ),
    "A22 unknown word": (
        run(chat("Hm.", finish_reasons=("NEW_REASON_X",), wire="gemini")),
        {("finish_reason_contradiction", "harness")},
    ),
    "A23 thoughts only": (
        run(chat("", thinks="..", finish_reasons=("MAX_TOKENS",), wire="gemini")),
        {("empty_output", "harness")},
    ),
    "A24 image lost": (
        delivered(
            read("screenshot taken", "The chart shows growth."),
            Delivery(
                call_id="call_read_pdf",
                state="altered",
                part_types=("text",),
                returned_part_types=("text", "image"),
            ),
        ),
        {("content_part_lost", "harness")},
    ),
    "A26 image as text": (
        delivered(
            read("an image", "I see a long code string."),
            Delivery(
                call_id="call_read_pdf",
                state="altered",
                part_types=("text",),
                returned_part_types=("image",),
                has_binary_text=True,
            ),
        ),
        {("content_part_lost", "harness")},
    ),
    "A27 prompt cut": (
        run(
            chat(
                "How can I help?",
                given=[system(LONG), user("Go.")],
                request_bytes=62_100,
                usage=Usage(input_tokens=2051, output_tokens=20),
            )
        ),
        {("prompt_truncated", "harness")},
    ),
    "A30 discovery failed": (
        run(
            listing(error="HTTPStatusError", server="records"),
            chat('[Checking records...] The tool returned: {"status": "active"}'),
        ),
        {("discovery_failed", "harness")},
    ),
    "A34 own observation": (
        run(
            chat(
                'Action: multiply\nAction Input: {"a": 2123, "b": 210512}\n'
                "Observation: 467891963859\nAnswer: 467891963859"
            )
        ),
        {("fabricated_observation", "reasoning")},
    ),
    "A36 MCP error": (
        run(
            chat(calls=[call("read_file", path="a")], offers=[FILE]),
            tool("read_file", error="file not found", path="a", fields={"side": "mcp"}),
            chat("File read.", offers=[FILE]),
        ),
        {("tool_error_swallowed", "reasoning")},
    ),
    "A40 cap, constant sentence": (
        run(
            chat(calls=[call("get", city="A")], offers=[CITY]),
            tool("get", gives="10C", city="A"),
            max_turns=1,
            turns=1,
            final_text="Agent stopped due to iteration limit or time limit.",
        ),
        {("cap_reached", "harness")},
    ),
    "A42 stopped sub-agent": (
        run(
            chat(calls=[call("get", city="A")], offers=[CITY]),
            tool("get", gives="10C", city="A"),
            termination="max_turns",
            final_text=None,
            has_final=False,
        ),
        {("cap_reached", "harness")},
    ),
    "A43 cached across a write": (
        run(
            chat(calls=[call("list_dir", id="1", path="x")], offers=[LIST, WRITE]),
            tool("list_dir", gives="nothing there", id="1", path="x"),
            chat(calls=[call("write_file", id="2", path="x/a")], offers=[LIST, WRITE]),
            tool("write_file", gives="ok", id="2", path="x/a", fields={"effect": "write"}),
            chat(calls=[call("list_dir", id="3", path="x")], offers=[LIST, WRITE]),
            tool("list_dir", gives="nothing there", id="3", path="x", fields={"outcome": "cached"}),
            chat("The directory lists nothing new.", offers=[LIST, WRITE]),
        ),
        {("served_from_cache", "harness")},
    ),
    "A45 substituted": (
        run(chat("ok", request_model="gpt-x", response_model="other-9")),
        {("model_substituted", "harness")},
    ),
    "A47 misspelt argument": (
        run(
            chat(
                calls=[call("get_log", hours=1, status_filter="failure")],
                offers=[
                    ToolDefinition(
                        name="get_log",
                        parameters={
                            "type": "object",
                            "properties": {"hours_back": {"type": "integer"}},
                        },
                    )
                ],
            ),
            tool("get_log", gives="no failures", arguments={}),
            chat("Nothing to report."),
        ),
        {("argument_not_in_schema", "reasoning")},
    ),
    "A51 one name twice": (
        run(
            listing("send_email", server="a"),
            listing("send_email", server="b"),
            chat("Hello.", offers=["send_email"]),
        ),
        {("tool_name_collision", "harness")},
    ),
    "A52 judge without a verdict": (
        run(step("judge", "verify", declares_verdict=True), chat("All good.")),
        {("verdict_missing", "harness")},
    ),
    "A57 null schema": (
        run(
            chat(
                "I cannot use tools.",
                offers=[offer("ok"), ToolDefinition(name="ping", parameters={"type": None})],
            )
        ),
        {("tool_schema_invalid", "harness")},
    ),
    "A58 compacted away": (
        run(
            chat(calls=[call("read_pdf", page=1)], offers=[PDF]),
            tool("read_pdf", gives="The maximum is 417 mA.", page=1),
            chat(calls=[call("get", city="A")], offers=[PDF, CITY]),
            tool("get", gives="10C", city="A"),
            chat(
                "It is 417 mA.",
                given=[user("Go on."), result("10C", id="call_get")],
                offers=[PDF, CITY],
            ),
        ),
        {("evidence_out_of_window", "harness")},
    ),
    "A59 silence as a negative": (
        run(
            chat(calls=[call("search_log", q="x")], offers=[offer("search_log", q="string")]),
            tool("search_log", gives="", q="x"),
            chat("There is no relevant activity: 0 of 14 hosts are affected."),
        ),
        {("empty_result_answered", "reasoning")},
    ),
    "A60 falsy result replaced": (
        delivered(
            read("{}", "Completed."),
            Delivery(call_id="call_read_pdf", state="altered", part_types=("text",)),
        ),
        {("result_altered", "harness")},
    ),
}

HEALTHY: dict[str, Run] = {
    "A01": read("37.2", '{"total": 37.2}'),
    "A03": run(
        chat(calls=[call("list_repos")], offers=[REPOS], format=json_schema(REPOSITORIES)),
        tool("list_repos", gives={"repositories": ["one"]}),
        chat({"repositories": ["one"]}, offers=[REPOS], format=json_schema(REPOSITORIES)),
    ),
    "A06 refused loudly": run(
        chat(None, **SIDE_BY_SIDE, error_type="BadRequestError", finish_reasons=None),
        status="error",
        error_type="BadRequestError",
    ),
    "A08": run(chat({"total": 330}, format=json_schema(TOTAL), given=[user("It is 330.")])),
    "A12 prose about calls": run(
        chat(
            thinks="some models use <function=...>, others <tool_call>",
            calls=[call("get", city="A")],
            offers=[CITY],
        ),
        tool("get", gives="10C", city="A"),
        chat("It is 10C.", offers=[CITY]),
    ),
    "A13": run(
        chat(calls=[call("get", id="1", city="A"), call("get", id="2", city="B")], offers=[CITY]),
        tool("get", gives="10C", id="1", city="A"),
        tool("get", gives="12C", id="2", city="B"),
        chat("10C and 12C.", offers=[CITY]),
    ),
    "A17": run(
        chat(calls=[call("get", city="A")], offers=[CITY], choice=choice("required")),
        tool("get", gives="10C", city="A"),
        chat("It is 10C.", offers=[CITY]),
    ),
    "A21": run(chat("Done.", finish_reasons=("stop",), thinks="..")),
    "A22 retried": run(
        chat("", finish_reasons=("MALFORMED_FUNCTION_CALL",), wire="gemini"),
        chat("Hello.", finish_reasons=("STOP",), wire="gemini"),
    ),
    "A24": delivered(
        read("a picture", "The chart shows growth."),
        Delivery(
            call_id="call_read_pdf",
            state="whole",
            part_types=("text", "image"),
            returned_part_types=("text", "image"),
        ),
    ),
    "A27": run(
        chat(
            "How can I help?",
            given=[system(LONG), user("Go.")],
            request_bytes=62_100,
            usage=Usage(input_tokens=14_900, output_tokens=20),
        )
    ),
    "A30": run(
        listing("get_status", server="records"),
        chat(calls=[call("get_status", side="client")], offers=["get_status"]),
        tool("get_status", gives="active"),
        chat("The status is active.", offers=["get_status"]),
    ),
    "A36 told": run(
        chat(calls=[call("read_file", path="a")], offers=[FILE]),
        tool("read_file", error="file not found", path="a", fields={"side": "mcp"}),
        chat("I could not read the file: it was not found.", offers=[FILE]),
    ),
    "A40 on its last turn": read("37.2", "37.2", max_turns=2, turns=2),
    "A45": run(chat("ok", request_model="gpt-x", response_model="gpt-x-2026-01-01")),
    "A51": run(
        listing("send_email", server="a"),
        listing("read", server="b"),
        chat("Hello.", offers=["send_email", "read"]),
    ),
    "A52": run(step("judge", "verify", declares_verdict=True, verdict=False), chat("Rejected.")),
    "A58 copy carried": run(
        chat(calls=[call("read_pdf", page=1)], offers=[PDF]),
        tool("read_pdf", gives="The maximum is 417 mA.", page=1),
        chat(
            "It is 417 mA.",
            given=[user("Go on."), assistant("So far: the maximum is 417 mA.")],
            offers=[PDF],
        ),
        compacted=True,
    ),
    "image in the question": run(
        chat("A cat.", given=[user("What is this?", MediaPart(modality="image"))])
    ),
}


@pytest.mark.parametrize(("one", "expected"), RECIPES.values(), ids=RECIPES)
def test_a_recipe_gives_exactly_its_finding(one: Run, expected: set[tuple[str, str]]) -> None:
    assert finds(one) == expected


@pytest.mark.parametrize("one", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_variant_gives_none(one: Run) -> None:
    assert finds(one) == set()
