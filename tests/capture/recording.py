"""A recording tracer, for tests of decorators, steps and runs."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwitness import guard
from spanwitness.capture import context, spans
from spanwitness.capture.content import ContentPolicy
from spanwitness.capture.context import RunState

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Recorded:
    """What was recorded."""

    provider: TracerProvider
    memory: InMemorySpanExporter
    state: RunState | None = None

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.memory.get_finished_spans())

    def named(self, prefix: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(prefix)]

    def everything(self) -> str:
        """Every exported byte, as text."""
        return "".join(span.to_json() for span in self.spans)


@contextmanager
def watching(
    *, policy: ContentPolicy | None = None, with_run: bool = True, sampler: Any = None
) -> Iterator[Recorded]:
    """Record spans, faults of ours raised; with a run's state around them unless told otherwise."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spans.use_provider(provider)
    guard.set_strict(True)
    recorded = Recorded(provider, memory)
    before = context.current_run()
    if with_run:
        recorded.state = RunState(
            run_id=uuid.uuid4().hex, name="test", policy=policy or ContentPolicy()
        )
        context.set_current(recorded.state)
    try:
        yield recorded
    finally:
        context.set_current(before)
        guard.set_strict(False)
        spans.use_provider(None)


def current_span_name() -> str:
    return getattr(trace.get_current_span(), "name", "")
