"""Received requests, as they are, to the next OTLP endpoint; and verdict spans after them."""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from dataclasses import replace
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.export.otlp_http import HttpSender
from spanwitness.export.parcel import Parcel
from spanwitness.findings.attributes import evaluation_attributes, verdict_attributes
from spanwitness.guard import guard
from spanwitness.model import SpanEvent, SpanRecord
from spanwitness.model.digest import span_id_for
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanwitness.export.destination import ExportSettings
    from spanwitness.findings.judged import FindingKey, Judged
    from spanwitness.model import Verdict
    from spanwitness.serve.judge import JudgedRun
    from spanwitness.serve.spool import Form

__all__ = ["Forwarder", "VerdictSpanSink"]

_FIRST_DELAY_S: Final = 0.5
_MAX_DELAY_S: Final = 30.0
_IDLE_S: Final = 1.0


class _Waiting(NamedTuple):
    form: Form
    body: bytes
    since: float


class Forwarder:
    """Posts requests in the order in which they came, from a thread of its own.

    What waits is bounded; above the bound `offer` says no, and the sender is asked to wait. A
    request that is refused for good, or not taken within the retry window, is lost and counted.
    What waits is in memory: it is lost, uncounted, when the process is killed.

    Args:
        settings: Where to; `endpoint` is the full URL of the traces signal, over HTTP.
        max_bytes: How much may wait.
        clock: Seconds that never go back.

    Raises:
        SettingsError: The endpoint or a certificate cannot be used.
    """

    def __init__(
        self,
        settings: ExportSettings,
        *,
        max_bytes: int = 64 * 1024 * 1024,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._settings = settings
        self._senders: dict[Form, HttpSender] = {
            "protobuf": HttpSender(replace(settings, protocol="http/protobuf")),
            "json": HttpSender(replace(settings, protocol="http/json")),
        }
        self._max_bytes = max_bytes
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._size_bytes = 0
        self._changed = threading.Condition()
        self._is_stopping = False
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None
        self._requests: Counter[str] = Counter()

    @property
    def requests(self) -> Mapping[str, int]:
        """Requests by what became of them: `delivered`, `refused`, `lost`."""
        with self._changed:
            return dict(self._requests)

    @property
    def size_bytes(self) -> int:
        """How much waits."""
        return self._size_bytes

    def offer(self, form: Form, body: bytes) -> bool:
        """Take a request; say whether there was room for it."""
        with self._changed:
            if self._is_stopping or (
                self._waiting and self._size_bytes + len(body) > self._max_bytes
            ):
                return False
            self._waiting.append(_Waiting(form, body, self._clock()))
            self._size_bytes += len(body)
            self._changed.notify_all()
        return True

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="spanwitness-forward", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float) -> int:
        """Send what waits, for as long as given; return how many requests are left behind."""
        with self._changed:
            self._is_stopping = True
            self._deadline = self._clock() + timeout_s
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s + self._settings.timeout_s)
        with self._changed:
            n_left = len(self._waiting)
            self._requests["lost"] += n_left
        for sender in self._senders.values():
            sender.close()
        return n_left

    def _run(self) -> None:
        delay_s = _FIRST_DELAY_S
        while True:
            with self._changed:
                while not self._waiting and not self._is_stopping:
                    self._changed.wait(_IDLE_S)
                if not self._waiting or self._is_out_of_time():
                    return
                item = self._waiting[0]
            pause_s = None
            with guard("serve.forward"):
                pause_s = self._send(item, delay_s)
            if pause_s is None:
                delay_s = _FIRST_DELAY_S
                with self._changed:
                    self._waiting.popleft()
                    self._size_bytes -= len(item.body)
                continue
            delay_s = min(_MAX_DELAY_S, 2 * delay_s)
            with self._changed:
                if not self._is_stopping:
                    self._changed.wait_for(lambda: self._is_stopping, pause_s)
                elif not self._is_out_of_time():
                    self._changed.wait(min(pause_s, 0.2))

    def _send(self, item: _Waiting, delay_s: float) -> float | None:
        """Try once; return seconds to wait before the next try, or `None` when it is done with."""
        outcome = self._senders[item.form].send(Parcel((), item.body), self._settings.timeout_s)
        if outcome.word == "delivered":
            self._count("delivered")
            return None
        if outcome.word != "retry":
            self._count("refused")
            return None
        if self._clock() - item.since > self._settings.retry_window_s:
            self._count("lost")
            return None
        if outcome.retry_after_s is not None:
            return min(outcome.retry_after_s, self._settings.retry_window_s)
        return delay_s * random.uniform(0.5, 1.5)  # noqa: S311  spreads load, guards nothing

    def _count(self, word: str) -> None:
        with self._changed:
            self._requests[word] += 1

    def _is_out_of_time(self) -> bool:
        return self._deadline is not None and self._clock() >= self._deadline


