"""Bodies of OpenAI Responses."""

from __future__ import annotations

import json

from spanwitness.wire import codec_for

CODEC = codec_for("POST", "api.openai.com", "/v1/responses")
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
TOOL = {"type": "function", "name": "read_pdf", "parameters": SCHEMA, "strict": True}


def request(**body):
    return CODEC.parse_request(json.dumps({"model": "m", "input": "hi", **body}).encode())


def response(*output, **body):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1.0,
        "model": "gpt-x-2026",
        "status": "completed",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **body,
    }


def reply(*output, **body):
    return CODEC.parse_reply(json.dumps(response(*output, **body)).encode())


def answer(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def call(name="read_pdf", arguments='{"page": 1}', call_id="call_1", **more):
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **more,
    }
