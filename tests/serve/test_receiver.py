"""OTLP over HTTP and gRPC, as senders see it: real exporters, and requests that are wrong."""

from __future__ import annotations

import gzip
import json
import zlib

import grpc
import httpx
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.serve.servers import Collecting, serving, wait_for
from tests.serve.spans import cut_run, good_run, span, trace_id

from spanwitness.archive.otlp_json import encode_request
from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.errors import SettingsError
from spanwitness.serve.app import create_app
from spanwitness.serve.holder import HoldLimits
from spanwitness.serve.service import ServeSettings, Service

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
QUICK = HoldLimits(grace_s=0.05)
SLOW = HoldLimits(grace_s=3600)


@pytest.fixture
def sink():
    return Collecting()


@pytest.fixture
def running(sink):
    service = Service(ServeSettings(limits=QUICK, grpc_port=0), sinks=[sink])
    with serving(create_app(service)) as server:
        server.service = service
        yield server


def post(server, body, headers, **more):
    return httpx.post(f"{server.url}/v1/traces", content=body, headers={**headers, **more})


def exported(exporter, n_agents=3):
    """Run agents on the SDK and export their spans."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("shop")
    ids = set()
    for _ in range(n_agents):
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
        with tracer.start_as_current_span("invoke_agent clerk", attributes=agent) as root:
            chat = {
                "gen_ai.operation.name": "chat",
                "gen_ai.response.finish_reasons": ["length"],
                "gen_ai.output.messages": '[{"role": "assistant", "finish_reason": "length", '
                '"parts": [{"type": "text", "content": "The"}]}]',
            }
            tracer.start_span("chat m", attributes=chat).end()
            ids.add(f"{root.get_span_context().trace_id:032x}")
    assert provider.force_flush(10_000)
    provider.shutdown()
    return ids


@pytest.mark.parametrize("protocol", ["http", "http+gzip", "grpc"])
def test_spans_of_the_real_exporter_are_judged(protocol, running, sink):
    if protocol == "grpc":
        target = f"127.0.0.1:{running.service.grpc.port}"
        exporter = GrpcExporter(endpoint=target, insecure=True)
    else:
        from opentelemetry.exporter.otlp.proto.http import Compression

        compression = Compression.Gzip if "gzip" in protocol else None
        exporter = HttpExporter(endpoint=f"{running.url}/v1/traces", compression=compression)
    ids = exported(exporter)
    wait_for(lambda: len(sink.runs) == 3, what="three judged runs")
    assert {run.judged.run.trace_id for run in sink.runs} == ids
    assert sink.rules() == {"truncated_output"}
    assert all(run.judged.run.is_complete for run in sink.runs)


def test_both_forms_give_the_same_runs(running, sink):
    runs = [cut_run(), cut_run()]
    assert post(running, encode_proto_request(runs[0]), PROTOBUF).status_code == 200
    assert post(running, encode_request(runs[1]), JSON).status_code == 200
    wait_for(lambda: len(sink.runs) == 2)
    first, second = (run.judged.verdicts for run in sink.runs)
    assert first == second


def test_a_request_that_was_taken_is_answered_by_an_empty_success_in_its_own_form(running):
    proto = post(running, encode_proto_request(good_run()), PROTOBUF)
    assert (proto.status_code, proto.content) == (200, b"")
    assert proto.headers["content-type"] == "application/x-protobuf"
    plain = post(running, encode_request(good_run()), JSON)
    assert (plain.status_code, plain.json()) == (200, {})
    assert plain.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("body", "headers"), [(b"", PROTOBUF), (b"{}", JSON)])
def test_an_empty_request_is_a_success(body, headers, running):
    assert post(running, body, headers).status_code == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_requests_are_read(encoding, running, sink):
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    reply = post(running, pack(encode_request(good_run())), JSON, **{"content-encoding": encoding})
    assert reply.status_code == 200
    wait_for(lambda: sink.runs)


def test_spans_that_cannot_be_read_are_rejected_and_their_neighbours_taken(running, sink):
    document = json.loads(encode_request(good_run()))
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append({"traceId": "nonsense", "spanId": "00", "name": "bad"})
    spans.append({"traceId": "0" * 32, "spanId": "1" * 16, "name": "zero"})
    reply = post(running, json.dumps(document).encode(), JSON)
    assert reply.status_code == 200
    partial = reply.json()["partialSuccess"]
    assert partial["rejectedSpans"] == "2"
    assert "traceId 'nonsense'" in partial["errorMessage"]
    wait_for(lambda: sink.runs)
    assert len(sink.runs[0].spans) == 2


def test_a_partial_success_in_protobuf_names_the_number_of_rejected_spans(running):
    body = encode_proto_request([*good_run(), span("0" * 32, "zero", span_id=9)])
    answer = ExportTraceServiceResponse.FromString(post(running, body, PROTOBUF).content)
    assert answer.partial_success.rejected_spans == 1
    assert answer.partial_success.error_message == "an id of nothing but zeros"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\xff\xff\xff", PROTOBUF, 400),
        (b"{nope", JSON, 400),
        (b'{"resourceLogs": []}', JSON, 400),
        (b'{"resourceLogs": [{"scopeLogs": []}]}', JSON, 400),
        (b"x", {**JSON, "content-encoding": "gzip"}, 400),
        (gzip.compress(b"{}" * 100)[:-9], {**JSON, "content-encoding": "gzip"}, 400),
        (b"x", {**JSON, "content-encoding": "br"}, 415),
        (b"x", {"content-type": "text/plain"}, 415),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_for_good(body, headers, status, running):
    reply = post(running, body, headers)
    assert reply.status_code == status
    if status == 400 and headers is PROTOBUF:
        assert Status.FromString(reply.content).code == 3
    elif status != 200:
        assert reply.json()["message"]


def test_a_small_request_that_would_become_large_is_refused(sink):
    from starlette.applications import Starlette
    from starlette.routing import Route

    from spanwitness.serve.receiver import traces_endpoint

    service = Service(ServeSettings(limits=QUICK))
    endpoint = traces_endpoint(service.intake, max_body_bytes=1_000_000)
    with serving(Starlette(routes=[Route("/v1/traces", endpoint, methods=["POST"])])) as server:
        bomb = gzip.compress(b" " * 100_000_000)
        assert post(server, bomb, JSON, **{"content-encoding": "gzip"}).status_code == 413
        assert post(server, b" " * 1_000_001, JSON).status_code == 413
        assert httpx.get(f"{server.url}/v1/traces").status_code == 405


def test_a_full_server_asks_the_sender_to_come_again_and_takes_it_then(sink):
    body = encode_request(good_run())
    limits = HoldLimits(grace_s=1.0, max_bytes=len(body) + 3000)
    service = Service(ServeSettings(limits=limits, grpc_port=0), sinks=[sink])
    with serving(create_app(service)) as server:
        assert post(server, body, JSON).status_code == 200
        reply = post(server, encode_request(good_run()), JSON)
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")
        assert reply.json() == {"code": 14, "message": "too much is held already"}
        with grpc.insecure_channel(f"127.0.0.1:{service.grpc.port}") as channel:
            export = channel.unary_unary(
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
            )
            with pytest.raises(grpc.RpcError) as error:
                export(encode_proto_request(good_run()), timeout=5)
            assert error.value.code() is grpc.StatusCode.UNAVAILABLE
            details = dict(error.value.trailing_metadata())["grpc-status-details-bin"]
            info = RetryInfo()
            assert Status.FromString(details).details[0].Unpack(info)
            assert info.retry_delay.seconds == 2
            with pytest.raises(grpc.RpcError) as error:
                export(b"\xff\xff", timeout=5)
        assert not sink.runs
        wait_for(lambda: post(server, encode_request(good_run()), JSON).status_code == 200)
        assert service.counters.requests["http", "full"] >= 1
        assert service.counters.requests["grpc", "full"] == 2


def test_a_malformed_grpc_request_is_an_invalid_argument(running):
    with grpc.insecure_channel(f"127.0.0.1:{running.service.grpc.port}") as channel:
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        with pytest.raises(grpc.RpcError) as error:
            export(b"\xff\xff", timeout=5)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_trace_beyond_its_bound_is_refused_in_part_and_its_run_is_incomplete(sink):
    limits = HoldLimits(grace_s=0.05, max_spans_per_trace=2)
    trace = trace_id()
    service = Service(ServeSettings(limits=limits), sinks=[sink])
    with serving(create_app(service)) as server:
        more = [span(trace, f"work {n}", span_id=n, parent=1) for n in range(10, 13)]
        reply = post(server, encode_request([*good_run(trace), *more]), JSON)
        assert reply.json()["partialSuccess"]["rejectedSpans"] == "3"
        wait_for(lambda: sink.runs)
    assert "spans_lost" in sink.runs[0].judged.run.incomplete_reasons


def test_a_stopping_server_judges_what_it_holds(sink):
    service = Service(ServeSettings(limits=SLOW), sinks=[sink])
    with serving(create_app(service)) as server:
        post(server, encode_request(cut_run()), JSON)
        post(server, encode_request([cut_run()[1]]), JSON)
        assert not sink.runs
    assert [run.judged.run.is_complete for run in sink.runs] == [True, False]


def test_a_port_that_is_taken_is_told(running):
    settings = ServeSettings(grpc_port=running.service.grpc.port)
    with pytest.raises(SettingsError, match="cannot listen for gRPC"):
        Service(settings)


def test_health_says_what_is_held(running):
    reply = httpx.get(f"{running.url}/healthz")
    assert reply.status_code == 200
    assert reply.json() == {"status": "ok", "traces_waiting": 0, "held_bytes": 0}
