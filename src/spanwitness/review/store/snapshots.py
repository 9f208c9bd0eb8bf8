"""The spans of a run, kept so that the page works when the backend has dropped them."""

from __future__ import annotations

import gzip
from functools import partial
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from spanwitness.archive.decode import decode_document
from spanwitness.archive.otlp_json import encode_request
from spanwitness.review.store.plain_spans import redacted, without_content
from spanwitness.review.store.tables import audits, samples, snapshots
from spanwitness.review.store.values import Snapshot
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.model import Run, SpanRecord

__all__ = ["drop_unused", "has_snapshot", "keep_snapshot", "load_snapshot", "spans_of_run"]

MAX_SNAPSHOT_BYTES: Final = 64 * 1024 * 1024
"""Spans that are larger than this as JSON are kept without content."""


def spans_of_run(run: Run, spans: Sequence[SpanRecord]) -> list[SpanRecord]:
    """Return the spans of one run among those of its trace, with the spans above its root.

    All of them when the root is not among them.
    """
    by_id = {span.span_id: span for span in spans}
    root = by_id.get(run.root_span_id)
    if root is None:
        return list(spans)
    above: set[str] = set()
    at = root
    while at.parent_span_id in by_id and at.parent_span_id not in above:
        at = by_id[at.parent_span_id]
        above.add(at.span_id)
    below: dict[str, list[SpanRecord]] = {}
    for span in spans:
        if span.parent_span_id is not None:
            below.setdefault(span.parent_span_id, []).append(span)
    wanted = {root.span_id}
    waiting = [root.span_id]
    while waiting:
        for span in below.get(waiting.pop(), ()):
            if span.span_id not in wanted:
                wanted.add(span.span_id)
                waiting.append(span.span_id)
    return [
        span
        for span in spans
        if span.span_id in wanted
        or span.span_id in above
        or span.attributes.get(names.RUN_ID) == run.run_id
    ]


def keep_snapshot(
    connection: Connection,
    run: Run,
    spans: Sequence[SpanRecord],
    policy: ContentPolicy,
    now: datetime,
) -> None:
    """Keep the spans of a run, under the content policy; more spans replace fewer."""
    own = spans_of_run(run, spans)
    found = connection.execute(
        sa.select(snapshots.c.n_spans).where(*_is(run.trace_id, run.run_id))
    ).scalar()
    if found is not None:
        if found >= len(own):
            return
        connection.execute(sa.delete(snapshots).where(*_is(run.trace_id, run.run_id)))
    word = "on" if policy.is_on else "off"
    redact = partial(redacted, policy=policy) if policy.is_on else without_content
    data = encode_request([redact(span) for span in own])
    if len(data) > MAX_SNAPSHOT_BYTES and policy.is_on:
        word, data = "off", encode_request(map(without_content, own))
    packed = gzip.compress(data, compresslevel=5, mtime=0)
    connection.execute(
        sa.insert(snapshots).values(
            trace_id=run.trace_id,
            run_id=run.run_id,
            content=word,
            n_spans=len(own),
            n_bytes=len(data),
            spans=packed,
            taken_at=now,
        )
    )


def load_snapshot(connection: Connection, trace_id: str, run_id: str) -> Snapshot | None:
    """Read the spans of a run; `None` when they are not kept, or no longer."""
    row = connection.execute(sa.select(snapshots).where(*_is(trace_id, run_id))).one_or_none()
    if row is None:
        return None
    return Snapshot(
        trace_id=row.trace_id,
        run_id=row.run_id,
        content=row.content,
        spans=tuple(decode_document(gzip.decompress(row.spans)).spans),
        taken_at=row.taken_at,
    )


def has_snapshot(connection: Connection, trace_id: str, run_id: str) -> bool:
    """Say whether the spans of a run are kept."""
    wanted = sa.select(snapshots.c.n_spans).where(*_is(trace_id, run_id))
    return connection.execute(wanted).scalar() is not None


def drop_unused(connection: Connection, trace_id: str, run_id: str) -> None:
    """Drop the spans of a run that stands for no item and is not audited."""
    for table in (samples, audits):
        wanted = sa.select(table.c.run_id).where(
            table.c.trace_id == trace_id, table.c.run_id == run_id
        )
        if connection.execute(wanted.limit(1)).first() is not None:
            return
    connection.execute(sa.delete(snapshots).where(*_is(trace_id, run_id)))


def _is(trace_id: str, run_id: str) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return snapshots.c.trace_id == trace_id, snapshots.c.run_id == run_id
