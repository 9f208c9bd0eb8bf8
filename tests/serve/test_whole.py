"""The whole server: the real SDK of a provider, spans, queue, webhook, verdict, and back."""

from __future__ import annotations

import time
from contextlib import ExitStack

import httpx
import pytest
import standardwebhooks
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.live.agents import CLIENTS, QUESTION, SCHEMA, TOOLS, openai_client
from tests.review.outbound.receivers import SECRET, receiving
from tests.serve.servers import serving, wait_for
from tests.serve.spans import cut_run

from spanwitness.archive.otlp_proto import decode_proto, encode_proto_request
from spanwitness.review.outbound.settings import OutboundSettings
from spanwitness.serve.assembly import Plan, assemble
from spanwitness.serve.holder import HoldLimits
from spanwitness.serve.service import ServeSettings

PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture
def serve(tmp_path):
    with ExitStack() as stack:

        def start(**outbound):
            plan = Plan(
                queue=f"sqlite:///{tmp_path}/queue.db",
                serve=ServeSettings(limits=HoldLimits(grace_s=0.1), spool=tmp_path / "spool"),
                outbound=OutboundSettings.model_validate(outbound) if outbound else None,
            )
            server = assemble(plan)
            stack.callback(server.close)
            running = stack.enter_context(serving(server.app))
            running.queue = server.queue
            return running

        yield start
    for client in CLIENTS:
        client.close()
    CLIENTS.clear()


def hook(url, **more):
    return {
        "name": "pager", "url": url, "secrets": [SECRET], "allow_private": True,
        "allow_http": True, **more,
    }  # fmt: skip


def test_a_finding_is_told_and_its_verdict_comes_back_into_the_trace(serve):
    with receiving() as pager, receiving(200) as backend:
        server = serve(
            webhooks=[hook(pager.url)],
            feedback=[{"kind": "otlp", "name": "backend", "endpoint": backend.url}],
        )
        spans = cut_run()
        body = encode_proto_request(spans)
        httpx.post(f"{server.url}/v1/traces", content=body, headers=PROTOBUF)
        wait_for(lambda: pager.got, what="the webhook")
        told = standardwebhooks.Webhook(SECRET).verify(pager.got[0].body, pager.got[0].headers)
        assert told["data"]["trace_ids"] == [spans[0].trace_id]

        verdict = {"verdict": "confirmed", "reason": "cut indeed"}
        item_id = told["data"]["id"]
        reply = httpx.post(f"{server.url}/api/v1/items/{item_id}/verdict", json=verdict)
        assert reply.status_code == 200
        wait_for(lambda: backend.got, what="the verdict")
    (span,) = decode_proto(backend.got[0].body).spans
    assert (span.trace_id, span.parent_span_id) == (spans[0].trace_id, spans[0].span_id)
    assert span.attributes["spanwitness.review.verdict"] == "confirmed"


def test_a_receiver_that_hangs_does_not_hold_up_a_stop(serve, tmp_path):
    with receiving(60.0) as pager:
        server = serve(webhooks=[hook(pager.url, timeout_s=50)])
        body = encode_proto_request(cut_run())
        httpx.post(f"{server.url}/v1/traces", content=body, headers=PROTOBUF)
        wait_for(lambda: pager.got, what="the webhook")
        started = time.monotonic()
        server.server.should_exit = True
        wait_for(lambda: not server.thread.is_alive(), timeout_s=20, what="the stop")
        assert time.monotonic() - started < 15


def test_a_live_agent_and_the_server_say_the_same(serve):
    """The agent is judged in its process; the server judges its spans by the same rules."""
    import openai

    import spanwitness as sw
    from spanwitness.testing import ScriptedProvider, text

    server = serve()
    told = []

    class Sink:
        def take(self, judged):
            told.append(judged)

    witness = sw.configure(
        service_name="reader", endpoint=server.url, protocol="http/protobuf", sinks=[Sink()]
    )
    try:
        with ScriptedProvider(lambda _: text('{"value": 5.5, "quote": "up to 5.5 V"}')) as provider:
            client = sw.wrap_client(openai_client(provider))
            with sw.run("read") as run:
                client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": QUESTION}],
                    tools=TOOLS,
                    response_format=SCHEMA,
                )
            run_id = run.id
        assert witness.flush(timeout_s=10)
        assert isinstance(client, openai.OpenAI)
    finally:
        witness.shutdown()
    (live,) = told
    trace_id = live.run.trace_id
    wait_for(lambda: server.queue.run(trace_id, run_id), what="the run in the queue")
    received = {f.rule for f in server.queue.findings_of_run(trace_id, run_id)}
    assert received == set(live.rules_violated)
    assert received


def test_a_foreign_agent_is_judged_without_code_of_ours(serve):
    server = serve()
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{server.url}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("any")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    with tracer.start_as_current_span("invoke_agent clerk", attributes=agent):
        failed = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["length"]}
        tracer.start_span("chat m", attributes=failed).end()
    provider.shutdown()
    wait_for(server.queue.agent_stats, what="the run")
    (stats,) = server.queue.agent_stats()
    assert (stats.agent, stats.n_runs) == ("clerk", 1)
