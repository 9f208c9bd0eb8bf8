"""Forwarding: the same bytes, in order, through failures; verdict spans in the same trace."""

from __future__ import annotations

import time

import httpx
import msgspec
import pytest
from tests.review.outbound.receivers import receiving
from tests.serve.servers import serving, wait_for
from tests.serve.spans import cut_run, good_run

from spanwitness.archive.otlp_json import encode_request
from spanwitness.archive.otlp_proto import decode_proto, encode_proto_request
from spanwitness.export.destination import ExportSettings
from spanwitness.semconv import gen_ai
from spanwitness.serve.app import create_app
from spanwitness.serve.forward import Forwarder
from spanwitness.serve.holder import HoldLimits
from spanwitness.serve.service import ServeSettings, Service
from spanwitness.testing.collector import Answer, ScriptedCollector


def settings(url, **more):
    return ExportSettings(endpoint=url, **{"timeout_s": 1.0, "retry_window_s": 5.0, **more})


@pytest.fixture
def forwarder():
    made = []

    def make(url, *, max_bytes=1_000_000, **more):
        one = Forwarder(settings(url, **more), max_bytes=max_bytes)
        one.start()
        made.append(one)
        return one

    yield make
    for each in made:
        each.stop(1.0)


def test_requests_arrive_as_they_were_and_in_order(forwarder):
    with receiving(*[200] * 4) as receiver:
        one = forwarder(receiver.url)
        bodies = [encode_proto_request(good_run()), encode_request(good_run()), b"{}", b""]
        for form, body in zip(("protobuf", "json", "json", "protobuf"), bodies, strict=True):
            assert one.offer(form, body)
        wait_for(lambda: len(receiver.got) == 4)
    assert [got.body for got in receiver.got] == bodies
    assert [got.headers["content-type"] for got in receiver.got] == [
        "application/x-protobuf", "application/json", "application/json", "application/x-protobuf",
    ]  # fmt: skip


def test_a_backend_that_fails_gets_the_request_again_and_order_is_kept(forwarder):
    with ScriptedCollector(Answer(status=503), Answer(status=429)) as collector:
        one = forwarder(collector.traces_url)
        runs = [good_run(), cut_run()]
        for run in runs:
            one.offer("protobuf", encode_proto_request(run))
        spans = collector.wait_for_spans(4)
        wait_for(lambda: one.requests.get("delivered") == 2)
    assert [span.trace_id for span in spans] == [s.trace_id for run in runs for s in run]
    assert one.requests == {"delivered": 2}


def test_a_request_that_is_refused_for_good_holds_up_nothing(forwarder):
    with ScriptedCollector(Answer(status=400)) as collector:
        one = forwarder(collector.traces_url)
        for _ in range(2):
            one.offer("protobuf", encode_proto_request(good_run()))
        wait_for(lambda: sum(one.requests.values()) == 2)
    assert one.requests == {"refused": 1, "delivered": 1}


def test_what_waits_is_bounded(forwarder):
    with receiving() as receiver:
        pass
    one = forwarder(receiver.url, max_bytes=1000)
    assert one.offer("json", b"x" * 900)
    assert not one.offer("json", b"x" * 200)
    assert one.size_bytes == 900


def test_a_request_that_is_not_taken_in_time_is_lost_and_counted(forwarder):
    with receiving() as receiver:
        pass
    one = forwarder(receiver.url, retry_window_s=0.2)
    one.offer("json", b"{}")
    wait_for(lambda: one.requests.get("lost") == 1)
    assert one.size_bytes == 0


def test_a_stop_sends_what_waits_and_counts_what_it_could_not():
    with ScriptedCollector() as collector:
        one = Forwarder(settings(collector.traces_url))
        one.offer("protobuf", encode_proto_request(good_run()))
        one.start()
        assert one.stop(5.0) == 0
        assert len(collector.spans) == 2
    one = Forwarder(settings(collector.traces_url))
    one.offer("protobuf", b"")
    one.start()
    started = time.monotonic()
    assert one.stop(0.5) == 1
    assert time.monotonic() - started < 5
    assert one.requests == {"lost": 1}


