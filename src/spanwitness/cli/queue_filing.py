"""What `check` finds, into the review queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.errors import ReviewError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.capture.policy import ContentMode
    from spanwitness.findings.judged import Judged
    from spanwitness.model import Run, SpanRecord
    from spanwitness.rules.engine import Evaluation

__all__ = ["QueueFiling"]

_BATCH_RUNS: Final = 32
_BATCH_SPANS: Final = 2_000


class QueueFiling:
    """Files judged runs, flagged or not, some at a time. What is suppressed makes no finding.

    Args:
        url: Address of the queue.

    Raises:
        ReviewError: The queue cannot be opened.
        MissingExtraError: The extra `review`, or the driver, is not installed.
    """

    def __init__(self, url: str) -> None:
        from spanwitness.review import Queue
        from spanwitness.settings import read

        self._content: ContentMode = read().content or "on"
        self._queue = Queue.open(url)
        self._waiting: list[tuple[Judged, Sequence[SpanRecord] | None]] = []
        self._n_spans = 0
        self._n_findings = 0
        self._n_opened = 0
        self._n_reopened = 0
        self.problem: str | None = None
        """Why not everything is in the queue; the runs are judged and told all the same."""

    def take(self, run: Run, evaluation: Evaluation, spans: Sequence[SpanRecord]) -> None:
        """File a run now or soon."""
        from spanwitness.findings.judged import Judged

        if self.problem is not None:
            return
        judged = Judged(
            run=run,
            verdicts=evaluation.verdicts,
            contract=evaluation.contract,
        )
        self._waiting.append((judged, spans if evaluation.findings else None))
        self._n_spans += len(spans)
        if len(self._waiting) >= _BATCH_RUNS or self._n_spans >= _BATCH_SPANS:
            self._file()

    def close(self) -> str:
        """File what waits; return what came of all, in a line."""
        self._file()
        told = f"{self._n_findings} new findings, {self._n_opened} new items"
        if self._n_reopened:
            told = f"{told}, {self._n_reopened} open again"
        address = self._queue.address
        self._queue.close()
        return f"queue {address}: {told}"

    def _file(self) -> None:
        if self.problem is not None or not self._waiting:
            return
        try:
            done = self._queue.add_all(self._waiting, content=self._content)
        except ReviewError as error:
            self.problem = f"not everything is in the queue: {error}"
            return
        for added in done:
            self._n_findings += added.n_findings
            self._n_opened += len(added.opened)
            self._n_reopened += len(added.reopened)
        self._waiting.clear()
        self._n_spans = 0
