"""B23: values that no wire format can hold cost neither their span nor its neighbours."""

from __future__ import annotations

import json
import os

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode
from tests.export.pipelines import pipeline

from spanwitness.export.otlp_json import encode_json
from spanwitness.export.otlp_proto import encode_proto
from spanwitness.export.repair import repaired
from spanwitness.testing.collector import ScriptedCollector

LONE = "ok \ud83e end"
FIXED = "ok \ufffd end"


def spans_of(build, resource=None):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=resource or Resource({}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    build(provider.get_tracer("tests"))
    return exporter.get_finished_spans()


def test_a_span_that_fits_is_not_copied():
    (span,) = spans_of(lambda t: t.start_span("näme", attributes={"k": "vä", "n": (1, 2)}).end())
    assert repaired(span) is span


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (LONE, FIXED),
        ((LONE, "fine"), (FIXED, "fine")),
        ("pair \ud83e\udd16", "pair \U0001f916"),
        (2**70, str(2**70)),
    ],
    ids=["text", "list", "pair", "huge"],
)
@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_a_value_is_replaced_and_marked_and_its_neighbours_arrive(value, expected, protocol):
    with ScriptedCollector() as collector, pipeline(collector.traces_url, protocol=protocol) as p:
        p.end_spans(3)
        p.tracer.start_span("bad", attributes={"v": value, "w": "kept"}).end()
        p.end_spans(3)
        assert p.processor.flush(5) is True
        assert len(collector.spans) == 7
        (bad,) = [s for s in collector.spans if s.name == "bad"]
    assert bad.attributes["v"] == expected
    assert bad.attributes["w"] == "kept"
    assert bad.attributes["spanwitness.repaired"] == ("v",)
    assert p.losses.total == 0


def test_every_part_of_a_span_is_replaced_and_named():
    def build(tracer):
        with tracer.start_as_current_span("outer"):
            span = tracer.start_span(f"n {LONE}", attributes={f"key {LONE}": 1})
        span.add_event(f"e {LONE}", {"message": LONE})
        span.set_status(Status(StatusCode.ERROR, LONE))
        span.end()

    _, span = sorted(spans_of(build, Resource({"argv": LONE})), key=lambda s: s.name == f"n {LONE}")
    request = ExportTraceServiceRequest.FromString(encode_proto([span]))
    out = request.resource_spans[0].scope_spans[0].spans[0]
    assert out.name == f"n {FIXED}"
    assert out.events[0].name == f"e {FIXED}"
    assert out.events[0].attributes[0].value.string_value == FIXED
    assert out.status.message == FIXED
    assert out.parent_span_id == span.parent.span_id.to_bytes(8, "big")
    assert request.resource_spans[0].resource.attributes[0].value.string_value == FIXED
    marks = {a.key: a.value for a in out.attributes}["spanwitness.repaired"].array_value.values
    assert [m.string_value for m in marks] == [
        f"key {FIXED}",
        "name",
        "status",
        "events",
        "resource",
    ]
    assert json.loads(encode_json([span]))


def test_counts_of_dropped_parts_survive_the_repair():
    from opentelemetry.sdk.trace import SpanLimits

    exporter = InMemorySpanExporter()
    provider = TracerProvider(
        span_limits=SpanLimits(max_attributes=2, max_events=1), shutdown_on_exit=False
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    span = provider.get_tracer("t").start_span("x", attributes={"a": 1, "b": 2, "c": LONE})
    span.add_event("one")
    span.add_event("two")
    span.end()
    fixed = repaired(exporter.get_finished_spans()[0])
    assert (fixed.dropped_attributes, fixed.dropped_events) == (1, 1)


def test_random_text_of_any_code_points_can_be_encoded():
    import random

    rng = random.Random(7)
    texts = ["".join(chr(rng.randrange(0x110000)) for _ in range(30)) for _ in range(50)]

    def build(tracer):
        for text in texts:
            tracer.start_span(text, attributes={"v": text}).end()

    spans = spans_of(build)
    assert len(spans) == 50
    ExportTraceServiceRequest.FromString(encode_proto(spans))
    json.loads(encode_json(spans))
    assert os.linesep.encode() not in encode_json(spans)
