"""What the export costs the caller, and how many spans arrive when a process ends in each way.

    python -m benchmarks.export

The second part runs 20 processes of each kind against a collector on this machine and counts the
spans that arrive: ours beside OpenTelemetry's batch processor with its own OTLP/HTTP exporter.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.timing import compare, keep
from spanwitness.export.destination import ExportSettings
from spanwitness.export.losses import Losses
from spanwitness.export.parcel import Outcome
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender
from spanwitness.testing.collector import ScriptedCollector

N_TRIALS = 20
CLOSED_PORT = "http://127.0.0.1:9/v1/traces"

OURS = """
from spanwitness.export.destination import ExportSettings
from spanwitness.export.lifecycle import Lifecycle
from spanwitness.export.losses import Losses
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender
settings = ExportSettings(endpoint=ENDPOINT, schedule_delay_s=60)
processor = ExportProcessor(make_sender(settings), Losses(), settings)
provider.add_span_processor(processor)
lifecycle = Lifecycle(processor)
lifecycle.install()
if HOOK: lifecycle.install_sigterm_hook()
"""
PLAIN = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
processor = BatchSpanProcessor(OTLPSpanExporter(ENDPOINT), schedule_delay_millis=60_000)
provider.add_span_processor(processor)
"""
SET_UP = """
import multiprocessing, os, signal, sys, time
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
ENDPOINT, HOOK = {endpoint!r}, {hook!r}
{processor}
def span(name="a"):
    provider.get_tracer("bench").start_span(name).end()
"""
FORK = """
for i in range({n}):
    pid = os.fork()
    if pid == 0:
        span(); sys.exit(0)
    os.waitpid(pid, 0)
"""
CHILDREN = """
context = multiprocessing.get_context("fork")
for i in range({n}):
    child = context.Process(target=span); child.start(); child.join()
"""
SIGTERM = "span(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)"


class Kept(SpanProcessor):
    """Keeps the last ended span."""

    def on_end(self, span):
        self.span = span


class NullExporter(SpanExporter):
    """Takes everything."""

    def export(self, spans):  # noqa: ARG002
        return SpanExportResult.SUCCESS


class NullSender:
    """Takes everything."""

    def encode(self, spans):  # noqa: ARG002
        return b""

    def send(self, parcel, timeout_s):  # noqa: ARG002
        return Outcome(word="delivered")

    def close(self):
        pass

    def after_fork(self):
        pass


def caller_side() -> None:
    """Time `on_end` for a span of twelve attributes."""
    kept = Kept()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(kept)
    attributes = {
        f"gen_ai.attribute_{i}": "v" * (400 if i < 2 else 20) if i % 3 else i for i in range(12)
    }
    provider.get_tracer("bench").start_span("chat", attributes=attributes).end()
    dead = ExportSettings(endpoint=CLOSED_PORT, exit_timeout_s=0.1)
    roomy = replace(dead, max_queue_spans=100_000)
    ours = ExportProcessor(NullSender(), Losses(), roomy)
    ours_dead = ExportProcessor(make_sender(dead), Losses(), dead)
    plain = BatchSpanProcessor(NullExporter(), max_queue_size=100_000)
    timings = compare(
        {
            "on_end, ours": lambda: ours.on_end(kept.span),
            "on_end, ours, collector down, queue full": lambda: ours_dead.on_end(kept.span),
            "on_end, OpenTelemetry batch processor": lambda: plain.on_end(kept.span),
        },
        n_calls=1000,
        n_batches=40,
    )
    for name, timing in timings.items():
        print(f"{name:45} {timing.median_ns / 1000:6.2f} us")
    keep("export", timings)
    ours.stop(1)
    ours_dead.stop(0.1)
    plain.shutdown()


def arrived(processor: str, lines: str, *, n_processes: int, hook: bool = False) -> int:
    """Run processes to their end and count the spans that arrived."""
    with ScriptedCollector() as collector:
        code = SET_UP.format(endpoint=collector.traces_url, hook=hook, processor=processor) + lines
        for _ in range(n_processes):
            subprocess.run(
                [sys.executable, "-c", code], check=False, capture_output=True, timeout=120
            )
        return len(collector.spans)


def process_ends() -> None:
    """Print how many of 20 spans arrive for each way in which a process ends."""
    print(f"\n{'arrived of ' + str(N_TRIALS):28} {'ours':>6} {'OpenTelemetry':>14}")
    rows = (
        ("normal exit", "span()", N_TRIALS),
        ("fork of a live process", FORK.format(n=N_TRIALS), 1),
        ("multiprocessing child", CHILDREN.format(n=N_TRIALS), 1),
        ("SIGTERM (hook)", SIGTERM, N_TRIALS),
    )
    found = {}
    for name, lines, n_processes in rows:
        ours = arrived(OURS, lines, n_processes=n_processes, hook=True)
        plain = arrived(PLAIN, lines, n_processes=n_processes)
        found[name] = {"ours": ours, "opentelemetry": plain}
        print(f"{name:28} {ours:6} {plain:14}")
    keep("process_ends", found)


if __name__ == "__main__":
    caller_side()
    process_ends()
