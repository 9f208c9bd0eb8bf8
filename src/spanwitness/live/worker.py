"""Work that is kept off the caller's path: done soon by one thread, or at once by a flush."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_IDLE_S = 60.0


class Worker(Generic[T]):
    """Calls a function with each job when it is due, one at a time.

    The thread starts with the first job and is a daemon. Adding a job never waits (a `SimpleQueue`
    may be used from finalizers and signal handlers).

    Args:
        work: Called with a job. What it raises is contained and counted.
        max_jobs: Further jobs are refused while so many wait.
    """

    def __init__(self, work: Callable[[T], None], *, name: str, max_jobs: int = 10_000) -> None:
        self._work = work
        self._name = name
        self._max_jobs = max_jobs
        self.reset()

    def reset(self) -> None:
        """Forget all jobs and the thread: in the child of a fork there is none."""
        self._new: deque[tuple[float, T]] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._due: list[tuple[float, int, T]] = []
        self._n_added = 0
        self._starting = threading.Lock()
        # Held while jobs are taken and done: by the thread, or by whoever flushes.
        self._working = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self.n_refused = 0

    def add(self, job: T, *, delay_s: float = 0.0) -> None:
        """Have a job done.

        Args:
            job: What `work` is called with.
            delay_s: Seconds before it is due.
        """
        if len(self._new) + len(self._due) >= self._max_jobs:
            self.n_refused += 1
            return
        self._new.append((time.monotonic() + delay_s, job))
        self._wake.put(None)
        if self._thread is None and not self._is_closed:
            self._start()

    def flush(self, timeout_s: float) -> bool:
        """Do every job now, due or not, in the caller's thread.

        Returns:
            Whether all were done in time.
        """
        deadline = time.monotonic() + timeout_s
        if not self._working.acquire(timeout=max(0.0, timeout_s)):
            return False
        try:
            self._take_new()
            while self._due:
                if time.monotonic() > deadline:
                    return False
                self._do_first()
                self._take_new()
        finally:
            self._working.release()
        return True

    def close(self, timeout_s: float) -> bool:
        """Do every job now, and start no thread again."""
        self._is_closed = True
        is_done = self.flush(timeout_s)
        self._wake.put(None)
        return is_done

    def _start(self) -> None:
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                with guard("live.worker.start"):  # not possible while the interpreter shuts down
                    thread.start()
                    self._thread = thread
        finally:
            self._starting.release()

    def _run(self) -> None:
        wake = self._wake
        while not self._is_closed:
            wait_s = self._due[0][0] - time.monotonic() if self._due else _IDLE_S
            with suppress(Empty):
                wake.get(timeout=max(0.0, wait_s))
            with self._working:
                self._take_new()
                while self._due and self._due[0][0] <= time.monotonic():
                    self._do_first()

    def _take_new(self) -> None:
        with suppress(IndexError):
            while True:
                self._push(self._new.popleft())

    def _push(self, job: tuple[float, T]) -> None:
        self._n_added += 1
        heapq.heappush(self._due, (job[0], self._n_added, job[1]))

    def _do_first(self) -> None:
        _, _, job = heapq.heappop(self._due)
        with guard("live.worker"):
            self._work(job)
