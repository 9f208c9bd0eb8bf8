"""MCP listings and results, as the SDK's own types write them."""

from __future__ import annotations

import pytest
from mcp import types

from spanwitness.model import MediaPart, OpaquePart, TextPart, ToolDefinition
from spanwitness.wire.mcp import read_listing, read_result, text_of

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def tool(**hints):
    annotations = types.ToolAnnotations(**hints) if hints else None
    return types.Tool(name="ask", input_schema=SCHEMA, annotations=annotations)


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_listing_of_the_sdk_is_read(by_alias, is_wrapped):
    listing = types.ListToolsResult(tools=[tool(read_only_hint=True)], next_cursor="n")
    value = listing.model_dump(mode="json", by_alias=by_alias, exclude_none=True)
    if is_wrapped:
        value = {"jsonrpc": "2.0", "id": 1, "result": value}
    read = read_listing(value)

    (found,) = read.tools
    assert found.definition == ToolDefinition(name="ask", side="mcp", parameters=SCHEMA)
    assert found.effect == "read"
    assert read.next_cursor == "n"
    assert read.error_type is None


HINTS = [
    ({}, None),
    ({"read_only_hint": True}, "read"),
    ({"read_only_hint": False}, "write"),
    ({"destructive_hint": True}, "write"),
    ({"destructive_hint": False}, None),
    ({"read_only_hint": True, "destructive_hint": True}, "read"),
    ({"read_only_hint": False, "destructive_hint": False}, "write"),
    ({"idempotent_hint": True}, None),
]


@pytest.mark.parametrize(("hints", "effect"), HINTS)
def test_the_hints_say_whether_a_tool_reads_or_writes(hints, effect):
    listing = types.ListToolsResult(tools=[tool(**hints)])

    assert read_listing(listing.model_dump(by_alias=True)).tools[0].effect == effect


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "secret"}}, "-32601"),
        ({"error": "secret"}, "error"),
        ({}, "unexpected_body"),
        (None, "unexpected_body"),
        ({"tools": "x"}, "unexpected_body"),
    ],
)
def test_a_listing_that_failed_lists_unknown_tools(value, expected):
    read = read_listing(value)

    assert read.tools is None
    assert read.error_type == expected


def test_an_empty_listing_is_no_failure():
    assert read_listing({"tools": []}).tools == ()


def test_a_result_of_the_sdk_is_read_part_by_part():
    result = types.CallToolResult(
        content=[
            types.TextContent(type="text", text="shot"),
            types.ImageContent(type="image", data="AAAA", mime_type="image/png"),
            types.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
            types.EmbeddedResource(
                type="resource",
                resource=types.TextResourceContents(uri="file:///a.txt", text="inside"),
            ),
            types.EmbeddedResource(
                type="resource",
                resource=types.BlobResourceContents(
                    uri="file:///a.pdf", blob="AAAA", mime_type="application/pdf"
                ),
            ),
            types.ResourceLink(
                type="resource_link", name="l", uri="https://h.example/a?k=1", size=7
            ),
        ],
        structured_content={"n": 1},
        is_error=False,
    )
    read = read_result(result.model_dump(mode="json", by_alias=True))

    assert read.parts[0] == TextPart(text="shot")
    assert [type(p) for p in read.parts] == [
        TextPart,
        MediaPart,
        MediaPart,
        TextPart,
        MediaPart,
        MediaPart,
    ]
    assert (read.parts[1].modality, read.parts[1].size_bytes) == ("image", 3)
    assert read.parts[4].modality == "document"
    assert (read.parts[5].uri, read.parts[5].size_bytes) == ("https://h.example/a", 7)
    assert read.structured == {"n": 1}
    assert (read.is_error, read.is_empty) == (False, False)
    assert text_of(read) == "shot\ninside"


@pytest.mark.parametrize("by_alias", [True, False])
def test_a_result_that_says_it_is_an_error_is_one(by_alias):
    result = types.CallToolResult(
        content=[types.TextContent(type="text", text="file not found")], is_error=True
    )
    read = read_result(result.model_dump(mode="json", by_alias=by_alias))

    assert read.is_error is True
    assert read.error_type is None


@pytest.mark.parametrize(
    ("value", "is_empty"),
    [
        ({"content": []}, True),
        ({"content": [{"type": "text", "text": " \n"}]}, True),
        ({"content": [], "structuredContent": {}}, True),
        ({"content": [], "structuredContent": {"result": []}}, True),
        ({"content": [], "structuredContent": {"result": 0}}, False),
        ({"content": [{"type": "text", "text": "0"}]}, False),
        ({"content": [{"type": "image", "data": "AAAA"}]}, False),
    ],
)
def test_an_empty_result_is_told_from_a_falsy_one(value, is_empty):
    assert read_result(value).is_empty is is_empty


def test_a_protocol_error_is_an_error_of_the_call():
    read = read_result({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "secret"}})

    assert (read.is_error, read.error_type) == (True, "-32602")


@pytest.mark.parametrize("value", [None, 3, [], {}, {"content": 5}])
def test_results_of_unexpected_shape_raise_nothing(value):
    assert read_result(value).error_type == "unexpected_body"


def test_unknown_parts_are_opaque():
    read = read_result({"content": [{"type": "hologram"}, {"type": "resource"}, {}, 7]})

    assert read.parts == (
        OpaquePart(kind="hologram"),
        OpaquePart(kind="resource"),
        OpaquePart(kind="unknown"),
    )


def test_structured_content_alone_has_a_text():
    assert text_of(read_result({"structuredContent": {"b": 1, "a": 2}})) == '{"a":2,"b":1}'
