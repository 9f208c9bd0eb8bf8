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

from spanwitness.review import Queue

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


def file_and_kill(url: str, *, n_findings: int, n_kills: int, seed: int) -> int:
    """Have two processes file findings and kill them at random points; return how often.

    A process lives for some batches, then up to 50 ms more, so that it dies anywhere in the next.
    """
    dice = random.Random(seed)
    half = n_findings // 2
    longest = max(1, half // BATCH // (n_kills // 2 + 1))
    kills: list[int] = []

    def work(at: int, end: int) -> None:
        left = n_kills // 2
        while at < end:
            # Half a batch that is in already is sent again, as a restarted worker would.
            worker = start("file", url, max(at - BATCH // 2, 0), end)
            assert worker.stdout is not None
            last = dice.randint(1, longest) if left else end
            for number, line in enumerate(worker.stdout):
                at = max(at, json.loads(line)["filed"])
                if number == last:
                    left -= 1
                    time.sleep(dice.uniform(0, 0.05))
                    worker.kill()
            worker.stdout.close()
            if worker.wait() == -signal.SIGKILL:
                kills.append(at)

    Queue.open(url).close()
    threads = [threading.Thread(target=work, args=p) for p in ((0, half), (half, n_findings))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(kills)


def assert_all_filed_once(url: str, n_findings: int) -> None:
    queue = Queue.open(url)
    found = Counter(row["trace_id"] for row in queue.export("findings"))
    assert set(found) == {run_of(n).run.trace_id for n in range(n_findings)}
    assert set(found.values()) == {1}
    assert sum(item.count for item in queue.items(limit=1000).rows) == n_findings
    opened = [d for d in queue.outbox.take("x", limit=1000) if d.topic == "item.opened"]
    assert len(opened) == queue.counts().total
    queue.close()


def judge_and_kill(url: str, *, n_items: int, n_kills: int, seed: int) -> int:
    """Have three processes judge every item and kill them at random points; return how often.

    What a process said it had judged is judged by it and stays so; nothing is judged twice.

    A process that is to be killed takes at most its share, and those that live to the end come when
    all others are dead: however slow the machine, no process finds its work done by others.
    """
    dice = random.Random(seed)
    fill(url, n_items)
    told: dict[int, str] = {}
    kills: list[str] = []
    share = max(1, n_items // (n_kills + 1))
    all_dead = threading.Barrier(3)

    def work(place: int) -> None:
        for life in range(n_kills // 3):
            # After a claim or after a verdict: a process says both, and holds its last item.
            last = dice.randint(0, 2 * share - 2) if life or place else None
            live(f"p{place}.{life}", share, last)
        all_dead.wait(300)
        live(f"p{place}.last", 0, None)

    def live(name: str, n_taken: int, last: int | None) -> None:
        worker = start("judge", url, name, 2.0, n_taken)
        assert worker.stdout is not None
        for number, line in enumerate(worker.stdout):
            fact = json.loads(line)
            if "judged" in fact:
                told[fact["judged"]] = name
            if number == last or "waits" in fact:
                time.sleep(dice.uniform(0, 0.02))
                worker.kill()
        worker.stdout.close()
        if worker.wait() == -signal.SIGKILL:
            kills.append(name)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue = Queue.open(url)
    assert queue.counts().resolved == n_items
    judged_by = {row["item_id"]: row["by"] for row in queue.export("verdicts")}
    n_verdicts = Counter(e.item_id for e in queue.events(limit=100_000) if e.action == "verdict")
    assert len(judged_by) == n_items
    assert set(n_verdicts.values()) == {1}
    assert told.items() <= judged_by.items()
    assert any(event.action == "expired" for event in queue.events(limit=100_000))
    queue.close()
    return len(kills)
