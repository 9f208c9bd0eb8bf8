"""Bodies of OpenAI chat completions."""

from __future__ import annotations

import json

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
