"""OTLP protobuf: the same records as from OTLP/JSON, and back."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwitness.archive.decode import decode_document
from spanwitness.archive.otlp_json import encode_request
from spanwitness.archive.otlp_proto import decode_proto, encode_proto_request
from spanwitness.model import SpanEvent, SpanRecord

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCALARS = st.one_of(TEXT, INTEGERS, st.booleans(), st.floats(allow_nan=False), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=3,
)
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=3)
IDS = st.integers(1, 2**63).map(lambda n: f"{n:016x}")
NANOSECONDS = st.integers(0, 2**63)
SPANS = st.builds(
    SpanRecord,
    trace_id=IDS.map(lambda text: text + text),
    span_id=IDS,
    parent_span_id=st.none() | IDS,
    name=TEXT,
    start_ns=NANOSECONDS,
    end_ns=NANOSECONDS,
    status=st.sampled_from(["unset", "ok", "error"]),
    status_message=TEXT,
    attributes=ATTRIBUTES,
    events=st.lists(
        st.builds(SpanEvent, name=TEXT, time_ns=NANOSECONDS, attributes=ATTRIBUTES), max_size=2
    ).map(tuple),
    resource=ATTRIBUTES,
    scope=TEXT,
    dropped_attributes=st.integers(0, 2**32 - 1),
)


@FEW
@given(st.lists(SPANS, max_size=2))
def test_spans_that_were_written_are_read_as_they_were(spans):
    found = decode_proto(encode_proto_request(spans))
    assert found.problems == ()
    assert found.spans == spans


@FEW
@given(st.lists(SPANS, max_size=2))
def test_both_forms_say_the_same(spans):
    by_json = decode_document(encode_request(spans)).spans
    by_proto = decode_proto(encode_proto_request(spans)).spans
    assert by_json == by_proto


def span(**more):
    return SpanRecord(trace_id="1" * 32, span_id="2" * 16, name="x", **more)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (2**70, str(2**70)),
        ("a\ud800b", "a?b"),
        (("a", 1), ["a", 1]),
        (math.inf, math.inf),
        ({1: "x"}, {"1": "x"}),
        (b"x", "b'x'"),
    ],
)
def test_what_protobuf_cannot_hold_is_written_as_near_as_can_be(value, read):
    (found,) = decode_proto(encode_proto_request([span(attributes={"key": value})])).spans
    assert found.attributes == {"key": read}


def test_not_a_number_stays_so():
    (found,) = decode_proto(encode_proto_request([span(attributes={"key": math.nan})])).spans
    assert math.isnan(found.attributes["key"])


def test_spans_of_one_resource_share_it():
    resource = {"service.name": "shop"}
    spans = [span(resource=resource), msgspec.structs.replace(span(resource=resource), name="y")]
    request = ExportTraceServiceRequest.FromString(encode_proto_request(spans))
    assert len(request.resource_spans) == 1
    found = decode_proto(request.SerializeToString()).spans
    assert found[0].resource is found[1].resource


def test_a_span_with_a_wrong_id_is_a_problem_and_its_neighbour_is_read():
    request = ExportTraceServiceRequest.FromString(encode_proto_request([span(), span()]))
    request.resource_spans[0].scope_spans[0].spans[0].trace_id = b"short"
    found = decode_proto(request.SerializeToString())
    assert len(found.spans) == 1
    assert (found.n_rejected, len(found.problems)) == (1, 1)
    assert "5 and 8 bytes" in found.problems[0]


def test_a_parent_of_nothing_but_zeros_is_no_parent():
    request = ExportTraceServiceRequest.FromString(encode_proto_request([span()]))
    request.resource_spans[0].scope_spans[0].spans[0].parent_span_id = bytes(8)
    assert decode_proto(request.SerializeToString()).spans[0].parent_span_id is None


@pytest.mark.parametrize("data", [b"\xff", b"{}", b"\x0a\xff", b"\x0a\x05hello"])
def test_what_is_no_request_is_a_problem(data):
    found = decode_proto(data)
    assert found.spans == []
    assert found.problems[0].startswith("no OTLP protobuf")
    assert found.n_rejected == 0
