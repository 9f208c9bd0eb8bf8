"""How processes end. Each test runs real processes against a real collector on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.export.pipelines import CLOSED_PORT, pipeline

from spanwitness.errors import SettingsError
from spanwitness.export.lifecycle import Lifecycle
from spanwitness.testing.collector import Answer, ScriptedCollector

N_TRIALS = 5
# Python 3.12 warns about each fork beside a thread; forking servers live with that.
WARNINGS = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")

SET_UP = """
import os, sys, signal, time
from opentelemetry.sdk.trace import TracerProvider
from spanwitness.export.destination import ExportSettings
from spanwitness.export.lifecycle import Lifecycle
from spanwitness.export.losses import Losses
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender

settings = ExportSettings(endpoint={endpoint!r}, protocol={protocol!r}, schedule_delay_s={delay!r})
losses = Losses()
processor = ExportProcessor(make_sender(settings), losses, settings)
provider = TracerProvider()
provider.add_span_processor(processor)
tracer = provider.get_tracer("tests")
lifecycle = Lifecycle(processor)
lifecycle.install()
def span(name):
    tracer.start_span(name).end()
"""


class _Process(subprocess.Popen):
    """Never outlives its test."""

    def __exit__(self, *error):
        if error[0] is not None:
            self.kill()
        super().__exit__(*error)


class Child:
    """A Python program with the export set up before its own lines."""

    def __init__(
        self, lines: str, *, endpoint: str, protocol: str = "http/protobuf", delay_s: float = 60.0
    ):
        self.code = SET_UP.format(endpoint=endpoint, protocol=protocol, delay=delay_s) + lines

    def start(self, cwd=None) -> subprocess.Popen[str]:
        return _Process(
            [sys.executable, *WARNINGS, "-c", self.code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "1"},
        )

    def run(self) -> tuple[int, str, str]:
        with self.start() as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.fixture
def collector():
    with ScriptedCollector(with_grpc=True) as running:
        yield running


def names(collector: ScriptedCollector) -> Counter[str]:
    return Counter(s.name for s in collector.spans)


PROTOCOLS = pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])


def endpoint_of(collector: ScriptedCollector, protocol: str) -> str:
    return collector.grpc_target if protocol == "grpc" else collector.traces_url


@PROTOCOLS
@pytest.mark.parametrize(
    "last_line", ["", "sys.exit(3)", "raise ValueError('user error')"], ids=["end", "exit", "error"]
)
def test_every_kind_of_normal_exit_delivers(collector, protocol, last_line):
    child = Child(
        f"span('a'); span('b')\n{last_line}",
        endpoint=endpoint_of(collector, protocol),
        protocol=protocol,
    )
    code, _, err = child.run()
    assert names(collector) == {"a": 1, "b": 1}, err
    assert code == {"": 0, "sys.exit(3)": 3}.get(last_line, 1)
    assert ("user error" in err) is (code == 1)
    assert "spanwitness" not in err


def test_b14_exit_delivers_although_pools_are_closed_before(collector):
    lines = """
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor
pool = ConcurrentMultiSpanProcessor(2)
pooled = TracerProvider(active_span_processor=pool, shutdown_on_exit=False)
pooled.add_span_processor(processor)
pooled.get_tracer("t").start_span("pooled").end()
"""
    code, _, err = Child(lines, endpoint=collector.traces_url).run()
    assert (code, names(collector)) == (0, {"pooled": 1}), err


def test_b15_spans_still_open_at_exit_are_ended_by_the_callback_and_delivered(collector):
    lines = """
def stream():
    held = tracer.start_span("suspended")
    opened.append(held)
    yield 1
opened = []
lifecycle.remove()
lifecycle = Lifecycle(processor, end_open=lambda: [s.end() for s in opened])
lifecycle.install()
suspended = stream(); next(suspended)
"""
    code, _, err = Child(lines, endpoint=collector.traces_url).run()
    assert (code, names(collector)) == (0, {"suspended": 1}), err


@PROTOCOLS
def test_b10_workers_forked_from_a_live_process_deliver_their_own_spans_once(collector, protocol):
    lines = f"""
span("before")
processor.flush(5)
span("pending")
with tracer.start_as_current_span("outer"):
    children = []
    for i in range({N_TRIALS}):
        pid = os.fork()
        if pid == 0:
            span(f"child-{{i}}")
            sys.exit(0)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert codes == [0] * {N_TRIALS}, codes
