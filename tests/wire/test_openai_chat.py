"""OpenAI chat completions: what the SDK sends, what servers answer."""

from __future__ import annotations

import base64
import json

import pytest
from openai.types.chat import ChatCompletion
from tests.wire.bodies import openai_request
from tests.wire.chat_form import CODEC, SCHEMA, TOOL, call, reply, request

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    OutputFormat,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolChoice,
    ToolDefinition,
    ToolResultPart,
    Usage,
)
from spanwitness.model.digest import digest_text

# --- requests


def test_a_request_of_the_sdk_is_read_whole():
    body = openai_request(
        lambda client: client.chat.completions.create(
            model="gpt-x",
            messages=[
                {"role": "developer", "content": "Be exact."},
                {"role": "user", "content": "Total?"},
                {"role": "assistant", "tool_calls": [call("read_pdf", {"page": 1})]},
                {"role": "tool", "tool_call_id": "c1", "content": "37.2"},
            ],
            tools=[TOOL],
            tool_choice="required",
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "Invoice", "schema": SCHEMA, "strict": True},
            },
            max_completion_tokens=64,
            temperature=0.5,
            top_p=0.9,
            seed=7,
            reasoning_effort="low",
            stream=True,
        )
    )
    read = CODEC.parse_request(body)

    assert read.model == "gpt-x"
    assert read.is_streaming is True
    assert read.offered == (ToolDefinition(name="read_pdf", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="required")
    assert read.output_format.kind == "json_schema"
    assert read.output_format.name == "Invoice"
    assert read.output_format.schema == SCHEMA
    assert (read.max_tokens, read.temperature, read.top_p, read.seed) == (64, 0.5, 0.9, 7)
    assert read.reasoning_mode == "low"
    assert read.messages == (
        Message(role="system", parts=(TextPart(text="Be exact."),)),
        Message(role="user", parts=(TextPart(text="Total?"),)),
        Message(
            role="assistant",
            parts=(ToolCallPart(name="read_pdf", call_id="c1", arguments={"page": 1}),),
        ),
        Message(role="tool", parts=(ToolResultPart(call_id="c1", parts=(TextPart(text="37.2"),)),)),
    )


def test_an_unset_choice_is_auto_and_an_unset_format_is_text():
    read = request(tools=[TOOL])

    assert read.tool_choice == ToolChoice(mode="auto")
    assert read.output_format == OutputFormat(kind="text")


def test_a_request_without_tools_offers_none():
    assert request().offered == ()


CHOICES = [
    ("none", ToolChoice(mode="none")),
    ("auto", ToolChoice(mode="auto")),
    ("required", ToolChoice(mode="required")),
    ("any", ToolChoice(mode="required")),
    (
        {"type": "function", "function": {"name": "a"}},
        ToolChoice(mode="named", names=("a",)),
    ),
    ({"type": "custom", "custom": {"name": "a"}}, ToolChoice(mode="named", names=("a",))),
    (
        {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "auto",
                "tools": [
                    {"type": "function", "function": {"name": "a"}},
                    {"type": "function", "function": {"name": "b"}},
                ],
            },
        },
        ToolChoice(mode="allowed", names=("a", "b")),
    ),
    (17, ToolChoice(mode="auto")),
    ({"type": "function"}, ToolChoice(mode="auto")),
]


@pytest.mark.parametrize(("given", "expected"), CHOICES)
def test_every_form_of_tool_choice_is_read(given, expected):
    assert request(tools=[TOOL], tool_choice=given).tool_choice == expected


