"""OpenAI Responses: what the SDK sends, what the service answers."""

from __future__ import annotations

import pytest
from openai.types.responses import Response
from tests.wire.bodies import openai_request
from tests.wire.responses_form import CODEC, SCHEMA, TOOL, answer, call, reply, request, response

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
        lambda client: client.responses.create(
            model="gpt-x",
            instructions="Be exact.",
            input=[
                {"role": "user", "content": "Total?"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SEALED"},
                {"type": "function_call", "call_id": "call_1", "name": "a", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "37.2"},
            ],
            tools=[TOOL],
            tool_choice={"type": "function", "name": "read_pdf"},
            text={"format": {"type": "json_schema", "name": "Invoice", "schema": SCHEMA}},
            max_output_tokens=64,
            reasoning={"effort": "low"},
            stream=True,
        )
    )
    read = CODEC.parse_request(body)

    assert (read.model, read.is_streaming, read.max_tokens) == ("gpt-x", True, 64)
    assert read.reasoning_mode == "low"
    assert read.offered == (ToolDefinition(name="read_pdf", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="named", names=("read_pdf",))
    assert (read.output_format.kind, read.output_format.name) == ("json_schema", "Invoice")
    assert read.output_format.schema == SCHEMA
    assert read.has_server_state is False
    assert read.messages == (
        Message(role="system", parts=(TextPart(text="Be exact."),)),
        Message(role="user", parts=(TextPart(text="Total?"),)),
        Message(
            role="assistant",
            parts=(ReasoningPart(text=None, signature_digest=digest_text("SEALED")),),
        ),
        Message(role="assistant", parts=(ToolCallPart(name="a", call_id="call_1", arguments={}),)),
        Message(
            role="tool",
            parts=(ToolResultPart(call_id="call_1", parts=(TextPart(text="37.2"),)),),
        ),
    )


def test_a_plain_input_is_a_message_of_the_user():
    read = request()

    assert read.messages == (Message(role="user", parts=(TextPart(text="hi"),)),)
    assert read.output_format == OutputFormat(kind="text")
    assert read.tool_choice == ToolChoice(mode="auto")
    assert read.offered == ()


HOSTED = [
    ({"type": "web_search_preview_2025_03_11"}, "web_search", "provider"),
    ({"type": "web_search"}, "web_search", "provider"),
    ({"type": "file_search", "vector_store_ids": ["vs"]}, "file_search", "provider"),
    ({"type": "code_interpreter", "container": {"type": "auto"}}, "code_interpreter", "provider"),
    ({"type": "image_generation"}, "image_generation", "provider"),
    ({"type": "programmatic_tool_calling"}, "programmatic_tool_calling", "provider"),
    ({"type": "tool_search"}, "tool_search", "provider"),
    ({"type": "tool_search", "execution": "client"}, "tool_search", "client"),
    ({"type": "computer_use_preview", "environment": "mac"}, "computer", "client"),
    ({"type": "computer"}, "computer", "client"),
    ({"type": "local_shell"}, "local_shell", "client"),
    ({"type": "shell", "environment": {"type": "container_auto"}}, "shell", "provider"),
    ({"type": "shell", "environment": {"type": "local"}}, "shell", "client"),
    ({"type": "apply_patch"}, "apply_patch", "client"),
    ({"type": "custom", "name": "sql"}, "sql", "client"),
    ({"type": "mcp", "server_label": "wiki", "server_url": "u"}, "mcp:wiki", "mcp"),
    (
        {"type": "mcp", "server_label": "wiki", "allowed_tools": {"tool_names": ["ask"]}},
        "ask",
        "mcp",
    ),
]


@pytest.mark.parametrize(("tool", "name", "side"), HOSTED)
def test_hosted_tools_are_offered_with_their_side(tool, name, side):
    assert [(one.name, one.side) for one in request(tools=[tool]).offered] == [(name, side)]


def test_deferred_tools_and_namespaces_are_marked():
    tools = [
        {"type": "namespace", "name": "crm", "tools": [{**TOOL, "defer_loading": True}]},
        {**TOOL, "name": "other"},
    ]

    assert [(t.name, t.is_deferred) for t in request(tools=tools).offered] == [
        ("read_pdf", True),
        ("other", False),
    ]


CHOICES = [
    ("none", ToolChoice(mode="none")),
    ({"type": "function", "name": "a"}, ToolChoice(mode="named", names=("a",))),
    ({"type": "custom", "name": "a"}, ToolChoice(mode="named", names=("a",))),
    ({"type": "file_search"}, ToolChoice(mode="named", names=("file_search",))),
    ({"type": "web_search_preview"}, ToolChoice(mode="named", names=("web_search",))),
    (
        {"type": "mcp", "server_label": "w", "name": "ask"},
        ToolChoice(mode="named", names=("ask",)),
    ),
    ({"type": "mcp", "server_label": "w"}, ToolChoice(mode="named", names=("mcp:w",))),
    (
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "a"}, {"type": "web_search"}],
        },
        ToolChoice(mode="allowed", names=("a", "web_search")),
    ),
    (
        {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "a"}],
        },
        ToolChoice(mode="named", names=("a",)),
    ),
]


