"""Spans to a collector over gRPC."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from spanwitness.errors import SettingsError
from spanwitness.export.otlp_proto import encode_proto, read_proto_reply
from spanwitness.export.parcel import Outcome
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import ModuleType

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.parcel import Parcel

__all__ = ["GrpcSender"]

_METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_RETRYABLE: Final = frozenset(
    {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}
)
_MAX_DETAIL_CHARS: Final = 200


class GrpcSender:
    """Calls `TraceService/Export` with grpcio.

    gRPC's C library does not survive a fork unless it was told before it was loaded; a call in the
    child then hangs, beyond its own timeout. So loading it from here switches its fork support on
    (`GRPC_ENABLE_FORK_SUPPORT`). Where somebody else loaded it first without that, the child of a
    fork cannot export over gRPC: its spans are counted as lost and the remedy is logged.

    Args:
        settings: `endpoint` must be given.

    Raises:
        SettingsError: There is no endpoint, or a certificate cannot be read.
    """

    def __init__(self, settings: ExportSettings) -> None:
        if not settings.endpoint:
            raise SettingsError("a gRPC sender needs an endpoint")
        self._settings = settings
        self._target = _target(settings.endpoint)
        self._grpc = _load_grpc()
        self._credentials = self._read_credentials()
        self._metadata = [
            ("user-agent", "spanwitness-otlp-exporter"),
            *((key.lower(), value) for key, value in settings.headers.items()),
        ]
        self._channel: object = None
        self._inherited: list[object] = []
        self._is_lost_to_fork = False
        self._export = self._connect()

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:
        """Encode spans as one request."""
        return encode_proto(spans)

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:
        """Make one call; see `Sender.send`."""
        if self._is_lost_to_fork:
            return Outcome(
                word="failed",
                detail="gRPC was loaded without fork support before this process was forked: set "
                "GRPC_ENABLE_FORK_SUPPORT=1, or export over http/protobuf",
            )
        if self._channel is None:
            self._export = self._connect()
        try:
            reply: bytes = self._export(parcel.body, timeout=timeout_s, metadata=self._metadata)
        except self._grpc.RpcError as error:
            return _refused(error, len(parcel.body))
        outcome = Outcome(word="delivered", detail="unreadable reply")
        with guard("export.reply"):
            outcome = read_proto_reply(reply)
        return outcome

    def close(self) -> None:
        """Close the channel; a later `send` opens a new one."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()  # type: ignore[attr-defined]

    def after_fork(self) -> None:
        """Leave the parent's channel alone; the next request opens our own."""
        if self._channel is not None:
            self._inherited.append(self._channel)
            self._channel = None
        if not _has_fork_support():
            self._is_lost_to_fork = True

    def _connect(self) -> Callable[..., bytes]:
        options = [
            ("grpc.max_send_message_length", -1),
            ("grpc.enable_retries", 0),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 5000),
        ]
        compression = None
        if self._settings.compression != "none":
            compression = getattr(self._grpc.Compression, self._settings.compression.capitalize())
        if self._credentials is None:
            channel = self._grpc.insecure_channel(self._target, options, compression)
        else:
            channel = self._grpc.secure_channel(
                self._target, self._credentials, options, compression
            )
        self._channel = channel
        call: Callable[..., bytes] = channel.unary_unary(_METHOD)
        return call

    def _read_credentials(self) -> object:
        settings = self._settings
        scheme = (
            urlsplit(settings.endpoint or "").scheme if "//" in (settings.endpoint or "") else ""
        )
        if scheme == "http" or (scheme != "https" and settings.is_insecure):
            return None
        if scheme not in {"", "https"}:
            raise SettingsError(f"endpoint scheme {scheme!r}: give http, https or host:port")
        return self._grpc.ssl_channel_credentials(
            _bytes_of(settings.certificate),
            _bytes_of(settings.client_key),
            _bytes_of(settings.client_certificate),
        )


def _load_grpc() -> ModuleType:
    if "grpc" not in sys.modules:
        # Written, not read: the library looks at it once, when it is loaded.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")  # noqa: TID251
    return importlib.import_module("grpc")


def _has_fork_support() -> bool:
    # The only place that says so is private; where it has moved, assume the worse.
    has_support = False
    with guard("export.grpc_fork_support"):
        cygrpc = importlib.import_module("grpc._cython.cygrpc")
        has_support = bool(cygrpc.is_fork_support_enabled())
    return has_support


def _target(endpoint: str) -> str:
    if "//" not in endpoint:
        return endpoint
    parts = urlsplit(endpoint)
    return parts.netloc.rpartition("@")[2]


def _bytes_of(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path!s} cannot be read: {error.strerror}") from None


def _refused(error: object, body_bytes: int) -> Outcome:
    """Read a failed call. `RESOURCE_EXHAUSTED` means both "too large" and "slow down"."""
    code = str(error.code().name)  # type: ignore[attr-defined]
    message = str(error.details() or "")  # type: ignore[attr-defined]
    detail = f"gRPC {code}: {message}"[:_MAX_DETAIL_CHARS]
    retry_after_s = None
    with guard("export.retry_info"):
        retry_after_s = _retry_delay(error)
    if code == "RESOURCE_EXHAUSTED":
        said = message.lower()
        is_about_size = "larger than" in said or "too large" in said or "message size" in said
        if retry_after_s is None and (is_about_size or body_bytes > 4_000_000):
            return Outcome(word="too_large", detail=detail)
        return Outcome(word="retry", detail=detail, retry_after_s=retry_after_s)
    if code in _RETRYABLE:
        return Outcome(word="retry", detail=detail, retry_after_s=retry_after_s)
    return Outcome(word="failed", detail=detail)


def _retry_delay(error: object) -> float | None:
    details = importlib.import_module("google.rpc.error_details_pb2")
    status = importlib.import_module("google.rpc.status_pb2")
    for key, value in error.trailing_metadata() or ():  # type: ignore[attr-defined]
        if key == "grpc-status-details-bin":
            for detail in status.Status.FromString(value).details:
                info = details.RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.ToTimedelta().total_seconds())
    return None
