"""Requests on disk until their traces are judged: what makes an answer of 200 a promise.

A request is written here before it is answered. A process that is killed and started again reads
what it finds and goes on. The writes are left to the operating system to bring to the disk, so they
outlive the process, and not a loss of power.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

__all__ = ["Form", "Spool", "Spooled"]

Form: TypeAlias = Literal["protobuf", "json"]

_HEAD: Final = struct.Struct("<4scII")
"""Magic, form, length, checksum."""
_MAGIC: Final = b"swS1"
_FORMS: Final[dict[Form, bytes]] = {"protobuf": b"p", "json": b"j"}
_NAMES: Final[dict[bytes, Form]] = {code: form for form, code in _FORMS.items()}
_SEGMENT_BYTES: Final = 16 * 1024 * 1024


class Spooled(NamedTuple):
    """One request as it was received."""

    form: Form
    body: bytes


@dataclass(slots=True, eq=False)
class _Segment:
    path: Path
    size_bytes: int = 0
    trace_ids: set[str] = field(default_factory=set)


class Spool:
    """A folder of append-only files; one process at a time uses it.

    Args:
        directory: The folder; it is made if need be, for the user's eyes only.
        max_bytes: When the files have grown beyond this, the oldest is rewritten without the traces
            that are done.

    Raises:
        SettingsError: The folder cannot be used, or another process uses it.
    """

    def __init__(self, directory: Path, *, max_bytes: int = 1024 * 1024 * 1024) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._guard = _lock_folder(directory)
        except OSError as error:
            raise SettingsError(
                f"the spool {directory} cannot be used: {error.strerror or error}; "
                "does another `spanwitness serve` use it? Give each its own --spool"
            ) from None
        self._segments = [_Segment(path) for path in sorted(directory.glob("*.spool"))]
        self._number = int(self._segments[-1].path.stem) if self._segments else 0
        self._file: int | None = None
        self.n_damaged = 0
        """Requests found cut off or changed; a request that was being written when the process was
        killed had not been answered."""

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(segment.size_bytes for segment in self._segments)

    def replay(self, take: Callable[[Spooled], Collection[str]]) -> int:
        """Give out every request of an earlier process, in order; return how many.

        Args:
            take: Holds the spans of a request and returns the ids of their traces.
        """
        n_requests = 0
        for segment in list(self._segments):
            for request in self._read(segment):
                segment.trace_ids.update(take(request))
                n_requests += 1
        return n_requests

    def append(self, form: Form, body: bytes, trace_ids: Collection[str]) -> None:
        """Write one request; it is safe from the end of this process when this returns.

        Raises:
            OSError: It could not be written; nothing of it counts.
        """
        record = _HEAD.pack(_MAGIC, _FORMS[form], len(body), zlib.crc32(body)) + body
        with self._lock:
            segment = self._current(len(record))
            if self._file is None:
                self._file = os.open(segment.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                _write_all(self._file, record)
            except OSError:
                os.ftruncate(self._file, segment.size_bytes)
                raise
            segment.size_bytes += len(record)
            segment.trace_ids.update(trace_ids)

    def release(self, holds: Callable[[str], bool]) -> None:
        """Delete the files of which no trace is held any more.

        Args:
            holds: Says whether a trace still is.
        """
        with self._lock:
            for segment in list(self._segments):
                segment.trace_ids = {t for t in segment.trace_ids if holds(t)}
                if not segment.trace_ids:
                    self._delete(segment)

    def crowded(self) -> set[str]:
        """Return the traces that keep the oldest file, when there are too many files.

        Write their spans anew with `append` and call `drop_oldest`.
        """
        with self._lock:
            if self.size_bytes <= self._max_bytes or len(self._segments) < 2:
                return set()
            return set(self._segments[0].trace_ids)

    def drop_oldest(self) -> None:
        """Delete the oldest file."""
        with self._lock:
            if len(self._segments) > 1:
                self._delete(self._segments[0])

    def close(self) -> None:
        """Let go of the folder; files that are still needed stay."""
        with self._lock:
            self._close_file()
            os.close(self._guard)

    def _current(self, n_bytes: int) -> _Segment:
        is_new = self._file is None or not self._segments
        if is_new or self._segments[-1].size_bytes + n_bytes > _SEGMENT_BYTES:
            self._close_file()
            self._number += 1
            self._segments.append(_Segment(self._directory / f"{self._number:012d}.spool"))
        return self._segments[-1]

    def _delete(self, segment: _Segment) -> None:
        if segment is self._segments[-1]:
            self._close_file()
        self._segments.remove(segment)
        segment.path.unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self, segment: _Segment) -> Iterator[Spooled]:
        with segment.path.open("rb") as file:
            while head := file.read(_HEAD.size):
                if len(head) < _HEAD.size:
                    break
                magic, code, length, checksum = _HEAD.unpack(head)
                if magic != _MAGIC or code not in _NAMES:
                    break
                body = file.read(length)
                if len(body) < length or zlib.crc32(body) != checksum:
                    break
                segment.size_bytes += _HEAD.size + length
                yield Spooled(_NAMES[code], body)
            else:
                return
        self.n_damaged += 1


def _lock_folder(directory: Path) -> int:
    import fcntl

    handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
