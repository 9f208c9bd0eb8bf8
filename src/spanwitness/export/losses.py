"""How many spans were lost, and why: exact, and safe wherever a span may end."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Final, Literal, TypeAlias

__all__ = ["LossReason", "Losses"]

LossReason: TypeAlias = Literal[
    "queue_full", "too_large", "unencodable", "rejected", "failed", "disk", "shutdown"
]
"""Why a span did not arrive:

- `queue_full`: the bounded queue had no room (too many spans, or too many bytes);
- `too_large`: one span alone is larger than the receiver takes;
- `unencodable`: the span could not be written in the wire format;
- `rejected`: the collector took the request and refused this many of its spans (partial success);
- `failed`: the collector refused the request for good, or was out of reach for the retry window;
- `disk`: the local file could not be written, or was full;
- `shutdown`: still undelivered when the time for the exit was over, or ended after it.
"""

_FOLD_ABOVE: Final = 512


class Losses:
    """Counters of lost spans by reason.

    A span may end inside a finalizer or a signal handler that interrupts this very code, so a plain
    lock could deadlock and a re-entrant one could lose an update. Counts are therefore appended to
    a deque (atomic) and folded into totals by whoever gets the lock without waiting.
    """

    __slots__ = ("_lock", "_new", "_totals")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: deque[tuple[str, int]] = deque()
        self._totals: Counter[str] = Counter()

    def add(self, reason: LossReason | str, n_spans: int = 1) -> None:
        """Count lost spans.

        Args:
            reason: A `LossReason`; other parts of the package may use words of their own.
            n_spans: How many; zero and less count nothing.
        """
        if n_spans <= 0:
            return
        self._new.append((reason, n_spans))
        if len(self._new) > _FOLD_ABOVE:
            self._fold()

    @property
    def total(self) -> int:
        """All spans lost so far in this process."""
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """Return the counts by reason; reasons that never happened are absent."""
        self._fold()
        counts = Counter(self._totals)
        for reason, n_spans in list(self._new):
            counts[reason] += n_spans
        return dict(counts)

    def reset(self) -> None:
        """Start again at zero, in the child of a fork: the parent keeps what was counted so far."""
        self._lock = threading.Lock()
        self._new = deque()
        self._totals = Counter()

    def _fold(self) -> None:
        # Never waits: when another fold is under way (perhaps further up this very stack) the new
        # counts stay in the deque and are read from there.
        if not self._lock.acquire(blocking=False):
            return
        try:
            for _ in range(len(self._new)):
                reason, n_spans = self._new.popleft()
                self._totals[reason] += n_spans
        finally:
            self._lock.release()
