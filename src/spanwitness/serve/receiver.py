"""OTLP over HTTP: `POST /v1/traces`, protobuf and JSON, as the specification has it."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from spanwitness.serve.rpc_status import INVALID_ARGUMENT, UNAVAILABLE, status_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from spanwitness.serve.intake import Intake, Reply
    from spanwitness.serve.spool import Form

__all__ = ["MAX_BODY_BYTES", "traces_endpoint"]

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Of a request, decompressed."""
_MAX_WIRE_BYTES: Final = 32 * 1024 * 1024
_INLINE_BYTES: Final = 128 * 1024
"""Smaller requests are decoded where they arrive; larger ones would hold up the event loop."""
_TYPES: Final[dict[str, Form]] = {
    "application/x-protobuf": "protobuf",
    "application/json": "json",
}
_MIME: Final = {form: mime for mime, form in _TYPES.items()}


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def traces_endpoint(
    intake: Intake, *, max_body_bytes: int = MAX_BODY_BYTES
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint for the traces signal.

    Args:
        intake: Takes the requests.
        max_body_bytes: Larger ones are answered 413.
    """

    async def receive(request: Request) -> Response:
        form = _TYPES.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
        if form is None:
            # In no form that can be read, so the answer is in the plainest one.
            return _error(
                415, "send application/x-protobuf or application/json", INVALID_ARGUMENT, "json"
            )
        try:
            body = await _body(request, max_body_bytes)
        except _RefusedError as error:
            intake.counters.add_request("http", "invalid")
            return _error(error.status, str(error), INVALID_ARGUMENT, form)
        if len(body) <= _INLINE_BYTES:
            reply = intake.receive(form, body)
        else:
            reply = await run_in_threadpool(intake.receive, form, body)
        return _answer(reply, form)

    return receive


async def _body(request: Request, max_bytes: int) -> bytes:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", "deflate", ""}:
        raise _RefusedError(415, f"content-encoding {encoding!r}: send gzip, deflate or none")
    limit = max_bytes if encoding in {"identity", ""} else min(max_bytes, _MAX_WIRE_BYTES)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _RefusedError(413, f"larger than {limit} bytes")
        chunks.append(chunk)
    wire = b"".join(chunks)
    if encoding in {"identity", ""}:
        return wire
    if size <= _INLINE_BYTES // 8:
        return _inflated(wire, encoding, max_bytes)
    return await run_in_threadpool(_inflated, wire, encoding, max_bytes)


def _inflated(wire: bytes, encoding: str, max_bytes: int) -> bytes:
    """Decompress within a bound: a small request may hold a very large one."""
    inflater = zlib.decompressobj(wbits=31 if encoding == "gzip" else 15)
    try:
        body = inflater.decompress(wire, max_bytes + 1)
    except zlib.error as error:
        raise _RefusedError(400, f"no {encoding} data: {error}") from None
    if len(body) > max_bytes:
        raise _RefusedError(413, f"larger than {max_bytes} bytes when decompressed")
    if not inflater.eof:
        raise _RefusedError(400, f"{encoding} data that is cut off")
    return body


def _answer(reply: Reply, form: Form) -> Response:
    if reply.word == "invalid":
        return _error(400, reply.message, INVALID_ARGUMENT, form)
    if reply.word == "full":
        response = _error(503, reply.message, UNAVAILABLE, form)
        response.headers["retry-after"] = str(reply.retry_after_s or 1)
        return response
    return Response(_success(reply, form), media_type=_MIME[form])


def _success(reply: Reply, form: Form) -> bytes:
    if form == "json":
        if not reply.n_rejected:
            return b"{}"
        partial = {"rejectedSpans": str(reply.n_rejected), "errorMessage": reply.message}
        return json.dumps({"partialSuccess": partial}).encode()
    return success_message(reply)


def success_message(reply: Reply) -> bytes:
    """Return the protobuf answer to a request that was taken, in whole or in part."""
    response = ExportTraceServiceResponse()
    if reply.n_rejected:
        response.partial_success.rejected_spans = reply.n_rejected
        response.partial_success.error_message = reply.message
    body: bytes = response.SerializeToString()
    return body


def _error(status: int, message: str, code: int, form: Form) -> Response:
    if form == "json":
        body = json.dumps({"code": code, "message": message}).encode()
    else:
        body = status_message(code, message)
    return Response(body, status_code=status, media_type=_MIME[form])
