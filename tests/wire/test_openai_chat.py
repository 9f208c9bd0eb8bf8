"""OpenAI chat completions: what the SDK sends, what servers answer, whole and streamed."""

from __future__ import annotations

import base64
import json

import pytest
from openai.types.chat import ChatCompletion
from tests.wire.bodies import openai_request, sse, streamed

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
from spanwitness.wire import codec_for

CODEC = codec_for("POST", "api.openai.com", "/v1/chat/completions")
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
TOOL = {"type": "function", "function": {"name": "read_pdf", "parameters": SCHEMA}}
USER = [{"role": "user", "content": "hi"}]


def request(**body):
    return CODEC.parse_request(json.dumps({"model": "m", "messages": USER, **body}).encode())


def reply(message, *, reason="stop", **body):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return CODEC.parse_reply(json.dumps({"id": "r", "choices": [choice], **body}).encode())


def call(name, arguments, call_id="c1"):
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


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
    )

    assert [(tool.name, tool.side) for tool in read.offered] == [
        ("read_pdf", "client"),
        ("sql", "client"),
        ("$web_search", "provider"),
        ("browser_search", "provider"),
        ("ask", "mcp"),
        ("untyped", "client"),
        ("web_search", "provider"),
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


# --- streams


def chunk(delta, *, reason=None, index=0, **more):
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return {"id": "r", "model": "m", "choices": [choice], **more}


def piece(arguments=None, *, name=None, call_id=None, index: int | None = 0):
    made = {"index": index, "function": {"name": name, "arguments": arguments}}
    if call_id is not None:
        made["id"] = call_id
    return {"tool_calls": [made]}


USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def test_a_stream_gives_the_same_reply_as_the_whole_body():
    body = sse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "Let me "}),
        chunk({"content": "check é."}),
        chunk(piece("", name="a", call_id="c1")),
        chunk(piece('{"x"')),
        chunk(piece(": 1}")),
        chunk(piece("", name="b", call_id="c2", index=1)),
        chunk({}, reason="tool_calls"),
        {"id": "r", "model": "m", "choices": [], "usage": USAGE},
        done=True,
    )
    whole = reply(
        {
            "content": "Let me check é.",
            "reasoning_content": "hm",
            "tool_calls": [call("a", {"x": 1}), call("b", {}, "c2")],
        },
        reason="tool_calls",
        model="m",
        usage=USAGE,
    )

    assert streamed(CODEC, body) == whole


def test_any_split_of_a_stream_gives_one_reply():
    body = sse(chunk({"content": "né 漢"}), chunk(piece('{"x": "é"}', name="a", call_id="1")))
    body = body.replace(b"\n", b"\r\n")
    expected = streamed(CODEC, body)

    assert expected.messages[0].parts[0] == TextPart(text="né 漢")
    assert expected.messages[0].parts[1].arguments == {"x": "é"}
    for step in range(1, 40):
        assert streamed(CODEC, body, step=step) == expected


