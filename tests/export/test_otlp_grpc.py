from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from tests.export.pipelines import pipeline

from spanwitness.errors import SettingsError
from spanwitness.export.destination import ExportSettings
from spanwitness.export.otlp_grpc import GrpcSender
from spanwitness.testing.collector import Answer, ScriptedCollector


@pytest.fixture
def collector():
    with ScriptedCollector(with_grpc=True) as running:
        yield running


def over_grpc(collector: ScriptedCollector, **settings: object):
    return pipeline(collector.grpc_target, protocol="grpc", **settings)


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
def test_spans_arrive_with_headers_as_metadata(collector, compression):
    with over_grpc(collector, headers={"X-Team": "a"}, compression=compression) as p:
        p.end_spans(5, text="x" * 1000)
        assert p.processor.flush(5) is True
        assert [s.name for s in collector.spans] == [f"span-{i}" for i in range(5)]
        assert collector.requests[0].headers["x-team"] == "a"


def test_b16_one_span_above_the_limit_does_not_cost_its_neighbours(collector):
    with over_grpc(collector) as p:
        p.end_spans(5)
        p.tracer.start_span("huge", attributes={"v": "x" * 5_000_000}).end()
        p.end_spans(4)
        assert p.processor.flush(10) is False
        assert len(collector.spans) == 9
    assert p.losses.as_dict() == {"too_large": 1}


def test_b16_many_large_spans_leave_in_requests_below_the_limit(collector):
    with over_grpc(collector) as p:
        p.end_spans(30, text="x" * 500_000)
        assert p.processor.flush(20) is True
        assert len(collector.spans) == 30
        assert all(r.body_bytes <= 2 * 1024 * 1024 for r in collector.requests)


def test_wide_characters_count_with_their_bytes(collector):
    with over_grpc(collector) as p:
        p.end_spans(12, text="\u6587" * 500_000)
        assert p.processor.flush(20) is True
        assert len(collector.spans) == 12


def test_a_span_between_the_batch_size_and_the_limit_travels_alone(collector):
    with over_grpc(collector) as p:
        p.end_spans(2, text="x" * 3_500_000)
        assert p.processor.flush(20) is True
        assert [len(r.spans) for r in collector.requests] == [1, 1]


def test_b19_spans_rejected_in_an_accepting_reply_are_counted_and_told(caplog):
    collector = ScriptedCollector(Answer(rejected_spans=3, message="bad"), with_grpc=True)
    with collector, over_grpc(collector) as p:
        p.end_spans(10)
        assert p.processor.flush(5) is False
    assert p.losses.as_dict() == {"rejected": 3}
    (warning,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert "bad" in warning


@pytest.mark.parametrize("code", ["UNAVAILABLE", "ABORTED", "DATA_LOSS", "RESOURCE_EXHAUSTED"])
def test_a_passing_refusal_is_tried_again(code):
    collector = ScriptedCollector(Answer(grpc_code=code, message="busy"), with_grpc=True)
    with collector, over_grpc(collector) as p:
        p.end_spans(4)
        assert p.processor.flush(5) is True
        assert len(collector.requests) == 2
        assert len(collector.spans) == 4


def test_a_receiver_with_a_smaller_limit_leads_to_a_split():
    refusal = Answer(
        grpc_code="RESOURCE_EXHAUSTED", message="received message larger than max (900 vs. 500)"
    )
    with ScriptedCollector(refusal, with_grpc=True) as collector, over_grpc(collector) as p:
        p.end_spans(4)
        assert p.processor.flush(5) is True
        assert [len(r.spans) for r in collector.requests] == [4, 2, 2]


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "UNAUTHENTICATED", "UNIMPLEMENTED"])
def test_a_final_refusal_is_counted_and_not_repeated(code):
    collector = ScriptedCollector(Answer(grpc_code=code), with_grpc=True)
    with collector, over_grpc(collector) as p:
        p.end_spans(4)
        assert p.processor.flush(5) is False
        assert len(collector.requests) == 1
    assert p.losses.as_dict() == {"failed": 4}


def test_the_delay_that_the_collector_asks_for_is_kept():
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=1)))
    status = status_pb2.Status(code=8, details=[packed]).SerializeToString()
    refusal = Answer(grpc_code="RESOURCE_EXHAUSTED", headers={"grpc-status-details-bin": status})
    with ScriptedCollector(refusal, with_grpc=True) as collector, over_grpc(collector) as p:
        p.end_spans(1)
        assert p.processor.flush(0.4) is False
        assert len(collector.requests) == 1
        assert p.processor.flush(5) is True


def test_a_closed_port_is_answered_within_the_time_of_the_flush():
    with pipeline("http://127.0.0.1:9", protocol="grpc") as p:
        p.end_spans(3)
        assert p.processor.flush(0.5) is False
        p.processor.stop(0.5)
    assert p.losses.as_dict() == {"shutdown": 3}


def test_a_certificate_that_cannot_be_read_is_an_error_at_set_up(tmp_path):
    with pytest.raises(SettingsError, match=r"absent\.pem"):
        GrpcSender(
            ExportSettings(
                endpoint="https://127.0.0.1:1", protocol="grpc", certificate=tmp_path / "absent.pem"
            )
        )


@pytest.mark.parametrize(
    ("endpoint", "is_insecure", "is_plain"),
    [
        ("http://h:1", None, True),
        ("https://h:1", True, False),
        ("h:1", True, True),
        ("h:1", None, False),
    ],
)
def test_the_scheme_decides_on_tls_and_without_one_the_setting_does(
    endpoint, is_insecure, is_plain
):
    sender = GrpcSender(ExportSettings(endpoint=endpoint, protocol="grpc", is_insecure=is_insecure))
    assert (sender._tls is None) is is_plain
    assert sender._target == "h:1"
    sender.close()


FORK_WITHOUT_SUPPORT = """
import os, sys
from spanwitness.export.destination import ExportSettings
from spanwitness.export.otlp_grpc import GrpcSender
from spanwitness.export.parcel import Parcel
sender = GrpcSender(ExportSettings(endpoint="http://127.0.0.1:9", protocol="grpc"))
if sys.argv[1:] == ["connected"]:
    sender.send(Parcel((), b""), 1.0)
if os.fork() == 0:
    sender.after_fork()
    outcome = sender.send(Parcel((), b""), 1.0)
    print(outcome.word, outcome.detail, flush=True)
    os._exit(0)
os.wait()
"""


def forked(*arguments: str, support: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FORK_WITHOUT_SUPPORT, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": support},
    )
    return done.stdout


def test_a_fork_after_a_connection_without_grpcs_fork_support_fails_at_once_and_says_why():
    out = forked("connected", support="0")
    assert out.startswith("failed")
    assert "GRPC_ENABLE_FORK_SUPPORT=1" in out


def test_a_fork_before_the_first_connection_can_export():
    """`retry`: it did try, and the port is closed."""
    assert forked(support="0").startswith("retry")


def test_a_fork_with_grpcs_fork_support_can_export():
    assert forked("connected", support="1").startswith("retry")


def test_a_fork_waits_for_the_call_in_flight_and_lets_calls_go_on_afterwards(collector):
    with over_grpc(collector) as p:
        sender = p.processor._delivery.sender
        sender.before_fork()
        p.end_spans(1)
        assert p.processor.flush(0.3) is False
        assert collector.requests == ()
        sender.after_fork_in_parent()
        assert p.processor.flush(5) is True
        sender.after_fork_in_parent()
        p.end_spans(1)
        assert p.processor.flush(5) is True
