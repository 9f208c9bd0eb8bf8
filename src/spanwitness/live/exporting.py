"""Which way spans and metrics leave, as `configure` and the environment say."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.sdk.trace import SpanProcessor

from spanwitness.export.destination import ExportSettings, read_otlp_variables
from spanwitness.export.parcel import Outcome
from spanwitness.guard import guard
from spanwitness.live.buffer import is_agentic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, Span
    from opentelemetry.sdk.trace.export import SpanExporter

    from spanwitness.export.parcel import Parcel
    from spanwitness.settings import Settings

_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_GENERAL = "OTEL_EXPORTER_OTLP_ENDPOINT"


def read_export_settings(
    settings: Settings,
    *,
    endpoint: str | None,
    protocol: str | None,
    headers: Mapping[str, str] | None,
    directory: Path | None,
) -> ExportSettings:
    """Join the arguments of `configure` with the environment; an argument goes before a variable.

    Args:
        settings: The environment.
        endpoint: A URL. Without a path it is a base, as `OTEL_EXPORTER_OTLP_ENDPOINT` is.
        protocol: `http/protobuf`, `http/json` or `grpc`.
        headers: Sent with each request, beside those of the environment.
        directory: Where local files go when there is no endpoint anywhere.

    Raises:
        SettingsError: A value cannot be used.
    """
    variables = dict(settings.otel)
    if endpoint is not None:
        is_base = urlsplit(endpoint).path in {"", "/"}
        variables.pop(_TRACES, None)
        variables[_GENERAL if is_base else _TRACES] = endpoint
    if protocol is not None:
        variables["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = protocol
    export = read_otlp_variables(variables, ExportSettings(directory=directory))
    if headers:
        lowered = {name.lower(): value for name, value in headers.items()}
        export = replace(export, headers={**export.headers, **lowered})
    return export


class ExporterSender:
    """Sends spans with an exporter of the SDK's kind."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:  # noqa: ARG002
        """Return nothing: the exporter encodes."""
        return b""

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:  # noqa: ARG002
        """Export once; an exporter says only whether it worked, and retries by itself."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        result = SpanExportResult.FAILURE
        with guard("live.exporter"):
            result = self._exporter.export(parcel.spans)
        word: Literal["delivered", "failed"] = (
            "delivered" if result is SpanExportResult.SUCCESS else "failed"
        )
        return Outcome(word=word, detail=type(self._exporter).__name__)

    def close(self) -> None:
        """Shut the exporter down."""
        with guard("live.exporter"):
            self._exporter.shutdown()

    def after_fork(self) -> None:
        """Do nothing: the exporter knows best."""


class AgenticOnly(SpanProcessor):
    """Lets spans of agents, models and tools pass and keeps the application's others back.

    For an exporter of ours on a provider that is not ours: what the application traces besides is
    not sent where the agents' traces go.
    """

    def __init__(self, inner: SpanProcessor) -> None:
        self._inner = inner
        # For capture: whether attributes may be set after `on_start`.
        self.ignores_start_attributes = getattr(inner, "ignores_start_attributes", False)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass on every start."""
        self._inner.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass on the ends that matter."""
        passes = False
        with guard("live.exporting"):
            passes = is_agentic(span)
        if passes:
            self._inner.on_end(span)

    def shutdown(self) -> None:
        """Pass on."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Pass on."""
        return self._inner.force_flush(timeout_millis)


class Meters:
    """The meter provider that findings are counted with, and its end if it is ours.

    Args:
        provider: The provider.
        is_ours: It was made by `make_meters` and ends with it.
    """

    def __init__(self, provider: MeterProvider, *, is_ours: bool) -> None:
        self.provider = provider
        self.is_ours = is_ours

    def flush(self, timeout_s: float) -> None:
        """Export what was counted, if the provider is ours; a dead collector is not waited for."""
        if self.is_ours:
            sdk = cast("SdkMeterProvider", self.provider)
            _within(timeout_s, lambda: sdk.force_flush(int(timeout_s * 1000)))

    def shutdown(self, timeout_s: float) -> None:
        """End the provider, if it is ours."""
        if self.is_ours:
            sdk = cast("SdkMeterProvider", self.provider)
            _within(timeout_s, lambda: sdk.shutdown(int(timeout_s * 1000)))


def make_meters(
    given: MeterProvider | None,
    settings: Settings,
    export: ExportSettings | None,
    resource: Resource,
    *,
    endpoint: str | None,
) -> Meters | None:
    """Return what findings are counted with: what was given, the global one, or one of ours.

    One of ours is made only where metrics have somewhere to go.
    """
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider

    if given is not None:
        return Meters(given, is_ours=False)
    found = metrics.get_meter_provider()
    if isinstance(found, SdkMeterProvider):
        return Meters(found, is_ours=False)
    if export is None or settings.metrics_exporter == "none":
        return None
    target = _metrics_endpoint(settings, export, endpoint)
    if target is None:
        return None
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(_metric_exporter(export, target))
    provider = SdkMeterProvider([reader], resource=resource, shutdown_on_exit=False)
    return Meters(provider, is_ours=True)


def _metrics_endpoint(
    settings: Settings, export: ExportSettings, endpoint: str | None
) -> str | None:
    own = settings.otel.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "").strip()
    if own and endpoint is None:
        return own
    base = endpoint or settings.otel.get(_GENERAL, "").strip()
    if not base:
        return None
    if export.protocol == "grpc":
        return base
    parts = urlsplit(base)
    if endpoint is not None and parts.path not in {"", "/"}:
        # A full URL of the traces signal; the one for metrics stands beside it where it is usual.
        if not parts.path.endswith("/v1/traces"):
            return None
        path = f"{parts.path.removesuffix('/v1/traces')}/v1/metrics"
    else:
        path = f"{parts.path.rstrip('/')}/v1/metrics"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _metric_exporter(export: ExportSettings, target: str) -> MetricExporter:
    headers = dict(export.headers)
    if export.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

        return OTLPMetricExporter(
            endpoint=target,
            insecure=export.is_insecure,
            headers=headers,
            timeout=export.timeout_s,
        )
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import (
        OTLPMetricExporter as HttpMetricExporter,
    )

    return HttpMetricExporter(endpoint=target, headers=headers, timeout=export.timeout_s)


def _within(timeout_s: float, work: Callable[[], object]) -> None:
    def quietly() -> None:
        # A collector that is out of reach makes the SDK raise; its exporter has logged that.
        with suppress(Exception):
            work()

    thread = threading.Thread(target=quietly, name="spanwitness-metrics", daemon=True)
    with guard("live.metrics"):
        thread.start()
        thread.join(timeout_s)
