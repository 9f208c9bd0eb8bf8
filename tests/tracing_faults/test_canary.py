"""B41 and B43: a secret at every place that an agent touches leaves by no way."""

from __future__ import annotations

import contextlib

import pytest
from tests.tracing_faults.escapes import Talker, watching_all_ways

import spanwitness as sw
from spanwitness.capture.redact import redact_named
from spanwitness.capture.withheld import withhold
from spanwitness.model import Message, OpaquePart, TextPart, ToolResultPart
from spanwitness.testing import ScriptedProvider, call, text

CANARY = "canary-7fe1c0de"
CONTRACT = """
contract: canary
version: "1"
tools:
  reading: [read_nothing]
expect:
  - {rule: navigation_bypassed, group: reading, at_least: 1, before: submit}
  - {rule: forbidden_tool, tool: read_page}
"""


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def contract(tmp_path_factory):
    path = tmp_path_factory.mktemp("contract") / "contract.yaml"
    path.write_text(CONTRACT)
    return path


@pytest.mark.parametrize(
    ("content", "way"), [("off", "otlp"), ("off", "files"), ("digests", "otlp")]
)
def test_with_content_off_no_byte_anywhere_holds_the_canary(content, way, tmp_path, contract):
    """B43, B41: chats, streams, retries, tools, MCP, exceptions, findings, logs, files, metrics."""
    talker = Talker(CANARY)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        endpoint = {"endpoint": ways.collector.url} if way == "otlp" else {}
        witness = sw.configure(
            "svc", content=content, state_dir=tmp_path, sinks=[ways], contracts=[contract],
            **endpoint,
        )  # fmt: skip
        talker.run_all(provider)
        assert witness.flush(10) is True
        witness.shutdown()
        assert len(provider.requests) == len(talker.script())
    assert sum(CANARY.encode() in seen.body for seen in provider.requests) >= 10
    assert sum(CANARY in repr(seen.headers) for seen in provider.requests) >= 10
    assert ways.leaks(CANARY, tmp_path) == []
    # It is no empty trace: structure is seen, and rules find by it what they can.
    run = next(j for j in ways.kept if j.run.workflow == "secret")
    assert len(run.run.chats) == 10
    assert len(run.run.tools) >= 11
    assert {"forbidden_tool", "answer_changed_after_submit"} <= {v.rule for v in run.findings}
    assert any("forbidden_tool" in event for event in ways.events)
    if way == "otlp":
        assert len(b"".join(ways.collector.bodies)) > 10_000
        assert any(b"spanwitness.runs" in body for body in ways.collector.bodies)
    else:
        assert (tmp_path / "findings.jsonl").stat().st_size > 100


def test_calls_outside_every_run_keep_content_in_as_well(tmp_path):
    """B43: the policy of the process holds where there is no run to ask."""
    talker = Talker(CANARY)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", content="off", endpoint=ways.collector.url)
        talker.use_models(provider)
        talker.use_tools()
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(CANARY, tmp_path) == []
    assert b"read_remote" in b"".join(ways.collector.bodies)


def test_a_variable_switches_content_off_without_configure_knowing_of_it(tmp_path, monkeypatch):
    """B43: `SPANWITNESS_CONTENT=off` alone, with a provider of the application's own."""
    monkeypatch.setenv("SPANWITNESS_CONTENT", "off")
    talker = Talker(CANARY)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", endpoint=ways.collector.url)
        talker.run_all(provider)
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(CANARY, tmp_path) == []


def test_a_run_may_keep_content_in_where_the_process_lets_it_leave(tmp_path):
    """B43: `run(content="off")` holds for its chats, tools, steps, sub-agents and findings."""
    talker = Talker(CANARY)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", content="on", endpoint=ways.collector.url)
        talker.run_all(provider, content="off")
        with sw.run("open", input="content-is-on"):
            pass
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(CANARY, tmp_path) == []
    assert any(b"content-is-on" in body for body in ways.collector.bodies)


def test_with_content_on_the_canary_does_leave(tmp_path):
    """B43, healthy: the tests above would see a leak."""
    talker = Talker(CANARY)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", content="on", endpoint=ways.collector.url)
        talker.run_all(provider)
        witness.flush(10)
        witness.shutdown()
    found = b"".join(ways.collector.bodies)
    for place in ("in the instructions", "in the question", "said", "streamed in pieces",
                  "by Claude", "by Gemini", "result of", "in an exception about", "item of",
                  "remote", "ends the run", "in a checked answer"):  # fmt: skip
        assert f"{CANARY} {place}".encode() in found, place


def test_own_redaction_is_asked_for_every_text_that_leaves(tmp_path, contract):
    """B41: with content on, what `redact` takes out stands in no byte."""
    talker = Talker(CANARY)
    policy = sw.ContentPolicy(redact=lambda text: text.replace(CANARY, "[gone]"))
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure(
            "svc", content=policy, endpoint=ways.collector.url, sinks=[ways], contracts=[contract]
        )
        talker.run_all(provider)
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(CANARY, tmp_path) == []
    found = b"".join(ways.collector.bodies)
    for place in ("in the question", "streamed in pieces", "result of", "ends the run", "remote"):
        assert f"[gone] {place}".encode() in found, place


