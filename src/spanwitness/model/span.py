"""A span as every source gives it: live, from a file, from a backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

AttributeValue: TypeAlias = (
    str | bool | int | float | Sequence[str] | Sequence[bool] | Sequence[int] | Sequence[float]
)
"""What an attribute may hold. Readers of foreign spans may also leave dicts and mixed lists."""

StatusWord: TypeAlias = Literal["unset", "ok", "error"]


class SpanEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event on a span."""

    name: str
    time_ns: int = 0
    attributes: dict[str, object] = msgspec.field(default_factory=dict)


class SpanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One span, reduced to what the rules may need.

    Live spans, stored spans and the structural records of unsampled runs all become this, so that
    they take the same road. Order in a trace is by `spanwitness.seq` where present, else by start
    time, parentage and span id; never by arrival.
    """

    trace_id: str
    """32 hex digits."""
    span_id: str
    """16 hex digits."""
    parent_span_id: str | None = None
    """`None` for the root of its trace."""
    name: str
    start_ns: int = 0
    """Nanoseconds since the epoch; 0 when the source has none."""
    end_ns: int = 0
    status: StatusWord = "unset"
    status_message: str = ""
    attributes: dict[str, object] = msgspec.field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    resource: dict[str, object] = msgspec.field(default_factory=dict)
    """Resource attributes; shared between spans of one batch, never changed."""
    scope: str = ""
    """Name of the instrumentation scope."""
    dropped_attributes: int = 0
    """Attributes that the SDK dropped because of its limits."""
