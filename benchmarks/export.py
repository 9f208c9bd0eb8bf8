"""What export costs the caller, and what arrives however a process ends.

    python -m benchmarks export

Processes of each kind end in each way against a collector on this machine, and the spans that
arrive are counted: `spanwitness.configure` beside OpenTelemetry's batch processor with its own
OTLP/HTTP exporter. The export interval is a minute there, so that only the end can send them.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.table import Row, at_most
from benchmarks.timing import compare, keep
from spanwitness.export.destination import ExportSettings
from spanwitness.export.losses import Losses
from spanwitness.export.parcel import Outcome
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender
from spanwitness.testing.collector import ScriptedCollector

_CLOSED_PORT = "http://127.0.0.1:9/v1/traces"
_ADDED_BAR_MS = 1.0
_INTERVAL_S = 1.0
_ENDS = (0, -signal.SIGTERM, -signal.SIGKILL)

_OURS = """
import spanwitness as sw
witness = sw.configure(service_name="bench", endpoint=ENDPOINT, sigterm=HOOK)
provider = witness.provider
"""
_PLAIN = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(ENDPOINT)))
"""
_SET_UP = """
import multiprocessing, os, signal, sys, time
ENDPOINT, HOOK = {endpoint!r}, {hook!r}
{library}
def span(name="a"):
    provider.get_tracer("bench").start_span(name).end()
"""
_FORK = """
for i in range({n}):
    pid = os.fork()
    if pid == 0:
        span(); sys.exit(0)
    os.waitpid(pid, 0)
"""
_CHILDREN = """
context = multiprocessing.get_context("fork")
for i in range({n}):
    child = context.Process(target=span); child.start(); child.join()
"""
_SIGTERM = "span(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)"
_KILLED = """
for i in range(60):
    span("a%d" % i); print(i, time.monotonic(), flush=True); time.sleep(0.05)
print("end", time.monotonic(), flush=True); os.kill(os.getpid(), signal.SIGKILL)
"""
_TIMED_CALLS = """
import json, statistics, time
import spanwitness as sw
from opentelemetry.sdk.trace import TracerProvider
witness = {configure}
@sw.tool
def search_text(query, page):
    return ["supply voltage", query, page]
taken = []
for n_run in range({n_calls} // 50):
    with sw.run("bench"):
        for page in range(50):
            start = time.perf_counter_ns()
            search_text("maximum supply voltage", page)
            taken.append(time.perf_counter_ns() - start)
witness.shutdown()
taken.sort()
print(json.dumps(dict(mean_us=statistics.fmean(taken) / 1e3, p99_us=taken[len(taken) * 99 // 100]
    / 1e3, lost=witness.losses.total, reasons=witness.losses.as_dict())))
"""


def rows(
    *, n_trials: int = 20, n_batches: int = 15, n_calls: int = 3000, n_rounds: int = 3
) -> list[Row]:
    """Time the caller's side, count what arrives, and look at a collector that is down."""
    return [
        *_caller_rows(n_batches),
        *_dead_collector_rows(n_calls, n_rounds),
        *_end_rows(n_trials),
        _killed_row(n_rounds),
    ]


# --- the caller's side


class _Kept(SpanProcessor):
    """Keeps the last ended span."""

    def on_end(self, span):
        self.span = span


class _NullExporter(SpanExporter):
    """Takes everything."""

    def export(self, spans):  # noqa: ARG002
        return SpanExportResult.SUCCESS


class _NullSender:
    """Takes everything."""

    def encode(self, spans):  # noqa: ARG002
        return b""

    def send(self, parcel, timeout_s):  # noqa: ARG002
        return Outcome(word="delivered")

    def close(self):
        pass

    def after_fork(self):
        pass


def _caller_rows(n_batches: int) -> list[Row]:
    """Time `on_end` for a span of twelve attributes."""
    kept = _Kept()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(kept)
    attributes = {
        f"gen_ai.attribute_{i}": "v" * (400 if i < 2 else 20) if i % 3 else i for i in range(12)
    }
    provider.get_tracer("bench").start_span("chat", attributes=attributes).end()
    dead = ExportSettings(endpoint=_CLOSED_PORT, exit_timeout_s=0.1)
    roomy = replace(dead, max_queue_spans=100_000)
    ours = ExportProcessor(_NullSender(), Losses(), roomy)
    ours_dead = ExportProcessor(make_sender(dead), Losses(), dead)
    plain = BatchSpanProcessor(_NullExporter(), max_queue_size=100_000)
    timings = compare(
        {
            "export of a span, caller's side": lambda: ours.on_end(kept.span),
            "  collector down, queue full": lambda: ours_dead.on_end(kept.span),
            "  OpenTelemetry batch processor": lambda: plain.on_end(kept.span),
        },
        n_calls=1000,
        n_batches=n_batches,
    )
    keep("export", timings)
    ours.stop(1)
    ours_dead.stop(0.1)
    plain.shutdown()
    return [Row(what=name, figure=f"{timing.median_us:.1f} us") for name, timing in timings.items()]


