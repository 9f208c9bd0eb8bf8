"""What `spanwitness measure` is given: a table, or stored traces."""

from __future__ import annotations

import gzip
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from spanwitness.archive.sources import READ_ERRORS, STDIN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwitness.measure.traces import Keep, TraceLog
    from spanwitness.model import SpanRecord

__all__ = ["Given", "is_traces", "read_log"]

_TABLES: Final = frozenset({".csv", ".tsv", ".parquet"})
_LOOKED_AT: Final = 1 << 16
_SIGNS: Final = (b'"resourceSpans"', b'"resource_spans"')


def is_traces(path: Path) -> bool:
    """Say whether an input holds stored traces rather than a table.

    A folder, standard input, `.json` and `.gz` do; `.csv`, `.tsv` and `.parquet` do not; of other
    files the beginning is looked at. A file that is not there is taken as its name says.

    Args:
        path: The input.
    """
    if str(path) == STDIN or path.is_dir():
        return True
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return False
    if suffix in (".json", ".gz"):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_LOOKED_AT)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(path, "rb") as unpacked:
                head = unpacked.read(_LOOKED_AT)
    except READ_ERRORS:
        return False
    return any(sign in head for sign in _SIGNS)


@dataclass(kw_only=True)
class Given:
    """What was read, and whether all of it could be."""

    log: TraceLog
    n_unusable: int = field(default=0)
    """Inputs that could not be read; they were named on standard error."""


def read_log(path: Path, *, outcomes: Path | None, keep: Keep = "steps") -> Given:
    """Read stored traces for a measure.

    Args:
        path: A trace file, a folder, or `-`.
        outcomes: A table of outcomes that arrived by another way.
        keep: What to keep of each run.

    Raises:
        TableError: Outcomes contradict each other, or their table cannot be read.
    """
    from spanwitness.archive import TraceReader
    from spanwitness.measure.traces import collect

    reader = TraceReader([path])

    def traces() -> Iterator[list[SpanRecord]]:
        yield from reader

    log = collect(traces(), source=str(path), keep=keep)
    for problem in reader.problems:
        print(f"spanwitness: {problem}", file=sys.stderr)
    for note in reader.notes:
        print(f"spanwitness: note: {note}", file=sys.stderr)
    if outcomes is not None:
        log.outcomes.add_table(outcomes)
    return Given(log=log, n_unusable=len(reader.problems))
