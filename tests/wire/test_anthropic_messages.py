"""Anthropic Messages: what the SDK sends, what the service answers, whole and streamed."""

from __future__ import annotations

import json

import pytest
from anthropic.types.beta import BetaMessage
from tests.wire.bodies import anthropic_request, sse, streamed

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
from spanwitness.wire import codec_for

CODEC = codec_for("POST", "api.anthropic.com", "/v1/messages?beta=true")
SCHEMA = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
TOOL = {"name": "read_pdf", "input_schema": SCHEMA}


def request(**body):
    messages = [{"role": "user", "content": "hi"}]
    whole = {"model": "m", "max_tokens": 9, "messages": messages, **body}
    return CODEC.parse_request(json.dumps(whole).encode())


def history(*content, role="user"):
    return request(messages=[{"role": role, "content": list(content)}]).messages[0]


def message(*content, reason="end_turn", usage=None, **body):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-2026",
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 9, "output_tokens": 3},
        **body,
    }


def reply(*content, **more):
    return CODEC.parse_reply(json.dumps(message(*content, **more)).encode())


# --- requests


def test_a_request_of_the_sdk_is_read_whole():
    body = anthropic_request(
        lambda client: client.messages.create(
            model="claude-x",
            max_tokens=64,
            system="Be exact.",
            messages=[
                {"role": "user", "content": "Total?"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "", "signature": "SIG"},
                        {"type": "redacted_thinking", "data": "SEALED"},
                        {"type": "tool_use", "id": "t1", "name": "read_pdf", "input": {"page": 1}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": "no file",
                            "is_error": True,
                        }
                    ],
                },
            ],
            tools=[TOOL],
            tool_choice={"type": "any"},
            output_config={
                "effort": "low",
                "format": {"type": "json_schema", "schema": SCHEMA},
            },
            stream=True,
        )
    )
    read = CODEC.parse_request(body)

    assert (read.model, read.max_tokens, read.is_streaming) == ("claude-x", 64, True)
    assert read.reasoning_mode == "low"
    assert read.offered == (ToolDefinition(name="read_pdf", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="required")
    assert (read.output_format.kind, read.output_format.schema) == ("json_schema", SCHEMA)
    assert read.has_server_state is False
    assert read.messages == (
        Message(role="system", parts=(TextPart(text="Be exact."),)),
        Message(role="user", parts=(TextPart(text="Total?"),)),
        Message(
            role="assistant",
            parts=(
                ReasoningPart(text="", signature_digest=digest_text("SIG")),
                ReasoningPart(signature_digest=digest_text("SEALED")),
                ToolCallPart(name="read_pdf", call_id="t1", arguments={"page": 1}),
            ),
        ),
        Message(
            role="tool",
            parts=(ToolResultPart(call_id="t1", parts=(TextPart(text="no file"),), is_error=True),),
        ),
    )


TOOLS = [
    (TOOL, "read_pdf", "client"),
    ({"type": "custom", **TOOL}, "read_pdf", "client"),
    ({"type": "web_search_20260318", "name": "web_search"}, "web_search", "provider"),
    ({"type": "web_fetch_20260318", "name": "web_fetch"}, "web_fetch", "provider"),
    ({"type": "code_execution_20260521", "name": "code_execution"}, "code_execution", "provider"),
    ({"type": "advisor_20260301", "name": "advisor"}, "advisor", "provider"),
    (
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        "tool_search_tool_regex",
        "provider",
    ),
    ({"type": "computer_20250124", "name": "computer"}, "computer", "client"),
    ({"type": "bash_20250124", "name": "bash"}, "bash", "client"),
    ({"type": "memory_20250818", "name": "memory"}, "memory", "client"),
    (
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        "str_replace_based_edit_tool",
        "client",
    ),
    ({"type": "mcp_toolset", "mcp_server_name": "wiki"}, "mcp:wiki", "mcp"),
]


@pytest.mark.parametrize(("tool", "name", "side"), TOOLS)
def test_server_tools_and_client_tools_are_told_apart(tool, name, side):
    assert [(one.name, one.side) for one in request(tools=[tool]).offered] == [(name, side)]


def test_the_members_of_a_toolset_are_offered_by_their_own_names():
    tool = {"type": "computer_toolset_20260801", "configs": {"wait": {"enabled": False}}}
    names = {one.name for one in request(tools=[tool]).offered}

    assert {"screenshot", "left_click", "cursor_position"} <= names
    assert "wait" not in names


def test_a_toolset_of_a_server_names_the_tools_that_it_configures():
    tool = {
        "type": "mcp_toolset",
        "mcp_server_name": "wiki",
        "default_config": {"enabled": False},
        "configs": {"ask": {"enabled": True, "defer_loading": True}, "drop": {"enabled": False}},
    }
    read = request(tools=[tool], mcp_servers=[{"type": "url", "name": "wiki", "url": "u"}])

    assert read.offered == (ToolDefinition(name="ask", side="mcp", is_deferred=True),)


def test_a_server_without_a_toolset_is_offered():
    servers = [
        {"name": "a", "url": "u"},
        {"name": "b", "url": "u", "tool_configuration": {"allowed_tools": ["ask"]}},
        {"name": "c", "url": "u", "tool_configuration": {"enabled": False}},
    ]

    assert [t.name for t in request(mcp_servers=servers).offered] == ["mcp:a", "ask"]


def test_deferred_tools_are_marked():
    assert request(tools=[{**TOOL, "defer_loading": True}]).offered[0].is_deferred is True


def test_tools_come_and_go_in_the_course_of_a_conversation():
    other = {"type": "tool_definition", "definition": {"name": "b", "input_schema": SCHEMA}}
    read = request(
        tools=[TOOL],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "tool_addition", "tool": other},
                    {
                        "type": "tool_removal",
                        "tool": {"type": "tool_reference", "name": "read_pdf"},
                    },
                    {"type": "text", "text": "go on"},
                ],
            }
        ],
    )

    assert read.offered == (ToolDefinition(name="b", parameters=SCHEMA),)
    assert read.messages[0].parts == (TextPart(text="go on"),)


