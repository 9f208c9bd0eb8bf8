"""What the receiver counts; the metrics page reads it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Counters", "SpanFate"]

SpanFate: TypeAlias = Literal["taken", "duplicate", "late", "refused", "unreadable"]
_RequestFate: TypeAlias = Literal["taken", "invalid", "full"]


class Counters:
    """Counts since the process started; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: Counter[SpanFate] = Counter()
        self._requests: Counter[tuple[str, _RequestFate]] = Counter()
        self._runs: Counter[str] = Counter()
        self._findings: Counter[tuple[str, str]] = Counter()
        self._sink_failures: Counter[str] = Counter()

    def add_request(self, transport: str, fate: _RequestFate) -> None:
        """Count a request; the transport is `http` or `grpc`."""
        with self._lock:
            self._requests[transport, fate] += 1

    def add_spans(self, fate: SpanFate, n_spans: int) -> None:
        """Count spans by what became of them."""
        if n_spans:
            with self._lock:
                self._spans[fate] += n_spans

    def add_run(self, word: Literal["flagged", "clean", "incomplete", "again"]) -> None:
        """Count a judged run; `again` = late spans had it judged anew."""
        with self._lock:
            self._runs[word] += 1

    def add_finding(self, rule: str, severity: str) -> None:
        """Count a finding; rules and severities are few and fixed."""
        with self._lock:
            self._findings[rule, severity] += 1

    def add_sink_failure(self, sink: str) -> None:
        """Count a sink that could not take a judged run; it is tried again."""
        with self._lock:
            self._sink_failures[sink] += 1

    @property
    def spans(self) -> Mapping[SpanFate, int]:
        """Spans by what became of them."""
        with self._lock:
            return dict(self._spans)

    @property
    def requests(self) -> Mapping[tuple[str, _RequestFate], int]:
        """Requests by transport and what became of them."""
        with self._lock:
            return dict(self._requests)

    @property
    def runs(self) -> Mapping[str, int]:
        """Judgements of runs."""
        with self._lock:
            return dict(self._runs)

    @property
    def findings(self) -> Mapping[tuple[str, str], int]:
        """Findings by rule and severity, each once."""
        with self._lock:
            return dict(self._findings)

    @property
    def sink_failures(self) -> Mapping[str, int]:
        """Failures by sink."""
        with self._lock:
            return dict(self._sink_failures)
