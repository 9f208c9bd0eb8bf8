"""Spans to a collector over gRPC."""

from __future__ import annotations

import importlib
import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple
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
_FORK_WAIT_S: Final = 1.0


class GrpcSender:
    """Calls `TraceService/Export` with grpcio.

    gRPC's C library does not survive a fork once it has connected, unless it was told so before it
    was loaded (`GRPC_ENABLE_FORK_SUPPORT=1`): a call in the child hangs beyond its own timeout. So
    nothing is connected before the first request, and the child of a process that had connected
    without that support does not try: its spans are counted as lost and the remedy is logged. We do
    not switch the support on for others: with it, a fork during any call in flight can hang the
    child. Our own calls are therefore waited for, for a moment, when a fork is about to happen.

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
        self._grpc = importlib.import_module("grpc")
        # Here and not where they are used: a fork in the middle of an import by the worker leaves
        # the module locked for ever in the child.
        self._status_pb2 = importlib.import_module("google.rpc.status_pb2")
        with suppress(ImportError):  # a private name that may move; gRPC loads it at the first call
            importlib.import_module("grpc._channel")
        self._details_pb2 = importlib.import_module("google.rpc.error_details_pb2")
        self._tls = _read_tls(settings)
        self._metadata = [
            ("user-agent", "spanwitness-otlp-exporter"),
            *((key.lower(), value) for key, value in settings.headers.items()),
        ]
        self._channel: object = None
        self._export: Callable[..., bytes] | None = None
        self._inherited: list[object] = []
        self._has_connected = False
        self._is_lost_to_fork = False
        self._has_fork_support = _has_fork_support()
        self._calling = threading.Lock()
        self._is_held_for_fork = False
        if self._has_fork_support:
            _wait_before_forks(self)

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:
        """Encode spans as one request."""
        return encode_proto(spans)

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:
        """Make one call; see `Sender.send`."""
        if self._is_lost_to_fork:
            return Outcome(
                word="failed",
                detail="gRPC had connected without fork support before this process was forked: "
                "export over http/protobuf, or start with GRPC_ENABLE_FORK_SUPPORT=1",
            )
        try:
            with self._calling:
                if self._export is None:
                    self._export = self._connect()
                reply = self._export(parcel.body, timeout=timeout_s, metadata=self._metadata)
        except self._grpc.RpcError as error:
            retry_after_s = None
            with guard("export.retry_info"):
                retry_after_s = _retry_delay(error, self._status_pb2, self._details_pb2)
            return _refused(error, len(parcel.body), retry_after_s)
        outcome = Outcome(word="delivered", detail="unreadable reply")
        with guard("export.reply"):
            outcome = read_proto_reply(reply)
        return outcome

    def close(self) -> None:
        """Close the channel; a later `send` opens a new one."""
        channel, self._channel, self._export = self._channel, None, None
        if channel is not None:
            channel.close()  # type: ignore[attr-defined]

    def after_fork(self) -> None:
        """Leave the parent's channel alone; the next request opens our own."""
        self._calling = threading.Lock()
        self._is_held_for_fork = False
        if self._channel is not None:
            self._inherited.append(self._channel)
            self._channel = self._export = None
        if self._has_connected and not self._has_fork_support:
            self._is_lost_to_fork = True
        self._has_connected = self._is_lost_to_fork

    def before_fork(self) -> None:
        """Wait for the call in flight, if there is one, but not for long."""
        self._is_held_for_fork = self._calling.acquire(timeout=_FORK_WAIT_S)

    def after_fork_in_parent(self) -> None:
        """Let calls go on."""
        if self._is_held_for_fork:
            self._is_held_for_fork = False
            self._calling.release()

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
        if self._tls is None:
            channel = self._grpc.insecure_channel(self._target, options, compression)
        else:
            tls = self._tls
            credentials = self._grpc.ssl_channel_credentials(
                tls.certificate, tls.client_key, tls.client_certificate
            )
            channel = self._grpc.secure_channel(self._target, credentials, options, compression)
        self._channel = channel
        self._has_connected = True
        call: Callable[..., bytes] = channel.unary_unary(_METHOD)
        return call


class _Tls(NamedTuple):
    certificate: bytes | None
    client_key: bytes | None
    client_certificate: bytes | None


def _read_tls(settings: ExportSettings) -> _Tls | None:
    """Read the certificates, or return `None` for plain text."""
    endpoint = settings.endpoint or ""
    scheme = urlsplit(endpoint).scheme if "//" in endpoint else ""
    if scheme == "http" or (scheme != "https" and settings.is_insecure):
        return None
    if scheme not in {"", "https"}:
        raise SettingsError(f"endpoint scheme {scheme!r}: give http, https or host:port")
    return _Tls(
        _bytes_of(settings.certificate),
        _bytes_of(settings.client_key),
        _bytes_of(settings.client_certificate),
    )


def _wait_before_forks(sender: GrpcSender) -> None:
    weak_sender = weakref.ref(sender)

    def before() -> None:
        if (held := weak_sender()) is not None:
            held.before_fork()

    def after() -> None:
        if (held := weak_sender()) is not None:
            held.after_fork_in_parent()

    os.register_at_fork(before=before, after_in_parent=after)


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


def _refused(error: object, body_bytes: int, retry_after_s: float | None) -> Outcome:
    """Read a failed call. `RESOURCE_EXHAUSTED` means both "too large" and "slow down"."""
    code = str(error.code().name)  # type: ignore[attr-defined]
    message = str(error.details() or "")  # type: ignore[attr-defined]
    detail = f"gRPC {code}: {message}"[:_MAX_DETAIL_CHARS]
    if code == "RESOURCE_EXHAUSTED":
        said = message.lower()
        is_about_size = "larger than" in said or "too large" in said or "message size" in said
        if retry_after_s is None and (is_about_size or body_bytes > 4_000_000):
            return Outcome(word="too_large", detail=detail)
        return Outcome(word="retry", detail=detail, retry_after_s=retry_after_s)
    if code in _RETRYABLE:
        return Outcome(word="retry", detail=detail, retry_after_s=retry_after_s)
    return Outcome(word="failed", detail=detail)


def _retry_delay(error: object, status: ModuleType, details: ModuleType) -> float | None:
    for key, value in error.trailing_metadata() or ():  # type: ignore[attr-defined]
        if key == "grpc-status-details-bin":
            for detail in status.Status.FromString(value).details:
                info = details.RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.ToTimedelta().total_seconds())
    return None