CHOICES = [
    (None, ToolChoice(mode="auto")),
    ({"type": "auto"}, ToolChoice(mode="auto")),
    ({"type": "any"}, ToolChoice(mode="required")),
    ({"type": "none"}, ToolChoice(mode="none")),
    ({"type": "tool", "name": "a"}, ToolChoice(mode="named", names=("a",))),
    ("any", ToolChoice(mode="auto")),
]


@pytest.mark.parametrize(("given", "expected"), CHOICES)
def test_every_form_of_tool_choice_is_read(given, expected):
    assert request(tools=[TOOL], tool_choice=given).tool_choice == expected


def test_the_output_format_is_read_in_both_places():
    form = {"type": "json_schema", "schema": SCHEMA}

    assert request(output_format=form).output_format.schema == SCHEMA
    assert request(output_config={"format": form}).output_format.schema == SCHEMA
    assert request().output_format == OutputFormat(kind="text")


@pytest.mark.parametrize(
    "body",
    [
        {"container": "container_1"},
        {"container": {"id": "container_1", "skills": []}},
        {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
        {"thread": {"id": "t"}},
    ],
)
def test_state_on_the_providers_side_is_told(body):
    assert request(**body).has_server_state is True


def test_a_new_container_holds_no_state():
    assert request(container={"skills": []}).has_server_state is False


def test_the_thinking_budget_is_the_reasoning_mode():
    thinking = {"type": "enabled", "budget_tokens": 1024}

    assert request(thinking=thinking).reasoning_mode == "1024"
    assert request(thinking={"type": "adaptive"}).reasoning_mode == "adaptive"


def test_media_in_the_input_is_described():
    found = history(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://h.example/a.png?s=1"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "text", "data": "plain"}},
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "text", "text": "a"}]},
        },
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "compaction", "content": "summary"},
        {"type": "search_result", "title": "T", "source": "s", "content": [{"text": "found"}]},
    )

    assert found.parts == (
        MediaPart(
            modality="image", mime_type="image/png", size_bytes=3, digest=digest_text("AAAA")
        ),
        MediaPart(modality="image", uri="https://h.example/a.png"),
        MediaPart(modality="document", uri="file_1"),
        TextPart(text="plain"),
        TextPart(text="a"),
        OpaquePart(kind="container_upload"),
        OpaquePart(kind="compaction"),
        TextPart(text="T\ns\nfound"),
    )


def test_a_result_of_several_parts_keeps_their_types_and_is_no_error_unless_said():
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    found = history(
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "text", "text": "shot"}, image],
        },
        {"type": "tool_result", "tool_use_id": "u"},
    )

    first, second = found.parts
    assert [type(p) for p in first.parts] == [TextPart, MediaPart]
    assert first.is_error is False
    assert second.parts == ()
    assert found.role == "tool"


