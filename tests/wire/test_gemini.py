"""Gemini generateContent: what the SDK sends, what the service answers, whole and streamed."""

from __future__ import annotations

import json

import pytest
from google.genai import types
from tests.wire.bodies import gemini_request, sse, streamed

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    OutputFormat,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolChoice,
    ToolDefinition,
    ToolResultPart,
    Usage,
)
from spanwitness.model.digest import digest_text
from spanwitness.wire import codec_for, number_reply

PATH = "/v1beta/models/gemini-x:generateContent"
CODEC = codec_for("POST", "h", PATH)
STREAM = codec_for("POST", "h", "/v1beta/models/gemini-x:streamGenerateContent?alt=sse")
SCHEMA = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}


def request(**body):
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    return CODEC.parse_request(json.dumps({"contents": contents, **body}).encode())


def candidate(*parts, reason="STOP", **more):
    return {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, **more}


def body_of(*candidates, **more):
    return {"candidates": list(candidates), "modelVersion": "gemini-x-1", "responseId": "r", **more}


def reply(*parts, reason="STOP", **more):
    return CODEC.parse_reply(json.dumps(body_of(candidate(*parts, reason=reason), **more)).encode())


# --- requests


def read_page(page: int) -> str:
    """Read a page."""
    return str(page)


def test_a_request_of_the_sdk_is_read_whole():
    signed = types.Part(
        function_call=types.FunctionCall(name="read_page", args={"page": 1}),
        thought_signature=b"SIG",
    )
    result = types.Part.from_function_response(name="read_page", response={"result": "3.6 V"})
    path, body = gemini_request(
        lambda client: client.models.generate_content(
            model="gemini-x",
            contents=[
                types.Content(role="user", parts=[types.Part(text="Total?")]),
                types.Content(role="model", parts=[signed]),
                types.Content(role="user", parts=[result]),
            ],
            config=types.GenerateContentConfig(
                system_instruction="Be exact.",
                tools=[read_page],
                tool_config=types.ToolConfig(
                    function_calling_config=types.FunctionCallingConfig(
                        mode="ANY", allowed_function_names=["read_page"]
                    )
                ),
                response_mime_type="application/json",
                response_json_schema=SCHEMA,
                max_output_tokens=64,
                temperature=0.5,
                top_p=0.9,
                seed=7,
                thinking_config=types.ThinkingConfig(thinking_budget=128),
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            ),
        )
    )
    codec = codec_for("POST", "h", path)
    read = codec.parse_request(body)

    assert (codec.wire, read.model, read.is_streaming) == ("gemini", "gemini-x", False)
    assert read.offered == (ToolDefinition(name="read_page", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="named", names=("read_page",))
    assert (read.output_format.kind, read.output_format.schema) == ("json_schema", SCHEMA)
    assert (read.max_tokens, read.temperature, read.top_p, read.seed) == (64, 0.5, 0.9, 7)
    assert read.reasoning_mode == "128"
    assert read.messages == (
        Message(role="system", parts=(TextPart(text="Be exact."),)),
        Message(role="user", parts=(TextPart(text="Total?"),)),
        Message(
            role="assistant",
            parts=(
                ReasoningPart(signature_digest=digest_text("U0lH")),
                ToolCallPart(name="read_page", call_id="read_page#1", arguments={"page": 1}),
            ),
        ),
        Message(
            role="tool",
            parts=(
                ToolResultPart(
                    call_id="read_page#1",
                    name="read_page",
                    parts=(TextPart(text='{"result":"3.6 V"}'),),
                    value={"result": "3.6 V"},
                ),
            ),
        ),
    )


def test_hosted_tools_of_the_sdk_are_offered_with_their_side():
    _, body = gemini_request(
        lambda client: client.models.generate_content(
            model="gemini-x",
            contents="hi",
            config=types.GenerateContentConfig(
                tools=[
                    types.Tool(google_search=types.GoogleSearch()),
                    types.Tool(code_execution=types.ToolCodeExecution()),
                    types.Tool(url_context=types.UrlContext()),
                    types.Tool(computer_use=types.ComputerUse(environment="ENVIRONMENT_BROWSER")),
                ]
            ),
        )
    )

    assert [(t.name, t.side) for t in CODEC.parse_request(body).offered] == [
        ("google_search", "provider"),
        ("code_execution", "provider"),
        ("url_context", "provider"),
        ("computer_use", "client"),
    ]


def test_the_schema_types_of_gemini_become_those_of_json_schema():
    own = {"type": "OBJECT", "properties": {"page": {"type": "INTEGER"}}, "required": ["page"]}
    tools = [{"functionDeclarations": [{"name": "a", "parameters": own}]}]

    assert request(tools=tools).offered[0].parameters == SCHEMA
    form = request(
        generationConfig={"responseMimeType": "application/json", "responseSchema": own}
    ).output_format
    assert form.schema == SCHEMA


CHOICES = [
    ({}, ToolChoice(mode="auto")),
    ({"mode": "AUTO"}, ToolChoice(mode="auto")),
    ({"mode": "VALIDATED"}, ToolChoice(mode="auto")),
    ({"mode": "NONE"}, ToolChoice(mode="none")),
    ({"mode": "ANY"}, ToolChoice(mode="required")),
    ({"mode": "ANY", "allowedFunctionNames": ["a"]}, ToolChoice(mode="named", names=("a",))),
    (
        {"mode": "ANY", "allowedFunctionNames": ["a", "b"]},
        ToolChoice(mode="allowed", names=("a", "b")),
    ),
    (
        {"mode": "VALIDATED", "allowedFunctionNames": ["a"]},
        ToolChoice(mode="allowed", names=("a",)),
    ),
]


@pytest.mark.parametrize(("calling", "expected"), CHOICES)
def test_every_calling_mode_is_read(calling, expected):
    assert request(toolConfig={"functionCallingConfig": calling}).tool_choice == expected
    snake = {"allowed_function_names" if k[0] == "a" else k: v for k, v in calling.items()}
    assert request(tool_config={"function_calling_config": snake}).tool_choice == expected


FORMATS = [
    ({}, "text"),
    ({"responseMimeType": "text/plain"}, "text"),
    ({"responseMimeType": "application/json"}, "json_object"),
    ({"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}, "json_schema"),
    ({"response_mime_type": "application/json", "response_schema": SCHEMA}, "json_schema"),
    ({"responseMimeType": "text/x.enum", "responseSchema": {"enum": ["a"]}}, "grammar"),
]


@pytest.mark.parametrize(("config", "kind"), FORMATS)
def test_every_output_format_is_read(config, kind):
    assert request(generationConfig=config).output_format.kind == kind


def test_cached_content_hides_tools_and_choice():
    read = request(cachedContent="cachedContents/1")

    assert read.has_server_state is True
    assert (read.offered, read.tool_choice) == (None, None)
    assert read.output_format == OutputFormat(kind="text")


def test_media_in_the_input_is_described():
    parts = [
        {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        {"fileData": {"fileUri": "https://h.example/f?k=1", "mimeType": "video/mp4"}},
        {"inline_data": {"mime_type": "image/png", "data": "AAAA"}},
        {"hologram": {}},
    ]
    (message,) = request(contents=[{"role": "user", "parts": parts}]).messages

    digest = digest_text("AAAA")
    assert message.parts == (
        MediaPart(modality="document", mime_type="application/pdf", size_bytes=3, digest=digest),
        MediaPart(modality="video", mime_type="video/mp4", uri="https://h.example/f"),
        MediaPart(modality="image", mime_type="image/png", size_bytes=3, digest=digest),
        OpaquePart(kind="hologram"),
    )


def test_a_result_with_media_and_an_error_are_read():
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    parts = [
        {"functionResponse": {"id": "1", "name": "a", "response": {"n": 1}, "parts": [image]}},
        {"functionResponse": {"id": "2", "name": "b", "response": {"error": "no file"}}},
    ]
    (message,) = request(contents=[{"role": "user", "parts": parts}]).messages

    first, second = message.parts
    assert message.role == "tool"
    assert [type(p) for p in first.parts] == [TextPart, MediaPart]
    assert (first.value, first.is_error, first.call_id) == ({"n": 1}, None, "1")
    assert second.is_error is True


def test_calls_without_ids_are_numbered_alike_in_reply_and_history():
    call_part = {"functionCall": {"name": "a", "args": {"x": 1}}}
    begun = request()
    first = number_reply(reply(call_part, call_part), begun)
    later = request(
        contents=[
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call_part, call_part]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "a", "response": {"n": 1}}}] * 2,
            },
        ]
    )

    assert [c.call_id for c in first.requested] == ["a#1", "a#2"]
    calls, results = later.messages[1].parts, later.messages[2].parts
    assert [p.call_id for p in calls] == ["a#1", "a#2"]
    assert [p.call_id for p in results] == ["a#1", "a#2"]
    assert [c.call_id for c in number_reply(reply(call_part), later).requested] == ["a#3"]


