"""Splitting a large input by trace id into temporary files, each small enough to be held."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zlib import crc32

import msgspec

from spanwitness.archive.decode import decode_document, decode_raw
from spanwitness.archive.otlp_json import encode
from spanwitness.archive.sources import Document
from spanwitness.errors import TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwitness.archive.otlp_types import RawResourceSpans
    from spanwitness.model import SpanRecord

__all__ = ["Spill"]

_N_BUCKETS = 64
_BUFFER_BYTES = 2_000_000
_MAX_DEPTH = 3
_ID = slice(len('{"traceId":"'), len('{"traceId":"') + 32)


class _TraceId(msgspec.Struct, frozen=True, gc=False):
    traceId: str = ""  # noqa: N815  the name in the document


_trace_id = msgspec.json.Decoder(_TraceId)


class Spill:
    """Temporary files of OTLP/JSON lines; every trace lies in one of them."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._folder = tempfile.TemporaryDirectory(prefix="spanwitness-")
        self._files: list[IO[bytes]] = []
        self._buffers: list[list[bytes]] = [[] for _ in range(_N_BUCKETS)]
        self._size = 0

    def add_raw(self, source: str, document: Document) -> bool:
        """Add the spans of a document undecoded; False when it has to be decoded to be read."""
        groups = decode_raw(document.data)
        if not groups:
            return False
        for group in groups:
            self._add_group(group)
        del source
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
        for written in self._files:
            size = written.tell()
            file = Path(written.name).open("rb", buffering=1 << 18)  # noqa: SIM115  closed below
            if size > 2 * held_bytes and self._depth < _MAX_DEPTH:
                yield from self._split_again(file, held_bytes, problems)
                continue
            traces: dict[str, list[SpanRecord]] = {}
            for line in file:
                decoded = decode_document(line)
                for span in decoded.spans:
                    traces.setdefault(span.trace_id, []).append(span)
                problems.extend(TraceFormatError(p, path=file.name) for p in decoded.problems)
            written.truncate(0)
            while traces:
                yield traces.pop(next(iter(traces)))

    def close(self) -> None:
        """Remove the temporary files."""
        for file in self._files:
            file.close()
        self._folder.cleanup()

    def _split_again(
        self, file: IO[bytes], held_bytes: int, problems: list[TraceFormatError]
    ) -> Iterator[list[SpanRecord]]:
        inner = Spill(self._depth + 1)
        try:
            for number, line in enumerate(file, 1):
                if not inner.add_raw(file.name, Document(number, line, 0)):
                    inner.add_spans(decode_document(line).spans)
            yield from inner.traces(held_bytes, problems)
        finally:
            inner.close()

    def _add_group(self, group: RawResourceSpans) -> None:
        resource = bytes(group.resource) or b"{}"
        for scoped in (*group.scope_spans, *group.library_spans):
            scope = bytes(scoped.scope) or bytes(scoped.instrumentation_library) or b"{}"
            buckets: dict[int, list[bytes]] = {}
            for raw in scoped.spans:
                data = bytes(raw)
                id_ = data[_ID] if data.startswith(b'{"traceId":"') else _find_id(data)
                buckets.setdefault(self._bucket(id_), []).append(data)
            head = b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % (
                resource,
                scope,
            )
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
        if not self._files:
            folder = Path(self._folder.name)
            self._files = [
                (folder / f"{number}.jsonl").open("w+b", buffering=0)
                for number in range(_N_BUCKETS)
            ]
        for file, buffer in zip(self._files, self._buffers, strict=True):
            if buffer:
                file.write(b"".join(buffer))
                buffer.clear()
        self._size = 0


def _find_id(data: bytes) -> bytes:
    try:
        return _trace_id.decode(data).traceId.encode()
    except msgspec.DecodeError:
        return b""