def test_results_beside_other_content_leave_the_message_to_the_user():
    found = history(
        {"type": "tool_result", "tool_use_id": "t", "content": "1"},
        {"type": "text", "text": "and?"},
    )

    assert found.role == "user"


# --- replies


def test_a_reply_of_the_sdk_is_read_whole():
    body = BetaMessage.model_validate(
        message(
            {"type": "thinking", "thinking": "hm", "signature": "SIG"},
            {"type": "text", "text": "Let me check.", "citations": None},
            {"type": "tool_use", "id": "t1", "name": "read_pdf", "input": {}},
            reason="tool_use",
            usage={
                "input_tokens": 2,
                "cache_read_input_tokens": 47119,
                "cache_creation_input_tokens": 10,
                "output_tokens": 64,
                "output_tokens_details": {"thinking_tokens": 5},
            },
        )
    ).model_dump_json()
    read = CODEC.parse_reply(body.encode())

    assert (read.response_id, read.model) == ("msg_1", "claude-x-2026")
    assert read.finish_reasons == ("tool_use",)
    assert read.usage == Usage(
        input_tokens=47131, output_tokens=64, cached_input_tokens=47119, reasoning_tokens=5
    )
    assert read.messages[0].parts == (
        ReasoningPart(text="hm", signature_digest=digest_text("SIG")),
        TextPart(text="Let me check."),
        ToolCallPart(name="read_pdf", call_id="t1", arguments={}),
    )
    assert [(c.name, c.call_id, c.side) for c in read.requested] == [("read_pdf", "t1", "client")]


SERVER_RESULTS = [
    (
        "web_search",
        {
            "type": "web_search_tool_result",
            "content": [{"type": "web_search_result", "title": "T", "url": "u"}],
        },
        (TextPart(text="T\nu"),),
        False,
    ),
    (
        "web_search",
        {
            "type": "web_search_tool_result",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        },
        (TextPart(text="max_uses_exceeded"),),
        True,
    ),
    (
        "bash_code_execution",
        {
            "type": "bash_code_execution_tool_result",
            "content": {
                "type": "bash_code_execution_result",
                "stdout": "1",
                "stderr": "",
                "content": [],
            },
        },
        (TextPart(text="1"),),
        False,
    ),
    (
        "web_fetch",
        {
            "type": "web_fetch_tool_result",
            "content": {
                "type": "web_fetch_result",
                "content": {"type": "document", "source": {"type": "text", "data": "page"}},
            },
        },
        (TextPart(text="page"),),
        False,
    ),
    (
        "new_tool",
        {"type": "new_tool_tool_result", "content": {"type": "sealed"}},
        (OpaquePart(kind="sealed"),),
        False,
    ),
]


@pytest.mark.parametrize(("name", "result", "parts", "is_error"), SERVER_RESULTS)
def test_tools_of_the_provider_are_calls_with_results(name, result, parts, is_error):
    read = reply(
        {"type": "server_tool_use", "id": "s", "name": name, "input": {"q": 1}},
        {**result, "tool_use_id": "s"},
        {"type": "text", "text": "x"},
    )

    assert [(c.name, c.call_id, c.side) for c in read.requested] == [(name, "s", "provider")]
    assert read.messages[0].parts[1] == ToolResultPart(
        call_id="s", name=name, parts=parts, is_error=is_error
    )


def test_tools_of_a_server_are_calls_with_results():
    read = reply(
        {"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "w", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": False, "content": "42"},
    )

    assert [(c.name, c.side) for c in read.requested] == [("ask", "mcp")]
    assert read.messages[0].parts[1].parts == (TextPart(text="42"),)


@pytest.mark.parametrize(
    "reason", ["pause_turn", "max_tokens", "model_context_window_exceeded", "new_reason"]
)
def test_the_stop_reason_is_kept_as_it_is(reason):
    assert reply({"type": "text", "text": "x"}, reason=reason).finish_reasons == (reason,)


def test_a_refusal_is_marked():
    assert reply(reason="refusal").has_refusal is True


def test_an_error_body_gives_its_type():
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "secret"}}
    read = CODEC.parse_reply(json.dumps(body).encode())

    assert read.error_type == "overloaded_error"


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"content": null}', b'{"content": [null, 3, {}, "x"]}', b"[]", b'"x"', b"{"],
)
def test_replies_of_unexpected_shape_raise_nothing(body):
    assert CODEC.parse_reply(body).requested == ()


