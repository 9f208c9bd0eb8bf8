"""What Prometheus reads: the receiver's counts, the queue, the outbox.

Labels are few and bounded: transports, fates, states, severities, rule ids, verdict words, names of
destinations. Never ids, agents or text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from spanwitness.guard import faults, guard
from spanwitness.model.verdict import SEVERITIES
from spanwitness.review.store.values import VERDICTS, ItemFilter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from prometheus_client.metrics_core import Metric
    from starlette.requests import Request

    from spanwitness.review.outbound.deliverer import Deliverer
    from spanwitness.review.store.queue import Queue
    from spanwitness.serve.service import Service

__all__ = ["make_registry", "metrics_endpoint"]

_MAX_RULES: Final = 200
"""Rules with a series of their own; outside detectors name theirs, so the others are summed."""
_OTHER: Final = "other"
_FRESH_S: Final = 5.0


def make_registry(
    service: Service, *, queue: Queue | None = None, deliverer: Deliverer | None = None
) -> CollectorRegistry:
    """Make a registry of our own; the process-wide one belongs to the application.

    Args:
        service: Its receiver and judge.
        queue: Its review queue.
        deliverer: Its sender of messages.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_ServiceCollector(service))
    if queue is not None:
        registry.register(_QueueCollector(queue))
    if deliverer is not None:
        registry.register(_DeliveryCollector(deliverer))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry


