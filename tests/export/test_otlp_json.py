"""OTLP/JSON must say what OTLP protobuf says."""

from __future__ import annotations

import json

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from spanwitness.export.otlp_json import encode_json
from spanwitness.export.otlp_proto import encode_proto


def finished_spans():
    exporter = InMemorySpanExporter()
    resource = Resource({"service.name": "tests", "n": 3}, "https://schema")
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("scope", "1.2", attributes={"a": True})
    with tracer.start_as_current_span("root", kind=SpanKind.CLIENT) as root:
        child = tracer.start_span(
            'ch "ild"\n',
            links=[Link(root.get_span_context(), {"l": 1})],
            attributes={
                "text": "ü\n",
                "yes": True,
                "int": -5,
                "big": 2**62,
                "float": 1.5,
                "inf": float("inf"),
                "nan": float("nan"),
                "bytes": b"\x00\xff",
                "list": ("a", "b"),
                "ints": (1, 2),
            },
        )
        child.add_event("event", {"k": 0.0}, timestamp=12345)
        child.set_status(Status(StatusCode.ERROR, "why"))
        child.end()
    provider.get_tracer("other").start_span("second root").end()
    return exporter.get_finished_spans()


def hex_ids_to_base64(request: dict) -> dict:
    import base64

    def fix(span: dict) -> None:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        for link in span.get("links", ()):
            fix(link)

    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                fix(span)
    return request


def test_json_and_protobuf_hold_the_same_request():
    spans = finished_spans()
    expected = ExportTraceServiceRequest.FromString(encode_proto(spans))
    as_json = hex_ids_to_base64(json.loads(encode_json(spans)))
    got = json_format.ParseDict(as_json, ExportTraceServiceRequest())
    # NaN is unequal to itself, so the texts are compared.
    assert str(got) == str(expected)


def test_a_request_is_one_line():
    assert b"\n" not in encode_json(finished_spans())
