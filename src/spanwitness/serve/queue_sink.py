"""Judged runs into the review queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.review.store.queue import Queue
    from spanwitness.serve.judge import JudgedRun

__all__ = ["QueueRunSink"]


class QueueRunSink:
    """Files every judged run, flagged or not: rates need both. The queue knows what it has.

    Args:
        queue: Where to.
        policy: What content of the spans is kept with an item.
    """

    name = "queue"

    def __init__(self, queue: Queue, policy: ContentPolicy) -> None:
        self._queue = queue
        self._policy = policy

    def take(self, runs: Sequence[JudgedRun]) -> None:
        """File judged runs in one transaction.

        Raises:
            ReviewError: The database does not answer; the runs are handed over again later.
        """
        self._queue.add_all([(run.judged, run.spans) for run in runs], content=self._policy)
