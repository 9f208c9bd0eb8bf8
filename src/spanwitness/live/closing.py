"""Which detector judges a run of ours when its root is about to end."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import Span as SdkSpan

from spanwitness.guard import guard
from spanwitness.live.buffer import trace_id_of

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from spanwitness.capture.context import RunState
    from spanwitness.live.detector import Detector

_detectors: list[weakref.ref[Detector]] = []


def install(detector: Detector) -> None:
    """Have a detector judge the runs of ours whose spans pass it; the newest goes first."""
    from spanwitness.capture.root import set_closing_hook

    _detectors[:] = [known for known in _detectors if known() is not None]
    _detectors.insert(0, weakref.ref(detector))
    set_closing_hook(_close)


def remove(detector: Detector) -> None:
    """Leave the runs to come to the other detectors, if there are any."""
    _detectors[:] = [known for known in _detectors if known() not in {None, detector}]
    if not _detectors:
        from spanwitness.capture.root import set_closing_hook

        set_closing_hook(None)


def _close(state: RunState, span: Span | None) -> None:
    with guard("live.closing"):
        alive = [found for known in list(_detectors) if (found := known()) is not None]
        if not isinstance(span, SdkSpan) or not span.is_recording():
            for detector in alive[:1]:
                detector.close_unsampled(state)
            return
        tracking = [d for d in alive if d.tracks(trace_id_of(span))]
        for detector in tracking[1:]:
            detector.leave_run(span)
        for detector in tracking[:1]:
            detector.close_run(state, span)
