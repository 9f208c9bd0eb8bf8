from __future__ import annotations

import logging
import shutil
import socket
import ssl
import subprocess
import threading
import time

import httpx
import pytest
from opentelemetry import context as otel_context
from tests.export.pipelines import pipeline

from spanwitness.errors import SettingsError
from spanwitness.export.destination import ExportSettings
from spanwitness.export.otlp_http import HttpSender
from spanwitness.testing.collector import Answer, ScriptedCollector


def warnings_of(caplog) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
def test_spans_arrive_whole_in_every_form(protocol, compression):
    with (
        ScriptedCollector() as collector,
        pipeline(
            collector.traces_url,
            protocol=protocol,
            compression=compression,
            headers={"Authorization": "Bearer x"},
        ) as p,
    ):
        with p.tracer.start_as_current_span("outer"):
            p.tracer.start_span(
                "inner", attributes={"a": 1, "b": ("x", "y"), "c": "z" * 2000}
            ).end()
        assert p.processor.flush(5) is True
        inner, outer = collector.spans
        (request,) = collector.requests
    assert (inner.name, outer.name) == ("inner", "outer")
    assert inner.parent_span_id == outer.span_id
    assert inner.attributes == {"a": 1, "b": ("x", "y"), "c": "z" * 2000}
    assert request.path == "/v1/traces"
    assert request.headers["authorization"] == "Bearer x"
    assert (request.wire_bytes < request.body_bytes) is (compression != "none")
    assert p.processor.n_delivered == 2


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_b19_spans_rejected_in_an_accepting_reply_are_counted_and_told_once(protocol, caplog):
    script = [Answer(rejected_spans=3, message="bad"), Answer(rejected_spans=1, message="bad")]
    with (
        ScriptedCollector(*script) as collector,
        pipeline(collector.traces_url, protocol=protocol) as p,
    ):
        p.end_spans(10)
        assert p.processor.flush(5) is False
        p.end_spans(2)
        assert p.processor.flush(5) is False
        p.end_spans(1)
        assert p.processor.flush(5) is True
    assert p.losses.as_dict() == {"rejected": 4}
    assert p.processor.n_delivered == 9
    (warning,) = warnings_of(caplog)
    assert "reason=rejected spans=3" in warning
    assert "bad" in warning


def test_b18_a_request_that_is_too_large_is_split_until_it_passes(caplog):
    with ScriptedCollector(max_body_bytes=10_000) as collector, pipeline(collector.traces_url) as p:
        p.end_spans(20, text="x" * 2000)
        assert p.processor.flush(10) is True
    assert [s.name for s in collector.spans] == [f"span-{i}" for i in range(20)]
    assert p.losses.total == 0
    assert warnings_of(caplog) == []


def test_b18_only_the_span_that_is_too_large_alone_is_lost_and_counted(caplog):
    with ScriptedCollector(max_body_bytes=10_000) as collector, pipeline(collector.traces_url) as p:
        p.end_spans(3)
        p.tracer.start_span("large", attributes={"image": "x" * 20_000}).end()
        p.end_spans(3)
        assert p.processor.flush(10) is False
    assert len(collector.spans) == 6
    assert p.losses.as_dict() == {"too_large": 1}
    (warning,) = warnings_of(caplog)
    assert "HTTP 413" in warning


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_refusal_is_tried_again(status):
    with ScriptedCollector(Answer(status=status)) as collector, pipeline(collector.traces_url) as p:
        p.end_spans(5)
        assert p.processor.flush(5) is True
    assert len(collector.requests) == 2
    assert len(collector.spans) == 5
    assert p.losses.total == 0


@pytest.mark.parametrize("status", [400, 401, 404, 500, 307])
def test_a_final_refusal_is_counted_and_not_repeated(status, caplog):
    with ScriptedCollector(Answer(status=status)) as collector, pipeline(collector.traces_url) as p:
        p.end_spans(5)
        assert p.processor.flush(5) is False
        p.end_spans(1)
        assert p.processor.flush(5) is True
    assert len(collector.requests) == 2
    assert p.losses.as_dict() == {"failed": 5}
    (warning,) = warnings_of(caplog)
    assert f"HTTP {status}" in warning


def test_retry_after_is_kept_also_when_somebody_waits():
    refusal = Answer(status=429, headers={"retry-after": "1"})
    with ScriptedCollector(refusal) as collector, pipeline(collector.traces_url) as p:
        p.end_spans(1)
        start = time.monotonic()
        assert p.processor.flush(0.3) is False
        assert len(collector.requests) == 1
        assert p.processor.flush(5) is True
        assert time.monotonic() - start >= 0.95


