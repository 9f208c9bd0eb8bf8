"""Where spans go, as plain values; and how the standard variables spell it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args
from urllib.parse import unquote, urlsplit

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Compression", "ExportSettings", "Protocol", "read_otlp_variables"]

Protocol: TypeAlias = Literal["http/protobuf", "http/json", "grpc"]
Compression: TypeAlias = Literal["none", "gzip", "deflate"]

_MIB: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportSettings:
    """Where spans go and within which bounds.

    Raises:
        SettingsError: A value is out of its range.
    """

    endpoint: str | None = None
    """HTTP: the full URL of the traces signal. gRPC: a URL or `host:port`. `None`: local files."""
    protocol: Protocol = "http/protobuf"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request (gRPC: as metadata). Never logged."""
    timeout_s: float = 10.0
    """Bound on one attempt."""
    compression: Compression = "none"
    certificate: Path | None = None
    """CA certificates (PEM) to trust instead of the system's."""
    client_key: Path | None = None
    client_certificate: Path | None = None
    is_insecure: bool | None = None
    """gRPC endpoint without a scheme: plain text instead of TLS. A scheme decides by itself."""
    directory: Path | None = None
    """Where local files go when there is no endpoint."""
    schedule_delay_s: float = 1.0
    """How long a span may wait for company: what a `kill -9` can lose."""
    max_queue_spans: int = 8192
    max_queue_bytes: int = 64 * _MIB
    """Estimated from the lengths of names and text values."""
    max_batch_spans: int = 512
    max_batch_bytes: int = 2 * _MIB
    """Several spans never share a larger request."""
    max_request_bytes: int = 4 * _MIB - 4096
    """A single span above this is not sent: gRPC receivers take 4 MiB by default."""
    retry_window_s: float = 60.0
    """How long a batch is tried again before it counts as lost."""
    exit_timeout_s: float = 5.0
    """Bound on what a normal exit waits for the collector."""
    max_file_bytes: int = 256 * _MIB
    max_directory_bytes: int = 1024 * _MIB
    max_files: int = 10_000
    max_age_days: float = 30.0
    """Local files: the oldest go first when one of these bounds is passed."""

    def __post_init__(self) -> None:
        for name in ("timeout_s", "schedule_delay_s", "retry_window_s", "exit_timeout_s"):
            if not 0 < getattr(self, name) < 86_400:
                raise SettingsError(
                    f"{name}={getattr(self, name)!r}: give seconds above 0 and below 86400"
                )
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}={getattr(self, name)!r}: give a number of 1 or more")
        for name, words in (("protocol", Protocol), ("compression", Compression)):
            if getattr(self, name) not in get_args(words):
                raise SettingsError(
                    f"{name}={getattr(self, name)!r}: give one of {', '.join(get_args(words))}"
                )
        if self.endpoint is not None and self.protocol != "grpc":
            parts = urlsplit(self.endpoint)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise SettingsError(
                    f"endpoint={_shown(self.endpoint)!r}: give a full http:// or https:// URL"
                )


_COUNTS: Final = (
    "max_queue_spans",
    "max_queue_bytes",
    "max_batch_spans",
    "max_batch_bytes",
    "max_request_bytes",
    "max_file_bytes",
    "max_directory_bytes",
    "max_files",
)