class VerdictSpanSink:
    """Adds a verdict span to the forwarded trace for each finding that the trace does not tell yet.

    The id of such a span follows from the run and the finding, so a second judgement, or a server
    that was killed and judges again, makes the same span and no other.
    """

    name = "verdict_spans"

    def __init__(self, forwarder: Forwarder, *, now_ns: Callable[[], int] = time_ns) -> None:
        self._forwarder = forwarder
        self._now_ns = now_ns

    def take(self, runs: Sequence[JudgedRun]) -> None:
        """Send the verdict spans of judged runs.

        Raises:
            BufferError: Too much waits already; the runs are handed over again later.
        """
        spans = [span for run in runs for span in self._spans(run)]
        if spans and not self._forwarder.offer("protobuf", encode_proto_request(spans)):
            raise BufferError("too much waits to be forwarded")

    def _spans(self, run: JudgedRun) -> list[SpanRecord]:
        told = _told_rules(run.spans, run.judged.run.run_id)
        found = run.judged.keyed_findings()
        return [
            make_verdict_record(run.judged, found[key], key, run.spans, time_ns=self._now_ns())
            for key in run.news
            if found[key].rule not in told
        ]


def make_verdict_record(
    judged: Judged,
    verdict: Verdict,
    key: FindingKey,
    spans: Sequence[SpanRecord],
    *,
    time_ns: int,
) -> SpanRecord:
    """Make the span of one finding, in the trace and below the root of its run.

    Args:
        judged: The judged run.
        verdict: The finding.
        key: Its key among the findings of the run.
        spans: Of the trace; the root's resource is the application's.
        time_ns: Start and end, nanoseconds since the epoch.
    """
    run = judged.run
    root = next((span for span in spans if span.span_id == run.root_span_id), None)
    fallback = spans[0].resource if spans else {}
    return SpanRecord(
        trace_id=run.trace_id,
        span_id=span_id_for(run.trace_id, run.run_id, *map(str, key)),
        parent_span_id=run.root_span_id or None,
        name=f"verdict {verdict.rule}",
        start_ns=time_ns,
        end_ns=time_ns,
        attributes={**verdict_attributes(judged, verdict)},
        events=(
            SpanEvent(
                name=gen_ai.EVALUATION_EVENT,
                time_ns=time_ns,
                attributes={**evaluation_attributes(verdict)},
            ),
        ),
        resource=root.resource if root is not None else fallback,
        scope="spanwitness",
    )


def _told_rules(spans: Sequence[SpanRecord], run_id: str) -> set[object]:
    """Return the rules whose findings the trace already tells: spanwitness ran in the process."""
    told: set[object] = set()
    for span in spans:
        attributes = span.attributes
        if attributes.get(names.RUN_ID) != run_id:
            continue
        listed = attributes.get(names.RULES_VIOLATED)
        if isinstance(listed, list):
            told.update(listed)
        if names.RULE_ID in attributes:
            told.add(attributes[names.RULE_ID])
    return told
