"""Where stored traces lie: files, compressed files, folders, standard input."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["READ_ERRORS", "Document", "Source", "documents", "find_sources", "spool_stdin"]

STDIN = "-"
_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_FINDINGS = ("findings.jsonl", "findings.1.jsonl")
_BOM = b"\xef\xbb\xbf"
_BUFFER_BYTES = 1 << 22
"""More than a line usually has: a line that stands in the buffer whole is copied only once."""
_RATIO = 12
"""How much larger than its file a compressed trace may be; only to decide how to hold it."""
READ_ERRORS = (OSError, EOFError, zlib.error)
"""What reading a file that is missing, forbidden, a folder, or badly compressed may raise."""


class Source(NamedTuple):
    """A file to read."""

    path: Path
    name: str
    """As the user knows it: the path, or `-`."""

    def open(self) -> IO[bytes]:
        """Open it for reading, decompressed."""
        with self.path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        if is_gzip:
            return cast("IO[bytes]", gzip.open(self.path, "rb"))
        return self.path.open("rb", buffering=_BUFFER_BYTES)

    def size_bytes(self) -> int:
        """Return about how many bytes it decompresses to; 0 when it cannot be looked at."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return 0
        return size * _RATIO if self.path.suffix == ".gz" else size


class Document(NamedTuple):
    """One JSON document of a source."""

    line: int
    """The 1-based line where it begins."""
    data: bytes
    end: int
    """Offset of its end in the decompressed source."""


def find_sources(path: Path) -> Iterator[Source]:
    """Yield the file, or the trace files below the folder in the order of their names.

    The findings that spanwitness keeps beside its traces are passed over.
    """
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.name in _FINDINGS:
                continue
            if file.name.endswith(_ENDINGS) and file.is_file():
                yield Source(file, str(file))
    else:
        yield Source(path, str(path))


def spool_stdin() -> IO[bytes]:
    """Copy standard input to a temporary file, since it can be read only once."""
    spool = tempfile.NamedTemporaryFile(prefix="spanwitness-stdin-")  # noqa: SIM115  caller closes
    shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
    spool.flush()
    return spool


def documents(file: IO[bytes]) -> Iterator[Document]:
    """Yield the documents of an open file: one a line, or the whole file when it is one."""
    end = 0
    lines: Iterable[bytes] = file
    for number, line in enumerate(lines, 1):
        end += len(line)
        if number > 1 and line[:1] == b"{":
            yield Document(number, line, end)  # as it is: a line has a megabyte or more
            continue
        text = line.strip() if number > 1 else line.strip().removeprefix(_BOM)
        if not text:
            continue
        if number == 1 and text[-1:] not in (b"}", b"]"):
            yield from _whole(line, file)
            return
        yield Document(number, text, end)


def _whole(first: bytes, file: IO[bytes]) -> Iterator[Document]:
    """Yield a file that begins like one document over many lines; else its lines after all."""
    data = first + file.read()
    try:
        msgspec.json.decode(data.removeprefix(_BOM), type=msgspec.Raw)
    except msgspec.DecodeError:
        if not _has_whole_line(data):
            yield Document(1, data.removeprefix(_BOM), len(data))
            return
    else:
        yield Document(1, data.removeprefix(_BOM), len(data))
        return
    end = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        end += len(line)
        if line.strip():
            yield Document(number, line.strip(), end)


def _has_whole_line(data: bytes) -> bool:
    """Say whether some line is a document of its own, so that the rest must be read by lines."""
    return any(
        line.startswith(b"{") and line.endswith(b"}") and b'"resource' in line
        for line in map(bytes.strip, data.split(b"\n"))
    )