# --- replies


def test_a_reply_of_the_sdk_is_read_whole():
    made = types.GenerateContentResponse.model_validate(
        body_of(
            candidate(
                {"text": "hm", "thought": True},
                {"text": "Let me check."},
                {"functionCall": {"name": "read_page", "args": {"page": 1}, "id": "f1"}},
            ),
            usageMetadata={
                "promptTokenCount": 100,
                "toolUsePromptTokenCount": 7,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 64,
            },
        )
    )
    body = made.model_dump_json(by_alias=True, exclude_none=True)
    read = CODEC.parse_reply(body.encode())

    assert (read.response_id, read.model) == ("r", "gemini-x-1")
    assert read.finish_reasons == ("STOP",)
    assert read.usage == Usage(
        input_tokens=107, output_tokens=25, cached_input_tokens=64, reasoning_tokens=5
    )
    assert read.messages[0].parts == (
        ReasoningPart(text="hm"),
        TextPart(text="Let me check."),
        ToolCallPart(name="read_page", call_id="f1", arguments={"page": 1}),
    )
    assert [(c.name, c.call_id) for c in read.requested] == [("read_page", "f1")]


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "NEW_REASON_X", "MAX_TOKENS"]
)
def test_the_finish_reason_is_kept_as_it_is(reason):
    read = reply(reason=reason)

    assert read.finish_reasons == (reason,)
    assert read.messages[0].parts == ()


