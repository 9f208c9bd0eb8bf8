"""When a trace is due, what is kept, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from tests.serve.spans import good_run, span, trace_id

from spanwitness.errors import SettingsError
from spanwitness.serve.holder import HoldLimits, TraceHolder

LIMITS = HoldLimits(grace_s=10, max_age_s=100, keep_s=50)


def holder(**more):
    return TraceHolder(changed(LIMITS, **more))


def changed(limits, **more):
    from dataclasses import replace

    return replace(limits, **more)


def add(held, spans, now=0.0, size=1000):
    return held.add(spans, size_bytes=size, now=now)


def judge(held, trace, now):
    held.judged(held.take(trace), {}, now=now)


def test_a_trace_is_due_when_its_root_has_ended_and_it_was_quiet():
    held, spans = holder(), good_run()
    add(held, spans[1:], now=0)
    assert held.due(50) == []
    add(held, spans[:1], now=60)
    assert held.due(69) == []
    assert held.due(70) == [spans[0].trace_id]


def test_a_trace_without_its_root_is_due_at_its_age():
    held, spans = holder(), good_run()
    add(held, spans[1:], now=0)
    assert held.due(99) == []
    assert held.due(100) == [spans[0].trace_id]


def test_a_trace_that_never_rests_is_due_at_its_age():
    held = holder()
    trace = trace_id()
    add(held, good_run(trace), now=0)
    for second in range(1, 101):
        add(held, [span(trace, "work", span_id=100 + second, parent=1)], now=second)
    assert held.due(99) == []
    assert held.due(100) == [trace]
    judge(held, trace, 100)
    assert held.due(100) == []
    add(held, [span(trace, "work", span_id=999, parent=1)], now=101)
    assert held.due(105) == []


def test_an_agent_that_was_called_from_elsewhere_counts_as_a_whole():
    held = holder()
    root, chat = good_run()
    add(held, [msgspec.structs.replace(root, parent_span_id="f" * 16), chat], now=0)
    assert held.due(10) == [root.trace_id]


def test_a_judged_trace_is_due_again_when_spans_come_late():
    held, spans = holder(), good_run()
    add(held, spans, now=0)
    judge(held, spans[0].trace_id, 10)
    assert held.due(30) == []
    late = span(spans[0].trace_id, "late", span_id=77, parent=1)
    assert add(held, [late], now=30).n_taken == 1
    assert held.due(39) == []
    assert held.due(40) == [spans[0].trace_id]


def test_spans_that_come_while_a_trace_is_judged_are_not_overlooked():
    held, spans = holder(), good_run()
    add(held, spans, now=0)
    taken = held.take(spans[0].trace_id)
    add(held, [span(spans[0].trace_id, "late", span_id=77, parent=1)], now=10)
    held.judged(taken, {}, now=11)
    assert held.due(20) == [spans[0].trace_id]


def test_spans_that_come_after_a_trace_was_let_go_are_counted_as_late():
    held, spans = holder(), good_run()
    add(held, spans, now=0)
    judge(held, spans[0].trace_id, 10)
    assert held.let_go(59) == []
    assert held.let_go(60) == [spans[0].trace_id]
    assert (len(held), held.size_bytes) == (0, 0)
    late = span(spans[0].trace_id, "late", span_id=77, parent=1)
    assert add(held, [late], now=70) == (0, 0, 1, 0)


def test_a_span_that_comes_twice_is_held_once_and_makes_nothing_due():
    held, spans = holder(), good_run()
    add(held, spans, now=0)
    judge(held, spans[0].trace_id, 10)
    assert add(held, spans, now=20) == (0, 2, 0, 0)
    assert held.due(40) == []


def test_a_full_holder_lets_go_of_judged_traces_before_it_refuses():
    held = holder(max_bytes=10_000)
    first, second, third = good_run(), good_run(), good_run()
    add(held, first)
    add(held, second)
    assert not held.make_room(3000)
    judge(held, first[0].trace_id, 10)
    assert held.make_room(3000)
    assert not held.holds(first[0].trace_id)
    assert held.holds(second[0].trace_id)
    add(held, third)
    assert not held.make_room(3000)


def test_an_empty_holder_takes_a_request_of_any_size():
    assert holder(max_bytes=10).make_room(1_000_000)


def test_a_full_holder_has_traces_judged_whose_root_is_missing():
    held, spans = holder(), good_run()
    add(held, spans[1:], now=0)
    assert held.due(10) == []
    assert held.due(10, is_full=True) == [spans[0].trace_id]
    assert held.due(9, is_full=True) == []


def test_a_trace_beyond_its_bound_refuses_further_spans():
    held, trace = holder(max_spans_per_trace=3), trace_id()
    spans = [span(trace, "work", span_id=n) for n in range(1, 6)]
    assert add(held, spans) == (3, 0, 0, 2)
    assert held.take(trace).n_refused == 2


def test_a_postponed_trace_waits():
    held, spans = holder(), good_run()
    add(held, spans, now=0)
    held.postpone(spans[0].trace_id, until=30)
    assert held.due(29) == []
    assert held.due(30) == [spans[0].trace_id]


def test_the_trace_that_is_quiet_longest_comes_first():
    held = holder()
    runs = [good_run() for _ in range(3)]
    for now, place in enumerate((2, 0, 1)):
        add(held, runs[place], now=now)
    assert held.due(20) == [runs[place][0].trace_id for place in (2, 0, 1)]


@pytest.mark.parametrize("name", ["grace_s", "max_age_s", "keep_s", "max_bytes"])
def test_a_limit_of_nothing_is_refused(name):
    with pytest.raises(SettingsError, match=name):
        HoldLimits(**{name: 0})