# --- streams


def start(**usage):
    return {"type": "message_start", "message": message(reason=None, usage=usage)}


def block(index, content, *deltas):
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def delta(reason="end_turn", **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}
TOLD = [
    start(input_tokens=9, output_tokens=1),
    {"type": "ping"},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "h"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": "SIG"},
    ),
    *block(
        1,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Let "},
        {"type": "text_delta", "text": "mé."},
        {"type": "citations_delta", "citation": {}},
    ),
    *block(2, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
           {"type": "input_json_delta", "partial_json": '{"query": "q"}'}),
    *block(3, {"type": "web_search_tool_result", "tool_use_id": "s",
               "content": [{"type": "web_search_result", "title": "T", "url": "u"}]}),
    *block(
        4,
        {"type": "tool_use", "id": "t1", "name": "read_pdf", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"pa'},
        {"type": "input_json_delta", "partial_json": 'ge": 1}'},
    ),
    *block(5, {"type": "tool_use", "id": "t2", "name": "ping", "input": {}}),
    delta("tool_use", output_tokens=15),
    STOP,
]  # fmt: skip


def test_a_stream_gives_the_same_reply_as_the_whole_body():
    whole = reply(
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "text", "text": "Let mé."},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s",
            "content": [{"type": "web_search_result", "title": "T", "url": "u"}],
        },
        {"type": "tool_use", "id": "t1", "name": "read_pdf", "input": {"page": 1}},
        {"type": "tool_use", "id": "t2", "name": "ping", "input": {}},
        reason="tool_use",
        usage={"input_tokens": 9, "output_tokens": 15},
    )

    assert streamed(CODEC, sse(*TOLD, named=True)) == whole
    assert streamed(CODEC, sse(*TOLD)) == whole


def test_any_split_of_a_stream_gives_one_reply():
    body = sse(*TOLD, named=True).replace(b"\n", b"\r\n")
    expected = streamed(CODEC, body)

    for step in (1, 2, 3, 5, 7, 11, 64, 1000):
        assert streamed(CODEC, body, step=step) == expected


USAGES = [
    ([{"input_tokens": 25, "output_tokens": 1}, {"output_tokens": 15}], (25, 15)),
    (
        [
            {"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 4},
            {"input_tokens": 2, "cache_read_input_tokens": 47119, "output_tokens": 64},
        ],
        (2 + 47119, 64),
    ),
    (
        [{"input_tokens": 25, "output_tokens": 1}, {"output_tokens": 10}, {"output_tokens": 15}],
        (25, 15),
    ),
    (
        [{"input_tokens": 25, "output_tokens": 1}, {"input_tokens": None, "output_tokens": 2}],
        (25, 2),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "expected"), USAGES)
def test_the_usage_of_later_events_replaces_the_earlier(counts, expected):
    first, *later = counts
    body = sse(start(**first), *(delta(**one) for one in later), STOP, named=True)
    usage = streamed(CODEC, body).usage

    assert (usage.input_tokens, usage.output_tokens) == expected


def test_an_unfinished_stream_shows_whole_calls_only():
    at = TOLD.index({"type": "content_block_stop", "index": 4})
    in_call = streamed(CODEC, sse(*TOLD[:at], named=True))
    after_call = streamed(CODEC, sse(*TOLD[: at + 1], named=True))

    assert [c.call_id for c in in_call.requested] == ["s"]
    assert [c.call_id for c in after_call.requested] == ["s", "t1"]
    assert in_call.is_terminated is False
    assert in_call.finish_reasons == ()


def test_an_error_event_is_told():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "secret"}}
    read = streamed(CODEC, sse(*TOLD[:9], error, named=True))

    assert read.error_type == "overloaded_error"
    assert read.is_terminated is False


def test_a_stream_without_an_event_is_an_unfinished_reply():
    read = streamed(CODEC, b"")

    assert read.messages == ()
    assert read.is_terminated is False
    assert read.error_type is None


def test_wrong_types_in_one_event_do_not_hide_the_others():
    told = [*TOLD[:2], {"type": "content_block_delta", "index": "x", "delta": 7}, *TOLD[2:]]

    read = streamed(CODEC, sse(*told, named=True))
    assert [c.call_id for c in read.requested] == ["s", "t1", "t2"]
    assert read.is_terminated is True