@pytest.mark.parametrize(("given_choice", "expected"), CHOICES)
def test_every_form_of_tool_choice_is_read(given_choice, expected):
    assert request(tools=[TOOL], tool_choice=given_choice).tool_choice == expected


@pytest.mark.parametrize(
    "body",
    [
        {"previous_response_id": "resp_0"},
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"id": "msg_1"}]},
    ],
)
def test_state_on_the_providers_side_is_told(body):
    read = request(**body)

    assert read.has_server_state is True
    assert read.offered == ()


def test_a_stored_prompt_hides_tools_choice_and_format():
    read = request(prompt={"id": "pmpt_1"})

    assert read.has_server_state is True
    assert (read.offered, read.tool_choice, read.output_format) == (None, None, None)


def test_what_the_request_says_beside_a_stored_prompt_is_known():
    read = request(
        prompt={"id": "p"},
        tools=[TOOL],
        tool_choice="auto",
        text={"format": {"type": "text"}},
    )

    assert read.offered == (ToolDefinition(name="read_pdf", parameters=SCHEMA),)
    assert read.tool_choice == ToolChoice(mode="auto")
    assert read.output_format == OutputFormat(kind="text")


def test_background_mode_is_told():
    assert request(background=True).is_background is True


def test_media_and_references_in_the_input_are_described():
    content = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AAAA"},
        {"type": "input_file", "file_url": "https://h.example/a.pdf?sig=1"},
        {"type": "input_hologram"},
    ]
    read = request(input=[{"role": "user", "content": content}, {"type": "compaction", "id": "c"}])

    parts = read.messages[0].parts
    assert [type(p) for p in parts] == [TextPart, *[MediaPart] * 4, OpaquePart]
    assert (parts[1].size_bytes, parts[1].mime_type) == (3, "image/png")
    assert parts[2].uri == "file-1"
    assert parts[4].uri == "https://h.example/a.pdf"
    assert read.messages[1].parts == (OpaquePart(kind="compaction"),)


def test_a_result_of_several_parts_keeps_their_types():
    output = [
        {"type": "input_text", "text": "shot"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    ]
    read = request(input=[{"type": "function_call_output", "call_id": "c", "output": output}])

    (result,) = read.messages[0].parts
    assert result.call_id == "c"
    assert [type(p) for p in result.parts] == [TextPart, MediaPart]


def test_tools_that_a_listing_in_the_history_brings_are_offered():
    listing = {
        "type": "mcp_list_tools",
        "id": "l",
        "server_label": "wiki",
        "tools": [{"name": "ask", "input_schema": SCHEMA}],
    }
    read = request(input=[listing], tools=[{"type": "mcp", "server_label": "wiki"}])

    assert [(t.name, t.side, t.parameters) for t in read.offered] == [
        ("mcp:wiki", "mcp", None),
        ("ask", "mcp", SCHEMA),
    ]


# --- replies

ITEMS = [
    (call(), "read_pdf", "call_1", {"page": 1}, "client"),
    (call(arguments=""), "read_pdf", "call_1", {}, "client"),
    (call(arguments="{"), "read_pdf", "call_1", "{", "client"),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "[1]"},
        "sql",
        "c",
        "[1]",
        "client",
    ),
    (
        {"type": "computer_call", "id": "i", "call_id": "c", "action": {"type": "screenshot"}},
        "computer",
        "c",
        {"action": {"type": "screenshot"}},
        "client",
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        "shell",
        "c",
        {"action": {"commands": ["ls"]}},
        "client",
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file"}},
        "apply_patch",
        "c",
        {"operation": {"type": "delete_file"}},
        "client",
    ),
    (
        {"type": "mcp_approval_request", "id": "apr", "name": "ask", "arguments": '{"q": 1}'},
        "ask",
        "apr",
        {"q": 1},
        "mcp",
    ),
]


@pytest.mark.parametrize(("item", "name", "call_id", "arguments", "side"), ITEMS)
def test_every_kind_of_call_is_requested(item, name, call_id, arguments, side):
    (found,) = reply(item).requested

    assert (found.name, found.call_id, found.arguments, found.side) == (
        name,
        call_id,
        arguments,
        side,
    )


