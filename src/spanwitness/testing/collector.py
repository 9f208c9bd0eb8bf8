"""A loopback OTLP collector whose answers are scripted: what exporters are tested against."""

from __future__ import annotations

import gzip
import importlib
import json
import threading
import time
import zlib
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Answer", "ReceivedRequest", "ReceivedSpan", "ScriptedCollector"]

_GRPC_LIMIT: Final = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """How the collector answers one request; the default takes everything."""

    status: int = 200
    """HTTP status. Its spans count as received only for 2xx."""
    grpc_code: str = "OK"
    """gRPC status code by name; its spans count as received only for `OK`."""
    message: str = ""
    """Details of a gRPC error, or the message of a partial success."""
    rejected_spans: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """Reply headers; over gRPC, trailing metadata."""
    delay_s: float = 0.0
    """Before the request counts as received and is answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceivedSpan:
    """A span that arrived, reduced to what tests look at."""

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    attributes: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceivedRequest:
    """A request as it arrived, also when it was refused."""

    headers: Mapping[str, str]
    path: str
    body_bytes: int
    """Before compression."""
    wire_bytes: int
    spans: tuple[ReceivedSpan, ...]


class ScriptedCollector:
    """Receives OTLP traces over HTTP (protobuf and JSON) and, on request, gRPC.

    Use it as a context manager. Answers are taken in order from `script`; after the last one every
    request is taken. Metrics and logs are taken as well and not kept.

    Args:
        *script: Answers in order, for both protocols together.
        max_body_bytes: Larger HTTP requests are answered 413; gRPC keeps its own limit of 4 MiB.
        with_grpc: Also listen for gRPC.
        port: Where to listen for HTTP; 0 takes a free one.
    """

    def __init__(
        self,
        *script: Answer,
        max_body_bytes: int | None = None,
        with_grpc: bool = False,
        port: int = 0,
    ) -> None:
        self._script = deque(script)
        self._max_body_bytes = max_body_bytes
        self._with_grpc = with_grpc
        self._lock = threading.Lock()
        self._requests: list[ReceivedRequest] = []
        self._spans: list[ReceivedSpan] = []
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self._grpc: object = None
        self._grpc_port = 0

    def __enter__(self) -> Self:
        """Start to listen."""
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        if self._with_grpc:
            self._start_grpc()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop to listen."""
        self._http.shutdown()
        self._http.server_close()
        if self._grpc is not None:
            self._grpc.stop(0).wait()  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        """The base URL for `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def traces_url(self) -> str:
        """The full URL of the traces signal."""
        return f"{self.url}/v1/traces"

    @property
    def grpc_target(self) -> str:
        """The endpoint for gRPC."""
        return f"http://127.0.0.1:{self._grpc_port}"

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """All requests so far, also the refused ones."""
        with self._lock:
            return tuple(self._requests)

    @property
    def spans(self) -> tuple[ReceivedSpan, ...]:
        """Spans of the requests that were taken, in order of arrival, duplicates included."""
        with self._lock:
            return tuple(self._spans)

    def wait_for_spans(self, n_spans: int, timeout_s: float = 10.0) -> tuple[ReceivedSpan, ...]:
        """Wait until so many spans have arrived, or the time is over, and return what has."""
        deadline = time.monotonic() + timeout_s
        while len(self.spans) < n_spans and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.spans

    def receive(self, request: ReceivedRequest, *, is_http: bool) -> Answer:
        """Note a request and return the answer to it."""
        with self._lock:
            answer = self._script.popleft() if self._script else Answer()
        if (
            self._max_body_bytes is not None
            and is_http
            and request.body_bytes > self._max_body_bytes
        ):
            answer = Answer(status=413)
        time.sleep(answer.delay_s)
        is_taken = 200 <= answer.status < 300 if is_http else answer.grpc_code == "OK"
        with self._lock:
            self._requests.append(request)
            if is_taken:
                self._spans.extend(request.spans)
        return answer

    def _start_grpc(self) -> None:
        grpc = importlib.import_module("grpc")
        futures = importlib.import_module("concurrent.futures")

        def export(body: bytes, context: object) -> bytes:
            headers = {k: v for k, v in context.invocation_metadata()}  # type: ignore[attr-defined]  # noqa: C416
            spans = _spans_of(ExportTraceServiceRequest.FromString(body))
            answer = self.receive(
                ReceivedRequest(
                    headers=headers,
                    path="",
                    body_bytes=len(body),
                    wire_bytes=len(body),
                    spans=spans,
                ),
                is_http=False,
            )
            context.set_trailing_metadata(tuple(answer.headers.items()))  # type: ignore[attr-defined]
            if answer.grpc_code != "OK":
                context.abort(getattr(grpc.StatusCode, answer.grpc_code), answer.message)  # type: ignore[attr-defined]
            return _reply(answer)

        handlers = {"Export": grpc.unary_unary_rpc_method_handler(export)}
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        options = [("grpc.max_receive_message_length", _GRPC_LIMIT)]
        server = grpc.server(futures.ThreadPoolExecutor(4), options=options)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        self._grpc_port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self._grpc = server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A client that gave up in the middle is part of many tests and no news.
    handle_error = staticmethod(lambda *_: None)  # type: ignore[assignment]


def _handler(collector: ScriptedCollector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            wire = self.rfile.read(int(self.headers["content-length"]))
            if self.path.endswith(("/v1/metrics", "/v1/logs")):
                self._take_unread()
                return
            body = _DECODERS[self.headers.get("content-encoding", "none")](wire)
            is_json = "json" in self.headers["content-type"]
            spans = _json_spans(body) if is_json else _proto_spans(body)
            request = ReceivedRequest(
                headers={k.lower(): v for k, v in self.headers.items()},
                path=self.path,
                body_bytes=len(body),
                wire_bytes=len(wire),
                spans=spans,
            )
            answer = collector.receive(request, is_http=True)
            reply = b""
            if 200 <= answer.status < 300:
                reply = _json_reply(answer) if is_json else _reply(answer)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", self.headers["content-type"])
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def _take_unread(self) -> None:
            """Answer another signal with an empty success; the script is for traces."""
            self.send_response(200)
            self.send_header("content-type", self.headers["content-type"])
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


_DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "none": bytes,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
}


def _reply(answer: Answer) -> bytes:
    response = ExportTraceServiceResponse()
    if answer.rejected_spans or answer.message:
        response.partial_success.rejected_spans = answer.rejected_spans
        response.partial_success.error_message = answer.message
    body: bytes = response.SerializeToString()
    return body


def _json_reply(answer: Answer) -> bytes:
    partial = {"rejectedSpans": str(answer.rejected_spans), "errorMessage": answer.message}
    return json.dumps({"partialSuccess": partial} if answer.rejected_spans else {}).encode()


def _proto_spans(body: bytes) -> tuple[ReceivedSpan, ...]:
    return _spans_of(ExportTraceServiceRequest.FromString(body))


def _spans_of(request: ExportTraceServiceRequest) -> tuple[ReceivedSpan, ...]:
    return tuple(
        ReceivedSpan(
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_span_id=span.parent_span_id.hex(),
            name=span.name,
            attributes={pair.key: _proto_value(pair.value) for pair in span.attributes},
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )


def _proto_value(value: object) -> object:
    kind = value.WhichOneof("value")  # type: ignore[attr-defined]
    if kind is None:
        return None
    held = getattr(value, kind)
    if kind == "array_value":
        return tuple(_proto_value(item) for item in held.values)
    if kind == "kvlist_value":
        return {pair.key: _proto_value(pair.value) for pair in held.values}
    return held


def _json_spans(body: bytes) -> tuple[ReceivedSpan, ...]:
    return tuple(
        ReceivedSpan(
            trace_id=span["traceId"],
            span_id=span["spanId"],
            parent_span_id=span.get("parentSpanId", ""),
            name=span["name"],
            attributes={pair["key"]: _json_value(pair["value"]) for pair in span["attributes"]},
        )
        for resource in json.loads(body)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    )


def _json_value(value: Mapping[str, object]) -> object:
    for kind, held in value.items():
        if kind == "intValue":
            return int(str(held))
        if kind == "arrayValue" and isinstance(held, dict):
            return tuple(_json_value(item) for item in held["values"])
        return held
    return None