# --- a collector that is down


def _dead_collector_rows(n_calls: int, n_rounds: int) -> list[Row]:
    down = f"sw.configure(service_name='bench', endpoint={_CLOSED_PORT!r})"
    none = "sw.configure(service_name='bench', provider=TracerProvider(shutdown_on_exit=False))"
    added_ms: list[float] = []
    figures = []
    for _ in range(n_rounds):
        without, with_down = (_timed_calls(code, n_calls) for code in (none, down))
        figures.append({"no export": without, "collector down": with_down})
        added_ms.append((with_down["mean_us"] - without["mean_us"]) / 1000)
    keep("dead_collector", figures)
    last = figures[-1]["collector down"]
    n_spans = n_calls + n_calls // 50
    mean_ms = statistics.median(added_ms)
    tails = [statistics.median(f[name]["p99_us"] for f in figures) / 1000 for name in figures[0]]
    return [
        at_most(
            "collector down: added to a tool call, wall clock",
            mean_ms,
            _ADDED_BAR_MS,
            figure=(
                f"{mean_ms:.3f} ms in the mean (99th percentile {tails[1]:.2f} ms,"
                f" {tails[0]:.2f} ms without export)"
            ),
            bar=f"< {_ADDED_BAR_MS:g} ms",
        ),
        Row(
            what="collector down: spans counted as lost",
            figure=f"{last['lost']} of {n_spans} ({_words(last['reasons'])})",
            bar="all",
            is_met=last["lost"] == n_spans,
        ),
    ]


def _words(reasons: dict[str, int]) -> str:
    return ", ".join(f"{word} {n}" for word, n in reasons.items())


def _timed_calls(configure: str, n_calls: int) -> dict[str, object]:
    done = _run(_TIMED_CALLS.format(configure=configure, n_calls=n_calls), delay_ms=1000)
    return json.loads(done.stdout.splitlines()[-1])


# --- ways to end


def _end_rows(n_trials: int) -> list[Row]:
    ends = (
        ("normal exit", "span()", n_trials),
        ("fork of a live process", _FORK.format(n=n_trials), 1),
        ("multiprocessing child", _CHILDREN.format(n=n_trials), 1),
        ("SIGTERM (hook)", _SIGTERM, n_trials),
    )
    found = []
    kept = {}
    for name, code, n_processes in ends:
        ours = _arrived(_OURS, code, n_processes=n_processes, hook="SIGTERM" in name)
        plain = _arrived(_PLAIN, code, n_processes=n_processes)
        kept[name] = {"ours": ours, "opentelemetry": plain}
        figure = f"{ours} of {n_trials} spans arrive (OpenTelemetry: {plain})"
        bar = f"{n_trials} of {n_trials}"
        found.append(Row(what=name, figure=figure, bar=bar, is_met=ours == n_trials))
    keep("process_ends", kept)
    return found


def _arrived(library: str, code: str, *, n_processes: int, hook: bool = False) -> int:
    """Run processes to their end and count the spans that arrived."""
    with ScriptedCollector() as collector:
        text = _SET_UP.format(endpoint=collector.traces_url, hook=hook, library=library) + code
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(_run, text, delay_ms=60_000) for _ in range(n_processes)]:
                done.result()
        return sum(span.name == "a" for span in collector.spans)


def _killed_row(n_trials: int) -> Row:
    """Kill a process that ends a span every 50 ms, and look how old the oldest lost one is."""
    oldest_s = []
    for _ in range(n_trials):
        with ScriptedCollector() as collector:
            text = _SET_UP.format(endpoint=collector.traces_url, hook=False, library=_OURS)
            done = _run(text + _KILLED, delay_ms=round(_INTERVAL_S * 1000))
            arrived = {span.name for span in collector.spans}
        times = dict(line.split() for line in done.stdout.splitlines() if line.strip())
        end = float(times.pop("end"))
        lost = [end - float(at) for i, at in times.items() if f"a{i}" not in arrived]
        oldest_s.append(max(lost, default=0.0))
    keep("killed", {"oldest_lost_s": oldest_s})
    worst = max(oldest_s)
    return at_most(
        "kill -9: age of the oldest lost span",
        worst,
        _INTERVAL_S * 1.1,
        figure=f"{worst:.2f} s (worst of {n_trials})",
        bar=f"<= {_INTERVAL_S:g} s, the export interval, + 10 %",
    )


def _run(code: str, *, delay_ms: int) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="spanwitness-bench-") as state_dir:
        variables = {
            **os.environ,
            "OTEL_BSP_SCHEDULE_DELAY": str(delay_ms),
            "OTEL_METRICS_EXPORTER": "none",
            "SPANWITNESS_STATE_DIR": state_dir,
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=variables,
        )
    if done.returncode not in _ENDS:
        raise AssertionError(f"a measured process ended with {done.returncode}: {done.stderr}")
    return done
