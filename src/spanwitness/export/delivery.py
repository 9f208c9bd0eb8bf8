"""Parcels on their way: attempts, retries, splits, and the account of what became of each span."""

from __future__ import annotations

import logging
import random
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Final, get_args

from spanwitness.export.losses import LossReason
from spanwitness.export.parcel import Limits, Outcome, halve, pack
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.losses import Losses
    from spanwitness.export.parcel import Parcel, Sender

__all__ = ["Delivery"]

_log = logging.getLogger("spanwitness")
_FIRST_DELAY_S: Final = 0.2
_LONGEST_DELAY_S: Final = 10.0
_URGENT_DELAY_S: Final = 0.4
_LONGEST_ASKED_DELAY_S: Final = 30.0
_REASONS: Final = get_args(LossReason)


class Delivery:
    """Tries parcels in order, one at a time; used by one thread.

    Exports are at-least-once: a request whose answer was lost is sent again, so a consumer must
    treat two spans with the same trace and span id as one.
    """

    def __init__(self, sender: Sender, losses: Losses, settings: ExportSettings) -> None:
        self.sender = sender
        self._losses = losses
        self._settings = settings
        self._limits = Limits(
            batch_bytes=min(settings.max_batch_bytes, settings.max_request_bytes),
            request_bytes=settings.max_request_bytes,
        )
        self._parcels: deque[Parcel] = deque()
        self._details: dict[str, str] = {}
        self._told: set[str] = set()
        self.n_delivered = 0
        """Spans that the other side took."""
        self.is_abandoned = False
        """The time for delivering is over; an attempt still under way is counted already."""

    def load(self, spans: Sequence[ReadableSpan]) -> None:
        """Take spans over; each is delivered or counted as lost in the end."""
        self._parcels.extend(pack(spans, self.sender, self._limits, self._losses))

    @property
    def is_empty(self) -> bool:
        """Say whether every span taken over is settled."""
        return not self._parcels

    def wait_s(self) -> float | None:
        """Return the seconds until the next attempt is due; `None` when nothing is under way."""
        return max(0.0, self._parcels[0].next_try - monotonic()) if self._parcels else None

    def hurry(self) -> None:
        """Forget our own pause before the next attempt; one that the collector asked for stays."""
        if self._parcels and not self._parcels[0].is_told_to_wait:
            self._parcels[0].next_try = 0.0

    def attempt(self, timeout_s: float, *, is_urgent: bool) -> bool:
        """Try the first parcel once and say whether it is settled (delivered, split or lost).

        Args:
            timeout_s: Bound on the attempt.
            is_urgent: Somebody waits: pause only shortly before the next attempt.
        """
        parcel = self._parcels[0]
        parcel.first_try = parcel.first_try or monotonic()
        outcome = Outcome(word="failed", detail="internal error")
        with guard("export.send"):
            outcome = self.sender.send(parcel, timeout_s)
        if self.is_abandoned:
            return True
        if outcome.word == "retry" and not self._is_over(parcel):
            self._postpone(parcel, outcome, is_urgent=is_urgent)
            return False
        self._parcels.popleft()
        self._settle(parcel, outcome)
        return True

    def abandon(self) -> None:
        """Count everything that is still under way as lost to the shutdown."""
        self.is_abandoned = True
        while self._parcels:
            self._losses.add("shutdown", len(self._parcels.popleft().spans))

    def tell_losses(self) -> None:
        """Log the first loss of each reason; further ones are only counted."""
        for reason, n_spans in self._losses.as_dict().items():
            if reason in _REASONS and reason not in self._told:
                self._told.add(reason)
                _log.warning(
                    "spanwitness.spans_lost reason=%s spans=%d detail=%r (more are only counted)",
                    reason,
                    n_spans,
                    self._details.get(reason, ""),
                )

    def _is_over(self, parcel: Parcel) -> bool:
        return monotonic() - parcel.first_try >= self._settings.retry_window_s

    def _postpone(self, parcel: Parcel, outcome: Outcome, *, is_urgent: bool) -> None:
        parcel.attempts += 1
        parcel.is_told_to_wait = outcome.retry_after_s is not None
        if outcome.retry_after_s is not None:
            delay_s = min(outcome.retry_after_s, _LONGEST_ASKED_DELAY_S)
        else:
            delay_s = min(_FIRST_DELAY_S * 2 ** min(parcel.attempts - 1, 10), _LONGEST_DELAY_S)
            delay_s *= random.uniform(0.5, 1.0)  # noqa: S311  jitter
            if is_urgent:
                delay_s = min(delay_s, _URGENT_DELAY_S)
        parcel.next_try = monotonic() + delay_s

    def _settle(self, parcel: Parcel, outcome: Outcome) -> None:
        n_spans = len(parcel.spans)
        if outcome.word == "delivered":
            n_rejected = min(outcome.n_rejected, n_spans)
            self._lose("rejected", n_rejected, outcome.detail)
            for reason, n_lost in outcome.losses:
                self._lose(reason, n_lost, outcome.detail)
            self.n_delivered += n_spans - n_rejected - sum(n for _, n in outcome.losses)
        elif outcome.word == "too_large" and n_spans > 1:
            self._split(parcel)
        elif outcome.word == "too_large":
            self._lose("too_large", 1, outcome.detail)
        else:
            self._lose("failed", n_spans, outcome.detail)

    def _split(self, parcel: Parcel) -> None:
        parts: list[Parcel] = []
        for half in halve(parcel.spans):
            parts.extend(pack(half, self.sender, self._limits, self._losses))
        for part in reversed(parts):
            part.first_try = parcel.first_try
            self._parcels.appendleft(part)

    def _lose(self, reason: str, n_spans: int, detail: str) -> None:
        if n_spans > 0:
            self._details.setdefault(reason, detail)
            self._losses.add(reason, n_spans)