HOSTED_ITEMS = [
    (
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "q"}},
        "web_search",
        (OpaquePart(kind="web_search_call"),),
        None,
    ),
    (
        {
            "type": "file_search_call",
            "id": "fs",
            "status": "completed",
            "queries": ["q"],
            "results": [{"text": "3.6 V", "file_id": "f"}],
        },
        "file_search",
        (TextPart(text="3.6 V"),),
        None,
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci",
            "status": "completed",
            "code": "print(1)",
            "outputs": [{"type": "logs", "logs": "1"}],
        },
        "code_interpreter",
        (TextPart(text="1"),),
        None,
    ),
    (
        {"type": "web_search_call", "id": "ws", "status": "failed", "action": {}},
        "web_search",
        (OpaquePart(kind="web_search_call"),),
        True,
    ),
]


@pytest.mark.parametrize(("item", "name", "parts", "is_error"), HOSTED_ITEMS)
def test_hosted_tools_are_calls_with_results(item, name, parts, is_error):
    read = reply(item, answer("x"))

    (found,) = read.requested
    assert (found.name, found.side) == (name, "provider")
    call_part, result, _ = read.messages[0].parts
    assert result == ToolResultPart(
        call_id=call_part.call_id, name=name, parts=parts, is_error=is_error
    )


def test_a_remote_call_has_the_id_under_which_it_was_approved():
    read = reply(
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "approval_request_id": "apr_1",
            "server_label": "wiki",
            "name": "ask",
            "arguments": '{"q": 1}',
            "output": "42",
        }
    )

    assert [(c.name, c.call_id, c.side) for c in read.requested] == [("ask", "apr_1", "mcp")]
    assert read.messages[0].parts[1] == ToolResultPart(
        call_id="apr_1", name="ask", parts=(TextPart(text="42"),), is_error=False
    )


def test_a_failed_remote_call_is_an_error():
    read = reply(
        {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "error": "no route"}
    )

    assert read.messages[0].parts[1].is_error is True
    assert read.messages[0].parts[1].parts == (TextPart(text="no route"),)


def test_a_reply_of_the_sdk_is_read_whole():
    body = Response.model_validate(
        response(
            {
                "type": "reasoning",
                "id": "rs",
                "summary": [{"type": "summary_text", "text": "sum"}],
                "encrypted_content": "SEALED",
            },
            call(),
            answer("Let me check."),
            usage={
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 120,
            },
        )
    ).model_dump_json(by_alias=True)
    read = CODEC.parse_reply(body.encode())

    assert (read.response_id, read.model) == ("resp_1", "gpt-x-2026")
    assert read.finish_reasons == ("completed",)
    assert read.usage == Usage(
        input_tokens=100, output_tokens=20, cached_input_tokens=64, reasoning_tokens=5
    )
    assert read.messages[0].parts == (
        ReasoningPart(text="sum", signature_digest=digest_text("SEALED")),
        ToolCallPart(name="read_pdf", call_id="call_1", arguments={"page": 1}),
        TextPart(text="Let me check."),
    )
    assert read.is_terminated is True
    assert read.error_type is None


def test_what_the_reply_repeats_of_its_request_is_read():
    echoed = reply(
        answer("x"),
        tools=[TOOL],
        tool_choice="required",
        text={"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        instructions="Be exact.",
        prompt={"id": "pmpt_1"},
        previous_response_id="resp_0",
    ).echoed

    assert echoed.offered == (ToolDefinition(name="read_pdf", parameters=SCHEMA),)
    assert echoed.tool_choice == ToolChoice(mode="required")
    assert echoed.output_format.kind == "json_schema"
    assert echoed.messages == (Message(role="system", parts=(TextPart(text="Be exact."),)),)
    assert echoed.has_server_state is True


def test_tools_that_the_provider_found_are_offered_in_what_it_repeats():
    listing = {"type": "mcp_list_tools", "id": "l", "tools": [{"name": "ask"}]}
    read = reply(listing, answer("x"), tools=[{"type": "mcp", "server_label": "w"}])

    assert [t.name for t in read.echoed.offered] == ["mcp:w", "ask"]
    assert read.messages[0].parts == (TextPart(text="x"),)


def test_an_incomplete_reply_says_why():
    read = reply(
        answer("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )

    assert read.finish_reasons == ("incomplete", "max_output_tokens")


def test_a_refusal_is_marked():
    item = answer("")
    item["content"] = [{"type": "refusal", "refusal": "No."}]
    read = reply(item)

    assert read.has_refusal is True
    assert read.messages[0].parts == (RefusalPart(text="No."),)


def test_a_queued_reply_is_pending():
    read = reply(status="queued", background=True)

    assert read.is_pending is True
    assert read.is_terminated is False


def test_a_failed_reply_gives_its_code():
    read = reply(status="failed", error={"code": "server_error", "message": "secret"})

    assert read.error_type == "server_error"
    assert read.finish_reasons == ("failed",)


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"output": null}', b'{"output": [null, 3, {}], "tools": 5}', b"[]", b'"x"', b"{"],
)
def test_replies_of_unexpected_shape_raise_nothing(body):
    read = CODEC.parse_reply(body)

    assert read.requested == ()
    assert read.usage == Usage()
