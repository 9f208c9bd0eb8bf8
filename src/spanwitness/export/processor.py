"""The span processor: takes ended spans at once, and one thread of its own delivers them."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Final

from opentelemetry.context import (
    _SUPPRESS_HTTP_INSTRUMENTATION_KEY,
    _SUPPRESS_INSTRUMENTATION_KEY,
    attach,
    detach,
    set_value,
)
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from spanwitness.export.delivery import Delivery
from spanwitness.export.weight import estimate_bytes
from spanwitness.guard import guard

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span

    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.losses import Losses
    from spanwitness.export.parcel import Sender

__all__ = ["ExportProcessor"]

_EXIT_ATTEMPTS: Final = 3
_SHORTEST_ATTEMPT_S: Final = 0.05


class _Mark:
    """Stands in the queue behind the spans that a flush waits for."""

    __slots__ = ("done", "is_reached")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.is_reached = False

    def resolve(self, *, is_reached: bool) -> None:
        self.is_reached = is_reached
        self.done.set()


class ExportProcessor(SpanProcessor):
    """Batches spans and delivers them on a daemon thread of its own (never on a pool).

    The caller is never blocked and never sees an exception. The queue is bounded in spans and in
    bytes; what finds no room is counted. Spans of one process leave in the order in which they
    ended.

    A span may end inside a finalizer or a signal handler that interrupts this very code, so the
    caller's side takes no lock: the queue is a deque (append and pop are atomic), the thread is
    woken through a `SimpleQueue` (safe there; an `Event` that two frames of one thread set is not),
    and only the sum of queued bytes may lose an update in a race, which the worker sets right every
    interval.

    Args:
        sender: Where spans go.
        losses: Counts what does not arrive.
        settings: Bounds and times.
    """

    ignores_start_attributes = True
    """For capture: a span's attributes may be set after `on_start`."""

    def __init__(self, sender: Sender, losses: Losses, settings: ExportSettings) -> None:
        self.losses = losses
        self._settings = settings
        self._max_spans = settings.max_queue_spans
        self._max_bytes = settings.max_queue_bytes
        self._wake_spans = settings.max_batch_spans
        self._wake_bytes = settings.max_batch_bytes
        self._start_lock = threading.Lock()
        self._is_stopping = False
        self._forked_ns = 0
        self._start_afresh(sender)
        self._start_worker()

    def _start_afresh(self, sender: Sender) -> None:
        self._queue: deque[tuple[ReadableSpan, int] | _Mark] = deque()
        self._queued_bytes = 0
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._is_woken = False
        self._delivery = Delivery(sender, self.losses, self._settings)
        self._flushes: list[_Mark] = []
        self._is_hurried = False
        self._n_lost_at_flush = self.losses.total
        self._next_tick = monotonic() + self._settings.schedule_delay_s
        self._stop_deadline: float | None = None
        self._exit_attempts = 0
        self._worker: threading.Thread | None = None
        self._cannot_start = False

    # --- the caller's side

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Make sure that the worker runs (the child of a fork starts its own at its first span)."""
        if self._worker is None:
            self._start_worker()

    def on_end(self, span: ReadableSpan) -> None:
        """Take an ended span; never blocks, never raises."""
        try:
            self._take_in(span)
        except Exception:
            # Entered in this case only: the guard costs as much as the rest.
            with guard("export.on_end"):
                raise

    def _take_in(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        if context is None or not context.trace_flags & 1:
            return
        if self._forked_ns and (span.start_time or 0) < self._forked_ns:
            return  # open when this process was forked: it is the parent's, who sends it
        if self._is_stopping:
            self.losses.add("shutdown")
            return
        size = estimate_bytes(span)
        queue = self._queue
        n_bytes = self._queued_bytes + size
        if len(queue) >= self._max_spans or (n_bytes > self._max_bytes and queue):
            self.losses.add("queue_full")
        else:
            queue.append((span, size))
            self._queued_bytes = n_bytes
        if not self._is_woken and (len(queue) >= self._wake_spans or n_bytes >= self._wake_bytes):
            self._is_woken = True
            self._wake.put(None)
        if self._worker is None:
            self._start_worker()

    @property
    def exit_timeout_s(self) -> float:
        """The longest time that an exit waits for the other side."""
        return self._settings.exit_timeout_s

    @property
    def n_delivered(self) -> int:
        """Spans that the other side took, in this process."""
        return self._delivery.n_delivered

    @property
    def n_waiting(self) -> int:
        """Spans in the queue; those in the attempt under way are not among them."""
        return len(self._queue)

    def flush(self, timeout_s: float) -> bool:
        """Deliver what has ended so far.

        Args:
            timeout_s: The longest time to wait; the worker goes on afterwards.

        Returns:
            True when every span that ended before this call has been taken by the other side, and
            no span was lost since the flush before it (or since the start).
        """
        if threading.current_thread() is self._worker:
            return False
        is_reached = False
        n_lost_before = self._n_lost_at_flush
        with guard("export.flush"):
            if self._is_stopping:
                is_reached = not self._queue and self._delivery.is_empty
            else:
                is_reached = self._wait_for_mark(timeout_s)
        self._n_lost_at_flush = self.losses.total
        return is_reached and self._n_lost_at_flush == n_lost_before

    def _wait_for_mark(self, timeout_s: float) -> bool:
        mark = _Mark()
        self._queue.append(mark)
        self._flushes.append(mark)
        self._is_hurried = True
        if self._worker is None:
            self._start_worker()
        self._wake.put(None)
        if not mark.done.wait(max(0.0, timeout_s)):
            # Flushes that time out while a collector is down must not pile up in the queue.
            with suppress(ValueError, IndexError):
                self._queue.remove(mark)
        self._flushes.remove(mark)
        return mark.is_reached

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Deliver what has ended so far, as the SDK asks for it; see `flush`."""
        return self.flush(timeout_millis / 1000)

    def stop(self, timeout_s: float | None = None) -> bool:
        """Deliver what is left and end; spans that end later are counted as lost.

        A collector that cannot be reached is tried a few times only, so that a dead one does not
        hold up every exit for the whole time.

        Args:
            timeout_s: The longest time to wait; `None` takes `exit_timeout_s` of the settings.

        Returns:
            True when nothing remained undelivered and nothing was lost since the last flush.
        """
        if self._is_stopping:
            return self.flush(0)
        n_lost_before = self._n_lost_at_flush
        with guard("export.stop"):
            bound_s = self.exit_timeout_s if timeout_s is None else max(0.0, timeout_s)
            self._stop_deadline = monotonic() + bound_s
            self._is_stopping = True
            self._is_hurried = True
            self._wake.put(None)
            worker = self._worker
            if worker is not None and worker.is_alive():
                worker.join(bound_s + _SHORTEST_ATTEMPT_S)
            else:
                self._work()
            self._abandon()
            if worker is None or not worker.is_alive():
                self._delivery.sender.close()
        self._n_lost_at_flush = self.losses.total
        return self._n_lost_at_flush == n_lost_before

    def shutdown(self) -> None:
        """End as the SDK asks for it; see `stop`."""
        self.stop()

    def after_fork_in_child(self) -> None:
        """Begin anew in the child of a fork: what was pending there is the parent's to send.

        Spans that were open at the fork are the parent's too: it sends them when they end there.
        """
        self._forked_ns = time_ns()
        self._start_lock = threading.Lock()
        self.losses.reset()
        sender = self._delivery.sender
        with guard("export.after_fork"):
            sender.after_fork()
        self._start_afresh(sender)

    def _start_worker(self) -> None:
        # Not waited for: whoever holds it (perhaps a frame further up this stack) starts the
        # worker.
        if self._cannot_start or self._is_stopping or not self._start_lock.acquire(blocking=False):
            return
        try:
            if self._worker is None:
                worker = threading.Thread(target=self._work, name="spanwitness-export", daemon=True)
                worker.start()
                self._worker = worker
        except RuntimeError:
            # No thread starts while the interpreter ends: `stop` delivers in its own.
            self._cannot_start = True
        finally:
            self._start_lock.release()

    # --- the worker's side

    def _work(self) -> None:
        """Run cycles until stopped. Nothing that the export does is traced."""
        context = set_value(_SUPPRESS_INSTRUMENTATION_KEY, True)
        token = attach(set_value(_SUPPRESS_HTTP_INSTRUMENTATION_KEY, True, context))
        try:
            while not self._is_finished():
                has_failed = True
                with guard("export.worker"):
                    self._cycle()
                    has_failed = False
                if has_failed:
                    self._sleep(self._settings.schedule_delay_s)
        finally:
            detach(token)

    def _is_finished(self) -> bool:
        if self._stop_deadline is None:
            return False
        is_empty = not self._queue and self._delivery.is_empty
        # Also when the collector asked for a pause that ends after our time.
        is_late = monotonic() + (self._delivery.wait_s() or 0.0) >= self._stop_deadline
        return is_empty or is_late or self._exit_attempts >= _EXIT_ATTEMPTS

    def _cycle(self) -> None:
        self._sleep(self._pause_s())
        # During a pause before the next attempt more spans are no reason to wake up.
        self._is_woken = bool(self._delivery.wait_s())
        if self._is_hurried:
            self._is_hurried = False
            self._delivery.hurry()
        if monotonic() >= self._next_tick:
            self._next_tick = monotonic() + self._settings.schedule_delay_s
            self._recount()
        while self._has_parcel() and self._delivery.wait_s() == 0 and not self._is_finished():
            is_urgent = bool(self._flushes) or self._is_stopping
            is_settled = self._delivery.attempt(self._attempt_timeout_s(), is_urgent=is_urgent)
            if self._is_stopping and not is_settled:
                self._exit_attempts += 1
        self._delivery.tell_losses()

    def _pause_s(self) -> float:
        pauses = [self._next_tick - monotonic()]
        next_attempt = self._delivery.wait_s()
        if next_attempt is not None:
            pauses.append(next_attempt)
        if self._stop_deadline is not None:
            pauses.append(self._stop_deadline - monotonic())
            if next_attempt is None:
                pauses.append(0.0)
        return max(0.0, min(pauses))

    def _sleep(self, timeout_s: float) -> None:
        try:
            self._wake.get(block=timeout_s > 0, timeout=timeout_s or None)
            while True:
                self._wake.get_nowait()
        except Empty:
            pass

    def _attempt_timeout_s(self) -> float:
        timeout_s = self._settings.timeout_s
        if self._stop_deadline is not None:
            timeout_s = min(timeout_s, self._stop_deadline - monotonic())
        return max(_SHORTEST_ATTEMPT_S, timeout_s)

    def _has_parcel(self) -> bool:
        """Load the next batch when the last one is settled; resolve the marks that are reached."""
        while self._delivery.is_empty:
            while self._queue and isinstance(self._queue[0], _Mark):
                mark = self._queue.popleft()
                if isinstance(mark, _Mark):
                    mark.resolve(is_reached=True)
            spans = self._take()
            if not spans:
                return False
            self._delivery.load(spans)
        return True

    def _take(self) -> list[ReadableSpan]:
        spans: list[ReadableSpan] = []
        n_bytes = 0
        while self._queue and len(spans) < self._settings.max_batch_spans:
            head = self._queue[0]
            if isinstance(head, _Mark) or (
                spans and n_bytes + head[1] > self._settings.max_batch_bytes
            ):
                break
            self._queue.popleft()
            n_bytes += head[1]
            spans.append(head[0])
        self._queued_bytes -= n_bytes
        return spans

    def _recount(self) -> None:
        """Set the sum of queued bytes right after updates that were lost in a race."""
        items = list(self._queue)
        self._queued_bytes = sum(item[1] for item in items if isinstance(item, tuple))

    def _abandon(self) -> None:
        """Count what is left when the time is over."""
        self._delivery.abandon()
        while self._queue:
            head = self._queue.popleft()
            if isinstance(head, _Mark):
                head.resolve(is_reached=False)
            else:
                self.losses.add("shutdown")
        self._queued_bytes = 0
        self._delivery.tell_losses()
