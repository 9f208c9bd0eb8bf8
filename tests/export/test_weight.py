from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwitness.export.otlp_proto import encode_proto
from spanwitness.export.weight import estimate_bytes


def span_with(attributes, event=None):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    span = provider.get_tracer("t").start_span("x", attributes=attributes)
    if event is not None:
        span.add_event("e", event)
    span.end()
    return exporter.get_finished_spans()[0]


def test_large_values_are_weighed_wherever_they_stand():
    text = "x" * 100_000
    for span in (
        span_with({"a": text}),
        span_with({"a": ("y", text)}),
        span_with({"a": {"k": [text]}}),
        span_with({}, event={"a": text}),
        span_with({}, event={"a": (text, 5)}),
    ):
        assert abs(estimate_bytes(span) - len(encode_proto([span]))) < 1000


def test_small_spans_are_not_taken_for_nothing():
    assert estimate_bytes(span_with({})) > 100
    assert estimate_bytes(span_with({f"k{i}": i for i in range(20)})) > 800
