"""Addresses, and the SQLite file itself."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.review.judged_runs import judged

from spanwitness.errors import ReviewError
from spanwitness.review import Queue
from spanwitness.review.store.turns import Turns, turns_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("queue.db", "give sqlite:///PATH or postgresql://"),
        ("mysql://host/name", "scheme 'mysql'"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("", "cannot be read"),
    ],
)
def test_an_address_that_cannot_be_used_says_what_can(url: str, message: str):
    with pytest.raises(ReviewError, match=message):
        Queue.open(url)


def test_a_password_stands_in_no_error_and_no_address():
    with pytest.raises(ReviewError) as caught:
        Queue.open("postgresql://me:hunter2@127.0.0.1:1/queue")
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_password_in_the_query_of_an_address_stands_nowhere_either():
    with pytest.raises(ReviewError) as caught:
        Queue.open("postgresql://127.0.0.1:1/queue?user=me&password=hunter2&sslpassword=hunter3")
    assert "hunter" not in str(caught.value)
    assert "user=me" in str(caught.value)


def test_the_file_is_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "queue.db"
    Queue.open(f"sqlite:///{path}").close()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_file_that_is_no_database_is_named(tmp_path: Path):
    path = tmp_path / "queue.db"
    path.write_text("this is a letter, and no database at all\n" * 50)
    with pytest.raises(ReviewError, match=r"queue\.db: file is not a database"):
        Queue.open(f"sqlite:///{path}")
    assert path.read_text().startswith("this is a letter")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReviewError, match="cannot be opened"):
        Queue.open(f"sqlite:///{tmp_path}/file/queue.db")


def test_writers_of_one_process_take_turns_in_order(tmp_path: Path):
    turns = Turns(tmp_path / "turns")
    order: list[int] = []
    threads = []

    def write(number: int) -> None:
        with turns.turn():
            order.append(number)

    with turns.turn():
        for number in range(8):
            thread = threading.Thread(target=write, args=(number,))
            thread.start()
            threads.append(thread)
            while len(turns._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_a_turn_ends_with_an_error(tmp_path: Path):
    turns = Turns(tmp_path / "turns")
    with pytest.raises(ValueError, match="mine"), turns.turn():
        raise ValueError("mine")
    with turns.turn():
        pass


def test_a_dead_process_does_not_keep_its_turn(tmp_path: Path):
    turns = Turns(tmp_path / "turns")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        ticket = turns._draw()
        os.write(write, b"%d" % ticket)
        time.sleep(60)
        os._exit(0)
    os.read(read, 10)
    took: list[float] = []

    def wait() -> None:
        start = time.monotonic()
        with turns.turn():
            took.append(time.monotonic() - start)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    assert took == []
    os.kill(child, 9)
    os.waitpid(child, 0)
    thread.join(5)
    assert took
    assert took[0] >= 0.2


def test_one_file_has_one_set_of_turns_in_a_process(tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "turns")
    assert turns_of(tmp_path / "turns") is turns_of(link)


def test_a_forked_child_writes_on(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/queue.db"
    queue = Queue.open(url)
    queue.add(judged(1))
    with queue._database._turns.turn():  # another thread of the parent might hold it
        child = os.fork()
        if child == 0:
            status = 1
            try:
                own = turns_of(queue._database._turns._path)
                status = 0 if not own._is_taken else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    queue.close()


def test_threads_share_a_queue(tmp_path: Path):
    queue = Queue.open(f"sqlite:///{tmp_path}/queue.db")
    threads = [
        threading.Thread(target=lambda n=n: queue.add(judged(n), spans=None)) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.items().rows[0].count == 12
    queue.close()


def test_a_second_opening_in_a_process_does_not_let_another_take_the_journal_away(tmp_path: Path):
    """Closing any handle of a file drops all of a process's locks on it, SQLite's as well."""
    url = f"sqlite:///{tmp_path}/queue.db"
    queue, second = Queue.open(url), Queue.open(url)
    queue.record("ann", "first")
    # Without its lock the next process would take itself for the last one, and remove what the
    # first writes on into.
    count = (
        "import sys; from spanwitness.review import Queue; queue = Queue.open(sys.argv[1]);"
        "print(len(queue.events())); queue.close()"
    )
    command = [sys.executable, "-c", count, url]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "1\n"
    queue.record("ann", "second")
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "2\n"
    second.close()
    queue.close()
