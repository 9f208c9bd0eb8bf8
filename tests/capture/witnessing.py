"""A recording tracer and a run, for tests of the client wrappers."""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwitness import guard
from spanwitness.capture import context, retries, spans
from spanwitness.capture.content import ContentPolicy
from spanwitness.capture.context import RunState

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "read_page",
            "parameters": {
                "type": "object",
                "properties": {"page": {"type": "integer"}},
                "required": ["page"],
            },
        },
    }
]
ASK: Any = {"model": "gpt-test", "messages": [{"role": "user", "content": "How many mA?"}]}
ASK_WITH_TOOLS: Any = {**ASK, "tools": TOOLS}


@dataclass
class Seen:
    """What was recorded."""

    provider: TracerProvider
    memory: InMemorySpanExporter
    state: RunState | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.memory.get_finished_spans())

    def named(self, prefix: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(prefix)]

    @property
    def chats(self) -> list[dict[str, Any]]:
        """Attributes of the chat spans."""
        retries.settle_all()
        return [dict(span.attributes or {}) for span in self.named("chat")]

    def everything(self) -> str:
        """Every exported byte, as text."""
        return "".join(span.to_json() for span in self.spans)


@contextmanager
def watching(
    *, policy: ContentPolicy | None = None, with_run: bool = True, sampler: Any = None
) -> Iterator[Seen]:
    """Record spans; with a run around them unless told otherwise."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spans.use_provider(provider)
    guard.set_strict(True)
    seen = Seen(provider, memory)
    token = None
    if with_run:
        seen.state = RunState(
            run_id=uuid.uuid4().hex, name="test", policy=policy or ContentPolicy()
        )
        token = context.set_current(seen.state)
    try:
        yield seen
    finally:
        retries.settle_all()
        if token is not None:
            context.reset_current(token)
        guard.set_strict(False)
        spans.use_provider(None)


def calls_of(chat: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(chat["spanwitness.response.tool_calls"])


def current_span_name() -> str:
    return getattr(trace.get_current_span(), "name", "")
