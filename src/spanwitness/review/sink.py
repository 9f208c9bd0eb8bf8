"""Judged runs of a live process into the review queue."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from spanwitness.capture.policy import ContentPolicy
from spanwitness.errors import ReviewError
from spanwitness.guard import record

if TYPE_CHECKING:
    from spanwitness.capture.policy import ContentMode
    from spanwitness.findings.judged import Judged
    from spanwitness.review.store.queue import Queue

__all__ = ["QueueSink"]

_MAX_WAITING: Final = 256
"""Judged runs, with their spans, that are kept while the database does not answer."""
_BATCH: Final = 32


class QueueSink:
    """Files judged runs in a review queue: `configure(sinks=[QueueSink("sqlite:///queue.db")])`.

    It is called in a thread of the detector's, never on the traced path. While the database does
    not answer, runs wait in memory, at most 256, and are filed with the next one; what finds no
    room is counted in `n_lost`. A run that came in twice is in the queue once.

    Args:
        url: `sqlite:///PATH` or `postgresql://…`. The queue is opened with the first run.
        content: What content of the spans the queue keeps: a policy, or its mode.

    Raises:
        ReviewError: The address cannot be used.
        MissingExtraError: The extra `review`, or the driver, is not installed.
    """

    def __init__(self, url: str, *, content: ContentPolicy | ContentMode = "on") -> None:
        # A wrong address or a missing package is told at set-up, not in a thread later.
        from spanwitness.review.store.database import check_address

        check_address(url)
        self._url = url
        self._policy = (
            content if isinstance(content, ContentPolicy) else ContentPolicy(mode=content)
        )
        self._queue: Queue | None = None
        self._waiting: deque[Judged] = deque()
        self._lock = threading.Lock()
        self.n_filed = 0
        """Judged runs that are in the queue."""
        self.n_lost = 0
        """Judged runs that were thrown away because the database did not answer for long."""

    @property
    def n_waiting(self) -> int:
        """Judged runs that wait for the database."""
        return len(self._waiting)

    def take(self, judged: Judged) -> None:
        """File one judged run, and those that wait."""
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING:
                self._waiting.popleft()
                self.n_lost += 1
            self._waiting.append(judged)
            try:
                self._file()
            except ReviewError as error:
                record("review.sink", error)

    def flush(self) -> bool:
        """Try again to file what waits; say whether all of it is in the queue."""
        with self._lock:
            try:
                self._file()
            except ReviewError as error:
                record("review.sink", error)
            return not self._waiting

    def close(self) -> None:
        """File what waits, and close the connections; a run that comes later opens them again."""
        self.flush()
        with self._lock:
            queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _file(self) -> None:
        if self._queue is None:
            from spanwitness.review.store.queue import Queue

            self._queue = Queue.open(self._url)
        while self._waiting:
            some = [self._waiting[at] for at in range(min(_BATCH, len(self._waiting)))]
            self._queue.add_all([(one, one.spans) for one in some], content=self._policy)
            for _ in some:
                self._waiting.popleft()
            self.n_filed += len(some)