@pytest.fixture
def server():
    with ScriptedCollector() as collector:
        plan = ServeSettings(
            limits=HoldLimits(grace_s=0.05, keep_s=60), forward=settings(collector.traces_url)
        )
        service = Service(plan)
        with serving(create_app(service)) as running:
            running.collector = collector
            running.service = service
            yield running


def post(server, spans):
    reply = httpx.post(
        f"{server.url}/v1/traces",
        content=encode_proto_request(spans),
        headers={"content-type": "application/x-protobuf"},
    )
    assert reply.status_code == 200


def verdict_spans(server):
    return [s for s in server.collector.spans if s.name.startswith("verdict ")]


def test_spans_go_on_and_a_verdict_span_follows_in_the_same_trace(server):
    spans = cut_run()
    post(server, spans)
    wait_for(lambda: verdict_spans(server))
    assert [s.span_id for s in server.collector.spans[:2]] == [s.span_id for s in spans]
    (verdict,) = verdict_spans(server)
    assert verdict.trace_id == spans[0].trace_id
    assert verdict.parent_span_id == spans[0].span_id
    assert verdict.attributes["spanwitness.rule.id"] == "truncated_output"
    assert verdict.attributes["spanwitness.flagged"] is True


def test_late_spans_make_no_second_verdict_span(server):
    root, chat = cut_run()
    post(server, [root, chat])
    wait_for(lambda: verdict_spans(server))
    late = good_run(root.trace_id)[1]
    post(server, [msgspec.structs.replace(late, span_id="f" * 16, start_ns=5, end_ns=6)])
    wait_for(lambda: server.service.counters.runs.get("again"))
    time.sleep(0.1)
    assert len(verdict_spans(server)) == 1


def test_a_finding_that_the_trace_tells_already_gets_no_verdict_span(server):
    spans = cut_run()
    spans[0].attributes.update(
        {
            "spanwitness.run_id": spans[0].span_id,
            "spanwitness.rules.violated": ["truncated_output"],
        }
    )
    post(server, spans)
    # Such a root says that it is ours and counts no spans, which is a finding of its own.
    wait_for(lambda: verdict_spans(server))
    told = {s.attributes["spanwitness.rule.id"] for s in verdict_spans(server)}
    assert told == {"trace_incomplete"}
    assert ("truncated_output", "error") in server.service.counters.findings


def test_a_verdict_span_carries_the_resource_of_the_application_and_an_evaluation_event():
    with receiving(*[200] * 9) as receiver:
        plan = ServeSettings(limits=HoldLimits(grace_s=0.05), forward=settings(receiver.url))
        with serving(create_app(Service(plan))) as running:
            post(running, cut_run())
            wait_for(lambda: len(receiver.got) == 2)
    (span,) = decode_proto(receiver.got[1].body).spans
    assert span.resource == {"service.name": "shop"}
    (event,) = span.events
    assert event.name == gen_ai.EVALUATION_EVENT
    assert event.attributes[gen_ai.EVALUATION_SCORE_LABEL] == "fail"


def test_a_backend_that_lags_slows_the_senders_down_and_loses_nothing():
    with receiving(*[503] * 50) as receiver:
        plan = ServeSettings(limits=HoldLimits(grace_s=0.05), forward=settings(receiver.url))
        service = Service(plan)
        service.forwarder._max_bytes = 2000
        with serving(create_app(service)) as running:
            replies = [
                httpx.post(
                    f"{running.url}/v1/traces",
                    content=encode_proto_request(good_run()),
                    headers={"content-type": "application/x-protobuf"},
                )
                for _ in range(8)
            ]
            held = service.counters.spans["taken"]
            service.forwarder._deadline = 0.0
    refused = [reply for reply in replies if reply.status_code == 503]
    assert refused
    assert all(reply.headers["retry-after"] for reply in refused)
    assert held == 2 * (len(replies) - len(refused))
