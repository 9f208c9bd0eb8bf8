"""A tracer whose spans go through our processor; shared by the tests of `export`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from spanwitness.export.destination import ExportSettings
from spanwitness.export.losses import Losses
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Tracer

    from spanwitness.export.parcel import Sender

CLOSED_PORT = "http://127.0.0.1:9/v1/traces"


@dataclass(frozen=True)
class Pipeline:
    provider: TracerProvider
    processor: ExportProcessor
    losses: Losses

    @property
    def tracer(self) -> Tracer:
        return self.provider.get_tracer("tests")

    def end_spans(self, n: int, **attributes: object) -> None:
        tracer = self.tracer
        for i in range(n):
            tracer.start_span(f"span-{i}", attributes={"i": i, **attributes}).end()


@contextmanager
def pipeline(
    endpoint: str | None = None, *, sender: Sender | None = None, **settings: object
) -> Iterator[Pipeline]:
    values = ExportSettings(endpoint=endpoint, **{"exit_timeout_s": 2.0, **settings})
    losses = Losses()
    processor = ExportProcessor(sender or make_sender(values), losses, values)
    provider = TracerProvider(resource=Resource({"service.name": "tests"}), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    try:
        yield Pipeline(provider, processor, losses)
    finally:
        processor.stop(0.5)
