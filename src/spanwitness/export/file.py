"""Spans to local files: one OTLP/JSON file per trace, for a first try without a server."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.errors import SettingsError
from spanwitness.export.otlp_json import encode_json
from spanwitness.export.parcel import Outcome
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.parcel import Parcel

__all__ = ["FileSender"]

_NAME: Final = re.compile(r"[0-9a-f]{32}\.jsonl")
_SWEEP_EVERY_S: Final = 60.0
_DAY_S: Final = 86_400.0


class FileSender:
    """Appends each trace to `<directory>/<trace_id>.jsonl`, one `ExportTraceServiceRequest` a line.

    Several processes may write the same trace (workers of one run): a line is appended under a file
    lock, and a line that a killed process left unfinished is closed off first. Files are readable
    by their owner only. The oldest files go when the directory passes a bound; how many is
    `n_files_dropped`.

    Args:
        settings: `directory` must be given; it is made when absent.

    Raises:
        SettingsError: There is no directory, or it cannot be made or written.
    """

    def __init__(self, settings: ExportSettings) -> None:
        if settings.directory is None:
            raise SettingsError("local files need a directory")
        self._settings = settings
        self._directory = settings.directory
        self._next_sweep = 0.0
        self.n_files_dropped = 0
        """Files removed to keep within the bounds, by this process."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"directory={str(self._directory)!r} cannot be made: {error.strerror}"
            ) from None
        if not os.access(self._directory, os.W_OK | os.X_OK):
            raise SettingsError(f"directory={str(self._directory)!r} cannot be written")

    def path_of(self, trace_id: str) -> Path:
        """Return where a trace is written.

        Args:
            trace_id: 32 hex digits.
        """
        return self._directory / f"{trace_id}.jsonl"

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:  # noqa: ARG002
        """Return nothing: each trace is encoded by itself when it is written."""
        return b""

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:  # noqa: ARG002
        """Append the spans to the files of their traces; what cannot be written is a known loss."""
        traces: dict[int, list[ReadableSpan]] = {}
        for span in parcel.spans:
            context = span.get_span_context()
            traces.setdefault(0 if context is None else context.trace_id, []).append(span)
        losses: list[tuple[str, int]] = []
        detail = ""
        for trace_id, spans in traces.items():
            line = None
            with guard("export.encode"):
                line = encode_json(spans) + b"\n"
            if line is None:
                losses.append(("unencodable", len(spans)))
                continue
            try:
                _append(self.path_of(f"{trace_id:032x}"), line, self._settings.max_file_bytes)
            except OSError as error:
                losses.append(("disk", len(spans)))
                detail = error.strerror or type(error).__name__
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _SWEEP_EVERY_S
            with guard("export.file.sweep"):
                self._sweep()
        return Outcome(word="delivered", losses=tuple(losses), detail=detail)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def after_fork(self) -> None:
        """Do nothing: no file stays open."""

    def _sweep(self) -> None:
        """Remove the oldest files until the directory is within its bounds."""
        files: list[_File] = []
        newest_first = attrgetter("modified_s")
        with os.scandir(self._directory) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    files.append(_File(entry.path, found.st_size, found.st_mtime))
        files.sort(key=newest_first, reverse=True)
        too_old = (max(f.modified_s for f in files) if files else 0.0) - (
            self._settings.max_age_days * _DAY_S
        )
        total_bytes = 0
        for n_kept, file in enumerate(files):
            total_bytes += file.size_bytes
            if n_kept == 0 or (
                n_kept < self._settings.max_files
                and total_bytes <= self._settings.max_directory_bytes
                and file.modified_s >= too_old
            ):
                continue
            try:
                os.unlink(file.path)  # noqa: PTH108
            except FileNotFoundError:
                continue  # another process swept it
            self.n_files_dropped += 1


class _File(NamedTuple):
    path: str
    size_bytes: int
    modified_s: float


def _append(path: Path, line: bytes, max_file_bytes: int) -> None:
    """Append one whole line, or nothing.

    Raises:
        OSError: The file cannot be opened or written, or is full.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        if size + len(line) > max_file_bytes:
            raise OSError(errno.EFBIG, "the trace's file is full")
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            # A process was killed while it wrote; its rest must not spoil our line.
            line = b"\n" + line
        try:
            _write_all(descriptor, line)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