span("after")
"""
    child = Child(lines, endpoint=endpoint_of(collector, protocol), protocol=protocol)
    code, _, err = child.run()
    expected = ["before", "pending", "outer", "after", *(f"child-{i}" for i in range(N_TRIALS))]
    assert (code, names(collector)) == (0, Counter(expected)), err


def test_b10_a_worker_that_lives_on_delivers_within_an_interval_and_its_parent_too(collector):
    lines = """
pid = os.fork()
name = "child" if pid == 0 else "parent"
span(name)
time.sleep(1.5)
os._exit(0) if pid == 0 else os.waitpid(pid, 0)
os._exit(0)
"""
    code, _, err = Child(lines, endpoint=collector.traces_url, delay_s=0.1).run()
    assert (code, names(collector)) == (0, {"child": 1, "parent": 1}), err


def test_b10_losses_of_the_parent_are_not_counted_again_in_the_child(collector):
    lines = """
losses.add("queue_full", 7)
if os.fork() == 0:
    print(losses.total, flush=True)
    os._exit(0)
os.wait()
print(losses.total)
"""
    _, out, err = Child(lines, endpoint=collector.traces_url).run()
    assert out.split() == ["0", "7"], err


@PROTOCOLS
def test_b10_a_fork_while_other_threads_end_spans_leaves_no_lock_behind(collector, protocol):
    lines = """
import threading
stop = False
def busy():
    while not stop:
        span("parent")
