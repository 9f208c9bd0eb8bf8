"""Bodies as the real SDKs send and read them, and streams cut into pieces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.wire import Codec, WireReply


class _Recorder:
    def __init__(self) -> None:
        self.body = b""
        self.path = ""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.body = request.read()
        self.path = request.url.raw_path.decode()
        return httpx2.Response(418, json={"error": {"message": "seen", "code": 418}})


def openai_request(call: Callable[[openai.OpenAI], object]) -> bytes:
    """Return the body that a call of the OpenAI SDK sends."""
    recorder = _Recorder()
    transport = httpx2.MockTransport(recorder)
    with (
        httpx2.Client(transport=transport) as http,
        openai.OpenAI(api_key="k", max_retries=0, http_client=http) as client,
    ):
        try:
            call(client)
        except openai.APIStatusError:
            return recorder.body
    raise AssertionError("no request was sent")


def anthropic_request(call: Callable[[anthropic.Anthropic], object]) -> bytes:
    """Return the body that a call of the Anthropic SDK sends."""
    recorder = _Recorder()
    transport = httpx2.MockTransport(recorder)
    with (
        httpx2.Client(transport=transport) as http,
        anthropic.Anthropic(api_key="k", max_retries=0, http_client=http) as client,
    ):
        try:
            call(client)
        except anthropic.APIStatusError:
            return recorder.body
    raise AssertionError("no request was sent")


def gemini_request(call: Callable[[genai.Client], object]) -> tuple[str, bytes]:
    """Return path and body of what a call of the Google SDK sends."""
    recorder = _Recorder()
    with httpx2.Client(transport=httpx2.MockTransport(recorder)) as http:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(httpx_client=http))
        try:
            call(client)
        except genai.errors.APIError:
            return recorder.path, recorder.body
    raise AssertionError("no request was sent")


def sse(*payloads: object, named: bool = False, done: bool = False) -> bytes:
    """Write payloads as a stream of events."""
    lines = []
    for payload in payloads:
        if named:
            lines.append(f"event: {payload['type']}\n")
        lines.append(f"data: {json.dumps(payload, ensure_ascii=False)}\n\n")
    if done:
        lines.append("data: [DONE]\n\n")
    return "".join(lines).encode()


def streamed(codec: Codec, body: bytes, *, step: int | None = None) -> WireReply:
    """Read a stream that arrives in pieces of a given size."""
    decoder = codec.decoder()
    step = step or max(len(body), 1)
    for start in range(0, len(body), step):
        decoder.feed(body[start : start + step])
    return decoder.reply()
