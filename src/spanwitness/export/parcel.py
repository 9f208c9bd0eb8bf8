"""What a sender is given, what it answers, and how spans are packed below its size limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.export.losses import Losses

__all__ = ["Limits", "Outcome", "Parcel", "Sender", "halve", "pack"]

OutcomeWord: TypeAlias = Literal["delivered", "retry", "too_large", "failed"]


@dataclass(slots=True, eq=False)
class Parcel:
    """Spans that travel together, and how often it was tried."""

    spans: Sequence[ReadableSpan]
    body: bytes
    """The request as the sender encoded it."""
    attempts: int = 0
    first_try: float = 0.0
    """`time.monotonic()` of the first attempt."""
    next_try: float = 0.0
    """Not before this."""
    is_told_to_wait: bool = field(default=False)
    """The collector itself named the time of the next attempt."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Outcome:
    """What became of one attempt."""

    word: OutcomeWord
    n_rejected: int = 0
    """Spans that the collector refused although it took the request."""
    retry_after_s: float | None = None
    """What the collector asked for; `None` when it did not."""
    detail: str = ""
    """For the log: a status, the collector's own message (cut); no header or body of ours."""
    losses: tuple[tuple[str, int], ...] = ()
    """Spans that the sender itself knows to be lost, by reason; the rest was delivered."""


class Sender(Protocol):
    """Takes spans out of the process. Used by one thread at a time."""

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:
        """Encode spans as one request."""
        ...

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:
        """Try once, within the time given. Faults of the network are outcomes, not exceptions."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...

    def after_fork(self) -> None:
        """Forget, in the child, what belongs to the parent: nothing is closed in its name."""
        ...


@dataclass(slots=True, frozen=True, kw_only=True)
class Limits:
    """Sizes of a request, in bytes."""

    batch_bytes: int
    """Several spans never share a larger request."""
    request_bytes: int
    """No single span may be larger."""


def pack(
    spans: Sequence[ReadableSpan], sender: Sender, limits: Limits, losses: Losses
) -> Iterator[Parcel]:
    """Encode spans as one request, or as several when it would be too large.

    A batch that cannot be encoded is halved until the span at fault stands alone, so that one bad
    span costs itself and no other.

    Args:
        spans: In the order in which they ended.
        sender: Encodes them.
        limits: Bounds in bytes of the encoded form.
        losses: Counts a span that is too large alone (`too_large`) or cannot be encoded.
    """
    if not spans:
        return
    body: bytes | None = None
    with guard("export.encode"):
        body = sender.encode(spans)
    if len(spans) == 1:
        if body is None:
            losses.add("unencodable", 1)
        elif len(body) > limits.request_bytes:
            losses.add("too_large", 1)
        else:
            yield Parcel(spans, body)
    elif body is None or len(body) > limits.batch_bytes:
        for half in halve(spans):
            yield from pack(half, sender, limits, losses)
    else:
        yield Parcel(spans, body)


def halve(spans: Sequence[ReadableSpan]) -> Iterator[Sequence[ReadableSpan]]:
    """Yield the first and the second half of two or more spans."""
    middle = len(spans) // 2
    yield spans[:middle]
    yield spans[middle:]