threads = [threading.Thread(target=busy) for _ in range(3)]
for t in threads: t.start()
for i in range(10):
    pid = os.fork()
    if pid == 0:
        span("child")
        os._exit(0 if processor.flush(10) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop = True
for t in threads: t.join()
"""
    endpoint = endpoint_of(collector, protocol)
    code, _, err = Child(lines, endpoint=endpoint, protocol=protocol, delay_s=0.05).run()
    assert (code, names(collector)["child"]) == (0, 10), err


@PROTOCOLS
def test_b10_the_worker_imports_nothing_so_that_no_fork_falls_into_an_import(protocol):
    """A module that a thread of the parent was importing stays locked in the child."""
    script = [
        Answer(status=503, grpc_code="UNAVAILABLE", headers={"retry-after": "0"}),
        Answer(rejected_spans=1, message="bad"),
        Answer(status=400, grpc_code="INTERNAL"),
    ]
    lines = """
before = set(sys.modules)
for i in range(4):
    tracer.start_span("a", attributes={"t": "\\ud83e", "f": 1.5, "l": ("x",)}).end()
    processor.flush(5)
print(losses.as_dict(), sorted(set(sys.modules) - before))
"""
    with ScriptedCollector(*script, with_grpc=True) as collector:
        endpoint = endpoint_of(collector, protocol).replace("127.0.0.1", "localhost")
        _, out, err = Child(lines, endpoint=endpoint, protocol=protocol).run()
    assert out.strip() == "{'rejected': 1, 'failed': 1} []", err


MULTIPROCESSING = """
import multiprocessing, os, sys
from opentelemetry.sdk.trace import TracerProvider
from spanwitness.export.destination import ExportSettings
from spanwitness.export.lifecycle import Lifecycle
from spanwitness.export.losses import Losses
from spanwitness.export.processor import ExportProcessor
from spanwitness.export.senders import make_sender

def set_up(endpoint):
    global tracer, lifecycle
    settings = ExportSettings(endpoint=endpoint, schedule_delay_s=60)
    processor = ExportProcessor(make_sender(settings), Losses(), settings)
    provider = TracerProvider()
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("tests")
    lifecycle = Lifecycle(processor)
    lifecycle.install()

endpoint, method, where, n_trials = sys.argv[1:]
if where == "module":
    set_up(endpoint)

def work(i):
    if where == "target" and method != "fork":
        set_up(endpoint)
    tracer.start_span(f"child-{i}").end()

if __name__ == "__main__":
    if where == "target":
        set_up(endpoint)
    context = multiprocessing.get_context(method)
    for i in range(int(n_trials)):
        child = context.Process(target=work, args=(i,))
        child.start()
        child.join()
        assert child.exitcode == 0
    tracer.start_span("parent").end()
"""


@pytest.mark.parametrize("where", ["module", "target"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_that_return_at_once_deliver(
    collector, tmp_path, method, where
):
    """B12 as well: each child has the settings of its parent and its spans arrive."""
    program = tmp_path / "program.py"
    program.write_text(MULTIPROCESSING)
    n_trials = N_TRIALS if method == "fork" else 2
    done = subprocess.run(
        [sys.executable, str(program), collector.traces_url, method, where, str(n_trials)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = Counter(["parent", *(f"child-{i}" for i in range(n_trials))])
    assert names(collector) == expected, done.stderr


def test_workers_of_a_process_pool_deliver(collector, tmp_path):
    lines = """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
def work(i):
    span(f"child-{i}")
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    list(pool.map(work, range(8)))
"""
    code, _, err = Child(lines, endpoint=collector.traces_url).run()
    assert (code, names(collector)) == (0, Counter(f"child-{i}" for i in range(8))), err


@PROTOCOLS
def test_sigterm_with_the_hook_delivers_and_the_process_still_dies_of_the_signal(
    collector, protocol
):
    lines = """
lifecycle.install_sigterm_hook()
span("a")
print("ready", flush=True)
while True:
    time.sleep(10)
"""
    for _ in range(N_TRIALS if protocol != "grpc" else 2):
        child = Child(lines, endpoint=endpoint_of(collector, protocol), protocol=protocol)
        with child.start() as process:
            assert process.stdout.readline() == "ready\n"
            process.terminate()
            process.wait(timeout=20)
        assert process.returncode == -signal.SIGTERM
    assert names(collector) == {"a": N_TRIALS if protocol != "grpc" else 2}


def test_sigterm_in_the_middle_of_ending_spans_delivers_all_that_ended(collector):
    lines = """
lifecycle.install_sigterm_hook()
print("ready", flush=True)
n = 0
while True:
    span(str(n)); n += 1
    if n % 100 == 0: os.write(1, b"%d\\n" % n); time.sleep(0.001)
"""
    for _ in range(3):
        with Child(lines, endpoint=collector.traces_url, delay_s=0.1).start() as process:
            assert process.stdout.readline() == "ready\n"
            process.stdout.readline()
            process.terminate()
            out, _ = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGTERM
        if out.split():
            arrived = {int(s.name) for s in collector.spans}
            assert set(range(int(out.split()[-1]))) <= arrived


def test_sigterm_while_a_lock_is_held_that_ending_open_spans_needs_does_not_hang(collector):
    lines = """
import threading
lock = threading.Lock()
lifecycle.remove()
lifecycle = Lifecycle(processor, end_open=lock.acquire)
lifecycle.install_sigterm_hook(1.0)
span("a")
with lock:
    print("ready", flush=True)
    time.sleep(60)
"""
    with Child(lines, endpoint=collector.traces_url).start() as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        process.wait(timeout=10)
    assert process.returncode == -signal.SIGTERM
    assert names(collector) == {"a": 1}


def test_sigterm_ends_open_spans_before_it_delivers(collector):
    lines = """
held = tracer.start_span("open")
lifecycle.remove()
lifecycle = Lifecycle(processor, end_open=held.end)
lifecycle.install_sigterm_hook()
print("ready", flush=True)
time.sleep(60)
"""
    with Child(lines, endpoint=collector.traces_url).start() as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        process.wait(timeout=10)
    assert process.returncode == -signal.SIGTERM
    assert names(collector) == {"open": 1}


@pytest.mark.parametrize("kind", ["handler", "ignored", "asyncio before", "asyncio after"])
def test_sigterm_hook_lets_what_was_there_before_go_on(collector, kind):
    lines = {
        "handler": """
signal.signal(signal.SIGTERM, lambda *a: (span("handler"), sys.exit(7)))
lifecycle.install_sigterm_hook()
span("a"); print("ready", flush=True)
while True: time.sleep(10)
""",
        "ignored": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
lifecycle.install_sigterm_hook()
span("a"); print("ready", flush=True)
sys.stdin.readline(); sys.exit(7)
""",
        "asyncio before": """
import asyncio
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    lifecycle.install_sigterm_hook()
    span("a"); print("ready", flush=True)
    await stop.wait()
    span("handler")
asyncio.run(main()); sys.exit(7)
""",
        "asyncio after": """
import asyncio
lifecycle.install_sigterm_hook()
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    span("a"); print("ready", flush=True)
    await stop.wait()
    span("handler")
asyncio.run(main()); sys.exit(7)
""",
    }[kind]
    with Child(lines, endpoint=collector.traces_url).start() as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        if kind == "ignored":
            assert len(collector.wait_for_spans(1)) == 1
        _, err = process.communicate("go\n", timeout=20)
    assert process.returncode == 7, err
    expected = ["a"] if kind == "ignored" else ["a", "handler"]
    assert names(collector) == Counter(expected), err


