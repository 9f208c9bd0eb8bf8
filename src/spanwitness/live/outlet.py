"""What leaves a detector: verdict spans to the provider's processors, judged runs to sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from spanwitness.errors import SettingsError
from spanwitness.guard import guard
from spanwitness.live.suppress import judging
from spanwitness.live.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from spanwitness.findings.judged import Judged, Sink


class Processors(Protocol):
    """What takes an ended span: one processor, or all of a provider."""

    def on_end(self, span: ReadableSpan) -> None:
        """Take an ended span."""
        ...


class _Job(NamedTuple):
    sink: Sink
    judged: Judged | None
    """`None` = there will be no more: the sink is closed, if it can be."""


class Outlet:
    """Hands on what a detector found.

    Args:
        sinks: The user's own; called in a thread of ours, since they may take their time.
        inline: Ours: cheap, and called at once, so that nothing is lost when the process ends.
    """

    def __init__(self, sinks: Iterable[Sink], *, inline: Iterable[Sink] = ()) -> None:
        self._sinks = [_checked(sink) for sink in sinks]
        self.inline = list(inline)
        self._worker: Worker[_Job] = Worker(_take, name="spanwitness-sinks", max_jobs=1000)
        self._has_handed_on = False
        self._processors: Processors | None = None
        self._resource: Resource | None = None

    def bind(self, processors: Processors, resource: Resource) -> None:
        """Say where the verdict spans of runs go of which no span was seen (unsampled ones)."""
        self._processors = processors
        self._resource = resource

    def learn(self, span: Span) -> None:
        """Learn from a first span what `bind` would have said."""
        if self._processors is None:
            processors = processors_of(span)
            if processors is not None:
                self.bind(processors, span.resource)

    @property
    def resource(self) -> Resource:
        """The application's resource."""
        if self._resource is None:
            from opentelemetry import trace
            from opentelemetry.sdk.resources import Resource

            found = getattr(trace.get_tracer_provider(), "resource", None)
            self._resource = found if isinstance(found, Resource) else Resource.create()
        return self._resource

    def emit(self, span: ReadableSpan, processors: Processors | None = None) -> None:
        """Give a verdict span to the processors of its provider, past every sampler."""
        target = processors or self._processors or _global_processors()
        if target is not None:
            with guard("live.outlet.emit"), judging():
                target.on_end(span)

    def take(self, judged: Judged) -> None:
        """Give a judged run to every sink."""
        for sink in self.inline:
            with guard("live.sink"), judging():
                sink.take(judged)
        for sink in self._sinks:
            self._has_handed_on = True
            self._worker.add(_Job(sink, judged))

    def flush(self, timeout_s: float) -> bool:
        """Have the sinks take what is waiting; say whether that was done in time."""
        return self._worker.flush(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Flush, close the sinks that have a method `close`, and start no thread again."""
        if self._has_handed_on:
            for sink in self._sinks:
                self._worker.add(_Job(sink, None))
        return self._worker.close(timeout_s)

    def after_fork(self) -> None:
        """Forget, in the child, what the parent has still to hand on."""
        self._worker.reset()


def processors_of(holder: object) -> Processors | None:
    """Return the processors behind a live span or a provider; `None` when it does not say.

    The SDK has no public way to hand it a span that was made by other means than a tracer.
    """
    for name in ("_active_span_processor", "_span_processor"):
        found = getattr(holder, name, None)
        if found is not None:
            return cast("Processors", found)
    return None


def _global_processors() -> Processors | None:
    from opentelemetry import trace

    return processors_of(trace.get_tracer_provider())


def _take(job: _Job) -> None:
    with judging():
        if job.judged is not None:
            job.sink.take(job.judged)
            return
        close = getattr(job.sink, "close", None)
        if callable(close):
            close()


def _checked(sink: Sink) -> Sink:
    if not callable(getattr(sink, "take", None)):
        raise SettingsError(f"sink {sink!r} has no method `take(judged)`")
    return sink
