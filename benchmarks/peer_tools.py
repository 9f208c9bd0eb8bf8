"""The tool decorators of other libraries, on the same tracer provider where they allow it."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import SpanProcessor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.sdk.trace import TracerProvider


def decorators(provider: TracerProvider) -> dict[str, Callable[[Any], Any]]:
    """Return the decorators of the peers that are installed, by name and version."""
    found: dict[str, Callable[[Any], Any]] = {}
    for make in (_openinference, _traceloop):
        with contextlib.suppress(ImportError):
            name, decorator = make(provider)
            found[name] = decorator
    return found


def _openinference(provider: TracerProvider) -> tuple[str, Callable[[Any], Any]]:
    from importlib.metadata import version

    from openinference.instrumentation import OITracer, TraceConfig

    tracer = OITracer(provider.get_tracer("bench"), config=TraceConfig())
    return f"openinference {version('openinference-instrumentation')}", tracer.tool


def _traceloop(provider: TracerProvider) -> tuple[str, Callable[[Any], Any]]:  # noqa: ARG001
    """Set it up to send nothing anywhere; it insists on a tracer provider of its own."""
    from importlib.metadata import version

    os.environ["TRACELOOP_TELEMETRY"] = "false"
    with contextlib.redirect_stdout(io.StringIO()):
        from traceloop.sdk import Traceloop
        from traceloop.sdk.decorators import tool

        Traceloop.init(
            "bench",
            processor=SpanProcessor(),
            instruments=set(),
            telemetry_enabled=False,
            traceloop_sync_enabled=False,
        )
    return f"traceloop {version('traceloop-sdk')}", tool(name="search_text")
