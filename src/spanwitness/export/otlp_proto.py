"""Spans as OTLP protobuf, and what a collector answers; shared by HTTP and gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanwitness.export.parcel import Outcome
from spanwitness.export.repair import repaired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["accepted", "encode_proto", "read_proto_reply"]

_MAX_DETAIL_CHARS = 200


def encode_proto(spans: Sequence[ReadableSpan]) -> bytes:
    """Encode spans as one `ExportTraceServiceRequest`."""
    body: bytes = encode_spans([repaired(span) for span in spans]).SerializeToString()
    return body


def read_proto_reply(body: bytes) -> Outcome:
    """Read the reply to an accepted request: it may refuse some of the spans.

    Raises:
        google.protobuf.message.DecodeError: The body is no such reply.
    """
    partial = ExportTraceServiceResponse.FromString(body).partial_success
    return accepted(partial.rejected_spans, partial.error_message)


def accepted(n_rejected: int, message: str) -> Outcome:
    """Return the outcome of a request that the collector took, but for the rejected spans."""
    return Outcome(
        word="delivered", n_rejected=max(0, n_rejected), detail=message[:_MAX_DETAIL_CHARS]
    )
