"""B10, B12, B13, B14, B15: processes that fork, freeze, end, or never set anything up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spanwitness.testing import ScriptedProvider, reply, text
from spanwitness.testing.collector import ScriptedCollector

ROOT = Path(__file__).parents[2]
SET_UP = """
import os, sys, time, signal
import spanwitness as sw

@sw.tool
def work(n):
    return n

@sw.tool
def items():
    yield 1
    yield 2
"""
WARNINGS = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")


def start(lines: str, **variables: str) -> subprocess.Popen[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "SPANW"))}
    return subprocess.Popen(
        [sys.executable, *WARNINGS, "-c", SET_UP + textwrap.dedent(lines)],
        cwd=ROOT, env={**kept, "OTEL_METRICS_EXPORTER": "none", **variables}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(lines: str, **variables: str) -> str:
    with start(lines, **variables) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return err


@pytest.fixture
def collector():
    with ScriptedCollector() as running:
        yield running


def names(collector: ScriptedCollector) -> Counter[str]:
    return Counter(span.name for span in collector.spans)


@pytest.mark.parametrize("leave", ["sys.exit(0)", "os._exit(0 if witness.flush(5) else 1)"])
def test_b10_a_forked_worker_delivers_its_own_spans_once(collector, leave):
    """B10: set up before the fork, an outer span open.

    A bare `os._exit` runs nothing of anybody's and so is like a kill: flush before it.
    """
    run(
        f"""
        witness = sw.configure("svc", endpoint={collector.url!r})
        with sw.run("outer"):
            work(0)
            pid = os.fork()
            if pid == 0:
                with sw.run("inner"):
                    work(1)
                {leave}
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        """
    )
    found = names(collector)
    assert found == {
        "invoke_workflow outer": 1, "invoke_workflow inner": 1, "execute_tool work": 2,
    }  # fmt: skip


def test_b10_children_of_multiprocessing_deliver_and_the_parents_spans_are_not_sent_twice(
    collector,
):
    """B10: a `multiprocessing` child by fork, which leaves by `os._exit`."""
    run(
        f"""
        import multiprocessing
        sw.configure("svc", endpoint={collector.url!r})
        work(0)
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=work, args=(n,)) for n in (1, 2, 3)]
        [child.start() for child in children]
        [child.join() for child in children]
        """
    )
    assert names(collector) == {"execute_tool work": 4}
    assert len({span.span_id for span in collector.spans}) == 4


def test_b12_a_process_that_nobody_set_up_says_so_once(collector):
    """B12: the same variables, a second entry point that calls no `configure`."""
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    calls = "\nwith sw.run('r'):\n    work(1)\n    work(2)\n"
    err = run(calls, **variables)
    assert err.count("spanwitness.not_started") == 1
    assert collector.spans == ()
    err = run(f"sw.configure('svc')\n{calls}", **variables)
    assert "not_started" not in err
    assert names(collector) == {"invoke_workflow r": 1, "execute_tool work": 2}


def test_b13_what_the_flush_of_an_invocation_called_delivered_is_there_while_frozen(collector):
    """B13: handler, flush with a bound, SIGSTOP: the collector has it at that moment."""
    with start(
        f"""
        witness = sw.configure("svc", endpoint={collector.url!r})
        for _ in range(2):
            with sw.run("invocation"):
                work(1)
            print(witness.flush(timeout_s=5), flush=True)
            sys.stdin.readline()
        """
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "True\n"
            process.send_signal(signal.SIGSTOP)
            assert names(collector) == {"invoke_workflow invocation": 1, "execute_tool work": 1}
            time.sleep(0.2)
            process.send_signal(signal.SIGCONT)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "True\n"
            assert len(collector.spans) == 4
        finally:
            process.kill()
            process.communicate()


def test_b14_a_pool_that_closes_before_the_exit_costs_no_span(collector):
    """B14: the SDK's pool-based processor beside ours; ours does not need a pool."""
    with start(
        f"""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, TracerProvider
        provider = TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(2))
        trace.set_tracer_provider(provider)
        sw.configure(endpoint={collector.url!r})
        with sw.run("pooled"):
            work(1)
        """
    ) as process:
        _, err = process.communicate(timeout=60)
    # The SDK's own processor may complain at exit (opentelemetry-python#5568); spans arrive.
    assert process.returncode == 0, err
    assert names(collector) == {"invoke_workflow pooled": 1, "execute_tool work": 1}


def test_b15_generators_and_streams_suspended_at_the_exit_are_delivered_as_unfinished(collector):
    """B15: a tool's generator, a run, and a model's stream, all open when the process ends."""
    with ScriptedProvider([reply(text("one two three"), delay_s=0.01)]) as provider:
        err = run(
            f"""
            import openai
            sw.configure("svc", endpoint={collector.url!r})
            client = sw.wrap_client(openai.OpenAI(base_url={provider.openai_url!r}, api_key="k"))
            run = sw.run("unfinished")
            run.__enter__()
            generator = items()
            next(generator)
            asked = [{{"role": "user", "content": "q"}}]
            stream = client.chat.completions.create(model="m", messages=asked, stream=True)
            next(iter(stream))
            """
        )
    assert "Exception ignored" not in err
    found: dict[str, Any] = {span.name: span.attributes for span in collector.spans}
    assert set(found) == {"invoke_workflow unfinished", "execute_tool items", "chat m"}
    assert len(collector.spans) == 3
    assert found["execute_tool items"]["spanwitness.unfinished"] is True
    assert found["chat m"]["spanwitness.unfinished"] is True
    root = found["invoke_workflow unfinished"]
    assert root["spanwitness.complete"] is False
    assert "open_spans" in root["spanwitness.incomplete_reasons"]


def test_b15_healthy_a_generator_that_was_read_is_not_marked(collector):
    """B15, healthy."""
    run(f"sw.configure('svc', endpoint={collector.url!r})\nassert list(items()) == [1, 2]")
    (span,) = collector.spans
    assert "spanwitness.unfinished" not in span.attributes
