"""Say once that a process was meant to be traced and never started to be."""

from __future__ import annotations

import logging
import os

from opentelemetry import trace as otel_trace

from spanwitness.guard import guard

__all__ = ["warn_if_not_started"]

_log = logging.getLogger("spanwitness")

_is_warned = False


def warn_if_not_started() -> None:
    """Say once in a process that its environment asks for tracing and nothing started it."""
    global _is_warned  # noqa: PLW0603
    if _is_warned or not isinstance(
        otel_trace.get_tracer_provider(), otel_trace.ProxyTracerProvider
    ):
        return
    _is_warned = True
    with guard("capture.spans.environment"):
        from spanwitness import settings

        found = settings.read()
        asked = found.has("OTEL_EXPORTER_OTLP_ENDPOINT") or found.has(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        )
        if not found.is_disabled and (asked or found.content is not None):
            _log.warning(
                "spanwitness.not_started: tracing is configured by the environment, but"
                " spanwitness.configure() was not called in this process (pid %d):"
                " nothing is recorded here",
                os.getpid(),
            )
