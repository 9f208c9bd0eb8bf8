from __future__ import annotations

import gc
import logging
import threading
import time
from collections import Counter

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.export.pipelines import CLOSED_PORT, pipeline

from spanwitness import guard
from spanwitness.export.destination import ExportSettings
from spanwitness.export.losses import Losses
from spanwitness.export.parcel import Outcome
from spanwitness.export.processor import ExportProcessor
from spanwitness.testing.collector import Answer, ScriptedCollector


class MemorySender:
    """Keeps span names; `hold` stops it in the middle of an attempt."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.names: list[str] = []
        self.batches: list[int] = []
        self.delay_s = delay_s
        self.hold = threading.Event()
        self.hold.set()
        self.is_sending = threading.Event()
        self.is_closed = False

    def encode(self, spans):
        return b""

    def send(self, parcel, timeout_s):
        self.is_sending.set()
        self.hold.wait(20)
        time.sleep(self.delay_s)
        self.names += [s.name for s in parcel.spans]
        self.batches.append(len(parcel.spans))
        return Outcome(word="delivered")

    def close(self):
        self.is_closed = True

    def after_fork(self):
        pass


@pytest.fixture(autouse=True)
def _faults_are_contained():
    guard.set_strict(False)
    yield
    guard.set_strict(False)


def test_b20_a_dead_collector_neither_blocks_nor_raises_and_the_flush_says_so():
    with pipeline(CLOSED_PORT, exit_timeout_s=1.0) as p:
        p.end_spans(5)
        busy = time.thread_time()
        p.end_spans(50)
        assert time.thread_time() - busy < 0.05
        start = time.monotonic()
        assert p.processor.flush(1.0) is False
        assert time.monotonic() - start < 1.5
        start = time.monotonic()
        assert p.processor.stop() is False
        assert time.monotonic() - start < 1.5
    assert p.losses.as_dict() == {"shutdown": 55}


def test_b20_a_collector_that_does_not_answer_holds_the_exit_for_the_bound_only():
    with (
        ScriptedCollector(*[Answer(delay_s=30)] * 5) as collector,
        pipeline(collector.traces_url, exit_timeout_s=0.5) as p,
    ):
        p.end_spans(3)
        start = time.monotonic()
        p.provider.shutdown()
        assert time.monotonic() - start < 1.5
        assert p.losses.as_dict() == {"shutdown": 3}


def test_b20_an_exit_beside_a_closed_port_does_not_use_up_its_time():
    with pipeline(CLOSED_PORT, exit_timeout_s=30.0) as p:
        p.end_spans(3)
        start = time.monotonic()
        assert p.processor.stop() is False
        assert time.monotonic() - start < 5


def test_b22_spans_beyond_the_queue_are_counted_exactly(caplog):
    sender = MemorySender(delay_s=0.05)
    with pipeline(sender=sender, max_queue_spans=50, max_batch_spans=10) as p:
        p.end_spans(1000)
        p.processor.flush(20)
        lost = p.losses.as_dict()
        assert set(lost) == {"queue_full"}
        assert len(sender.names) + lost["queue_full"] == 1000
        assert lost["queue_full"] >= 800
        assert len(sender.names) == p.processor.n_delivered
    (warning,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert "reason=queue_full" in warning


def test_the_queue_is_bounded_in_bytes_too():
    sender = MemorySender()
    sender.hold.clear()
    with pipeline(sender=sender, max_queue_bytes=1_000_000, max_batch_bytes=100_000) as p:
        p.end_spans(1, text="x" * 150_000)
        assert sender.is_sending.wait(5)
        p.end_spans(100, text="x" * 100_000)
        assert p.processor.n_waiting <= 10
        sender.hold.set()
        assert p.processor.flush(5) is False
        assert len(sender.names) + p.losses.total == 101


def test_a_single_span_larger_than_the_queue_still_gets_its_chance():
    sender = MemorySender()
    with pipeline(sender=sender, max_queue_bytes=1000) as p:
        p.end_spans(1, text="x" * 5000)
        assert p.processor.flush(5) is True
        assert sender.names == ["span-0"]


def test_spans_leave_in_order_in_batches_of_bounded_size():
    sender = MemorySender()
    with pipeline(sender=sender, max_batch_spans=100) as p:
        p.end_spans(1050)
        assert p.processor.flush(10) is True
        assert sender.names == [f"span-{i}" for i in range(1050)]
        assert max(sender.batches) <= 100


def test_a_span_leaves_by_itself_within_an_interval():
    with (
        ScriptedCollector() as collector,
        pipeline(collector.traces_url, schedule_delay_s=0.1) as p,
    ):
        p.end_spans(1)
        assert len(collector.wait_for_spans(1, timeout_s=5)) == 1


def test_many_threads_lose_and_double_nothing():
    sender = MemorySender()
    with pipeline(sender=sender, max_queue_spans=100_000) as p:
        tracer = p.tracer

        def work(k: int) -> None:
            for i in range(500):
                tracer.start_span(f"{k}-{i}").end()

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert p.processor.flush(20) is True
        assert Counter(sender.names) == Counter(f"{k}-{i}" for k in range(8) for i in range(500))


def test_flush_is_false_while_anything_is_undelivered_and_true_afterwards():
    sender = MemorySender()
    sender.hold.clear()
    with pipeline(sender=sender) as p:
        p.end_spans(3)
        assert p.processor.flush(0.1) is False
        sender.hold.set()
        assert p.processor.flush(5) is True
        assert sender.names == ["span-0", "span-1", "span-2"]


def test_flush_waits_only_for_what_ended_before_it():
    sender = MemorySender(delay_s=0.02)
    with pipeline(sender=sender, max_batch_spans=5) as p:
        p.end_spans(5)
        stop = threading.Event()

        def keep_on() -> None:
            while not stop.wait(0.002):
                p.end_spans(1)

        thread = threading.Thread(target=keep_on)
        thread.start()
        try:
            assert p.processor.flush(5) is True
        finally:
            stop.set()
            thread.join()


def test_flush_from_many_threads_answers_each():
    with pipeline(sender=MemorySender()) as p:
        answers: list[bool] = []

        def work() -> None:
            p.end_spans(5)
            answers.append(p.processor.flush(10))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [True] * 8


def test_flush_of_nothing_is_true_and_fast():
    with pipeline(sender=MemorySender(), schedule_delay_s=60) as p:
        start = time.monotonic()
        assert p.processor.flush(5) is True
        assert p.provider.force_flush(5000) is True
        assert time.monotonic() - start < 1


def test_a_loss_before_the_flush_makes_it_false_once():
    with pipeline(sender=MemorySender()) as p:
        p.losses.add("queue_full", 2)
        assert p.processor.flush(5) is False
        assert p.processor.flush(5) is True


def test_spans_after_the_stop_are_counted_and_a_second_stop_is_harmless():
    sender = MemorySender()
    with pipeline(sender=sender) as p:
        p.end_spans(2)
        assert p.processor.stop() is True
        assert sender.is_closed
        p.end_spans(3)
        assert p.losses.as_dict() == {"shutdown": 3}
        assert p.processor.stop() is False
        assert p.processor.flush(1) is True
    assert sender.names == ["span-0", "span-1"]


def test_unsampled_spans_are_not_exported():
    sender = MemorySender()
    processor = ExportProcessor(sender, Losses(), ExportSettings(directory=None))
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    provider.get_tracer("t").start_span("x").end()
    assert processor.flush(5) is True
    assert processor.stop() is True
    assert sender.names == []


@pytest.mark.contains_faults
def test_a_sender_that_raises_costs_its_batch_and_is_counted_as_a_fault_of_ours():
    class Broken(MemorySender):
        def send(self, parcel, timeout_s):
            if not self.batches:
                self.batches.append(0)
                raise RuntimeError("bug")
            return super().send(parcel, timeout_s)

    before = guard.faults().get("export.send", 0)
    with pipeline(sender=Broken()) as p:
        p.end_spans(2)
        assert p.processor.flush(5) is False
        p.end_spans(1)
        assert p.processor.flush(5) is True
    assert p.losses.as_dict() == {"failed": 2}
    assert guard.faults()["export.send"] == before + 1


@pytest.mark.contains_faults
def test_a_span_that_cannot_be_encoded_costs_itself_only():
    class Picky(MemorySender):
        def encode(self, spans):
            if any(s.name == "span-3" for s in spans):
                raise ValueError("bad span")
            return b""

    sender = Picky()
    with pipeline(sender=sender) as p:
        p.end_spans(8)
        assert p.processor.flush(5) is False
    assert sender.names == [f"span-{i}" for i in range(8) if i != 3]
    assert p.losses.as_dict() == {"unencodable": 1}


def test_flush_from_the_worker_itself_does_not_deadlock():
    answers: list[bool] = []

    class FlushingSender(MemorySender):
        def send(self, parcel, timeout_s):
            answers.append(p.processor.flush(5))
            return super().send(parcel, timeout_s)

    with pipeline(sender=FlushingSender()) as p:
        p.end_spans(1)
        p.processor.flush(5)
    assert answers == [False]


def test_spans_that_end_in_finalizers_during_enqueueing_neither_deadlock_nor_vanish():
    """A collection may strike inside `on_end` and end the span of an abandoned stream there."""
    sender = MemorySender()
    with pipeline(sender=sender, max_queue_spans=100_000) as p:
        tracer = p.tracer
        n_finalized = 0

        class Stream:
            def __init__(self) -> None:
                self.me = self
                self.span = tracer.start_span("finalized")

            def __del__(self) -> None:
                nonlocal n_finalized
                n_finalized += 1
                self.span.end()

        before = gc.get_threshold()
        gc.set_threshold(3, 2, 2)
        try:
            for _ in range(2000):
                Stream()
                p.end_spans(1)
        finally:
            gc.set_threshold(*before)
        gc.collect()
        assert n_finalized == 2000
        assert p.processor.flush(20) is True
        assert Counter(sender.names) == {"finalized": 2000, "span-0": 2000}


def test_b45_nothing_is_kept_of_spans_that_were_delivered_or_lost():
    with ScriptedCollector() as collector, pipeline(collector.traces_url, max_queue_spans=100) as p:

        def live_spans() -> int:
            gc.collect()
            return sum(
                type(o).__name__ in {"ReadableSpan", "_Span", "Parcel"} for o in gc.get_objects()
            )

        def round_of_calls() -> None:
            for i in range(2000):
                span = p.tracer.start_span("call", attributes={"text": "x" * 100})
                if i % 10:
                    span.end()  # every tenth stream is abandoned: its span never ends

        round_of_calls()
        p.processor.flush(10)
        before = live_spans()
        for _ in range(3):
            round_of_calls()
            p.processor.flush(10)
        assert live_spans() <= before + 5


def test_the_worker_sleeps_while_a_collector_is_down():
    """Waking for each new span during a pause between attempts would burn the caller's CPU."""
    with pipeline(CLOSED_PORT, max_batch_spans=10) as p:
        p.end_spans(100)
        time.sleep(0.3)
        wakes = 0
        sleep = p.processor._sleep

        def counted(timeout_s: float) -> None:
            nonlocal wakes
            wakes += 1
            sleep(timeout_s)

        p.processor._sleep = counted
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            p.end_spans(10)
            time.sleep(0.002)
        assert wakes < 20


def test_flushes_that_time_out_do_not_fill_the_queue():
    with pipeline(CLOSED_PORT, max_queue_spans=20) as p:
        p.end_spans(2)
        for _ in range(50):
            assert p.processor.flush(0.001) is False
        assert p.processor.n_waiting <= 2
        p.end_spans(10)
        assert p.losses.total == 0


def test_the_sum_of_queued_bytes_is_set_right_when_updates_were_lost():
    sender = MemorySender()
    with pipeline(sender=sender, schedule_delay_s=0.02, max_queue_bytes=10_000) as p:
        p.processor._queued_bytes = 1_000_000
        deadline = time.monotonic() + 5
        while p.processor._queued_bytes and time.monotonic() < deadline:
            time.sleep(0.01)
        p.end_spans(5)
        assert p.processor.flush(5) is True
        assert p.processor._queued_bytes == 0


@pytest.mark.contains_faults
def test_a_fault_on_the_callers_side_is_contained_and_counted():
    class Strange:
        def get_span_context(self):
            raise RuntimeError("bug")

    before = guard.faults().get("export.on_end", 0)
    with pipeline(sender=MemorySender()) as p:
        p.processor.on_end(Strange())
    assert guard.faults()["export.on_end"] == before + 1
