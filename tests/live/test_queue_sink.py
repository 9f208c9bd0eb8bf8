"""Runs of a live process in the review queue."""

from __future__ import annotations

import contextlib
import os
import time

import pytest
from tests.review.judged_runs import judged, spans_of

import spanwitness as sw
from spanwitness import guard
from spanwitness.errors import ReviewError, SettingsError
from spanwitness.review import Queue, QueueSink


@sw.tool
def read_page(number: int) -> str:
    raise RuntimeError("the secret recipe is lost")


def a_failing_run(name: str = "extract") -> None:
    with sw.run(name) as run:
        with contextlib.suppress(RuntimeError):
            read_page(1)
        run.submit("3.6 V")


def test_runs_of_a_process_stand_in_the_queue_with_their_spans(tmp_path):
    url = f"sqlite:///{tmp_path}/queue.db"
    witness = sw.configure("shop", queue=url)
    a_failing_run()
    assert witness.flush(10) is True
    queue = Queue.open(url)
    (item,) = [i for i in queue.items().rows if i.rule == "tool_error_swallowed"]
    assert item.service == "shop"
    (sample,) = item.samples
    kept = queue.snapshot(sample.trace_id, sample.run_id)
    assert kept is not None
    assert {span.name for span in kept.spans} >= {"execute_tool read_page"}
    assert kept.content == "on"
    queue.close()


def test_with_content_off_the_queue_holds_none(tmp_path):
    url = f"sqlite:///{tmp_path}/queue.db"
    witness = sw.configure("shop", queue=url, content="off")
    a_failing_run()
    assert witness.flush(10) is True
    queue = Queue.open(url)
    for item in queue.items().rows:
        for sample in item.samples:
            kept = queue.snapshot(sample.trace_id, sample.run_id)
            assert kept is not None
            assert "secret" not in repr(kept)
    assert queue.counts().total > 0
    queue.close()


def test_an_unflagged_run_counts_for_its_agent(tmp_path):
    url = f"sqlite:///{tmp_path}/queue.db"
    witness = sw.configure("shop", queue=url)
    with sw.run("calm"):
        pass
    assert witness.flush(10) is True
    queue = Queue.open(url)
    assert sum(stats.n_runs for stats in queue.agent_stats()) == 1
    queue.close()


@pytest.mark.parametrize("url", ["queue.db", "mysql://host/queue", "sqlite://"])
def test_an_address_that_cannot_be_used_refuses_to_start(url):
    with pytest.raises(ReviewError, match="queue address"):
        sw.configure("shop", queue=url)
    assert sw.configure("shop").flush(5) is True


def test_another_queue_is_another_configuration(tmp_path):
    sw.configure("shop", queue=f"sqlite:///{tmp_path}/one.db")
    with pytest.raises(SettingsError, match="another queue"):
        sw.configure("shop", queue=f"sqlite:///{tmp_path}/two.db")


@pytest.mark.contains_faults
def test_a_database_that_does_not_answer_delays_runs_and_blocks_nobody(tmp_path, lenient):
    folder = tmp_path / "later"
    folder.write_text("in the way")
    sink = QueueSink(f"sqlite:///{folder}/queue.db")
    for number in range(3):
        one = judged(number)
        sink.take(one)
    assert (sink.n_filed, sink.n_waiting, sink.n_lost) == (0, 3, 0)
    assert guard.faults()["review.sink"] == 3
    folder.unlink()
    assert sink.flush() is True
    assert (sink.n_filed, sink.n_waiting) == (3, 0)


def test_a_witness_that_is_shut_down_closes_its_queue(tmp_path):
    path = tmp_path / "queue.db"
    witness = sw.configure("shop", queue=f"sqlite:///{path}")
    a_failing_run()
    witness.shutdown()
    # The last connection of a file takes the file beside it away.
    assert not path.with_name("queue.db-wal").exists()
    queue = Queue.open(f"sqlite:///{path}")
    assert queue.counts().total > 0
    queue.close()


def test_a_closed_sink_opens_its_queue_again_when_a_run_comes(tmp_path):
    sink = QueueSink(f"sqlite:///{tmp_path}/queue.db")
    sink.take(judged(1))
    sink.close()
    sink.take(judged(2))
    assert (sink.n_filed, sink.n_waiting) == (2, 0)
    sink.close()


@pytest.mark.contains_faults
def test_what_finds_no_room_is_counted(tmp_path, lenient):
    (tmp_path / "later").write_text("in the way")
    sink = QueueSink(f"sqlite:///{tmp_path}/later/queue.db")
    for number in range(300):
        sink.take(judged(number))
    assert (sink.n_waiting, sink.n_lost) == (256, 44)


@pytest.mark.contains_faults
def test_the_traced_path_does_not_wait_for_a_locked_database(tmp_path, lenient):
    url = f"sqlite:///{tmp_path}/queue.db"
    queue = Queue.open(url)
    witness = sw.configure("shop", queue=url)
    with queue._database.write():
        start = time.monotonic()
        a_failing_run()
        assert time.monotonic() - start < 5
        assert witness.flush(0.2) is False
    assert witness.flush(10) is True
    assert queue.counts().total > 0
    queue.close()


def test_a_forked_child_files_by_its_own_connection(tmp_path):
    url = f"sqlite:///{tmp_path}/queue.db"
    sink = QueueSink(url)
    sink.take(judged(1))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            one = judged(2)
            sink.take(one)
            status = 0 if sink.n_filed == 2 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sink.take(judged(3))
    queue = Queue.open(url)
    assert queue.items().rows[0].count == 3
    queue.close()


def test_a_judged_run_brings_its_own_spans(tmp_path):
    import msgspec

    one = judged(1)
    queue = Queue.open(f"sqlite:///{tmp_path}/queue.db")
    queue.add(msgspec.structs.replace(one, spans=spans_of(one)))
    assert queue.snapshot(one.run.trace_id, one.run.run_id) is not None
    queue.close()
