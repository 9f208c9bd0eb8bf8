"""Runs judged as they end."""

from __future__ import annotations

import threading
import time

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased
from tests.live.agents import SCHEMA, ask, openai_client, read_page

import spanwitness as sw
from spanwitness.contracts import load
from spanwitness.guard import faults
from spanwitness.testing import ScriptedProvider, call, text

BYPASS = '{"value": 3.6, "quote": "VDD: supply voltage 1.7 V to 3.6 V"}'
FORBIDDEN = """
contract: no-web
version: "1"
expect:
  - {rule: forbidden_tool, tool: web_search}
"""


class Keep:
    """A sink that keeps what it is given."""

    def __init__(self):
        self.judged = []

    def take(self, judged):
        self.judged.append(judged)


@pytest.fixture
def no_web(tmp_path):
    path = tmp_path / "no-web.yaml"
    path.write_text(FORBIDDEN)
    return load(path)


@pytest.fixture
def app():
    """An application that traces by itself, with a detector of ours attached by hand."""

    class App:
        def __init__(self):
            self.exporter = InMemorySpanExporter()
            self.provider = TracerProvider(
                resource=Resource.create({"service.name": "app"}), shutdown_on_exit=False
            )
            self.tracer = self.provider.get_tracer("opentelemetry.instrumentation.some_sdk")

        def attach(self, *contracts, **more):
            self.detector = sw.Detector(contracts, **more)
            self.provider.add_span_processor(self.detector)
            self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

        def configure(self, *contracts, **more):
            self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
            witness = sw.configure("svc", provider=self.provider, contracts=contracts, **more)
            self.detector = witness.detector

        def agent(self, name="helper", **more):
            attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
            return self.tracer.start_as_current_span(
                f"invoke_agent {name}", attributes=attributes | more
            )

        def tool(self, name, context=None):
            attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            return self.tracer.start_span(f"execute_tool {name}", context, attributes=attributes)

        def verdicts(self):
            assert self.detector.force_flush(5_000)
            return [s for s in self.spans() if s.name.startswith("verdict ")]

        def spans(self):
            return self.exporter.get_finished_spans()

    made = App()
    yield made
    made.provider.shutdown()


# --- runs of ours


def test_the_root_of_a_silent_bypass_is_flagged_before_it_ends():
    exporter = InMemorySpanExporter()
    witness = sw.configure("svc", exporter=exporter)
    with ScriptedProvider([text(BYPASS)]) as provider, sw.run("extract", item_id="i1"):
        ask(openai_client(provider), response_format=SCHEMA)
    assert witness.flush(5)
    root = next(s for s in exporter.get_finished_spans() if s.parent is None)
    assert root.attributes["spanwitness.flagged"] is True
    assert list(root.attributes["spanwitness.rules.violated"]) == ["output_constraint_bypass"]
    assert root.attributes["spanwitness.complete"] is True
    events = [e for e in root.events if e.name == "gen_ai.evaluation.result"]
    failed = [
        e.attributes for e in events if e.attributes["gen_ai.evaluation.score.label"] == "fail"
    ]
    (bypass,) = failed
    assert bypass["gen_ai.evaluation.name"] == "output_constraint_bypass"
    assert bypass["spanwitness.fault"] == "harness"
    assert "verdict" not in " ".join(s.name for s in exporter.get_finished_spans())


def test_a_healthy_run_is_not_flagged_and_says_so():
    exporter = InMemorySpanExporter()
    witness = sw.configure("svc", exporter=exporter)
    script = [call("read_page", {"page": 3}), text("The highest supply voltage is 3.6 V.")]
    with ScriptedProvider(script) as provider, sw.run("extract"):
        ask(openai_client(provider))
    witness.flush(5)
    root = next(s for s in exporter.get_finished_spans() if s.parent is None)
    assert root.attributes["spanwitness.flagged"] is False
    assert root.attributes["spanwitness.rules.violated"] == ()
    assert root.attributes["spanwitness.internal_errors"] == 0
    assert root.attributes["spanwitness.spans.lost"] == 0


