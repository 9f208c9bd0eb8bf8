"""OTel messages and definitions: what we write reads back, what others write is understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
)
from spanwitness.normalize.messages import (
    decode_definitions,
    decode_instructions,
    decode_messages,
    encode_definitions,
    encode_messages,
    encode_parts,
)

FOREIGN = Path(__file__).parents[3] / "shared" / "foreign_spans"

# --- round trip

words = st.text(st.characters(), max_size=8)
names = st.text(st.characters(), min_size=1, max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | st.sampled_from(['{"a": 1}', "5", "null", "[]", " "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
texts = st.builds(TextPart, text=words)
opaques = st.builds(OpaquePart, kind=names)
media = st.builds(
    MediaPart,
    modality=st.sampled_from(["image", "document", "audio", "video", "file", "unknown"]),
    mime_type=st.none() | st.just("image/png"),
    size_bytes=st.none() | st.integers(0, 10**9),
    digest=st.none() | st.just("0123456789abcdef"),
    uri=st.none() | st.just("https://h.example/a") | st.just("file-1"),
)
calls = st.builds(
    ToolCallPart,
    name=words,
    call_id=st.none() | words,
    arguments=values,
    side=st.sampled_from(["client", "provider", "mcp", "output"]),
)
results = st.builds(
    ToolResultPart,
    call_id=st.none() | words,
    name=st.none() | words,
    parts=st.lists(texts | media | opaques, max_size=3).map(tuple),
    value=values,
    is_error=st.none() | st.booleans(),
)
thoughts = st.builds(
    ReasoningPart, text=st.none() | words, signature_digest=st.none() | st.just("0123456789abcdef")
)
refusals = st.builds(RefusalPart, text=words)
messages = st.builds(
    Message,
    role=names,
    parts=st.lists(texts | calls | results | thoughts | refusals | media | opaques, max_size=4).map(
        tuple
    ),
    finish_reason=st.none() | words,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(messages, max_size=4).map(tuple))
def test_messages_read_back_as_they_were(given_messages):
    written = encode_messages(given_messages)

    written.encode()  # always UTF-8
    assert decode_messages(written) == given_messages


definitions = st.builds(
    ToolDefinition,
    name=names,
    side=st.sampled_from(["client", "provider", "mcp", "subagent", "output"]),
    parameters=st.none() | st.booleans() | st.dictionaries(words, values, max_size=3),
    is_deferred=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(definitions, max_size=4).map(tuple))
def test_definitions_read_back_as_they_were(given_definitions):
    assert decode_definitions(encode_definitions(given_definitions)) == given_definitions


@given(st.lists(texts | opaques, max_size=3).map(tuple))
def test_instructions_read_back_as_they_were(parts):
    assert decode_instructions(encode_parts(parts)) == Message(role="system", parts=parts)


def test_the_parts_have_the_names_of_the_standard():
    written = encode_messages(
        [
            Message(
                role="assistant",
                parts=(
                    TextPart(text="a"),
                    ReasoningPart(text="b"),
                    ToolCallPart(name="f", call_id="c", arguments={"x": 1}),
                ),
                finish_reason="tool_calls",
            ),
            Message(
                role="tool",
                parts=(ToolResultPart(call_id="c", parts=(TextPart(text="r"),)),),
            ),
        ]
    )

    assert json.loads(written) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "a"},
                {"type": "reasoning", "content": "b"},
                {"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}},
            ],
            "finish_reason": "tool_calls",
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c", "response": "r"}],
        },
    ]


# --- what others write


def only_part(part):
    (message,) = decode_messages(json.dumps([{"role": "x", "parts": [part]}]))
    (found,) = message.parts
    return found


RESULTS = [
    ({"response": "3.6 V"}, (TextPart(text="3.6 V"),), None),
    ({"result": "3.6 V"}, (TextPart(text="3.6 V"),), None),
    ({"response": {"n": 1}}, (TextPart(text='{"n":1}'),), {"n": 1}),
    ({"response": [{"n": 1}]}, (TextPart(text='[{"n":1}]'),), [{"n": 1}]),
    ({"response": [{"type": "text", "text": "a"}]}, (TextPart(text="a"),), None),
    ({"response": 0}, (TextPart(text="0"),), 0),
    ({"response": ""}, (TextPart(text=""),), None),
    ({"response": None}, (), None),
    ({}, (), None),
]


@pytest.mark.parametrize(("fields", "parts", "value"), RESULTS)
def test_results_are_read_in_every_spelling(fields, parts, value):
    found = only_part({"type": "tool_call_response", "id": "c", **fields})

    assert found == ToolResultPart(call_id="c", parts=parts, value=value)


def test_an_image_in_a_foreign_result_stays_an_image():
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    found = only_part({"type": "tool_call_response", "id": "c", "response": [image, url]})

    assert [part.size_bytes for part in found.parts] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("{", "{"),
        (None, None),
    ],
)
def test_arguments_are_read_as_objects_or_strings(arguments, expected):
    found = only_part({"type": "tool_call", "id": "c", "name": "f", "arguments": arguments})

    assert found.arguments == expected


def test_tools_of_the_provider_are_marked():
    found = only_part({"type": "server_tool_call", "id": "c", "name": "f", "server_tool_call": {}})

    assert found == ToolCallPart(name="f", call_id="c", arguments={}, side="provider")


def test_a_blob_is_described_and_not_kept():
    found = only_part({"type": "blob", "modality": "image", "content": "AAAA"})

    assert (found.modality, found.size_bytes) == ("image", 3)


def test_parts_of_unknown_types_are_opaque():
    assert only_part({"type": "hologram"}) == OpaquePart(kind="hologram")
    assert only_part(7) == OpaquePart(kind="unreadable")
    assert only_part({"text": "x"}) == TextPart(text="x")


def test_messages_in_the_shape_of_a_provider_are_read():
    openai = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    }
    anthropic = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
    found = decode_messages(json.dumps([openai, anthropic]))

    assert found[0].parts == (ToolCallPart(name="f", call_id="c", arguments={}),)
    assert found[1].parts[0].call_id == "c"


def test_already_decoded_values_are_read():
    value = [{"role": "user", "parts": [{"type": "text", "content": "a"}]}]

    assert decode_messages(value) == decode_messages(json.dumps(value))
    assert decode_messages({"messages": value}) == decode_messages(value)


@pytest.mark.parametrize("value", ["[{", "5", None, 7])
def test_what_cannot_be_read_is_there_as_an_opaque_part(value):
    assert decode_messages(value) == (
        Message(role="unknown", parts=(OpaquePart(kind="unreadable"),)),
    )


def test_instructions_may_be_plain_text():
    assert decode_instructions("Be exact.").parts == (TextPart(text="Be exact."),)


DEFINITIONS = [
    {"name": "f", "parameters": {"type": "object"}},
    {"type": "function", "name": "f", "parameters": {"type": "object"}},
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    {"function": {"name": "f", "parameters": {"type": "object"}}},
    {"name": "f", "input_schema": {"type": "object"}},
    {"name": "f", "inputSchema": {"type": "object"}},
    {"function_declarations": [{"name": "f", "parameters": {"type": "object"}}]},
    '{"name": "f", "parameters": {"type": "object"}}',
]


@pytest.mark.parametrize("one", DEFINITIONS)
def test_definitions_are_read_in_every_spelling(one):
    expected = (ToolDefinition(name="f", parameters={"type": "object"}),)

    assert decode_definitions(json.dumps([one])) == expected
    assert decode_definitions([one]) == expected


def test_definitions_that_cannot_be_read_are_not_none_offered():
    assert decode_definitions("[{") is None
    assert decode_definitions(5) is None
    assert decode_definitions("[]") == ()


@settings(max_examples=100, deadline=None)
@given(values)
def test_any_json_is_read_without_an_error(value):
    decode_messages([value])
    decode_messages([{"role": value, "parts": [value, {"type": "tool_call_response", "x": value}]}])
    decode_messages([{"content": [value], "tool_calls": [value]}])
    decode_definitions([value])
    decode_instructions(value)


# --- real captures


def attributes(path):
    for line in path.read_text().splitlines():
        for resource in json.loads(line).get("resourceSpans", []):
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield {
                        pair["key"]: pair["value"].get("stringValue")
                        for pair in span.get("attributes", [])
                    }


FOLDERS = [
    "otel-genai-openai",
    "otel-google-genai",
    "openllmetry-openai",
    "openllmetry-anthropic",
    "langchain-openllmetry",
    "logfire-openai",
    "pydantic-ai",
]


@pytest.mark.skipif(not FOREIGN.exists(), reason="the shared captures are not on this machine")
@pytest.mark.parametrize("folder", FOLDERS)
def test_captures_of_other_instrumentations_are_understood(folder):
    called, answered, offered = set(), set(), set()
    for span in attributes(FOREIGN / folder / "clean.otlp.json"):
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            if span.get(key) is None:
                continue
            for message in decode_messages(span[key]):
                for part in message.parts:
                    assert not isinstance(part, OpaquePart), part
                    if isinstance(part, ToolCallPart):
                        assert isinstance(part.arguments, dict)
                        called.add((part.name, part.call_id))
                    if isinstance(part, ToolResultPart):
                        assert part.parts
                        answered.add(part.call_id)
        if span.get("gen_ai.tool.definitions") is not None:
            for tool in decode_definitions(span["gen_ai.tool.definitions"]):
                assert isinstance(tool.parameters, dict)
                offered.add(tool.name)

    assert {name for name, _ in called} == {"search_pdf", "read_page", "verify_value"}
    assert answered == {call_id for _, call_id in called}
    assert offered == {"search_pdf", "read_page", "verify_value"}
