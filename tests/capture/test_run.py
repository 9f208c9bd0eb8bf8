"""A run opens, is counted, frozen, judged and closed, whatever happens inside."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
import warnings

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.capture.recording import watching

from spanwitness import guard
from spanwitness.capture import defaults, spans
from spanwitness.capture.agent import agent
from spanwitness.capture.context import current_run
from spanwitness.capture.outcomes import record_outcome
from spanwitness.capture.root import set_closing_hook
from spanwitness.capture.run import run
from spanwitness.capture.tool import tool
from spanwitness.errors import SettingsError
from spanwitness.model import Claim

look = tool(name="look")(lambda page=1: f"page {page}")


def root_of(seen):
    (root,) = seen.named("invoke_workflow")
    return dict(root.attributes)


def test_a_run_records_what_it_was_told_and_its_counts():
    with watching(with_run=False) as seen, run(
        "extract", agent="reader", item_id="dps310-vdd", subject="DPS310", tags=["a", "b"],
        conversation_id="c1", tools=[look, "submit", {"function": {"name": "read"}}],
        max_turns=9, input="What is Vdd?",
    ) as r:  # fmt: skip
        assert current_run().run_id == r.id
        look()
        r.set(turns=2, termination="completed", compacted=True, output={"v": 3.6})
    assert current_run() is None
    (root,) = seen.named("invoke_workflow")
    assert root.name == "invoke_workflow extract"
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "extract",
        "gen_ai.agent.name": "reader",
        "gen_ai.conversation.id": "c1",
        "spanwitness.item_id": "dps310-vdd",
        "spanwitness.subject": "DPS310",
        "spanwitness.tags": ("a", "b"),
        "spanwitness.tools.configured": ("look", "submit", "read"),
        "spanwitness.max_turns": 9,
        "spanwitness.content": "on",
        "spanwitness.seq": 1,
        "spanwitness.run_id": r.id,
        "spanwitness.run.input": '"What is Vdd?"',
        "spanwitness.run.output": '{"v":3.6}',
        "spanwitness.run.has_output": True,
        "spanwitness.turns": 2,
        "spanwitness.termination": "completed",
        "spanwitness.compacted": True,
        "spanwitness.spans.started": 2,
        "spanwitness.spans.ended": 2,
        "spanwitness.internal_errors": 0,
        "spanwitness.complete": True,
    }
    tool_span = seen.named("execute_tool")[0]
    assert tool_span.parent.span_id == root.context.span_id


def test_agent_name_comes_from_the_service_when_none_is_given():
    with watching(with_run=False) as seen:
        defaults.use(agent="svc")
        try:
            with run("r"):
                pass
        finally:
            defaults.use()
    assert root_of(seen)["gen_ai.agent.name"] == "svc"


async def test_async_run_in_tasks_keeps_runs_apart():
    async def one(name):
        async with run(name) as r:
            await asyncio.sleep(0.001)
            look()
            return r.id

    with watching(with_run=False) as seen:
        ids = await asyncio.gather(*(one(f"r{n}") for n in range(5)))
    by_run = {s.attributes["spanwitness.run_id"]: s.parent.span_id for s in seen.named("execute")}
    roots = {s.attributes["spanwitness.run_id"]: s.context.span_id for s in seen.named("invoke")}
    assert by_run == roots
    assert set(ids) == set(roots)


@pytest.mark.parametrize(
    ("error", "cancelled"), [(ValueError("v"), False), (KeyboardInterrupt(), True)], ids=repr
)
def test_a_run_ends_on_every_exception(error, cancelled):
    with watching(with_run=False) as seen:
        with pytest.raises(type(error)) as caught, run("r"):
            raise error
        assert caught.value is error
    attributes = root_of(seen)
    assert attributes["error.type"] == type(error).__name__
    assert attributes.get("spanwitness.cancelled", False) is cancelled
    assert current_run() is None


async def test_a_run_that_ends_in_another_task_ends_and_leaves_no_trace_there(caplog):
    """B04."""
    with watching(with_run=False) as seen:
        r = run("r")
        await r.__aenter__()

        async def end():
            await r.__aexit__(None, None, None)
            return current_run()

        assert await asyncio.create_task(end()) is None
    assert len(seen.named("invoke_workflow")) == 1
    assert caplog.records == []


def test_nested_runs_have_their_own_counts():
    with watching(with_run=False) as seen, run("outer") as outer, run("inner") as inner:
        look()
    by_id = {s.attributes["spanwitness.run_id"]: s for s in seen.named("invoke_workflow")}
    assert by_id[inner.id].parent.span_id == by_id[outer.id].context.span_id
    assert by_id[inner.id].attributes["spanwitness.spans.started"] == 2
    assert by_id[outer.id].attributes["spanwitness.spans.started"] == 1


def test_submission_is_frozen_and_a_later_change_shows():
    answer = {"vdd": {"max": 3.6}}
    with watching(with_run=False) as seen, run("r") as r:
        r.submit(answer, claims=[Claim(value=3.6, unit="V", source="p. 3")])
        answer["vdd"]["max"] = 4.2
    (step,) = seen.named("spanwitness.step submit")
    assert step.attributes["spanwitness.step.kind"] == "submit"
    assert step.attributes["spanwitness.submission.answer"] == '{"vdd":{"max":3.6}}'
    assert step.attributes["spanwitness.submission.claims"] == (
        '[{"value":3.6,"unit":"V","source":"p. 3"}]'
    )
    frozen = step.attributes["spanwitness.submission.digest"]
    assert root_of(seen)["spanwitness.submission.final_digest"] != frozen


def test_an_unchanged_submission_keeps_its_digest():
    with watching(with_run=False) as seen, run("r", content="off") as r:
        r.submit({"b": 1, "a": [2]})
    (step,) = seen.named("spanwitness.step submit")
    assert (
        root_of(seen)["spanwitness.submission.final_digest"]
        == (step.attributes["spanwitness.submission.digest"])
    )
    assert "spanwitness.submission.answer" not in step.attributes


def test_a_span_still_open_makes_the_run_incomplete():
    with watching(with_run=False) as seen:
        with run("r"):
            g = tool(name="g")(_items)()
            next(g)
        g.close()
    attributes = root_of(seen)
    assert attributes["spanwitness.complete"] is False
    assert attributes["spanwitness.incomplete_reasons"] == ("open_spans",)
    assert (attributes["spanwitness.spans.started"], attributes["spanwitness.spans.ended"]) == (
        2,
        1,
    )


def _items():
    yield 1
    yield 2


def test_outermost_agent_is_a_run_and_inner_ones_belong_to_it():
    inner = agent(name="inner")(lambda: look(1))
    outer = agent(name="outer", tools=[look], max_turns=3)(lambda question: inner())
    with watching(with_run=False) as seen:
        assert outer("q") == "page 1"
    by_name = {s.name: dict(s.attributes) for s in seen.spans}
    root = by_name["invoke_agent outer"]
    assert root["gen_ai.operation.name"] == "invoke_agent"
    assert root["spanwitness.run.input"] == '{"question":"q"}'
    assert root["spanwitness.run.output"] == '"page 1"'
    assert root["spanwitness.max_turns"] == 3
    assert root["spanwitness.tools.configured"] == ("look",)
    assert root["spanwitness.spans.started"] == 3
    assert {a["spanwitness.run_id"] for a in by_name.values()} == {root["spanwitness.run_id"]}
    assert current_run() is None


async def test_a_streaming_agent_covers_its_whole_stream_and_leaks_no_run():
    @agent
    async def stream():
        look()
        for n in range(3):
            yield n

    with watching(with_run=False) as seen:
        items = []
        async for item in stream():
            assert current_run() is None
            items.append(item)
    assert items == [0, 1, 2]
    (root,) = seen.named("invoke_agent")
    assert root.attributes["spanwitness.run.output"] == "[0,1,2]"
    assert seen.named("execute_tool")[0].parent.span_id == root.context.span_id


def test_the_closing_hook_may_write_on_the_root():
    states = []

    def hook(state, span):
        states.append(state)
        span.set_attribute("spanwitness.flagged", True)

    set_closing_hook(hook)
    try:
        with watching(with_run=False) as seen, run("r"):
            look()
    finally:
        set_closing_hook(None)
    assert root_of(seen)["spanwitness.flagged"] is True
    assert states[0].is_closed


@pytest.mark.contains_faults
def test_a_hook_that_raises_is_contained_and_counted():
    """B65."""

    def hook(state, span):
        raise RuntimeError("rule")

    set_closing_hook(hook)
    try:
        with watching(with_run=False) as seen:
            guard.set_strict(False)
            with run("r"):
                look()
    finally:
        set_closing_hook(None)
    assert root_of(seen)["spanwitness.internal_errors"] == 1
    assert root_of(seen)["spanwitness.incomplete_reasons"] == ("internal_error",)


class _Raising(SpanProcessor):
    def __init__(self, where):
        self._where = where

    def on_start(self, span, parent_context=None):
        if self._where == "start":
            raise RuntimeError("processor")

    def on_end(self, span):
        if self._where == "end":
            raise RuntimeError("processor")


@pytest.mark.contains_faults
@pytest.mark.parametrize("where", ["start", "end"])
def test_span_processors_that_raise_do_not_reach_the_caller(where):
    """B65."""
    provider = TracerProvider()
    provider.add_span_processor(_Raising(where))
    spans.use_provider(provider)
    try:
        with run("r") as r:
            assert look(2) == "page 2"
            r.submit(1)
    finally:
        spans.use_provider(None)
    assert spans.open_count() == 0


@pytest.mark.parametrize(
    "sampler", [sampling.ALWAYS_OFF, sampling.ParentBased(sampling.ALWAYS_OFF)]
)
def test_an_unsampled_run_keeps_its_structure_and_serialises_nothing(sampler):
    """B49."""
    judged = []
    set_closing_hook(lambda state, span: judged.append((state, list(state.records))))
    try:
        with watching(with_run=False, sampler=sampler) as seen, run("r", item_id="i") as r:
            look("canary")
            with r.step("s", kind="verify"):
                look("canary")
            with pytest.raises(ValueError, match="canary"):
                tool(name="fail")(_raise)("canary")
            r.submit("canary")
    finally:
        set_closing_hook(None)
    assert seen.spans == []
    ((state, records),) = judged
    assert not state.is_recording
    assert "canary" not in repr(records)
    by_name = {record.name: record for record in records}
    root = by_name["invoke_workflow r"]
    assert root.attributes["spanwitness.item_id"] == "i"
    assert root.attributes["spanwitness.complete"] is True
    assert len({record.trace_id for record in records}) == 1
    assert len({record.span_id for record in records}) == len(records) == 6
    step = by_name["spanwitness.step s"]
    assert [r.parent_span_id for r in records if r.name == "execute_tool look"] == [
        root.span_id, step.span_id,
    ]  # fmt: skip
    assert [record.attributes["spanwitness.seq"] for record in records] == [2, 4, 3, 5, 6, 1]
    failed = by_name["execute_tool fail"]
    assert failed.attributes["error.type"] == "ValueError"
    assert failed.status == "error"


def _raise(message):
    raise ValueError(message)


def test_no_provider_at_all_changes_nothing():
    """B49."""
    spans.use_provider(None)
    with run("r") as r:
        assert look() == "page 1"
        r.submit(1)
    assert agent(lambda: 3)() == 3


def test_a_parent_that_is_not_sampled_is_followed():
    """B49."""
    with watching(with_run=False) as seen:
        parent = trace.NonRecordingSpan(
            trace.SpanContext(
                trace_id=7, span_id=9, is_remote=True, trace_flags=trace.TraceFlags(0)
            )
        )
        with trace.use_span(parent), run("r"):
            look()
    assert seen.spans == []


def test_open_spans_are_ended_and_marked_at_exit():
    """B15."""
    with watching(with_run=False) as seen:
        r = run("r")
        r.__enter__()
        g = tool(name="g")(_items)()
        next(g)
        assert spans.end_open() == 2
        assert spans.end_open() == 0
        g.close()
        r.__exit__(None, None, None)
    by_name = {s.name: s.attributes for s in seen.spans}
    assert len(seen.spans) == 2
    assert by_name["execute_tool g"]["spanwitness.unfinished"] is True
    assert by_name["invoke_workflow r"]["spanwitness.unfinished"] is True
    assert "open_spans" in by_name["invoke_workflow r"]["spanwitness.incomplete_reasons"]
    del g
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_end_its_parents_spans():
    with watching(with_run=False) as seen, run("r") as r, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads
        child = os.fork()
        if child == 0:
            r.__exit__(None, None, None)
            os._exit(len(seen.memory.get_finished_spans()) + spans.end_open())
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(seen.spans) == 1


def test_a_clock_set_back_gives_no_negative_duration(monkeypatch):
    """B63."""
    with watching(with_run=False) as seen, run("r"):
        now = time.time_ns()
        monkeypatch.setattr(spans, "time_ns", lambda: now - 5_000_000_000)
        look()
    for span in seen.spans:
        assert span.end_time >= span.start_time
    child, parent = seen.spans
    assert parent.start_time <= child.start_time <= child.end_time <= parent.end_time


def test_an_error_after_somebody_ended_the_span_is_still_told():
    """B64."""

    @tool
    def callback():
        trace.get_current_span().end()
        raise ValueError("late")

    with watching(with_run=False) as seen, run("r"), pytest.raises(ValueError, match="late"):
        callback()
    early, late = seen.named("execute_tool callback")
    assert late.attributes["spanwitness.late_end_of"] == f"{early.context.span_id:016x}"
    assert late.attributes["error.type"] == "ValueError"
    assert late.attributes["spanwitness.tool.outcome"] == "error"
    assert "span_ended_early" in root_of(seen)["spanwitness.incomplete_reasons"]


def test_outcomes_arrive_later_in_a_trace_of_their_own():
    with watching(with_run=False) as seen, run("r"):
        record_outcome(item_id="i", run_id="abc", checkpoint="final", success=False)
    outcome = next(s for s in seen.spans if "outcome" in s.name)
    assert outcome.parent is None
    assert dict(outcome.attributes) == {
        "spanwitness.item_id": "i",
        "spanwitness.run_id": "abc",
        "spanwitness.outcome.checkpoint": "final",
        "spanwitness.outcome.success": False,
    }
    with pytest.raises(SettingsError, match="item_id or run_id"):
        record_outcome(success=True)
    with pytest.raises(SettingsError, match="True or False"):
        record_outcome(item_id="i", success=1)


def test_a_process_that_was_never_configured_says_so_once():
    """B12."""
    code = "import spanwitness.capture.tool as t\nf = t.tool(lambda: 1)\nf(); f()\n"
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PATH": ""}
    for extra, expected in ((environment, 1), ({"PATH": ""}, 0)):
        done = subprocess.run(
            [sys.executable, "-c", code], env=extra, capture_output=True, text=True, check=True,
            timeout=60,
        )  # fmt: skip
        assert done.stderr.count("spanwitness.not_started") == expected


@pytest.mark.parametrize(
    "arguments",
    [{"phases": {"t": "later"}}, {"on_violation": "explode"}, {"content": "x"}, {"tools": [3]}],
    ids=str,
)
def test_unusable_arguments_are_refused_at_once(arguments):
    with pytest.raises(SettingsError):
        run("r", **arguments)


def test_switched_off_runs_do_nothing():
    with watching(with_run=False) as seen:
        spans.set_enabled(False)
        try:
            with run("r") as r, r.step("s") as step:
                step.set(validity=True)
                step.output(1)
                r.submit(1)
                r.set(turns=1)
                record_outcome(item_id="i", success=True)
        finally:
            spans.set_enabled(True)
    assert seen.spans == []


def test_many_exporters_see_the_same_attributes():
    """What is written quickly is seen by every processor, and not after the end."""
    memory = InMemorySpanExporter()
    with watching() as seen:
        seen.provider.add_span_processor(SimpleSpanProcessor(memory))
        look(3)
    assert [dict(s.attributes) for s in memory.get_finished_spans()] == [
        dict(s.attributes) for s in seen.spans
    ]
