"""Splitting a large input by trace id into temporary files, each small enough to be held."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Raw

from spanwitness.archive.decode import decode_document, decode_raw
from spanwitness.archive.otlp_json import encode
from spanwitness.errors import TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwitness.archive.otlp_types import RawResourceSpans
    from spanwitness.model import SpanRecord

__all__ = ["Spill"]

_N_BUCKETS = 128
_BUFFER_BYTES = 2_000_000
_MAX_DEPTH = 3
_ID = slice(len('{"traceId":"'), len('{"traceId":"') + 32)


Origin: TypeAlias = tuple[str, int]
"""File and line that a span came from, to name it when it turns out to be unreadable."""


class _TraceId(msgspec.Struct, frozen=True, gc=False):
    traceId: str = ""  # noqa: N815  the name in the document


class _Line(msgspec.Struct, frozen=True, gc=False):
    origin: Origin = ("a spilled span", 0)


_trace_id = msgspec.json.Decoder(_TraceId)
_origin = msgspec.json.Decoder(_Line)
_to_json = msgspec.json.Encoder().encode


class Spill:
    """Temporary files of OTLP/JSON lines; every trace lies in one of them."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._folder = tempfile.TemporaryDirectory(prefix="spanwitness-")
        self._files: dict[int, IO[bytes]] = {}
        self._buffers: list[list[bytes]] = [[] for _ in range(_N_BUCKETS)]
        self._size = 0

    def add_raw(self, origin: Origin, document: bytes) -> bool:
        """Add the spans of a document undecoded; False when it has to be decoded to be read."""
        groups = decode_raw(document)
        if not groups:
            return False
        for group in groups:
            self._add_group(group, origin)
        return True

    def add_spans(self, spans: Iterable[SpanRecord]) -> None:
        """Add decoded spans."""
        buckets: dict[int, list[SpanRecord]] = {}
        for span in spans:
            buckets.setdefault(self._bucket(span.trace_id.encode()), []).append(span)
        for bucket, items in buckets.items():
            for line in encode(items):
                self._put(bucket, line)

    def traces(
        self, held_bytes: int, problems: list[TraceFormatError]
    ) -> Iterator[list[SpanRecord]]:
        """Yield the spans of one trace after the other."""
        self._flush()
        for written in self._files.values():
            size = written.tell()
            if size > held_bytes and self._depth < _MAX_DEPTH:
                yield from self._split_again(written, held_bytes, problems)
                continue
            traces: dict[str, list[SpanRecord]] = {}
            for line in _lines(written):
                decoded = decode_document(line)
                for span in decoded.spans:
                    traces.setdefault(span.trace_id, []).append(span)
                if decoded.problems:
                    path, number = _origin.decode(line).origin
                    problems += [
                        TraceFormatError(problem, path=path, line=number)
                        for problem in decoded.problems
                    ]
            written.truncate(0)
            while traces:
                yield traces.pop(next(iter(traces)))

    def close(self) -> None:
        """Remove the temporary files."""
        for file in self._files.values():
            file.close()
        self._folder.cleanup()

    def _split_again(
        self, written: IO[bytes], held_bytes: int, problems: list[TraceFormatError]
    ) -> Iterator[list[SpanRecord]]:
        inner = Spill(self._depth + 1)
        try:
            for line in _lines(written):
                if not inner.add_raw(_origin.decode(line).origin, line):
                    inner.add_spans(decode_document(line).spans)
            written.truncate(0)
            yield from inner.traces(held_bytes, problems)
        finally:
            inner.close()

    def _add_group(self, group: RawResourceSpans, origin: Origin) -> None:
        resource = bytes(group.resource) or b"{}"
        said = _to_json(origin)
        for scoped in (*group.scope_spans, *group.library_spans):
            scope = bytes(scoped.scope) or bytes(scoped.instrumentation_library) or b"{}"
            buckets: dict[int, list[Raw]] = {}
            for raw in scoped.spans:
                head = bytes(memoryview(raw)[: _ID.stop])
                id_ = head[_ID] if head.startswith(b'{"traceId":"') else _find_id(raw)
                buckets.setdefault(self._bucket(id_), []).append(raw)
            head = (
                b'{"origin":%b,"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":['
            )
            head %= (said, resource, scope)
            for bucket, spans in buckets.items():
                line = head + b",".join(spans) + b"]}]}]}"
                self._put(bucket, line.replace(b"\n", b" "))

    def _bucket(self, trace_id: bytes) -> int:
        return crc32(trace_id.lower(), self._depth) % _N_BUCKETS

    def _put(self, bucket: int, line: bytes) -> None:
        self._buffers[bucket] += (line, b"\n")
        self._size += len(line)
        if self._size > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        for bucket, buffer in enumerate(self._buffers):
            if not buffer:
                continue
            file = self._files.get(bucket)
            if file is None:
                path = Path(self._folder.name) / f"{bucket}.jsonl"
                file = self._files[bucket] = path.open("wb", buffering=0)
            file.write(b"".join(buffer))
            buffer.clear()
        self._size = 0


def _lines(written: IO[bytes]) -> Iterator[bytes]:
    with Path(written.name).open("rb", buffering=1 << 18) as file:
        yield from file


def _find_id(data: Raw) -> bytes:
    try:
        return _trace_id.decode(data).traceId.encode()
    except msgspec.DecodeError:
        return b""
