"""Relatives of B06, B35 and B57: which call of the model a tool serves, when ids are poor."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from tests.capture.witnessing import watching

import spanwitness as sw
from spanwitness.normalize.ledger import build_ledger
from spanwitness.testing import ScriptedProvider, call, text

TOOLS: Any = [{"type": "function", "function": {"name": "read_page", "parameters": {}}}]


@sw.tool
def read_page(page: int) -> str:
    return f"page {page} says {page * 111} mA"


def converse(client: openai.OpenAI, turns: int, *, stream: bool) -> None:
    """Ask, run the one tool that is asked for, ask again."""
    messages: list[Any] = [{"role": "user", "content": "q"}]
    for _ in range(turns):
        asking: Any = {"model": "m", "messages": messages, "tools": TOOLS}
        if stream:
            with client.chat.completions.stream(**asking) as chunks:
                said = chunks.get_final_completion().choices[0].message
        else:
            said = client.chat.completions.create(**asking).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        for asked in said.tool_calls or ():
            result = read_page(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("with_run", [True, False])
def test_a_server_that_uses_an_id_again_is_linked_turn_by_turn(with_run, stream):
    """B57: some servers number calls anew in each reply; the second result is no altered first."""
    script = [[call("read_page", {"page": n}, id="call_0")] for n in (1, 2, 3)] + [[text("end")]]
    with ScriptedProvider(script) as provider, watching(with_run=with_run) as seen:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        converse(client, 4, stream=stream)
        client.close()
        chats = seen.chats
        tools = [dict(span.attributes) for span in seen.named("execute_tool")]
    assert [tool["gen_ai.tool.call.id"] for tool in tools] == ["call_0"] * 3
    states = [[d["state"] for d in json.loads(c.get("spanwitness.request.delivered", "[]"))]
              for c in chats]  # fmt: skip
    assert states[0] == []
    assert all(state == "whole" for found in states for state in found), states


def test_a_run_with_repeated_ids_has_a_row_for_each_call_and_is_not_flagged(tmp_path):
    """B57: what is told apart on the way in stays apart in the ledger."""
    kept: list[Any] = []

    class Keep:
        def take(self, judged: Any) -> None:
            kept.append(judged)

    script = [[call("read_page", {"page": n}, id="call_0")] for n in (1, 2, 3)]
    with ScriptedProvider([*script, [text("333 mA on page 3")]]) as provider:
        witness = sw.configure("svc", state_dir=tmp_path, sinks=[Keep()])
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        with sw.run("repeated"):
            converse(client, 4, stream=False)
        client.close()
        witness.flush(10)
    (judged,) = kept
    violated = {v.rule: v.reason for v in judged.verdicts if v.verdict == "violated"}
    assert violated == {}
    rows = build_ledger(judged.run)
    assert [(r.executed, r.returned, r.delivered) for r in rows] == [("span", "value", "whole")] * 3
