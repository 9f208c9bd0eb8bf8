"""With an endpoint, spans and metrics leave by OTLP."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import spanwitness as sw


class Collector:
    """A receiver that keeps what it is sent."""

    def __init__(self):
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests.append((self.path, dict(self.headers), body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def sent_to(self, path):
        return [(headers, body) for seen, headers, body in self.requests if seen == path]

    def span_names(self, path="/v1/traces"):
        names = []
        for _, body in self.sent_to(path):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    names.extend(span.name for span in scope.spans)
        return names

    def metric_names(self, path="/v1/metrics"):
        names = set()
        for _, body in self.sent_to(path):
            request = ExportMetricsServiceRequest.FromString(body)
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    names.update(metric.name for metric in scope.metrics)
        return names


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def traced():
    with sw.run("answer"):
        pass


def test_an_endpoint_without_a_path_is_a_base_for_spans_and_metrics(collector, tmp_path):
    witness = sw.configure(
        "svc", endpoint=collector.url, headers={"X-Team": "sensors"}, state_dir=tmp_path
    )
    traced()
    assert witness.flush(10) is True
    assert collector.span_names() == ["invoke_workflow answer"]
    assert "spanwitness.runs" in collector.metric_names()
    for path in ("/v1/traces", "/v1/metrics"):
        headers = {name.lower(): value for name, value in collector.sent_to(path)[0][0].items()}
        assert headers["x-team"] == "sensors"
    assert witness.trace_dir is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_url_is_taken_as_it_stands(collector):
    witness = sw.configure("svc", endpoint=f"{collector.url}/in/v1/traces")
    traced()
    assert witness.flush(10) is True
    assert collector.span_names("/in/v1/traces") == ["invoke_workflow answer"]
    assert "spanwitness.runs" in collector.metric_names("/in/v1/metrics")


def test_the_standard_variables_are_enough(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    witness = sw.configure("svc")
    traced()
    assert witness.flush(10) is True
    assert collector.span_names() == ["invoke_workflow answer"]
    assert collector.metric_names() == set()


def test_an_argument_goes_before_a_variable(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
    witness = sw.configure("svc", endpoint=collector.url)
    traced()
    assert witness.flush(10) is True
    assert collector.span_names() == ["invoke_workflow answer"]


def test_a_dead_collector_is_told_by_the_flush_and_counted(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    witness = sw.configure("svc", endpoint="http://127.0.0.1:1")
    traced()
    assert witness.flush(0.3) is False
    assert witness.shutdown(0.5) is False
    assert witness.losses.total == 1


def test_exporting_makes_no_span_of_itself(collector):
    witness = sw.configure("svc", endpoint=collector.url)
    with sw.run("answer"):
        assert witness.flush(10) is True
    assert witness.flush(10) is True
    assert witness.flush(10) is True
    assert collector.span_names() == ["invoke_workflow answer"]


def test_a_collector_that_is_out_of_reach_raises_in_no_thread(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    witness = sw.configure("svc", endpoint="http://127.0.0.1:9")
    traced()
    assert witness.flush(0.3) is False
    for thread in threading.enumerate():
        if thread.name == "spanwitness-metrics":
            thread.join(5)
    assert raised == []