def test_what_comes_after_the_root_is_judged_again_and_becomes_a_verdict_span(app, no_web):
    app.configure(no_web)
    with app.tracer.start_as_current_span("POST /ask"):
        with sw.run("answer") as run:
            late = app.tool("web_search")
        late.end()
    (verdict,) = app.verdicts()
    root = next(s for s in app.spans() if s.name == "invoke_workflow answer")
    assert verdict.parent.span_id == root.context.span_id
    assert verdict.attributes["spanwitness.rule.id"] == "forbidden_tool"
    assert verdict.attributes["spanwitness.run_id"] == run.id
    assert root.attributes["spanwitness.flagged"] is False
    assert root.attributes["spanwitness.complete"] is False


def test_a_nested_run_is_judged_by_itself_and_counts_for_its_parent(app, no_web):
    keep = Keep()
    app.configure(no_web, sinks=[keep])
    with sw.run("outer") as outer:
        with sw.run("clean"):
            pass
        with sw.run("inner"):
            app.tool("web_search").end()
    by_name = {s.name.removeprefix("invoke_workflow "): s.attributes for s in app.spans()}
    assert by_name["clean"]["spanwitness.flagged"] is False
    assert by_name["inner"]["spanwitness.flagged"] is True
    assert by_name["outer"]["spanwitness.flagged"] is True
    assert app.verdicts() == []
    assert [(j.run.workflow, j.run.parent_run_id) for j in keep.judged] == [
        ("clean", outer.id), ("inner", outer.id), ("outer", None),
    ]  # fmt: skip
    assert [len(j.run.tools) for j in keep.judged] == [0, 1, 1]


def test_an_unsampled_nested_run_counts_for_its_parent():
    keep = Keep()
    witness = sw.configure("svc", exporter=InMemorySpanExporter(), sampler=ALWAYS_OFF, sinks=[keep])
    with sw.run("outer") as outer:
        read_page(12)
        with sw.run("inner"):
            read_page(3)
    assert witness.flush(5)
    assert [(j.run.workflow, j.run.parent_run_id) for j in keep.judged] == [
        ("inner", outer.id), ("outer", None),
    ]  # fmt: skip
    assert [len(j.run.tools) for j in keep.judged] == [1, 2]
    assert [j.run.is_complete for j in keep.judged] == [True, True]


def test_a_sub_agent_of_another_instrumentation_gets_its_verdict_span(app, no_web):
    app.configure(no_web)
    with sw.run("outer"):
        read_page(3)
        with app.agent() as helper:
            app.tool("web_search").end()
    root = next(s for s in app.spans() if s.name == "invoke_workflow outer")
    assert root.attributes["spanwitness.flagged"] is True
    (verdict,) = app.verdicts()
    assert verdict.parent.span_id == helper.context.span_id


def test_an_unsampled_run_is_judged_and_a_flagged_one_emits_one_verdict_span():
    exporter, keep = InMemorySpanExporter(), Keep()
    witness = sw.configure("svc", exporter=exporter, sampler=ALWAYS_OFF, sinks=[keep])
    script = [text(BYPASS), call("read_page", {"page": 3}), text("3.6 V")]
    with ScriptedProvider(script) as provider:
        client = openai_client(provider)
        with sw.run("extract", item_id="i1"):
            ask(client, response_format=SCHEMA)
        with sw.run("healthy"):
            ask(client)
    assert witness.flush(5)
    flagged, healthy = keep.judged
    (span,) = exporter.get_finished_spans()
    assert flagged.is_flagged
    assert not healthy.is_flagged
    assert span.name == "verdict output_constraint_bypass"
    assert span.context.trace_flags.sampled
    assert span.attributes["spanwitness.item_id"] == "i1"
    assert f"{span.context.trace_id:032x}" == flagged.run.trace_id
    assert span.resource.attributes["service.name"] == "svc"