def metrics_endpoint(registry: CollectorRegistry) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that Prometheus scrapes."""

    async def scrape(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        body = await run_in_threadpool(encode, registry)
        return Response(body, headers={"content-type": content_type})

    return scrape


class _ServiceCollector:
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        counters, holder = self._service.counters, self._service.holder
        requests = _counter("receiver_requests", "Requests of spans", ["transport", "fate"])
        for (transport, request_fate), count in counters.requests.items():
            requests.add_metric([transport, request_fate], count)
        yield requests
        spans = _counter("receiver_spans", "Received spans by what became of them", ["fate"])
        for span_fate, count in counters.spans.items():
            spans.add_metric([span_fate], count)
        yield spans
        runs = _counter("judged_runs", "Judgements of runs", ["result"])
        for word, count in counters.runs.items():
            runs.add_metric([word], count)
        yield runs
        findings = _counter("findings", "Findings of received runs", ["rule", "severity"])
        for (rule, severity), count in counters.findings.items():
            findings.add_metric([rule, severity], count)
        yield findings
        failures = _counter("sink_failures", "Judged runs that a sink did not take yet", ["sink"])
        for sink, count in counters.sink_failures.items():
            failures.add_metric([sink], count)
        yield failures
        yield _gauge("held_traces", "Traces in memory", len(holder))
        yield _gauge("waiting_traces", "Traces with spans that are not judged", holder.n_waiting)
        yield _gauge("held_bytes", "Estimate of the memory of held spans", holder.size_bytes)
        yield _gauge("held_bytes_limit", "Bound of it", holder.limits.max_bytes)
        yield _gauge(
            "judge_lag_seconds", "How late the latest trace was judged", self._service.judge.lag_s
        )
        if self._service.spool is not None:
            yield _gauge("spool_bytes", "Size of the spool", self._service.spool.size_bytes)
        if self._service.forwarder is not None:
            forwarder = self._service.forwarder
            forwarded = _counter("forwarded_requests", "Forwarded requests", ["fate"])
            for word, count in forwarder.requests.items():
                forwarded.add_metric([word], count)
            yield forwarded
            yield _gauge("forward_waiting_bytes", "To be forwarded", forwarder.size_bytes)
        contained = _counter("internal_errors", "Faults of spanwitness, contained", ["site"])
        for site, count in faults().items():
            contained.add_metric([site], count)
        yield contained


class _QueueCollector:
    """Asks the queue at most every few seconds, however many scrape."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._kept: tuple[float, list[Metric]] | None = None

    def collect(self) -> Iterator[Metric]:
        now = monotonic()
        if self._kept is None or now - self._kept[0] >= _FRESH_S:
            found: list[Metric] = []
            is_up = False
            with guard("serve.metrics"):
                found = [*self._items(), *self._verdicts(), *self._outbox()]
                is_up = True
            found.append(_gauge("queue_up", "Whether the queue answers", float(is_up)))
            self._kept = now, found
        yield from self._kept[1]

    def _items(self) -> Iterator[Metric]:
        items = GaugeMetricFamily(
            _name("queue_items"), "Items by state and severity", labels=["state", "severity"]
        )
        overdue, oldest = 0, None
        for place, severity in enumerate(SEVERITIES):
            above = SEVERITIES[place + 1 :]
            here = self._queue.counts(ItemFilter(min_severity=severity))
            higher = self._queue.counts(ItemFilter(min_severity=above[0])) if above else None
            for state in ("open", "claimed", "snoozed", "resolved"):
                count = getattr(here, state) - (getattr(higher, state) if higher else 0)
                items.add_metric([state, severity], count)
            if place == 0:
                overdue, oldest = here.overdue, here.oldest_open
        yield items
        yield _gauge("queue_overdue_items", "Items past their due time", overdue)
        age_s = 0.0 if oldest is None else (datetime.now(UTC) - oldest).total_seconds()
        yield _gauge("queue_oldest_open_seconds", "Age of the oldest open item", max(0.0, age_s))

    def _verdicts(self) -> Iterator[Metric]:
        verdicts = GaugeMetricFamily(
            _name("queue_verdicts"), "Verdicts that stand, by rule", labels=["rule", "verdict"]
        )
        totals: dict[tuple[str, str], int] = {}
        rules: set[str] = set()
        for stats in self._queue.rule_stats():
            if stats.rule in rules or len(rules) < _MAX_RULES:
                rules.add(stats.rule)
            rule = stats.rule if stats.rule in rules else _OTHER
            for word in VERDICTS:
                totals[rule, word] = totals.get((rule, word), 0) + getattr(stats, word)
        for (name, said), count in totals.items():
            verdicts.add_metric([name, said], count)
        yield verdicts

    def _outbox(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily(
            _name("outbox_pending"), "Messages that wait to be sent", labels=["destination"]
        )
        for name, count in self._queue.outbox.backlog().items():
            waiting.add_metric([name], count)
        yield waiting
        dead = GaugeMetricFamily(
            _name("outbox_undeliverable"), "Messages that were given up", labels=["destination"]
        )
        counts: dict[str, int] = {}
        for each in self._queue.outbox.undeliverable(limit=10_000):
            counts[each.destination] = counts.get(each.destination, 0) + 1
        for name, count in counts.items():
            dead.add_metric([name], count)
        yield dead


class _DeliveryCollector:
    def __init__(self, deliverer: Deliverer) -> None:
        self._deliverer = deliverer

    def collect(self) -> Iterator[Metric]:
        totals = self._deliverer.totals
        attempts = _counter("delivery_attempts", "Deliveries by how they ended", ["result"])
        for word in ("delivered", "retried", "dead", "passed_over"):
            attempts.add_metric([word], getattr(totals, word))
        yield attempts
        backlog = GaugeMetricFamily(
            _name("outbox_oldest_due_seconds"),
            "How long the message that is due longest has waited",
            labels=["destination"],
        )
        for name, waited_s in self._deliverer.backlog_s().items():
            backlog.add_metric([name], waited_s)
        yield backlog
        disabled = GaugeMetricFamily(
            _name("destination_disabled"), "It answered 410", labels=["destination"]
        )
        for name in self._deliverer.names:
            disabled.add_metric([name], float(name in self._deliverer.disabled))
        yield disabled


def _name(name: str) -> str:
    return f"spanwitness_{name}"


def _counter(name: str, about: str, labels: list[str]) -> CounterMetricFamily:
    return CounterMetricFamily(_name(name), about, labels=labels)


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(_name(name), about, value=value)
