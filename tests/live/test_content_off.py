"""With content off a planted secret leaves by no way."""

from __future__ import annotations

import contextlib
import logging

import anthropic
import openai
import pytest
import structlog
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from tests.live.agents import CLIENTS, SCHEMA, TOOLS

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, error, reply, text, think

CANARY = "canary-7fe1c0de"


@sw.tool(effect="read")
def read_page(page: str) -> str:
    return f"{CANARY} result of {page}"


@sw.tool
def fail(page: str) -> str:
    raise ValueError(f"{CANARY} in an exception about {page}")


@sw.step(kind="verify", verdict=lambda answer: CANARY in answer)
def check(answer: str) -> str:
    return answer


def exercise(provider: ScriptedProvider) -> None:
    """Send the canary everywhere content goes: chats, streams, retries, tools, steps, answers."""
    client = sw.wrap_client(
        openai.OpenAI(
            base_url=provider.openai_url,
            api_key=f"sk-{CANARY}",
            default_headers={"x-secret": CANARY},
            max_retries=1,
        )
    )
    CLIENTS.append(client)
    messages = [
        {"role": "system", "content": f"{CANARY} in the instructions"},
        {"role": "user", "content": f"{CANARY} in the question"},
    ]
    asking = {"model": "m", "messages": messages, "tools": TOOLS}
    with sw.run("secret", item_id="item-1") as run:
        client.chat.completions.create(**asking)
        read_page(CANARY)
        with contextlib.suppress(ValueError):
            fail(CANARY)
        list(client.chat.completions.create(stream=True, **asking))
        client.chat.completions.create(response_format=SCHEMA, **asking)
        client.responses.create(model="m", input=CANARY, instructions=CANARY)
        claude = sw.wrap_client(
            anthropic.Anthropic(base_url=provider.anthropic_url, api_key=CANARY, max_retries=0)
        )
        CLIENTS.append(claude)
        with claude.messages.stream(
            model="c", max_tokens=99, system=CANARY, messages=[{"role": "user", "content": CANARY}]
        ) as stream:
            stream.get_final_message()
        with contextlib.suppress(anthropic.APIStatusError):
            claude.messages.create(
                model="c", max_tokens=99, messages=[{"role": "user", "content": CANARY}]
            )
        check(f"{CANARY} in a checked answer")
        run.submit({"answer": CANARY}, claims=[sw.Claim(value=CANARY, quote=CANARY, source=CANARY)])
    with contextlib.suppress(RuntimeError), sw.run("crash"):
        raise RuntimeError(f"{CANARY} ends the run")


SCRIPT = [
    error(500, f"{CANARY} in an error body"),
    [think(f"{CANARY} in reasoning"), call("read_page", {"page": CANARY}), text(CANARY)],
    [text(f"{CANARY} streamed"), call("read_page", {"page": CANARY})],
    text(f'{{"value": 3.6, "quote": "{CANARY}"}}'),
    [think(CANARY), text(f"{CANARY} said"), call("fail", {"page": CANARY})],
    [think(CANARY), text(CANARY)],
    error(400, f"{CANARY} refused", kind="invalid_request_error"),
]


@pytest.mark.parametrize("content", ["off", "digests"])
def test_a_canary_leaves_neither_in_spans_nor_events_logs_files_or_metrics(
    content, tmp_path, caplog
):
    structlog.reset_defaults()
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])
    kept = []

    class Keep:
        def take(self, judged):
            kept.append(judged)

    with caplog.at_level(logging.DEBUG, logger="spanwitness"), ScriptedProvider(SCRIPT) as provider:
        witness = sw.configure(
            "svc", content=content, state_dir=tmp_path, meter_provider=meters, sinks=[Keep()]
        )
        exercise(provider)
        assert witness.flush(10) is True
    assert len(provider.requests) == len(SCRIPT)
    assert any(CANARY.encode() in seen.body for seen in provider.requests)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 2
    for path in files:
        assert CANARY.encode() not in path.read_bytes(), path
    own_lines = [r.getMessage() for r in caplog.records if r.name.startswith("spanwitness")]
    assert CANARY not in "\n".join(own_lines)
    assert CANARY not in reader.get_metrics_data().to_json()
    meters.shutdown()
    assert [j.run.workflow for j in kept] == ["secret", "crash"]
    for judged in kept:
        for verdict in judged.verdicts:
            assert CANARY not in repr(verdict)
    # Structure is still seen: this is no empty trace.
    secret = kept[0].run
    assert len(secret.chats) == 6
    assert [t.name for t in secret.tools] == ["read_page", "fail"]
    assert secret.content == content


def test_with_content_on_the_canary_does_stand_in_the_trace(tmp_path):
    script = [reply(call("read_page", {"page": "3"})), *SCRIPT[2:]]
    with ScriptedProvider(script) as provider:
        witness = sw.configure("svc", content="on", state_dir=tmp_path)
        exercise(provider)
        witness.flush(10)
    assert any(CANARY in path.read_text() for path in witness.trace_dir.iterdir())
    assert f"sk-{CANARY}" not in "".join(p.read_text() for p in witness.trace_dir.iterdir())
