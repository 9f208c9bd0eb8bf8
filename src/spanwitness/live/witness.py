"""What `configure` returns: the handle of a witnessed process."""

from __future__ import annotations

import atexit
from time import monotonic
from typing import TYPE_CHECKING

from spanwitness import guard
from spanwitness.capture import defaults, spans
from spanwitness.capture.context import before_flush
from spanwitness.export.lifecycle import Lifecycle
from spanwitness.export.losses import Losses

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from opentelemetry.sdk.trace import TracerProvider

    from spanwitness.export.processor import ExportProcessor
    from spanwitness.findings.step_counts import StepTally
    from spanwitness.live.detector import Detector
    from spanwitness.live.exporting import Meters

__all__ = ["Witness"]


class Witness:
    """Flushes, shuts down, and tells of losses. Made by `configure`.

    As a context manager it shuts down at the end of the block.

    Attributes:
        provider: The tracer provider that runs are traced with; `None` when `OTEL_SDK_DISABLED` is
            set.
        detector: Judges the runs; `None` with the provider.
        losses: Spans that spanwitness's own export lost, by reason. What the application's own
            exporter loses it cannot see.
        trace_dir: Folder with one OTLP/JSON file a trace, when spans go to local files.
    """

    def __init__(
        self,
        *,
        provider: TracerProvider | None,
        detector: Detector | None,
        losses: Losses | None = None,
        processor: ExportProcessor | None = None,
        meters: Meters | None = None,
        trace_dir: Path | None = None,
        is_provider_ours: bool = False,
    ) -> None:
        self.provider = provider
        self.detector = detector
        self.losses = Losses() if losses is None else losses
        self.trace_dir = trace_dir
        self.is_shut_down = False
        self._processor = processor
        self._meters = meters
        self._is_provider_ours = is_provider_ours
        self._lifecycle = (
            Lifecycle(processor, end_open=self._end_open) if processor is not None else None
        )

    def install(self, *, sigterm: bool) -> None:
        """Register for the end and the forks of the process.

        Raises:
            SettingsError: The SIGTERM hook cannot be installed here.
        """
        if self._lifecycle is not None:
            self._lifecycle.install()
            if sigterm:
                self._lifecycle.install_sigterm_hook()
        atexit.register(self._finish)

    @property
    def faults(self) -> dict[str, int]:
        """Contained faults of spanwitness itself in this process, by site; empty = none."""
        return guard.faults()

    def step_counts(self) -> tuple[StepTally, ...]:
        """Return what was counted so far of each protocol step, by group: totals and raw rates.

        They equal an audit of the stored traces of the same runs, and carry no interval: looked at
        while they grow, an interval would hold less often than it says. Outcomes that arrive later
        (`record_outcome`) are not in them.
        """
        return () if self.detector is None else self.detector.step_counts()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Judge the runs that are over, and deliver every span that has ended.

        Call it before the process may be frozen, at the end of each invocation.

        Args:
            timeout_s: The longest time to wait.

        Returns:
            Whether everything was judged and delivered in time, and nothing was lost since the last
            flush. Where spans leave by the application's own exporter, that exporter's answer.
        """
        if self.provider is None or self.detector is None:
            return True
        deadline = monotonic() + timeout_s
        for settle in before_flush:
            with guard.guard("live.witness.settle"):
                settle()
        is_done = self.detector.force_flush(int(timeout_s * 1000))
        left_s = max(0.0, deadline - monotonic())
        if self._processor is not None:
            is_done = self._processor.flush(left_s) and is_done
        if not self._is_provider_ours:
            left_s = max(0.0, deadline - monotonic())
            with guard.guard("live.witness.flush"):
                is_done = self.provider.force_flush(int(left_s * 1000)) and is_done
        if self._meters is not None:
            self._meters.flush(max(0.0, deadline - monotonic()))
        return is_done

    def shutdown(self, timeout_s: float = 5.0) -> bool:
        """Flush and stop witnessing; `configure` may be called again. A second call does nothing.

        A provider of the application's goes on; only our part in it ends.

        Args:
            timeout_s: The longest time to wait.

        Returns:
            The answer of the flush.
        """
        if self.is_shut_down:
            return True
        deadline = monotonic() + timeout_s
        is_done = self.flush(timeout_s)
        self.is_shut_down = True
        if self._lifecycle is not None:
            self._lifecycle.remove()
        atexit.unregister(self._finish)
        if self.detector is not None:
            self.detector.shutdown()
        if self._processor is not None:
            is_done = self._processor.stop(max(0.0, deadline - monotonic())) and is_done
        if self._meters is not None:
            self._meters.shutdown(max(0.1, deadline - monotonic()))
        spans.use_provider(None)
        defaults.use()
        spans.set_enabled(True)
        return is_done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _end_open(self) -> None:
        """End what is still open and judge it, while it can still be exported."""
        spans.end_open()
        if self.detector is not None:
            self.detector.force_flush(2_000)

    def _finish(self) -> None:
        """At the process's end; the lifecycle's own callback comes later and finds nothing open."""
        with guard.guard("live.witness.finish"):
            self._end_open()
        if self._meters is not None:
            self._meters.shutdown(2.0)
