"""A process that works on a queue, for tests that kill such processes.

`python -m tests.review.queue_worker claim URL NAME` takes items until none is open.
`python -m tests.review.queue_worker file URL FIRST LAST` files runs, and says which are in.
`python -m tests.review.queue_worker judge URL NAME LEASE_S` judges items until all are judged;
with a further number, it takes so many, judges all but the last, and waits to be killed.
"""

from __future__ import annotations

import itertools
import json
import sys
import time

from tests.review.judged_runs import judged, violation

from spanwitness.errors import ConflictError
from spanwitness.review import ItemFilter, Queue

BATCH = 20
RULES = 50


def run_of(number: int):
    """Run `number`, with one finding; some fifty causes recur."""
    return judged(number, violation(rule=f"rule_{number % RULES}"))


def say(**facts: object) -> None:
    # One write a line: a process that is killed leaves no half of one.
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def claim(url: str, name: str) -> None:
    queue = Queue.open(url)
    say(ready=True)
    sys.stdin.readline()
    took: list[tuple[int, float]] = []
    while True:
        start = time.perf_counter()
        item = queue.claim_next(name)
        if item is None:
            break
        took.append((item.id, time.perf_counter() - start))
    say(took=took)


def file(url: str, first: str, last: str) -> None:
    queue = Queue.open(url)
    for start in range(int(first), int(last), BATCH):
        numbers = range(start, min(start + BATCH, int(last)))
        queue.add_all([(run_of(number), None) for number in numbers])
        say(filed=numbers.stop)


def judge(url: str, name: str, lease_s: str, n_items: str = "0") -> None:
    queue = Queue.open(url)
    for number in itertools.count(1):
        item = queue.claim_next(name, lease_s=float(lease_s))
        if item is not None:
            say(claimed=item.id)
            if number == int(n_items):
                say(waits=True)
                time.sleep(600)
            try:
                queue.verdict(item.id, verdict="confirmed", by=name, version=item.version)
            except ConflictError:
                continue  # the lease was over before the verdict
            say(judged=item.id)
        elif queue.counts(ItemFilter(states=("open", "claimed"))).total == 0:
            return
        else:
            time.sleep(0.05)


if __name__ == "__main__":
    {"claim": claim, "file": file, "judge": judge}[sys.argv[1]](*sys.argv[2:])
