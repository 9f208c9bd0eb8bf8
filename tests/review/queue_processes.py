"""Many processes on one queue, some of them killed: what must hold on every engine."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.review.judged_runs import judged, violation
from tests.review.queue_worker import BATCH, run_of

from spanwitness.review import ItemFilter, Queue

_ROOT = Path(__file__).parent.parent.parent


class Claims(NamedTuple):
    n_claimed: int
    n_unique: int
    worst_s: float
    per_s: float
    shares: list[int]


def start(*arguments: object, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.review.queue_worker", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=stdin, text=True, cwd=_ROOT)


def fill(url: str, n_items: int) -> None:
    queue = Queue.open(url)
    for at in range(0, n_items, 500):
        batch = range(at, min(at + 500, n_items))
        # A rule of its own makes an item of its own; numbers in names would be one cause.
        queue.add_all([(judged(n, violation(rule=f"rule_{n}")), None) for n in batch])
    queue.close()


def claim_from_processes(url: str, *, n_items: int, n_processes: int) -> Claims:
    """Have processes empty a queue together."""
    fill(url, n_items)
    claimers = [start("claim", url, f"p{n}", stdin=subprocess.PIPE) for n in range(n_processes)]
    for claimer in claimers:
        assert claimer.stdout is not None
        claimer.stdout.readline()
    began = time.perf_counter()
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("go\n")
        claimer.stdin.flush()
    took = [json.loads(claimer.communicate(timeout=300)[0])["took"] for claimer in claimers]
    elapsed = time.perf_counter() - began
    assert [claimer.returncode for claimer in claimers] == [0] * n_processes
    ids = [item_id for one in took for item_id, _ in one]
    worst = max(seconds for one in took for _, seconds in one)
    shares = [len(one) for one in took]
    return Claims(len(ids), len(set(ids)), worst, len(ids) / elapsed, shares)


def file_and_kill(url: str, *, n_findings: int, seed: int, longest_s: float) -> int:
    """Have two processes file findings, kill them at random points, go on; return how often."""
    dice = random.Random(seed)
    half = n_findings // 2
    parts = [[0, half], [half, n_findings]]
    kills = 0
    Queue.open(url).close()

    def work(part: list[int]) -> None:
        nonlocal kills
        while part[0] < part[1]:
            # Half a batch that is in already is sent again, as a restarted worker would.
            worker = start("file", url, max(part[0] - BATCH // 2, 0), part[1])
            assert worker.stdout is not None
            worker.stdout.readline()
            timer = threading.Timer(dice.uniform(0, longest_s), worker.kill)
            timer.start()
            for line in worker.stdout:
                part[0] = max(part[0], json.loads(line)["filed"])
            timer.cancel()
            worker.stdout.close()
            if worker.wait() == -signal.SIGKILL:
                kills += 1

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return kills


def assert_all_filed_once(url: str, n_findings: int) -> None:
    queue = Queue.open(url)
    found = Counter(row["trace_id"] for row in queue.export("findings"))
    assert set(found) == {run_of(n).run.trace_id for n in range(n_findings)}
    assert set(found.values()) == {1}
    assert sum(item.count for item in queue.items(limit=1000).rows) == n_findings
    opened = [d for d in queue.outbox.take("x", limit=1000) if d.topic == "item.opened"]
    assert len(opened) == queue.counts().total
    queue.close()


def judge_and_kill(url: str, *, n_items: int, n_processes: int, seed: int) -> int:
    """Have processes judge every item while they are killed at random; return how often.

    What a process said it had judged is judged by it and stays so; nothing is judged twice.
    """
    dice = random.Random(seed)
    fill(url, n_items)
    queue = Queue.open(url)
    told: list[tuple[int, str]] = []
    kills = 0
    deadline = time.monotonic() + 240
    names = iter(f"p{n}" for n in range(10_000))
    running: list[subprocess.Popen[str]] = []
    readers: list[threading.Thread] = []

    def read(name: str, worker: subprocess.Popen[str]) -> None:
        assert worker.stdout is not None
        for line in worker.stdout:
            fact = json.loads(line)
            if "judged" in fact:
                told.append((fact["judged"], name))
        worker.stdout.close()
        worker.wait()

    def begin() -> None:
        name = next(names)
        worker = start("judge", url, name, 1.0)
        reader = threading.Thread(target=read, args=(name, worker))
        reader.start()
        running.append(worker)
        readers.append(reader)

    for _ in range(n_processes):
        begin()
    while queue.counts().resolved < n_items:
        assert time.monotonic() < deadline, queue.counts()
        time.sleep(dice.uniform(0.2, 0.8))
        at = dice.randrange(len(running))
        running.pop(at).kill()
        kills += 1
        begin()
    for worker in running:
        worker.kill()
    for reader in readers:
        reader.join()
    judged_by = {row["item_id"]: row["by"] for row in queue.export("verdicts")}
    n_verdicts = Counter(e.item_id for e in queue.events(limit=100_000) if e.action == "verdict")
    assert len(judged_by) == n_items
    assert set(n_verdicts.values()) == {1}
    for item_id, name in told:
        assert judged_by[item_id] == name
    assert queue.items(ItemFilter(states=("claimed", "open"))).rows == ()
    queue.close()
    return kills