PARALLEL = {
    "no index": [
        chunk(piece('{"city": "A"}', name="get", call_id="1", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
    ],
    "index 0 for both": [
        chunk(piece('{"city": "A"}', name="get", call_id="1")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
    ],
    "sent again": [
        chunk(piece('{"city": "A"}', name="get", call_id="1", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=None)),
    ],
    "sent again at index 0": [
        chunk(piece('{"city": "A"}', name="get", call_id="1")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
        chunk(piece('{"city": "B"}', name="get", call_id="2")),
    ],
    "interleaved": [
        chunk(piece("", name="get", call_id="1", index=0)),
        chunk(piece("", name="get", call_id="2", index=1)),
        chunk(piece('{"city"', index=0)),
        chunk(piece('{"city": ', index=1)),
        chunk(piece(': "A"}', index=0)),
        chunk(piece('"B"}', index=1)),
    ],
    "id in every fragment": [
        chunk(piece('{"city"', name="get", call_id="1", index=0)),
        chunk(piece(': "A"}', name="get", call_id="1", index=0)),
        chunk(piece('{"city": "B"}', name="get", call_id="2", index=1)),
    ],
    "fragments after the id without index": [
        chunk(piece("", name="get", call_id="1", index=None)),
        chunk(piece('{"city": "A"}', index=None)),
        chunk(piece("", name="get", call_id="2", index=None)),
        chunk(piece('{"city": "B"}', index=None)),
    ],
}


@pytest.mark.parametrize("chunks", PARALLEL.values(), ids=PARALLEL)
def test_two_parallel_calls_stay_two(chunks):
    read = streamed(CODEC, sse(*chunks, chunk({}, reason="tool_calls"), done=True))

    assert [(c.call_id, c.arguments) for c in read.requested] == [
        ("1", {"city": "A"}),
        ("2", {"city": "B"}),
    ]


def test_whole_calls_without_ids_at_one_index_stay_two():
    body = sse(
        chunk(piece('{"city": "A"}', name="get")),
        chunk(piece('{"city": "B"}', name="get")),
        chunk({}, reason="tool_calls"),
    )

    assert [c.arguments for c in streamed(CODEC, body).requested] == [{"city": "A"}, {"city": "B"}]


def test_text_and_a_call_by_name_only_are_both_there():
    body = sse(
        chunk({"content": "Let me check."}),
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ping"}}]}),
        chunk({}, reason="tool_calls"),
        done=True,
    )
    read = streamed(CODEC, body)

    assert read.messages[0].parts == (
        TextPart(text="Let me check."),
        ToolCallPart(name="ping", call_id="c", arguments={}),
    )
    assert read.finish_reasons == ("tool_calls",)


def test_an_unfinished_stream_shows_whole_calls_only():
    begun = sse(
        chunk(piece('{"x": 1}', name="a", call_id="1", index=0)),
        chunk(piece('{"y": ', name="b", call_id="2", index=1)),
    )
    read = streamed(CODEC, begun)

    assert read.is_terminated is False
    assert [c.call_id for c in read.requested] == ["1"]
    assert [p.call_id for p in read.messages[0].parts] == ["1", "2"]


def test_a_call_by_name_only_is_open_until_the_stream_says_why_it_ended():
    begun = sse(chunk(piece("", name="a", call_id="1")))

    assert streamed(CODEC, begun).requested == ()
    assert len(streamed(CODEC, begun + sse(chunk({}, reason="tool_calls"))).requested) == 1


def test_a_reply_can_be_asked_for_while_the_stream_goes_on():
    first, second = sse(chunk({"content": "a"})), sse(chunk({"content": "b"}, reason="stop"))
    decoder = CODEC.decoder()
    decoder.feed(first)
    decoder.feed(second[:9])
    assert decoder.reply().messages[0].parts == (TextPart(text="a"),)
    decoder.feed(second[9:])

    assert decoder.reply().messages[0].parts == (TextPart(text="ab"),)
    assert decoder.reply().is_terminated is True


def test_an_error_in_the_stream_is_told():
    body = sse(chunk({"content": "a"}), {"error": {"code": "server_error", "message": "secret"}})
    read = streamed(CODEC, body)

    assert read.error_type == "server_error"
    assert read.is_terminated is False


def test_a_named_error_event_is_told():
    body = sse(chunk({"content": "a"})) + b'event: error\ndata: {"code": "overloaded"}\n\n'

    assert streamed(CODEC, body).error_type == "overloaded"


def test_an_error_body_in_place_of_a_stream_is_read():
    read = streamed(CODEC, b'{"error": {"code": "rate_limit_exceeded"}}')

    assert read.error_type == "rate_limit_exceeded"
    assert read.is_terminated is True


def test_a_whole_body_in_place_of_a_stream_is_read():
    body = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})

    assert streamed(CODEC, body.encode()).messages[0].parts == (TextPart(text="x"),)


def test_id_and_model_are_taken_from_the_first_chunk_that_has_them():
    first = {"id": "", "model": "", "choices": [], "prompt_filter_results": []}
    read = streamed(CODEC, sse(first, chunk({"content": "a"}, reason="stop"), done=True))

    assert (read.response_id, read.model) == ("r", "m")


def test_wrong_types_in_one_chunk_do_not_hide_the_others():
    body = sse(
        chunk({"content": "a"}),
        {"choices": [{"index": "0", "delta": {"content": 7, "tool_calls": "x"}}]},
        {"choices": {"0": 1}},
        chunk({"content": [{"type": "text", "text": "b"}]}),
        chunk({}, reason="stop"),
    )

    read = streamed(CODEC, body)
    assert [p.text for p in read.messages[0].parts] == ["a", "b"]
    assert read.finish_reasons == ("stop",)


def test_several_choices_of_a_stream_are_kept_apart():
    body = sse(
        chunk({"content": "a"}, index=0),
        chunk({"content": "b"}, index=1),
        chunk({}, reason="stop", index=0),
        chunk({}, reason="length", index=1),
    )
    read = streamed(CODEC, body)

    assert [m.parts[0].text for m in read.messages] == ["a", "b"]
    assert read.finish_reasons == ("stop", "length")


def test_the_older_function_call_form_is_streamed():
    body = sse(
        chunk({"function_call": {"name": "a", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"x": 1}'}}),
        chunk({}, reason="function_call"),
    )

    assert [(c.name, c.arguments) for c in streamed(CODEC, body).requested] == [("a", {"x": 1})]
