"""The spans of ours that are open in this process: what becomes of them at exit and in a fork."""

from __future__ import annotations

import itertools
import os
import random
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from opentelemetry import trace as otel_trace

from spanwitness.guard import guard
from spanwitness.semconv import spanwitness

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.spans import Handle

__all__ = [
    "SCOPE",
    "current_handle",
    "end_open",
    "next_id",
    "open_count",
    "open_handles",
    "structural_parent",
]

SCOPE: Final = "spanwitness"
"""Name of our instrumentation scope."""
open_handles: dict[int, Handle] = {}
"""Every open span of ours, by identity, oldest first."""
generation = 0
"""Counts forks: a child must not end its parent's spans."""
next_id: Callable[[], int] = itertools.count(random.getrandbits(62)).__next__
"""Gives the next structural id."""
structural_parent: ContextVar[int] = ContextVar("spanwitness_parent", default=0)
"""Id of the current span of an unsampled run; 0 = none."""


def current_handle() -> Handle | None:
    """Return our handle of the span that is current here; `None` when it is not ours."""
    otel = otel_trace.get_current_span()
    parent_id = structural_parent.get()
    for handle in reversed(list(open_handles.values())):
        if handle.otel is otel or (parent_id and handle.structural_id == parent_id):
            return handle
    return None


def end_open() -> int:
    """End every span that is still open, newest first, marked as unfinished. For process exit.

    Returns:
        How many there were.
    """
    n_open = 0
    for handle in reversed(list(open_handles.values())):
        if handle.is_ended:
            continue
        n_open += 1
        with guard("capture.spans.end_open"):
            handle.set({spanwitness.UNFINISHED: True})
            if handle.state is not None:
                handle.state.mark_incomplete("open_spans")
            if handle.closer is not None:
                handle.closer()
            handle.end()
    return n_open


def open_count() -> int:
    """Return how many spans of ours are open in this process."""
    return len(open_handles)


def _forget_after_fork() -> None:
    """Leave the parent's open spans to the parent."""
    global generation  # noqa: PLW0603
    generation += 1
    open_handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
