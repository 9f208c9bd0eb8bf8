"""A whole tool loop: run, tool decorator and wrapped client together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI
from tests.capture.witnessing import ASK, TOOLS, watching

from spanwitness.capture.client import wrap_client
from spanwitness.capture.run import run
from spanwitness.capture.tool import tool
from spanwitness.testing import ScriptedProvider, call, text


@tool(effect="read")
def read_page(page: int, language: str = "en") -> dict[str, object]:
    """Read a page."""
    return {"page": page, "current": "250 mA", "note": f"in {language}"}


def loop(client: OpenAI, spoil: bool = False) -> str:
    messages: list[Any] = list(ASK["messages"])
    while True:
        reply = client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message)
        for asked in message.tool_calls:
            result = read_page(**json.loads(asked.function.arguments))
            if spoil:
                result = {**result, "current": "300 mA"}
            messages.append(
                {"role": "tool", "tool_call_id": asked.id, "content": json.dumps(result)}
            )


@pytest.mark.parametrize(("spoil", "state"), [(False, "whole"), (True, "altered")])
def test_the_tools_span_and_the_next_request_carry_the_models_call(spoil, state):
    script = [
        [call("read_page", {"page": 2}, id="call_a"), call("read_page", {"page": 3}, id="call_b")],
        text("250 mA"),
    ]
    with ScriptedProvider(script) as p, watching(with_run=False) as seen:
        client = wrap_client(OpenAI(base_url=p.openai_url, api_key="k"))
        with run("extract"):
            loop(client, spoil)
        client.close()
        first, second = seen.chats
        tools = {s.attributes["gen_ai.tool.call.id"]: s for s in seen.named("execute_tool")}
        roots = [s for s in seen.spans if s.parent is None]
    assert set(tools) == {"call_a", "call_b"}
    assert {s.attributes["spanwitness.tool.link"] for s in tools.values()} == {"exact"}
    assert '"page":3' in tools["call_b"].attributes["gen_ai.tool.call.arguments"]
    delivered = json.loads(second["spanwitness.request.delivered"])
    assert [(d["call_id"], d["state"]) for d in delivered] == [("call_a", state), ("call_b", state)]
    assert len(roots) == 1
    numbers = sorted(s.attributes["spanwitness.seq"] for s in seen.spans)
    assert numbers == [1, 2, 3, 4, 5]
    assert first["spanwitness.seq"] < tools["call_a"].attributes["spanwitness.seq"]


def test_a_call_that_still_waits_for_its_retry_ends_before_its_run():
    from openai import InternalServerError

    from spanwitness.testing import error

    with ScriptedProvider([error(500)]) as p, watching(with_run=False) as seen:
        client = wrap_client(OpenAI(base_url=p.openai_url, api_key="k", max_retries=0))
        with run("extract"), pytest.raises(InternalServerError):
            client.chat.completions.create(**ASK)
        client.close()
        names = [span.name for span in seen.spans]
        root = seen.spans[-1]
    assert names[0] == "chat gpt-test"
    assert root.parent is None
    assert root.attributes["spanwitness.spans.started"] == 2
    assert root.attributes["spanwitness.spans.ended"] == 2
