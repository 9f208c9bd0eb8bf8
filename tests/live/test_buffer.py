"""Spans of traces in progress."""

from __future__ import annotations

import threading

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from spanwitness.live.buffer import JudgedRoot, TraceBuffer


class Into(SpanProcessor):
    def __init__(self, buffer):
        self.buffer = buffer

    def on_start(self, span, parent_context=None):
        self.buffer.start(span)

    def on_end(self, span):
        self.buffer.end(span)


def tracer_into(buffer):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Into(buffer))
    return provider.get_tracer("t")


def ids(spans):
    return {span.name for span in spans}


def test_the_subtree_of_a_span_leaves_its_siblings_out():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("root") as root:
        with (
            tracer.start_as_current_span("run") as run,
            tracer.start_as_current_span("chat"),
            tracer.start_as_current_span("http"),
        ):
            pass
        with tracer.start_as_current_span("sibling"):
            pass
        found = buffer.get(root.context.trace_id)
        assert ids(found.subtree(run.context.span_id)) == {"run", "chat", "http"}
        assert ids(found.subtree(root.context.span_id)) == {"run", "chat", "http", "sibling"}
        assert list(found.open) == [root.context.span_id]


def test_a_span_that_names_the_run_belongs_to_it_wherever_it_hangs():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("root") as root:
        run = tracer.start_span("run")
        tracer.start_span("tool", attributes={"spanwitness.run_id": "r1"}).end()
        tracer.start_span("tool of another", attributes={"spanwitness.run_id": "r2"}).end()
        run.end()
        found = buffer.get(root.context.trace_id)
        assert ids(found.subtree(run.context.span_id, "r1")) == {"run", "tool"}


def test_a_trace_without_a_sign_of_an_agent_needs_no_judging():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("GET /") as root, tracer.start_as_current_span("SELECT"):
        found = buffer.get(root.context.trace_id)
    assert found.is_accounted_for()


def test_a_trace_is_accounted_for_when_nothing_came_after_its_run_was_judged():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    agentic = {"gen_ai.operation.name": "chat"}
    with tracer.start_as_current_span("run", attributes=agentic) as run:
        tracer.start_span("chat", attributes=agentic).end()
        open_chat = tracer.start_span("late chat", attributes=agentic)
        found = buffer.get(run.context.trace_id)
        found.judged[run.context.span_id] = JudgedRoot(len(found.spans), set())
    assert found.is_accounted_for()
    open_chat.end()
    assert not found.is_accounted_for()


def test_a_foreign_agent_beside_a_judged_run_is_not_accounted_for():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("server") as server:
        with tracer.start_as_current_span("run", attributes={"gen_ai.x": 1}) as run:
            found = buffer.get(server.context.trace_id)
            found.judged[run.context.span_id] = JudgedRoot(0, set())
        assert found.is_accounted_for()
        tracer.start_span("invoke_agent", attributes={"gen_ai.x": 1}).end()
    assert not found.is_accounted_for()


def test_spans_of_a_finished_trace_are_late_but_a_new_request_of_it_is_not():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("run") as run:
        context = trace.set_span_in_context(run)
    found = buffer.get(run.context.trace_id)
    found.judged[run.context.span_id] = JudgedRoot(1, set())
    buffer.finish(run.context.trace_id)
    tracer.start_span("late", context).end()
    assert (buffer.n_late, len(buffer)) == (1, 0)
    remote = trace.SpanContext(
        run.context.trace_id, 7, is_remote=True, trace_flags=trace.TraceFlags(1)
    )
    tracer.start_span(
        "second request", trace.set_span_in_context(trace.NonRecordingSpan(remote))
    ).end()
    assert (buffer.n_late, len(buffer)) == (1, 1)


def test_a_long_trace_keeps_a_bounded_number_of_spans_and_counts_the_rest():
    buffer = TraceBuffer(max_spans_per_trace=10)
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("root") as root:
        for _ in range(30):
            tracer.start_span("x").end()
        found = buffer.get(root.context.trace_id)
        assert (len(found.spans), found.n_dropped, buffer.n_evicted) == (10, 20, 20)


def test_old_traces_go_when_there_are_too_many_spans():
    buffer = TraceBuffer(max_spans=50)
    tracer = tracer_into(buffer)
    roots = [tracer.start_span(f"root {n}") for n in range(20)]
    for root in roots:
        for _ in range(9):
            tracer.start_span("x", trace.set_span_in_context(root)).end()
    kept = sum(len(found.spans) for found in buffer.traces())
    assert kept <= 50
    assert buffer.n_evicted + kept == 180
    assert buffer.get(roots[-1].context.trace_id) is not None
    assert buffer.get(roots[0].context.trace_id) is None


def test_open_traces_that_never_end_do_not_pile_up():
    buffer = TraceBuffer(max_traces=100)
    tracer = tracer_into(buffer)
    for _ in range(1000):
        tracer.start_span("never ended")
    assert len(buffer) <= 100


def test_threads_lose_no_span():
    buffer = TraceBuffer()
    tracer = tracer_into(buffer)
    with tracer.start_as_current_span("root") as root:
        context = trace.set_span_in_context(root)

        def work():
            for _ in range(200):
                tracer.start_span("x", context).end()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(buffer.get(root.context.trace_id).spans) == 1600