@pytest.mark.parametrize(
    "secret",
    ["sk-proj-c4naryc4naryc4nary", "AKIAC4NARYC4NARYC4NA", "ghp_c4naryc4naryc4naryc4nary"],
)
def test_what_looks_like_a_credential_is_taken_out_by_itself(secret, tmp_path):
    """B41: with content on and no `redact`, API keys leave by no way."""
    talker = Talker(secret)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", content="on", endpoint=ways.collector.url, sinks=[ways])
        talker.run_all(provider)
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(secret, tmp_path) == []
    assert b"[redacted] streamed in pieces" in b"".join(ways.collector.bodies)


@pytest.mark.parametrize("content", ["on", "off"])
def test_headers_leave_by_no_way_not_even_by_an_exception_that_echoes_them(content, tmp_path):
    """B41: authorization, x-api-key, x-goog-api-key, cookie, proxy-authorization and own ones."""
    header = "he4der-c4nary"
    talker = Talker("plain", header=header)
    with watching_all_ways() as ways, ScriptedProvider(talker.script()) as provider:
        witness = sw.configure("svc", content=content, endpoint=ways.collector.url, sinks=[ways])
        talker.run_all(provider)
        witness.flush(10)
        witness.shutdown()
    assert sum(header in repr(seen.headers) for seen in provider.requests) >= 10
    assert ways.leaks(header, tmp_path) == []
    assert (b"request failed" in b"".join(ways.collector.bodies)) is (content == "on")


def test_a_tool_that_keeps_its_content_in_keeps_it_out_of_the_models_messages_too(tmp_path):
    """B43: a per-tool policy holds for the call's arguments and result wherever they stand."""
    import json

    import openai

    @sw.tool(content="off")
    def read_patient(page: str) -> str:
        return f"{CANARY} result"

    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("read_patient", "fail")
    ]

    @sw.tool
    def fail(page: str) -> str:
        return f"open result of {page}"

    def last_answer(request):
        asked = [m for m in request.json["messages"] if m["role"] == "tool"]
        if len(asked) >= 2:
            return [text("done")]
        return [
            call("read_patient", {"page": CANARY}, id="c1"),
            call("fail", {"page": "7"}, id="c2"),
        ]

    with watching_all_ways() as ways, ScriptedProvider(last_answer) as provider:
        witness = sw.configure("svc", content="on", endpoint=ways.collector.url, sinks=[ways])
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        messages = [{"role": "user", "content": "an open question"}]
        with sw.run("private"):
            while True:
                said = client.chat.completions.create(model="m", messages=messages, tools=tools)
                message = said.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    break
                for asked in message.tool_calls:
                    tool = {"read_patient": read_patient, "fail": fail}[asked.function.name]
                    result = tool(**json.loads(asked.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})
        with contextlib.suppress(Exception):
            client.close()
        witness.flush(10)
        witness.shutdown()
    assert ways.leaks(CANARY, tmp_path) == []
    found = b"".join(ways.collector.bodies)
    assert b"an open question" in found
    assert b"open result of 7" in found
    (judged,) = ways.kept
    row = next(r for r in judged.run.chats[-1].delivered if r.call_id == "c1")
    assert row.state == "whole"
    assert judged.is_flagged is False


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("{'Authorization': 'Bearer S', 'n': 3}", "{'Authorization': [redacted], 'n': 3}"),
        ("(b'x-goog-api-key', b'S'), 1", "(b'x-goog-api-key', [redacted]), 1"),
        ('{\\"x-api-key\\": \\"S\\"}', '{\\"x-api-key\\": [redacted]}'),
        ("Cookie: a=S; b=S\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("X-Acme-Token=S&n=3 failed", "X-Acme-Token=[redacted] failed"),
        ("Proxy-Authorization: Basic S==", "Proxy-Authorization: [redacted]"),
        ("cut in the middle: api_key='S", "cut in the middle: api_key=[redacted]"),
        ("Unexpected token: }", "Unexpected token: }"),
        ("max_tokens: 55 is too many", "max_tokens: 55 is too many"),
        ("KeyError: 'page'", "KeyError: 'page'"),
    ],
)  # fmt: skip
def test_named_credentials_are_taken_out_of_errors_and_the_rest_stays(text, left):
    """B41: headers have no form that tells a secret, so their names do."""
    assert redact_named(text) == left


def test_a_result_that_nobody_can_place_is_withheld():
    """B43: with the history on the provider's side, a result is known by its call id only."""
    results = [ToolResultPart(call_id=c, parts=(TextPart(text=c),)) for c in ("mine", "open", "?")]
    names = {"mine": "read_patient", "open": "search"}
    message = Message(role="tool", parts=tuple(results))
    question = Message(role="user", parts=(TextPart(text="q"),))
    kept, shown = withhold((question, message), {"read_patient"}, names.get)
    assert kept is question
    assert [part.parts[0] for part in shown.parts] == [
        OpaquePart(kind="withheld"), TextPart(text="open"), OpaquePart(kind="withheld")
    ]  # fmt: skip