def test_the_older_functions_form_is_read():
    read = request(functions=[{"name": "a", "parameters": SCHEMA}], function_call={"name": "a"})

    assert read.offered == (ToolDefinition(name="a", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="named", names=("a",))


FORMATS = [
    ({"response_format": {"type": "json_object"}}, "json_object"),
    ({"response_format": {"type": "text"}}, "text"),
    ({"response_format": {"type": "json_object", "schema": SCHEMA}}, "json_schema"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        "json_schema",
    ),
    ({"response_format": {"type": "json_schema", "schema": SCHEMA}}, "json_schema"),
    ({"format": "json"}, "json_object"),
    ({"format": SCHEMA}, "json_schema"),
    ({"guided_json": SCHEMA}, "json_schema"),
    ({"guided_json": json.dumps(SCHEMA)}, "json_schema"),
    ({"guided_regex": "a|b"}, "grammar"),
    ({"guided_choice": ["a", "b"]}, "grammar"),
    ({"guided_grammar": "root ::= 'a'"}, "grammar"),
    ({"structured_outputs": {"json": SCHEMA}}, "json_schema"),
    ({"structured_outputs": {"choice": ["a"]}}, "grammar"),
    ({"structured_outputs": {"json_object": True}}, "json_object"),
    ({"grammar": "root ::= 'a'"}, "grammar"),
    ({"json_schema": SCHEMA}, "json_schema"),
    ({"response_format": {"type": "structural_tag", "structures": []}}, "grammar"),
]


@pytest.mark.parametrize(("body", "kind"), FORMATS)
def test_every_form_of_output_constraint_is_read(body, kind):
    form = request(**body).output_format

    assert form.kind == kind
    if kind == "json_schema":
        assert form.schema == SCHEMA
        assert form.schema_digest == request(format=SCHEMA).output_format.schema_digest


def test_hosted_and_custom_tools_are_offered_with_their_side():
    read = request(
        tools=[
            TOOL,
            {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
            {"type": "builtin_function", "function": {"name": "$web_search"}},
            {"type": "browser_search"},
            {"type": "mcp", "server_label": "wiki", "allowed_tools": ["ask"]},
            "nonsense",
            {"function": {"name": "untyped"}},
        ],
        web_search_options={},
        plugins=[{"id": "web"}],
    )

    assert [(tool.name, tool.side) for tool in read.offered] == [
        ("read_pdf", "client"),
        ("sql", "client"),
        ("$web_search", "provider"),
        ("browser_search", "provider"),
        ("ask", "mcp"),
        ("untyped", "client"),
        ("web_search", "provider"),
        ("web", "provider"),
    ]


def test_media_is_described_and_not_kept():
    png = base64.b64encode(b"\x89PNG" * 1000).decode()
    content = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "image_url", "image_url": {"url": "https://u:p@h.example/a.png?token=s#x"}},
        {"type": "input_audio", "input_audio": {"data": png, "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{png}"}},
        {"type": "hologram"},
    ]
    (message,) = request(messages=[{"role": "user", "content": content}]).messages

    digest = digest_text(png)
    assert message.parts == (
        TextPart(text="see"),
        MediaPart(modality="image", mime_type="image/png", size_bytes=4000, digest=digest),
        MediaPart(modality="image", uri="https://h.example/a.png"),
        MediaPart(modality="audio", mime_type="audio/wav", size_bytes=4000, digest=digest),
        MediaPart(modality="document", uri="file-1"),
        MediaPart(modality="document", mime_type="application/pdf", size_bytes=4000, digest=digest),
        OpaquePart(kind="hologram"),
    )


def test_a_result_of_several_parts_keeps_their_types():
    content = [
        {"type": "text", "text": "shot"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    (message,) = request(
        messages=[{"role": "tool", "tool_call_id": "c", "content": content}]
    ).messages

    (result,) = message.parts
    assert result.parts[0] == TextPart(text="shot")
    assert result.parts[1].modality == "image"
    assert result.parts[1].size_bytes == 3


@pytest.mark.parametrize("content", ["", "{}", "0", "[]", "null"])
def test_falsy_results_stay_what_they_are(content):
    (message,) = request(
        messages=[{"role": "tool", "tool_call_id": "c", "content": content}]
    ).messages

    assert message.parts == (ToolResultPart(call_id="c", parts=(TextPart(text=content),)),)


def test_reasoning_of_compatible_servers_is_read_from_requests_and_replies():
    message = {"role": "assistant", "content": "4", "reasoning_content": "2+2"}
    expected = (ReasoningPart(text="2+2"), TextPart(text="4"))

    assert request(messages=[message]).messages[0].parts == expected
    assert reply(message).messages[0].parts == expected


def test_a_signature_of_reasoning_is_kept_as_a_digest():
    (message,) = reply(
        {
            "content": "4",
            "reasoning": "sum",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "SECRET"}],
        }
    ).messages

    assert message.parts[0] == ReasoningPart(text="sum", signature_digest=digest_text("SECRET"))


# --- replies


def test_a_reply_of_the_sdk_is_read_whole():
    body = ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1",
            "created": 1,
            "model": "gpt-x-2026",
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant",
                        "content": "Let me check.",
                        "tool_calls": [
                            call("read_pdf", {"page": 1}),
                            {
                                "id": "c2",
                                "type": "custom",
                                "custom": {"name": "sql", "input": '{"a": 1}'},
                            },
                        ],
                    },
                }
            ],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        }
    ).model_dump_json()
    read = CODEC.parse_reply(body.encode())

    assert read.response_id == "chatcmpl-1"
    assert read.model == "gpt-x-2026"
    assert read.finish_reasons == ("tool_calls",)
    assert read.is_terminated is True
    assert read.error_type is None
    assert read.usage == Usage(
        input_tokens=100, output_tokens=20, cached_input_tokens=64, reasoning_tokens=5
    )
    assert [(c.name, c.call_id, c.arguments, c.side) for c in read.requested] == [
        ("read_pdf", "c1", {"page": 1}, "client"),
        ("sql", "c2", '{"a": 1}', "client"),
    ]
    assert read.messages[0].parts[0] == TextPart(text="Let me check.")