def test_retry_after_as_a_date_is_counted_from_the_collectors_own_clock():
    sender = HttpSender(ExportSettings(endpoint="http://127.0.0.1:1/v1/traces"))
    reply = httpx.Response(
        503,
        headers={
            "date": "Sun, 29 Nov 2026 10:00:00 GMT",
            "retry-after": "Sun, 29 Nov 2026 10:00:07 GMT",
        },
    )
    assert sender._outcome(reply, b"").retry_after_s == 7
    for unreadable in ("soon", "", "Sun, 99 Nov"):
        reply = httpx.Response(503, headers={"retry-after": unreadable})
        assert sender._outcome(reply, b"").retry_after_s is None
    sender.close()


def test_a_batch_that_is_refused_for_the_whole_window_is_lost_and_counted():
    script = [Answer(status=503)] * 50
    with (
        ScriptedCollector(*script) as collector,
        pipeline(collector.traces_url, retry_window_s=0.5) as p,
    ):
        p.end_spans(4)
        deadline = time.monotonic() + 5
        while not p.losses.total and time.monotonic() < deadline:
            time.sleep(0.02)
        assert p.losses.as_dict() == {"failed": 4}
        assert len(collector.requests) >= 2


@pytest.mark.contains_faults
def test_a_reply_that_never_ends_does_not_hold_the_exporter():
    server = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        try:
            for _ in range(100):
                connection.sendall(b"\x00")
                time.sleep(0.05)
        except OSError:
            pass
        connection.close()

    threading.Thread(target=drip, daemon=True).start()
    url = f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces"
    with pipeline(url, timeout_s=0.5) as p:
        p.end_spans(1)
        start = time.monotonic()
        p.processor.flush(4)
        assert time.monotonic() - start < 3
    server.close()


@pytest.mark.contains_faults
def test_an_unreadable_reply_to_an_accepted_request_is_no_loss():
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n<html/>")
        connection.close()

    threading.Thread(target=answer, daemon=True).start()
    with pipeline(f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces") as p:
        p.end_spans(1)
        assert p.processor.flush(5) is True
    server.close()


def test_a_collector_that_comes_back_gets_everything():
    probe = socket.create_server(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    with pipeline(f"http://127.0.0.1:{port}/v1/traces") as p:
        p.end_spans(7)
        assert p.processor.flush(0.3) is False
        with ScriptedCollector(port=port) as collector:
            assert p.processor.flush(5) is True
            assert len(collector.spans) == 7
    assert p.losses.total == 0


def test_b59_our_own_export_is_not_traced(monkeypatch):
    """A patch on httpx, as client instrumentations make it, must see the suppression."""
    with ScriptedCollector() as collector, pipeline(collector.traces_url) as p:
        bare = httpx.HTTPTransport.handle_request

        def traced(self, request):
            if otel_context.get_value(otel_context._SUPPRESS_INSTRUMENTATION_KEY):
                return bare(self, request)
            with p.tracer.start_as_current_span("POST"):
                return bare(self, request)

        monkeypatch.setattr(httpx.HTTPTransport, "handle_request", traced)
        with httpx.Client() as client, p.tracer.start_as_current_span("user"):
            client.get(collector.url + "/ping")
        assert p.processor.flush(5) is True
        p.processor.stop(2)
        assert [s.name for s in collector.spans] == ["POST", "user"]
    assert otel_context.get_value(otel_context._SUPPRESS_INSTRUMENTATION_KEY) is None


@pytest.mark.parametrize("field", ["certificate", "client_certificate"])
def test_a_certificate_that_cannot_be_read_is_an_error_at_set_up(tmp_path, field):
    settings = ExportSettings(endpoint="https://127.0.0.1:1/", **{field: tmp_path / "absent.pem"})
    with pytest.raises(SettingsError, match=r"absent\.pem"):
        HttpSender(settings)


def test_a_collector_with_a_private_certificate_is_trusted_when_it_is_given(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=DNS:localhost -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    collector = ScriptedCollector()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    collector._http.socket = context.wrap_socket(collector._http.socket, server_side=True)
    with collector:
        url = collector.traces_url.replace("http://127.0.0.1", "https://localhost")
        with pipeline(url, certificate=certificate) as p:
            p.end_spans(1)
            assert p.processor.flush(5) is True
        with pipeline(url, exit_timeout_s=0.5) as p:
            p.end_spans(1)
            assert p.processor.flush(0.5) is False
    assert len(collector.spans) == 1


def test_a_header_outside_ascii_is_an_error_at_set_up_that_does_not_quote_it():
    with pytest.raises(SettingsError) as caught:
        HttpSender(ExportSettings(endpoint="http://127.0.0.1:1/", headers={"k": "s3cr\u0437t"}))
    assert "s3cr" not in str(caught.value)