def test_sampling_half_judges_all():
    exporter, keep = InMemorySpanExporter(), Keep()
    witness = sw.configure("svc", exporter=exporter, sampler=TraceIdRatioBased(0.5), sinks=[keep])
    for n in range(20):
        with sw.run(f"run {n}"):
            read_page(3)
    assert witness.flush(5)
    assert sorted(j.run.workflow for j in keep.judged) == sorted(f"run {n}" for n in range(20))
    assert 0 < len(exporter.get_finished_spans()) < 40


def test_two_detectors_on_one_provider_judge_a_run_of_ours_once(app, no_web):
    keep = Keep()
    app.attach(no_web, sinks=[keep])
    sw.configure("svc", provider=app.provider, contracts=[no_web], sinks=[keep])
    with sw.run("ours"):
        app.tool("web_search").end()
    assert app.verdicts() == []
    sw.configure("svc", provider=app.provider, contracts=[no_web], sinks=[keep]).flush(5)
    assert len(keep.judged) == 1


# --- runs of others


def test_a_foreign_agents_violation_becomes_a_verdict_span_in_its_trace(app, no_web):
    app.attach(no_web)
    with app.agent() as agent:
        app.tool("web_search").end()
    (verdict,) = app.verdicts()
    assert verdict.parent.span_id == agent.context.span_id
    assert verdict.context.trace_id == agent.context.trace_id
    assert verdict.resource.attributes["service.name"] == "app"
    assert verdict.attributes["spanwitness.rule.id"] == "forbidden_tool"
    assert verdict.attributes["spanwitness.flagged"] is True
    assert verdict.attributes["gen_ai.agent.name"] == "helper"
    (event,) = verdict.events
    assert event.attributes["gen_ai.evaluation.score.label"] == "fail"


def test_it_comes_without_being_asked_for(app, no_web):
    app.attach(no_web)
    with app.agent():
        app.tool("web_search").end()
    end = time.monotonic() + 5
    while len(app.spans()) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert "verdict forbidden_tool" in [s.name for s in app.spans()]


def test_a_foreign_run_waits_for_what_is_still_open_below_it(app, no_web):
    app.attach(no_web, grace_s=30)
    with app.agent():
        tool = app.tool("web_search")
    time.sleep(0.05)
    assert len(app.spans()) == 1
    tool.end()
    (verdict,) = app.verdicts()
    assert verdict.attributes["spanwitness.complete"] is True


def test_a_child_that_never_ends_does_not_hold_the_verdict_for_ever(app, no_web):
    app.attach(no_web, grace_s=0.05)
    with app.agent():
        app.tool("web_search").end()
        app.tool("stuck")
    end = time.monotonic() + 5
    while len(app.spans()) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert [s.name for s in app.spans() if s.name.startswith("verdict")] == [
        "verdict forbidden_tool"
    ]


def test_an_agent_inside_a_request_is_judged_before_the_request_ends(app, no_web):
    app.attach(no_web, grace_s=0.02)
    with app.tracer.start_as_current_span("POST /ask"):
        with app.agent():
            app.tool("web_search").end()
        end = time.monotonic() + 5
        while len(app.spans()) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        assert "verdict forbidden_tool" in [s.name for s in app.spans()]
    assert len(app.verdicts()) == 1


def test_a_trace_without_agents_is_not_judged(app):
    keep = Keep()
    app.attach(sinks=[keep])
    with app.tracer.start_as_current_span("GET /"), app.tracer.start_as_current_span("SELECT"):
        pass
    assert app.verdicts() == []
    assert keep.judged == []
    assert len(app.detector._buffer) == 0


