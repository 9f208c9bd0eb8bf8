"""When a delivery is tried again, and when not."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Answer", "RetryPolicy", "read_retry_after"]

AnswerWord: TypeAlias = Literal["delivered", "retry", "dead", "gone"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What became of one attempt."""

    word: AnswerWord
    """`gone`: the destination does not want any more."""
    status: int | None = None
    """HTTP status; `None` = there was no answer."""
    error: str | None = None
    """In short, for the list of what was not delivered; no header or body."""
    retry_after_s: float | None = None
    """What the destination asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Growing pauses with jitter, up to a number of attempts.

    With the defaults the pauses are about 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, then 5 h; after
    ten attempts, within a day, a message is dead.

    Raises:
        SettingsError: A value is out of its range.
    """

    max_attempts: int = 10
    first_pause_s: float = 5.0
    factor: float = 4.0
    max_pause_s: float = 5 * 3600.0
    max_retry_after_s: float = 24 * 3600.0
    """A destination that asks for more waits this long."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1 or self.factor < 1 or self.first_pause_s <= 0:
            raise SettingsError(
                "a retry policy needs max_attempts and factor of 1 or more and a pause above 0 s"
            )

    def next_at(
        self,
        answer: Answer,
        *,
        attempts: int,
        now: datetime,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> datetime | None:
        """Return when to try again; `None` = never.

        Args:
            answer: Of the last attempt.
            attempts: Made so far, that one included.
            now: The time.
            draw: Draws a number between two.
        """
        if answer.word != "retry" or attempts >= self.max_attempts:
            return None
        exponent = min(attempts - 1, 64)
        pause_s = min(self.max_pause_s, self.first_pause_s * self.factor**exponent)
        pause_s = draw(0.5 * pause_s, 1.5 * pause_s)
        if answer.retry_after_s is not None:
            # Never earlier than asked; a little later, so that not all come at once.
            asked_s = min(answer.retry_after_s, self.max_retry_after_s)
            pause_s = asked_s + draw(0.0, min(0.1 * asked_s, self.first_pause_s))
        return now + timedelta(seconds=pause_s)


def read_retry_after(text: str | None, *, now: datetime | None = None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for; `None` = it says nothing usable.

    Args:
        text: Seconds, or a date.
        now: What a date is compared with; `None` = the clock.
    """
    text = (text or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
