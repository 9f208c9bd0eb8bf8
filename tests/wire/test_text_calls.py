"""Calls that came out as text, and text that only talks about calls."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwitness.model import ToolDefinition
from spanwitness.wire.text_calls import find_calls

READ_FILE = ToolDefinition(
    name="read_file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
PING = ToolDefinition(name="ping", parameters={"type": "object", "properties": {}})
TOOLS = (READ_FILE, PING)
PATH = '{"path": "a.txt"}'
BARE = '{"name": "read_file", "arguments": {"path": "a.txt"}}'


def deepseek(call):
    """Write the markers of DeepSeek, with their full-width bars and low blocks."""
    call = call.replace("{sep}", "<|tool_sep|>")
    written = f"<|tool_call_begin|>{call}<|tool_call_end|>".replace("_", "\u2581")
    return written.replace("|", "\uff5c").replace("read\u2581file", "read_file")


CALLS = {
    "hermes xml": "<tool_call>\n<function=read_file>\n<parameter=path>a.txt</parameter>\n"
    "</function>\n</tool_call>",
    "hermes json": f"<tool_call>{BARE}</tool_call>",
    "hermes json unclosed": f"<tool_call>\n{BARE}",
    "with words before": f"Let me look at it.\n<tool_call>\n{BARE}\n</tool_call>",
    "with words before on the line": f"Let me look. <tool_call>{BARE}</tool_call>",
    "bare": BARE,
    "bare parameters": '{"name": "read_file", "parameters": {"path": "a.txt"}}',
    "bare string arguments": json.dumps({"name": "read_file", "arguments": PATH}),
    "bare openai": json.dumps(
        {"tool_calls": [{"function": {"name": "read_file", "arguments": PATH}}]}
    ),
    "bare list": f"[{BARE}]",
    "minimax brackets": f"[TOOL_CALL]\n{BARE}\n[/TOOL_CALL]",
    "minimax xml": '<minimax:tool_call>\n<invoke name="read_file">\n'
    '<parameter name="path">a.txt</parameter>\n</invoke>\n</minimax:tool_call>',
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    f"<|tool_call_argument_begin|>{PATH}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi without markers": f"functions.read_file:0 {PATH}",
    "fence": f"```json\n{BARE}\n```",
    "llama": f"<|python_tag|>{BARE}",
    "mistral list": f"[TOOL_CALLS][{BARE}]",
    "mistral name": f"[TOOL_CALLS]read_file[ARGS]{PATH}",
    "mistral name and json": f"[TOOL_CALLS]read_file{PATH}",
    "deepseek": deepseek(f"function{{sep}}read_file\n```json\n{PATH}\n```"),
    "deepseek 3.1": deepseek(f"read_file{{sep}}{PATH}"),
    "glm": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n"
    "</tool_call>",
    "harmony": "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
    f"{PATH}<|call|>",
    "function with json": f"<function=read_file>{PATH}</function>",
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_in_markup_is_found_with_its_arguments(text):
    found = find_calls(text, TOOLS, source="text")

    assert [(call.name, call.arguments) for call in found] == [("read_file", {"path": "a.txt"})]
    assert found[0].source == "text"
    assert found[0].call_id is None


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_of_a_tool_that_was_not_offered_is_no_call(text):
    assert find_calls(text, (PING,), source="text") == ()


PROSE = {
    "A12": "some models use <function=...>, others <tool_call>",
    "A12 with an offered name": "some models use <function=read_file>, others <tool_call>; I call.",
    "quoted": f'It would print "<tool_call>{BARE}</tool_call>" and stop.',
    "inline code": f"Write `<tool_call>{BARE}</tool_call>` to read a file.",
    "fenced example": f"A call of read_file looks so:\n```json\n{BARE}\n```\nThe server lifts it.",
    "example": f"For example:\n<tool_call>{BARE}</tool_call>\nand then the result comes.",
    "in a sentence": f"The markup <tool_call>{BARE}</tool_call> names the tool.",
    "quoted line": f"> <tool_call>{BARE}</tool_call>",
    "required argument missing": '<tool_call>{"name": "read_file", "arguments": {}}</tool_call>',
    "arguments are no object": '<tool_call>{"name": "read_file", "arguments": [1]}</tool_call>',
    "broken json": '<tool_call>{"name": "read_file", "arguments": {"path": "a</tool_call>',
    "an answer that names the tool": '{"summary": "read_file gave 3 rows", "rows": 3}',
    "plain": "I used read_file on a.txt and found nothing.",
    "two fences": f"```json\n{BARE}\n```\nor\n```json\n{BARE}\n```",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_text_about_calls_is_no_call(text):
    assert find_calls(text, TOOLS, source="text") == ()


def test_a_call_without_arguments_needs_none():
    text = "<tool_call>\n<function=ping>\n</function>\n</tool_call>"

    assert [(c.name, c.arguments) for c in find_calls(text, TOOLS)] == [("ping", {})]


def test_several_calls_are_found_in_order():
    second = BARE.replace("a.txt", "b.txt")
    text = f"<tool_call>{BARE}</tool_call>\n<tool_call>{second}</tool_call>"

    found = find_calls(text, TOOLS, source="reasoning")

    assert [call.arguments for call in found] == [{"path": "a.txt"}, {"path": "b.txt"}]
    assert {call.source for call in found} == {"reasoning"}


def test_parameters_of_markup_take_the_type_of_the_schema():
    text = (
        "<function=read_file><parameter=path>7</parameter>"
        "<parameter=limit>12</parameter></function>"
    )

    assert find_calls(text, TOOLS)[0].arguments == {"path": "7", "limit": 12}


def test_raw_line_breaks_in_arguments_are_accepted():
    text = '<tool_call>{"name": "read_file", "arguments": {"path": "a\nb"}}</tool_call>'

    assert find_calls(text, TOOLS)[0].arguments == {"path": "a\nb"}


def test_a_quoted_example_does_not_hide_the_call_that_follows():
    text = f"The form is `<tool_call>{BARE}</tool_call>`, so:\n<tool_call>{BARE}</tool_call>"

    assert len(find_calls(text, TOOLS)) == 1


HOSTILE = {
    "openers": "<tool_call>" * 40_000,
    "open json": '<tool_call>{"name": "read_file", "arguments": {"path": "' * 8_000,
    "nested": '{"name":\n' * 50_000 + '"read_file"',
    "deep": "<tool_call>" + "[" * 400_000 + "read_file",
    "spaces": "read_file <tool_call>" + " " * 400_000 + "x",
    "parameters": "<function=read_file>" + "<parameter=path>" * 20_000,
    "functions": "<function=read_file>x" * 20_000,
    "fences": "```\n" * 100_000 + "read_file",
    "pairs": "<tool_call>read_file" + "<arg_key>k</arg_key><arg_value>" * 10_000,
    "angle": "read_file" + "<" * 400_000,
    "spaces then lines": ("read_file" + " " * 100 + "\n") * 4_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_does_not_take_quadratic_time(text):
    start = time.thread_time()
    find_calls(f"{text} read_file", TOOLS)

    # Linear: milliseconds. Quadratic in these lengths: minutes.
    assert time.thread_time() - start < 3


@given(st.text(alphabet="<>[]{}\"'`:,\n =/|_toolcalreadfiepathmnrgus", max_size=300))
def test_any_text_is_read_without_an_error(text):
    find_calls(f"{text} read_file", TOOLS)
