"""OTLP over gRPC: `TraceService/Export`."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from spanwitness.errors import SettingsError
from spanwitness.serve.receiver import MAX_BODY_BYTES, success_message
from spanwitness.serve.rpc_status import UNAVAILABLE, status_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.serve.intake import Intake

__all__ = ["GrpcReceiver"]

_SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
_N_THREADS: Final = 4


class GrpcReceiver:
    """Listens for gRPC and hands every request to the intake.

    Args:
        intake: Takes the requests.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        is_allowed: Asked with the call's `authorization`; `None` = everybody is.

    Raises:
        SettingsError: The address cannot be used.
    """

    def __init__(
        self,
        intake: Intake,
        *,
        host: str,
        port: int,
        is_allowed: Callable[[str | None], bool] | None = None,
    ) -> None:
        self._intake = intake
        self._is_allowed = is_allowed
        self._grpc = importlib.import_module("grpc")
        self._server = self._grpc.server(
            ThreadPoolExecutor(_N_THREADS, thread_name_prefix="spanwitness-grpc"),
            options=[
                ("grpc.max_receive_message_length", MAX_BODY_BYTES),
                ("grpc.so_reuseport", 0),  # a port that another process has is an error
            ],
        )
        method = self._grpc.unary_unary_rpc_method_handler(self._export)
        handler = self._grpc.method_handlers_generic_handler(_SERVICE, {"Export": method})
        self._server.add_generic_rpc_handlers((handler,))
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            self.port: int = self._server.add_insecure_port(target)
        except RuntimeError:
            self.port = 0
        if not self.port:
            raise SettingsError(
                f"cannot listen for gRPC on {target}: is the port taken? Give another --grpc-port"
            )

    def start(self) -> None:
        """Start to take calls."""
        self._server.start()

    def stop(self, grace_s: float = 1.0) -> None:
        """Refuse new calls, and wait for those in progress."""
        self._server.stop(grace_s).wait()

    def _export(self, body: bytes, context: Any) -> bytes:  # noqa: ANN401  of an untyped library
        code = self._grpc.StatusCode
        if self._is_allowed is not None:
            metadata = dict(context.invocation_metadata())
            if not self._is_allowed(metadata.get("authorization")):
                context.abort(code.UNAUTHENTICATED, "send authorization: Bearer <token>")
        reply = self._intake.receive("protobuf", body, transport="grpc")
        if reply.word == "invalid":
            context.abort(code.INVALID_ARGUMENT, reply.message)
        if reply.word == "full":
            details = status_message(UNAVAILABLE, reply.message, retry_after_s=reply.retry_after_s)
            context.set_trailing_metadata((("grpc-status-details-bin", details),))
            context.abort(code.UNAVAILABLE, reply.message)
        return success_message(reply)