def test_several_requests_of_one_distributed_trace_are_judged_each(app, no_web):
    app.attach(no_web)
    caller = trace.SpanContext(5, 7, is_remote=True, trace_flags=trace.TraceFlags(1))
    context = trace.set_span_in_context(trace.NonRecordingSpan(caller))
    for _ in range(2):
        agent = app.tracer.start_span(
            "invoke_agent a", context, attributes={"gen_ai.operation.name": "invoke_agent"}
        )
        app.tool("web_search", trace.set_span_in_context(agent)).end()
        agent.end()
        assert app.detector.force_flush(5_000)
    assert len(app.verdicts()) == 2


# --- it never harms


def test_a_rule_that_raises_costs_the_caller_nothing_and_is_told(app, lenient, monkeypatch):
    from spanwitness.rules import engine

    def broken(run, contracts=()):
        raise ValueError("a rule's fault")

    monkeypatch.setattr(engine, "evaluate", broken)
    app.configure()
    with sw.run("ours"):
        assert read_page(3).startswith("VDD")
    with app.agent():
        app.tool("x").end()
    assert app.verdicts() == []
    assert set(faults()) == {"live.closing", "live.worker"}
    root = next(s for s in app.spans() if s.name == "invoke_workflow ours")
    assert root.attributes["spanwitness.internal_errors"] == 1
    assert root.attributes["spanwitness.complete"] is False
    assert len(app.detector._buffer) == 0
    assert {s.name for s in app.spans()} >= {"invoke_workflow ours", "invoke_agent helper"}


def test_a_sink_that_raises_is_contained_and_the_others_are_served(app, lenient):
    class Broken:
        def take(self, judged):
            raise ValueError("the sink's fault")

    keep = Keep()
    app.attach(sinks=[Broken(), keep])
    with app.agent():
        app.tool("x").end()
    app.detector.force_flush(5_000)
    assert len(keep.judged) == 1
    assert sum(faults().values()) == 1


def test_a_sink_that_calls_a_model_is_not_judged_for_it():
    keep = Keep()
    script = [text("first"), text("a summary of the findings")]
    with ScriptedProvider(script) as provider:
        client = openai_client(provider)

        class Summarise:
            def take(self, judged):
                with sw.run("summary"):
                    client.chat.completions.create(
                        model="m", messages=[{"role": "user", "content": "sum up"}]
                    )
                keep.take(judged)

        witness = sw.configure("svc", exporter=InMemorySpanExporter(), sinks=[Summarise()])
        with sw.run("answer"):
            ask(client)
        assert witness.flush(5)
        assert witness.flush(5)
        assert [j.run.workflow for j in keep.judged] == ["answer"]
        assert len(provider.requests) == 2


def test_a_shut_down_detector_lets_spans_pass_and_judges_no_more(app, no_web):
    app.attach(no_web)
    app.detector.shutdown()
    with app.agent():
        app.tool("web_search").end()
    assert app.verdicts() == []
    assert len(app.detector._buffer) == 0


def test_runs_in_many_threads_are_judged_each_by_itself(no_web):
    exporter = InMemorySpanExporter()
    witness = sw.configure("svc", exporter=exporter, contracts=[no_web])

    @sw.tool
    def web_search(query):
        return [query]

    def work(n):
        with sw.run(f"run {n}"):
            read_page(3)
            if n % 2:
                web_search("x")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert witness.flush(5)
    roots = [s for s in exporter.get_finished_spans() if s.parent is None]
    flags = {s.name: s.attributes["spanwitness.flagged"] for s in roots}
    assert flags == {f"invoke_workflow run {n}": bool(n % 2) for n in range(16)}


def test_memory_stays_bounded_and_a_run_that_lost_spans_is_incomplete():
    exporter, keep = InMemorySpanExporter(), Keep()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(sw.Detector(max_spans_per_trace=5, sinks=[keep]))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("x")
    with tracer.start_as_current_span(
        "invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}
    ):
        for _ in range(20):
            tracer.start_span("x").end()
    provider.force_flush()
    provider.shutdown()
    assert [j.run.is_complete for j in keep.judged] == [False]