def test_sigterm_beside_a_dead_collector_ends_within_the_bound():
    lines = (
        "lifecycle.install_sigterm_hook(1.0); span('a'); print('ready', flush=True)\ntime.sleep(60)"
    )
    with Child(lines, endpoint=CLOSED_PORT).start() as process:
        assert process.stdout.readline() == "ready\n"
        start = time.monotonic()
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 3
    assert process.returncode == -signal.SIGTERM
    assert "reason=shutdown" in err


def test_sigterm_hook_outside_the_main_thread_is_an_error():
    import threading

    errors: list[Exception] = []

    def install() -> None:
        try:
            lifecycle.install_sigterm_hook()
        except SettingsError as error:
            errors.append(error)

    with pipeline(CLOSED_PORT, exit_timeout_s=0.1) as p:
        lifecycle = Lifecycle(p.processor)
        thread = threading.Thread(target=install)
        thread.start()
        thread.join()
    assert "main thread" in str(errors[0])


def test_sigterm_hook_can_be_removed_and_installing_twice_changes_nothing():
    before = signal.getsignal(signal.SIGTERM)
    with pipeline(CLOSED_PORT, exit_timeout_s=0.1) as p:
        lifecycle = Lifecycle(p.processor)
        lifecycle.install_sigterm_hook()
        lifecycle.install_sigterm_hook()
        assert signal.getsignal(signal.SIGTERM) == lifecycle._on_sigterm
        lifecycle.remove()
    assert signal.getsignal(signal.SIGTERM) is before


def test_b13_what_a_flush_before_the_freeze_called_delivered_is_there_while_frozen(collector):
    lines = """
for word in sys.stdin:
    span(word.strip())
    print(processor.flush(5), flush=True)
"""
    with Child(lines, endpoint=collector.traces_url).start() as process:
        for i in range(3):
            process.stdin.write(f"invocation-{i}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "True\n"
            os.kill(process.pid, signal.SIGSTOP)
            assert names(collector)[f"invocation-{i}"] == 1
            os.kill(process.pid, signal.SIGCONT)
        process.communicate(timeout=20)
    assert names(collector) == {f"invocation-{i}": 1 for i in range(3)}


def test_b13_a_flush_that_could_not_deliver_says_so():
    script = [Answer(status=503)] * 100
    with ScriptedCollector(*script) as collector:
        lines = "span('a'); print(processor.flush(0.3), flush=True); os._exit(0)"
        _, out, err = Child(lines, endpoint=collector.traces_url).run()
        assert out == "False\n", err
        assert collector.spans == ()


def test_b13_a_process_frozen_in_the_middle_of_an_export_delivers_after_it_thaws(collector):
    lines = """
for i in range(20):
    span(f"s-{i}"); time.sleep(0.02)
    if i == 5: print("ready", flush=True)
"""
    with Child(lines, endpoint=collector.traces_url, delay_s=0.05).start() as process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGCONT)
        process.communicate(timeout=20)
    assert set(names(collector)) == {f"s-{i}" for i in range(20)}


def test_kill_minus_nine_loses_at_most_one_export_interval(collector):
    lines = """
n = 0
while True:
    span(str(n)); print(n, time.monotonic_ns(), flush=True); n += 1
    time.sleep(0.005)
"""
    interval_s = 0.4
    with Child(lines, endpoint=collector.traces_url, delay_s=interval_s).start() as process:
        collector.wait_for_spans(400)
        process.kill()
        killed_ns = time.monotonic_ns()
        out = process.stdout.read()
    ended = [line.split() for line in out.splitlines() if len(line.split()) == 2]
    arrived = {s.name for s in collector.spans}
    # One interval, and the time that the last request may have been under way.
    old = {n for n, at_ns in ended if int(at_ns) < killed_ns - (interval_s + 0.4) * 1e9}
    assert len(old) > 10
    assert old <= arrived


def test_installing_twice_and_removing_leaves_no_exit_callback(collector):
    lines = """
lifecycle.install()
lifecycle.remove()
span("a")
provider._atexit_handler and __import__("atexit").unregister(provider._atexit_handler)
provider._atexit_handler = None
"""
    code, _, err = Child(lines, endpoint=collector.traces_url).run()
    assert (code, names(collector)) == (0, {}), err
