"""Judgements survive the end and the fork of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMON = """
    import os, sys
    import spanwitness as sw
    from spanwitness.contracts import Contract

    contract = Contract.model_validate({
        "contract": "no-web", "version": "1",
        "expect": [{"rule": "forbidden_tool", "tool": "web_search"}],
    })

    @sw.tool
    def web_search(query):
        return [query]
"""


def run_script(body: str, state: Path, **variables: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "SPANW"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(COMMON) + textwrap.dedent(body)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        env=environment | {"SPANWITNESS_STATE_DIR": str(state)} | variables,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def stored_spans(state: Path) -> list[dict]:
    return [
        span
        for path in (state / "traces").glob("*.jsonl")
        for line in path.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attribute(span: dict, name: str) -> object:
    found = [a["value"] for a in span["attributes"] if a["key"] == name]
    return next(iter(found[0].values())) if found else None


def findings(state: Path) -> list[dict]:
    path = state / "findings.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_run_is_judged_and_kept_when_the_process_just_ends(tmp_path):
    run_script(
        """
        sw.configure("svc", contracts=[contract])
        with sw.run("answer"):
            web_search("x")
        """,
        tmp_path,
    )
    spans = stored_spans(tmp_path)
    assert {s["name"] for s in spans} == {"invoke_workflow answer", "execute_tool web_search"}
    root = next(s for s in spans if "invoke_workflow" in s["name"])
    assert attribute(root, "spanwitness.flagged") is True
    assert [f["rule"] for f in findings(tmp_path)] == ["forbidden_tool"]


def test_a_run_that_is_open_at_the_end_is_judged_as_incomplete(tmp_path):
    run_script(
        """
        sw.configure("svc", contracts=[contract])
        sw.run("answer").__enter__()
        web_search("x")
        """,
        tmp_path,
    )
    root = next(s for s in stored_spans(tmp_path) if "invoke_workflow" in s["name"])
    assert attribute(root, "spanwitness.flagged") is True
    assert attribute(root, "spanwitness.complete") is False


def test_a_foreign_run_is_judged_at_the_end_before_the_applications_exporter_closes(tmp_path):
    run_script(
        """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

        class ToFile(SpanExporter):
            def export(self, spans):
                with open(sys.argv[1] if len(sys.argv) > 1 else os.environ["NAMES"], "a") as file:
                    file.writelines(f"{span.name}\\n" for span in spans)
            def shutdown(self):
                pass

        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(ToFile()))
        trace.set_tracer_provider(provider)
        provider.add_span_processor(sw.Detector([contract], grace_s=60))
        tracer = trace.get_tracer("some.instrumentation")
        agent = {"gen_ai.operation.name": "invoke_agent"}
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "web_search"}
        with tracer.start_as_current_span("invoke_agent a", attributes=agent):
            tracer.start_span("execute_tool web_search", attributes=tool).end()
        """,
        tmp_path,
        NAMES=str(tmp_path / "names"),
    )
    names = (tmp_path / "names").read_text().splitlines()
    assert sorted(names) == [
        "execute_tool web_search",
        "invoke_agent a",
        "verdict forbidden_tool",
    ]


@pytest.mark.parametrize("leaves_by", ["sys.exit(0)", "os._exit(0 if witness.flush(5) else 1)"])
def test_forked_workers_judge_their_own_runs_and_no_others(tmp_path, leaves_by):
    run_script(
        f"""
        witness = sw.configure("svc", contracts=[contract])
        with sw.run("parent"):
            web_search("x")
        children = []
        for n in range(3):
            pid = os.fork()
            if pid == 0:
                with sw.run(f"child"):
                    web_search("x")
                {leaves_by}
            children.append(pid)
        for pid in children:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        """,
        tmp_path,
    )
    roots = [s for s in stored_spans(tmp_path) if "invoke_workflow" in s["name"]]
    assert sorted(s["name"] for s in roots) == ["invoke_workflow child"] * 3 + [
        "invoke_workflow parent"
    ]
    assert all(attribute(s, "spanwitness.flagged") is True for s in roots)
    assert len(findings(tmp_path)) == 4


def test_a_child_of_multiprocessing_judges_its_run(tmp_path):
    run_script(
        """
        import multiprocessing

        def work():
            with sw.run("child"):
                web_search("x")

        sw.configure("svc", contracts=[contract])
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        assert child.exitcode == 0
        """,
        tmp_path,
    )
    (root,) = [s for s in stored_spans(tmp_path) if "invoke_workflow" in s["name"]]
    assert attribute(root, "spanwitness.flagged") is True


def test_a_run_that_sigterm_interrupts_is_kept_and_judged(tmp_path):
    run_script(
        """
        import signal

        sw.configure("svc", contracts=[contract], sigterm=True)
        pid = os.fork()
        if pid == 0:
            with sw.run("answer"):
                web_search("x")
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
        """,
        tmp_path,
    )
    root = next(s for s in stored_spans(tmp_path) if "invoke_workflow" in s["name"])
    assert attribute(root, "spanwitness.flagged") is True
    assert attribute(root, "spanwitness.complete") is False