@pytest.mark.parametrize("arguments", ["", "{}", None, " "])
def test_a_call_without_arguments_has_an_empty_object(arguments):
    read = reply({"tool_calls": [{"id": "c", "function": {"name": "a", "arguments": arguments}}]})

    assert read.requested[0].arguments == {}


def test_arguments_that_are_no_json_stay_as_text():
    read = reply({"tool_calls": [{"id": "c", "function": {"name": "a", "arguments": '{"x": '}}]})

    assert read.requested[0].arguments == '{"x": '


def test_arguments_with_a_lone_surrogate_are_read():
    raw = '{"q": "a\\ud83e"}'
    read = reply({"tool_calls": [{"id": "c", "function": {"name": "a", "arguments": raw}}]})

    assert read.requested[0].arguments == {"q": "a\ud83e"}


def test_several_choices_give_several_messages():
    body = {
        "choices": [
            {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"},
            {"index": 1, "message": {"content": "b"}, "finish_reason": "length"},
        ]
    }
    read = CODEC.parse_reply(json.dumps(body).encode())

    assert read.finish_reasons == ("stop", "length")
    assert [m.parts[0].text for m in read.messages] == ["a", "b"]


def test_a_refusal_is_marked():
    read = reply({"content": None, "refusal": "No."})

    assert read.has_refusal is True
    assert read.messages[0].parts == (RefusalPart(text="No."),)


def test_think_tags_stay_text():
    assert reply({"content": "<think>x</think>4"}).messages[0].parts == (
        TextPart(text="<think>x</think>4"),
    )


def test_tools_that_the_server_ran_are_calls_with_results():
    read = reply(
        {
            "content": "42",
            "executed_tools": [
                {"index": 0, "type": "python", "arguments": '{"code": "6*7"}', "output": "42"}
            ],
        }
    )

    assert [(c.name, c.side, c.arguments) for c in read.requested] == [
        ("python", "provider", {"code": "6*7"})
    ]
    result = read.messages[0].parts[-1]
    assert result.call_id == read.requested[0].call_id
    assert result.parts == (TextPart(text="42"),)


def test_citations_show_that_the_provider_searched():
    read = reply(
        {"content": "x", "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]}
    )

    assert [(c.name, c.side) for c in read.requested] == [("web_search", "provider")]


def test_a_list_of_sources_shows_that_the_provider_searched():
    read = reply({"content": "x"}, citations=["https://h.example"])

    assert [(c.name, c.side) for c in read.requested] == [("web_search", "provider")]


ODD_REPLIES = [
    b'{"choices": null}',
    b'{"choices": [null, 3, {}]}',
    b'{"choices": [{"message": null, "finish_reason": null}]}',
    b'{"choices": [{"message": {"content": [{"type": "new"}, 7, null]}}]}',
    b'{"choices": [{"message": {"content": 5, "tool_calls": {"a": 1}}}]}',
    b'{"choices": [{"message": {"tool_calls": [null, {"function": null}]}}], "usage": 4}',
]


@pytest.mark.parametrize("body", ODD_REPLIES)
def test_replies_of_unexpected_shape_give_what_can_be_read(body):
    read = CODEC.parse_reply(body)

    assert read.usage == Usage()
    assert read.is_terminated is True


def test_missing_content_and_unknown_parts_are_told_apart():
    assert reply({"content": None}).messages[0].parts == ()
    assert reply({"content": ""}).messages[0].parts == (TextPart(text=""),)
    assert reply({"content": [{"type": "new"}]}).messages[0].parts == (OpaquePart(kind="new"),)


ERRORS = [
    ({"error": {"message": "secret", "type": "invalid_request_error", "code": None}},
     "invalid_request_error"),
    ({"error": {"message": "secret", "type": "t", "code": "context_length_exceeded"}},
     "context_length_exceeded"),
    ({"error": {"message": "secret", "code": 429}}, "429"),
    ({"error": "model not found"}, "error"),
    ({"object": "error", "message": "secret", "type": "BadRequestError", "code": 400},
     "BadRequestError"),
    ({"detail": "Not Found"}, "unexpected_body"),
    ([], "unexpected_body"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ERRORS)
def test_an_error_body_gives_its_type_and_no_message(body, expected):
    read = CODEC.parse_reply(json.dumps(body).encode())

    assert read.error_type == expected
    assert read.messages == ()


def test_a_body_that_is_no_json_gives_an_error_type_and_nothing_else():
    assert CODEC.parse_reply(b"<html>502</html>").error_type == "unreadable_body"
    read = CODEC.parse_request(b"not json")
    assert read.error_type == "unreadable_body"
    assert read.offered is None
    assert read.tool_choice is None
    assert read.output_format is None
