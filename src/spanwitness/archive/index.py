"""Where each trace of a large input ends, found by a scan for trace ids without decoding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.archive.sources import READ_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.archive.sources import Source

__all__ = ["TraceIndex", "index_traces"]

_CHUNK = 1 << 18
_OVERLAP = 64
"""Longer than what the pattern can match, so that an id across two chunks is found."""
_TRACE_ID = re.compile(rb'"traceId":\s{0,8}"([0-9a-fA-F]{32})"')
_MAX_TRACES = 200_000


class TraceIndex:
    """The last place where each trace id was seen: number of the source, and an offset in it."""

    def __init__(self) -> None:
        self._ends: dict[bytes, tuple[int, int]] = {}

    def add(self, ids: list[bytes], end: tuple[int, int]) -> None:
        """Note that these ids stand before a place."""
        self._ends.update(dict.fromkeys(ids, end))

    def __len__(self) -> int:
        return len(self._ends)

    def end_of(self, trace_id: str) -> tuple[int, int] | None:
        """Return a place after which no span of a trace stands; `None` = not known."""
        return self._ends.get(trace_id.encode())


def index_traces(sources: Sequence[Source]) -> TraceIndex | None:
    """Find where each trace ends; `None` when there are too many traces to keep in memory."""
    index = TraceIndex()
    buffer = bytearray(_OVERLAP + _CHUNK)
    view = memoryview(buffer)
    for number, source in enumerate(sources):
        try:
            with source.open() as file:
                offset = 0
                buffer[:_OVERLAP] = bytes(_OVERLAP)
                while size := file.readinto(view[_OVERLAP:]):  # type: ignore[attr-defined]
                    offset += size
                    ids = _TRACE_ID.findall(view[: _OVERLAP + size])
                    if ids:
                        index.add([id_.lower() for id_ in ids], (number, offset))
                    buffer[:_OVERLAP] = buffer[size : size + _OVERLAP]
                    if len(index) > _MAX_TRACES:
                        return None
        except READ_ERRORS:
            continue  # told when the source is read
    return index
