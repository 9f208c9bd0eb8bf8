"""Bare and wrapped clients side by side, each with a scripted provider of its own.

These files also run under older majors of the SDKs, which are built on httpx instead of httpx2:

    pip install --no-deps --target build/legacy -r tests/transparency/legacy-requirements.txt
    PYTHONPATH=build/legacy python -m pytest tests/transparency
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwitness import guard
from spanwitness.capture import spans
from spanwitness.testing import ScriptedProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def exporter() -> Iterator[InMemorySpanExporter]:
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spans.use_provider(provider)
    guard.set_strict(True)
    yield memory
    guard.set_strict(False)
    spans.use_provider(None)


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedProvider]]:
    """Start providers that are closed at the end of the test."""
    running: list[ScriptedProvider] = []

    def start(script: Any) -> ScriptedProvider:
        provider = ScriptedProvider(script).start()
        running.append(provider)
        return provider

    yield start
    for provider in running:
        provider.close()


@contextmanager
def closing_sync(client: Any) -> Iterator[Any]:
    yield client
    if hasattr(client, "close"):
        client.close()
