"""Work kept off the caller's path."""

from __future__ import annotations

import os
import threading
import time

from spanwitness.guard import faults
from spanwitness.live.worker import Worker


def wait_until(condition, timeout_s=5.0):
    end = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_jobs_are_done_soon_and_in_order_by_one_thread():
    done = []
    worker = Worker(lambda job: done.append((job, threading.get_ident())), name="t")
    for n in range(50):
        worker.add(n)
    assert wait_until(lambda: len(done) == 50)
    assert [job for job, _ in done] == list(range(50))
    assert {thread for _, thread in done} != {threading.get_ident()}
    assert len({thread for _, thread in done}) == 1
    worker.close(1)


def test_a_job_waits_for_its_time_and_a_later_one_with_less_delay_goes_first():
    done = []
    worker = Worker(done.append, name="t")
    worker.add("late", delay_s=0.15)
    worker.add("soon", delay_s=0.02)
    assert wait_until(lambda: done == ["soon"], 0.1)
    assert wait_until(lambda: done == ["soon", "late"])
    worker.close(1)


def test_a_flush_does_jobs_at_once_that_are_not_due_yet():
    done = []
    worker = Worker(done.append, name="t")
    worker.add("x", delay_s=60)
    assert worker.flush(1) is True
    assert done == ["x"]
    worker.close(1)


def test_a_flush_waits_for_the_job_under_way():
    started, release, done = threading.Event(), threading.Event(), []

    def work(job):
        started.set()
        release.wait(5)
        done.append(job)

    worker = Worker(work, name="t")
    worker.add(1)
    started.wait(5)
    assert worker.flush(0.05) is False
    release.set()
    assert worker.flush(5) is True
    assert done == [1]
    worker.close(1)


def test_a_job_that_raises_is_counted_and_the_next_is_done(lenient):
    done = []

    def work(job):
        if job == "bad":
            raise ValueError(job)
        done.append(job)

    worker = Worker(work, name="t")
    worker.add("bad")
    worker.add("good")
    assert worker.flush(5)
    assert done == ["good"]
    assert faults() == {"live.worker": 1}
    worker.close(1)


def test_jobs_beyond_the_bound_are_refused_and_counted():
    worker = Worker(lambda _: None, name="t", max_jobs=3)
    worker.add(0, delay_s=60)
    assert wait_until(lambda: worker._due)
    for n in range(5):
        worker.add(n, delay_s=60)
    assert worker.n_refused == 3
    worker.close(1)


def test_the_child_of_a_fork_starts_without_the_parents_jobs():
    done = []
    worker = Worker(done.append, name="t")
    worker.add("parent", delay_s=60)
    pid = os.fork()
    if pid == 0:
        worker.reset()
        worker.add("child")
        os._exit(0 if wait_until(lambda: done == ["child"], 2) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert worker.flush(1)
    assert done == ["parent"]
    worker.close(1)


def test_after_closing_jobs_are_done_by_the_next_flush_only():
    done = []
    worker = Worker(done.append, name="t")
    worker.close(1)
    worker.add(1)
    time.sleep(0.02)
    assert done == []
    assert worker.flush(1)
    assert done == [1]