def test_a_call_without_arguments_has_an_empty_object():
    assert reply({"functionCall": {"name": "a"}}).requested[0].arguments == {}


def test_code_that_the_provider_ran_is_a_call_with_a_result():
    read = reply(
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "boom"}},
    )

    call, result = read.messages[0].parts
    assert (call.name, call.side, call.arguments) == (
        "code_execution",
        "provider",
        {"code": "print(1)"},
    )
    assert (result.call_id, result.is_error) == (call.call_id, True)
    assert result.parts == (TextPart(text="boom"),)


def test_grounding_shows_that_the_provider_searched():
    grounding = {
        "webSearchQueries": ["q"],
        "groundingChunks": [{"web": {"title": "T", "uri": "u"}}],
    }
    body = body_of(candidate({"text": "x"}, groundingMetadata=grounding))
    read = CODEC.parse_reply(json.dumps(body).encode())

    assert [(c.name, c.side, c.arguments) for c in read.requested] == [
        ("google_search", "provider", {"queries": ["q"]})
    ]
    assert read.messages[0].parts[1].parts == (
        TextPart(text="T\nu"),
        OpaquePart(kind="google_search"),
    )


def test_a_blocked_prompt_is_a_refusal():
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    read = CODEC.parse_reply(json.dumps(body).encode())

    assert read.has_refusal is True
    assert read.finish_reasons == ("SAFETY",)
    assert read.error_type is None


@pytest.mark.parametrize("is_array", [True, False])
def test_an_error_body_gives_its_status(is_array):
    error = {"error": {"code": 400, "message": "secret", "status": "INVALID_ARGUMENT"}}
    body = json.dumps([error] if is_array else error).encode()

    assert CODEC.parse_reply(body).error_type == "INVALID_ARGUMENT"
    assert streamed(STREAM, body).error_type == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "body",
    [
        b'{"candidates": null}',
        b'{"candidates": [null, {}, {"content": 3}, {"content": {"parts": [null, 3, {}]}}]}',
        b"[]",
        b'"x"',
        b"{",
    ],
)
def test_replies_of_unexpected_shape_raise_nothing(body):
    assert CODEC.parse_reply(body).requested == ()


# --- streams

CHUNKS = [
    {"candidates": [{"content": {"parts": [{"text": "h", "thought": True}]}}], "responseId": "r"},
    {"candidates": [{"content": {"parts": [{"text": "m", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "Let "}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "mé."}]}}]},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "a", "args": {"x": 1}}}]}}]},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "b"}}]}}]},
    {
        "candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3},
        "modelVersion": "gemini-x-1",
    },
]
WHOLE = reply(
    {"text": "hm", "thought": True},
    {"text": "Let mé."},
    {"functionCall": {"name": "a", "args": {"x": 1}}},
    {"functionCall": {"name": "b"}},
    usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 3},
)


def test_a_stream_of_events_gives_the_same_reply_as_the_whole_body():
    assert streamed(STREAM, sse(*CHUNKS)) == WHOLE


def test_a_stream_as_one_array_gives_the_same_reply_as_the_whole_body():
    assert streamed(STREAM, json.dumps(CHUNKS, indent=2).encode()) == WHOLE


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64])
def test_any_split_of_a_stream_gives_one_reply(step):
    assert streamed(STREAM, sse(*CHUNKS).replace(b"\n", b"\r\n"), step=step) == WHOLE


def test_an_unfinished_array_shows_the_chunks_that_are_whole():
    body = b"[" + b"\n,\n".join(json.dumps(one, indent=2).encode() for one in CHUNKS) + b"]"
    cut = body[: body.index(b'"name": "b"')]
    read = streamed(STREAM, cut)

    assert [c.name for c in read.requested] == ["a"]
    assert read.is_terminated is False
    assert streamed(STREAM, body) == WHOLE


def test_an_unfinished_stream_of_events_is_not_terminated():
    read = streamed(STREAM, sse(*CHUNKS[:5]))

    assert read.is_terminated is False
    assert [c.name for c in read.requested] == ["a"]


def test_arguments_that_arrive_in_pieces_are_put_together():
    def piece(**call):
        return {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}

    body = sse(
        piece(name="a", id="f", willContinue=True),
        piece(partialArgs=[{"jsonPath": "$.city", "stringValue": "Ber"}], willContinue=True),
        piece(partialArgs=[{"jsonPath": "$.city", "stringValue": "lin"}], willContinue=True),
        piece(partialArgs=[{"jsonPath": "$.at[0].n", "numberValue": 2}], willContinue=True),
        piece(),
        {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]},
    )
    read = streamed(STREAM, body)

    assert [(c.name, c.arguments) for c in read.requested] == [
        ("a", {"city": "Berlin", "at": [{"n": 2}]})
    ]
    begun = streamed(STREAM, sse(piece(name="a", id="f", willContinue=True)))
    assert begun.requested == ()
