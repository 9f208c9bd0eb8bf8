"""One request of spans, by whatever transport: read, held, written to disk, then answered."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from spanwitness.archive.decode import decode_document
from spanwitness.archive.otlp_proto import decode_proto
from spanwitness.guard import guard
from spanwitness.serve.counters import Counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.archive.decode import Decoded
    from spanwitness.model import SpanRecord
    from spanwitness.serve.holder import TraceHolder
    from spanwitness.serve.spool import Form, Spool, Spooled

__all__ = ["Intake", "Relay", "Reply"]

ReplyWord: TypeAlias = Literal["ok", "invalid", "full"]

_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_MAX_MESSAGE_CHARS: Final = 500
_RETRY_S: Final = 2


class Reply(NamedTuple):
    """What the sender is told."""

    word: ReplyWord
    n_rejected: int = 0
    message: str = ""
    retry_after_s: int | None = None


class Relay(Protocol):
    """Takes received requests further as they are."""

    def offer(self, form: Form, body: bytes) -> bool:
        """Take a request; say whether there was room for it."""
        ...


class Intake:
    """Takes requests of spans; safe to use from several threads.

    An answer of `ok` means: every span that was not rejected is held to be judged and, with a
    spool, written to disk. It will be judged, also when this process is killed.

    Args:
        holder: Where spans wait.
        spool: Where requests are written; `None` = nowhere: what is held dies with the process.
        relay: Where requests go besides.
        counters: What is counted.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        holder: TraceHolder,
        *,
        spool: Spool | None = None,
        relay: Relay | None = None,
        counters: Counters | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._holder = holder
        self._spool = spool
        self._relay = relay
        self.counters = counters or Counters()
        self._clock = clock
        self._lock = threading.Lock()
        self._is_closed = False

    def receive(self, form: Form, body: bytes, *, transport: str = "http") -> Reply:
        """Take one request and say what to answer.

        Args:
            form: How the body is encoded.
            body: An export request, decompressed.
            transport: For the counts: `http` or `grpc`.
        """
        reply = Reply("full", message="internal error", retry_after_s=_RETRY_S)
        with guard("serve.intake"):
            reply = self._receive(form, body)
        fate: Literal["taken", "invalid", "full"] = "taken" if reply.word == "ok" else reply.word
        self.counters.add_request(transport, fate)
        return reply

    def replay(self, request: Spooled) -> set[str]:
        """Hold the spans of a request that an earlier process wrote; return their traces."""
        spans = _valid(_decode(request.form, request.body).spans)
        self._holder.add(spans, size_bytes=len(request.body), now=self._clock())
        return {span.trace_id for span in spans}

    def close(self) -> None:
        """Refuse what comes from now on; its senders try again elsewhere or later."""
        with self._lock:
            self._is_closed = True

    def _receive(self, form: Form, body: bytes) -> Reply:
        if not self._holder.make_room(len(body)):
            return Reply("full", message="too much is held already", retry_after_s=_RETRY_S)
        decoded = _decode(form, body)
        if (decoded.problems and not decoded.spans and not decoded.n_rejected) or decoded.note:
            return Reply("invalid", message=_message(decoded))
        spans = _valid(decoded.spans)
        n_invalid = decoded.n_rejected + len(decoded.spans) - len(spans)
        with self._lock:
            if self._is_closed:
                return Reply("full", message="shutting down", retry_after_s=_RETRY_S)
            if self._relay is not None and spans and not self._relay.offer(form, body):
                return Reply("full", message="forwarding lags behind", retry_after_s=_RETRY_S)
            # Held before it is written: the spool deletes files whose traces are not held.
            added = self._holder.add(spans, size_bytes=len(body), now=self._clock())
            if self._spool is not None and added.n_taken:
                self._spool.append(form, body, {span.trace_id for span in spans})
        self.counters.add_spans("taken", added.n_taken)
        self.counters.add_spans("duplicate", added.n_duplicate)
        self.counters.add_spans("late", added.n_late)
        self.counters.add_spans("refused", added.n_refused)
        self.counters.add_spans("unreadable", n_invalid)
        message = _message(decoded) if n_invalid else ""
        if n_invalid and not message:
            message = "an id of nothing but zeros"
        if added.n_refused:
            limit = self._holder.limits.max_spans_per_trace
            message = "; ".join(filter(None, (message, f"a trace holds more than {limit} spans")))
        return Reply("ok", n_rejected=n_invalid + added.n_refused, message=message)


def _decode(form: Form, body: bytes) -> Decoded:
    return decode_document(body) if form == "json" else decode_proto(body)


def _valid(spans: list[SpanRecord]) -> list[SpanRecord]:
    if all(span.trace_id != _NO_TRACE and span.span_id != _NO_SPAN for span in spans):
        return spans
    return [s for s in spans if s.trace_id != _NO_TRACE and s.span_id != _NO_SPAN]


def _message(decoded: Decoded) -> str:
    texts = [*decoded.problems[:3], *([decoded.note] if decoded.note else [])]
    n_more = len(decoded.problems) - 3
    if n_more > 0:
        texts.append(f"{n_more} more")
    return "; ".join(texts)[:_MAX_MESSAGE_CHARS]
