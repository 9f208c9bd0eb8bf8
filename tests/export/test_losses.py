from __future__ import annotations

import gc
import signal
import threading

from spanwitness.export.losses import Losses


def test_counts_from_many_threads_are_exact():
    losses = Losses()

    def count() -> None:
        for i in range(5000):
            losses.add("queue_full" if i % 2 else "failed", 1 + i % 3)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = 4 * sum(1 + i % 3 for i in range(5000))
    assert losses.total == expected
    assert sum(losses.as_dict().values()) == expected


def test_counts_from_a_signal_handler_that_interrupts_counting_are_exact():
    losses = Losses()
    n_fired = 0

    def interrupt(*_):
        nonlocal n_fired
        n_fired += 1
        losses.add("rejected", 2)
        assert losses.total > 0

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        n_counted = 0
        while n_fired < 50:
            losses.add("queue_full")
            n_counted += 1
            losses.as_dict()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert losses.as_dict() == {"queue_full": n_counted, "rejected": 2 * n_fired}


def test_zero_spans_leave_no_reason_behind():
    losses = Losses()
    losses.add("rejected", 0)
    assert losses.as_dict() == {}
    assert losses.total == 0
