"""Reading stored traces, trace by trace, in bounded memory.

The spans of a trace may stand anywhere: in several lines, in several files. A small input is held.
Of a large one the trace ids are indexed first, so that a trace is given out as soon as its last
span was read; where too many traces are open at a time (interleaved traces), the rest is split by
trace id into temporary files that fit.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from spanwitness.archive.decode import decode_document
from spanwitness.archive.index import TraceIndex, index_traces
from spanwitness.archive.sources import (
    READ_ERRORS,
    STDIN,
    Document,
    Source,
    documents,
    find_sources,
    spool_stdin,
)
from spanwitness.archive.spill import Spill
from spanwitness.errors import TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwitness.model import SpanRecord

__all__ = ["TraceReader", "read_traces"]

_HELD_BYTES = 8_000_000
"""Input bytes whose spans may be held at a time; in memory they take about twice as much."""


class TraceReader:
    """Stored traces: iterate for the spans of one trace after the other.

    Args:
        paths: Files (OTLP/JSON: one export request a line, or one document; also gzip), folders
            (searched for `*.json`, `*.jsonl`, `*.gz` of these), or `-` for standard input.
        held_bytes: How many bytes of input may be held in memory at a time.
    """

    def __init__(self, paths: Iterable[Path | str], *, held_bytes: int = _HELD_BYTES) -> None:
        self._paths = [Path(path) for path in paths]
        self._held_bytes = held_bytes
        self.problems: list[TraceFormatError] = []
        """What could not be read; complete when the iteration has ended."""
        self.notes: list[str] = []
        """What was read and holds no spans, such as files of log records."""

    def __iter__(self) -> Iterator[list[SpanRecord]]:
        """Yield the spans of one trace after the other, each trace once."""
        with ExitStack() as stack:
            sources = self._sources(stack)
            size = sum(source.size_bytes() for source in sources)
            index = index_traces(sources) if size > self._held_bytes else None
            yield from self._read(sources, index, is_small=size <= self._held_bytes)

    def _sources(self, stack: ExitStack) -> list[Source]:
        found: list[Source] = []
        for path in self._paths:
            if str(path) == STDIN:
                spool = stack.enter_context(spool_stdin())
                found.append(Source(Path(spool.name), STDIN))
                continue
            sources = list(find_sources(path))
            if not sources:
                self.notes.append(f"{path}: no trace files (*.json, *.jsonl, *.gz) in this folder")
            found.extend(sources)
        return found

    def _read(
        self, sources: list[Source], index: TraceIndex | None, *, is_small: bool
    ) -> Iterator[list[SpanRecord]]:
        held = _Held(index)
        spill: Spill | None = None if index is not None or is_small else Spill()
        try:
            for number, source in enumerate(sources):
                for document in self._documents(source):
                    if spill is not None:
                        self._spill(spill, source, document)
                        continue
                    decoded = decode_document(document.data)
                    self._report(source, document.line, decoded.problems, decoded.note)
                    held.add(decoded.spans, len(document.data))
                    yield from held.ended(number, document.end)
                    if not is_small and held.size_bytes > self._held_bytes:
                        spill = Spill()
                        spill.add_spans(held.take())
            yield from held.take_traces()
            if spill is not None:
                yield from spill.traces(self._held_bytes, self.problems)
        finally:
            if spill is not None:
                spill.close()

    def _documents(self, source: Source) -> Iterator[Document]:
        is_empty = True
        try:
            with source.open() as file:
                for document in documents(file):
                    is_empty = False
                    yield document
        except READ_ERRORS as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.problems.append(TraceFormatError(f"cannot be read: {reason}", path=source.name))
            return
        if is_empty:
            self.notes.append(f"{source.name}: empty")

    def _spill(self, spill: Spill, source: Source, document: Document) -> None:
        if spill.add_raw((source.name, document.line), document.data):
            return
        decoded = decode_document(document.data)
        self._report(source, document.line, decoded.problems, decoded.note)
        spill.add_spans(decoded.spans)

    def _report(
        self, source: Source, line: int, problems: tuple[str, ...], note: str | None
    ) -> None:
        for problem in problems:
            self.problems.append(TraceFormatError(problem, path=source.name, line=line))
        if note is not None:
            text = f"{source.name}: {note}"
            if text not in self.notes[-1:]:
                self.notes.append(text)


class _Held:
    """Spans in memory, by trace."""

    def __init__(self, index: TraceIndex | None) -> None:
        self._index = index
        self._traces: dict[str, list[SpanRecord]] = {}
        self._by_end: dict[tuple[int, int], list[str]] = {}
        self._n_spans = 0
        self._bytes_per_span = 0.0

    @property
    def size_bytes(self) -> float:
        """About how many bytes of input the held spans took."""
        return self._n_spans * self._bytes_per_span

    def add(self, spans: list[SpanRecord], size_bytes: int) -> None:
        """Hold the spans of a document."""
        traces = self._traces
        for span in spans:
            trace = traces.get(span.trace_id)
            if trace is None:
                trace = traces[span.trace_id] = []
                if self._index is not None:
                    end = self._index.end_of(span.trace_id)
                    if end is not None:
                        self._by_end.setdefault(end, []).append(span.trace_id)
            trace.append(span)
        if spans:
            self._n_spans += len(spans)
            self._bytes_per_span = max(self._bytes_per_span, size_bytes / len(spans))

    def ended(self, source: int, offset: int) -> Iterator[list[SpanRecord]]:
        """Give out the traces that end at or before a place in the input."""
        for end in [end for end in self._by_end if end <= (source, offset)]:
            for trace_id in self._by_end.pop(end):
                trace = self._traces.pop(trace_id)
                self._n_spans -= len(trace)
                yield trace

    def take(self) -> list[SpanRecord]:
        """Give out everything, trace boundaries aside."""
        return [span for trace in self.take_traces() for span in trace]

    def take_traces(self) -> Iterator[list[SpanRecord]]:
        """Give out everything."""
        traces, self._traces, self._by_end, self._n_spans = self._traces, {}, {}, 0
        while traces:
            yield traces.pop(next(iter(traces)))


def read_traces(paths: Iterable[Path | str]) -> TraceReader:
    """Read stored traces; see `TraceReader`."""
    return TraceReader(paths)