def read_otlp_variables(
    variables: Mapping[str, str], defaults: ExportSettings | None = None
) -> ExportSettings:
    """Read the standard `OTEL_EXPORTER_OTLP_*` and `OTEL_BSP_*` variables.

    The form for traces (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) goes before the general one. A
    general endpoint is a base: `/v1/traces` is added for HTTP. Without a protocol, port 4317 means
    gRPC and everything else `http/protobuf`. `OTEL_EXPORTER_OTLP_TIMEOUT` counts in seconds in
    OpenTelemetry's Python SDK and in milliseconds in its specification: values below 1000 are read
    as seconds.

    Args:
        variables: The environment, or a part of it.
        defaults: What holds where no variable says otherwise.

    Raises:
        SettingsError: A variable cannot be used.
    """
    base = defaults or ExportSettings()
    own = _otlp(variables, "TRACES_ENDPOINT")
    general = _otlp(variables, "ENDPOINT")
    protocol = _protocol(variables, own or general or base.endpoint, base.protocol)
    endpoint = own or general or base.endpoint
    if protocol != "grpc" and not own and general:
        endpoint = f"{general.rstrip('/')}/v1/traces"
    settings = replace(
        base,
        endpoint=endpoint,
        protocol=protocol,
        headers={**base.headers, **_headers(variables)},
        timeout_s=_timeout(variables, base.timeout_s),
        compression=_compression(variables, base.compression),
        certificate=_path(variables, "CERTIFICATE") or base.certificate,
        client_key=_path(variables, "CLIENT_KEY") or base.client_key,
        client_certificate=_path(variables, "CLIENT_CERTIFICATE") or base.client_certificate,
        is_insecure=_insecure(variables, is_insecure=base.is_insecure),
    )
    delay_ms = _number(variables, "OTEL_BSP_SCHEDULE_DELAY")
    queue = _number(variables, "OTEL_BSP_MAX_QUEUE_SIZE")
    batch = _number(variables, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE")
    return replace(
        settings,
        schedule_delay_s=settings.schedule_delay_s if delay_ms is None else delay_ms / 1000,
        max_queue_spans=settings.max_queue_spans if queue is None else int(queue),
        max_batch_spans=settings.max_batch_spans if batch is None else int(batch),
    )


def _shown(url: str) -> str:
    """Return a URL without the secrets that its user part or query may hold."""
    parts = urlsplit(url)
    if not parts.netloc:
        # `localhost:4318` has no `//`, and its host passes for a scheme.
        return url.rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _otlp(variables: Mapping[str, str], name: str) -> str | None:
    value = variables.get(f"OTEL_EXPORTER_OTLP_{name}", "").strip()
    return value or None


def _either(variables: Mapping[str, str], name: str) -> str | None:
    return _otlp(variables, f"TRACES_{name}") or _otlp(variables, name)


def _protocol(variables: Mapping[str, str], endpoint: str | None, default: Protocol) -> Protocol:
    word = _either(variables, "PROTOCOL")
    if word is None:
        target = endpoint if endpoint is None or "//" in endpoint else f"//{endpoint}"
        return "grpc" if target is not None and _port(target) == 4317 else default
    if word not in get_args(Protocol):
        raise SettingsError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={word!r}: give one of {', '.join(get_args(Protocol))}"
        )
    return cast("Protocol", word)


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        raise SettingsError(f"endpoint={_shown(url)!r}: its port is no number") from None


def _headers(variables: Mapping[str, str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for part in (_either(variables, "HEADERS") or "").split(","):
        name, equals, value = part.partition("=")
        name = unquote(name).strip().lower()
        if not part.strip():
            continue
        if not equals or not name:
            # The part may hold a secret: it is counted, not quoted.
            raise SettingsError(
                f"OTEL_EXPORTER_OTLP_HEADERS: entry {len(headers) + 1} is no `name=value` pair"
            )
        headers[name] = unquote(value).strip()
    return headers


def _timeout(variables: Mapping[str, str], default: float) -> float:
    name = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"
    value = _number(variables, name)
    if value is None:
        value = _number(variables, "OTEL_EXPORTER_OTLP_TIMEOUT")
    if value is None:
        return default
    return value / 1000 if value >= 1000 else value


def _compression(variables: Mapping[str, str], default: Compression) -> Compression:
    word = (_either(variables, "COMPRESSION") or default).lower()
    if word not in get_args(Compression):
        raise SettingsError(
            f"OTEL_EXPORTER_OTLP_COMPRESSION={word!r}: "
            f"give one of {', '.join(get_args(Compression))}"
        )
    return cast("Compression", word)


def _path(variables: Mapping[str, str], name: str) -> Path | None:
    value = _either(variables, name)
    return None if value is None else Path(value)


def _insecure(variables: Mapping[str, str], *, is_insecure: bool | None) -> bool | None:
    word = _either(variables, "INSECURE")
    if word is None:
        return is_insecure
    if word.lower() not in {"true", "false"}:
        raise SettingsError(f"OTEL_EXPORTER_OTLP_INSECURE={word!r}: give `true` or `false`")
    return word.lower() == "true"


def _number(variables: Mapping[str, str], name: str) -> float | None:
    text = variables.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name}={text!r}: give a number") from None
    if not 0 < value < 1e12:
        raise SettingsError(f"{name}={text!r}: give a number above 0")
    return value
