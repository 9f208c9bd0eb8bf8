"""Taking a judged run into the queue, once, however often it comes."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from spanwitness.findings.fingerprint import fingerprint
from spanwitness.guard import guard
from spanwitness.review.store import rows
from spanwitness.review.store.audit import draw
from spanwitness.review.store.occurrences import Filing, Found, file_finding
from spanwitness.review.store.snapshots import keep_snapshot
from spanwitness.review.store.tables import audits, runs, samples
from spanwitness.review.store.values import Added

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Connection

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.findings.judged import Judged
    from spanwitness.model import Run, SpanRecord
    from spanwitness.review.store.values import Sampling

__all__ = ["file_run", "hold_causes"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FAR_NS: Final = 1 << 62


def hold_causes(connection: Connection, judged: Iterable[Judged]) -> None:
    """Wait, on PostgreSQL, for other writers of the same causes, in one order everywhere.

    Runs of a transaction come in any order; without this, two writers could each wait for an item
    that the other has just written.
    """
    if connection.dialect.name == "sqlite":
        return
    found = {fingerprint(one.run, verdict) for one in judged for verdict in one.findings}
    for number in sorted(int(each[:15], 16) for each in found):
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def file_run(
    connection: Connection,
    judged: Judged,
    spans: Sequence[SpanRecord] | None,
    *,
    policy: ContentPolicy,
    sampling: Sampling,
    now: datetime,
) -> Added:
    """Record a judged run with its findings, items, snapshot, history and messages."""
    spans = judged.spans if spans is None else spans
    ended_at = _ended_at(judged.run, spans)
    filing = Filing(connection=connection, judged=judged, policy=policy, now=now, ended_at=ended_at)
    filing.is_new_run = _record_run(filing)
    run = judged.run
    found = [
        Found(fingerprint(run, verdict), key, verdict)
        for key, verdict in judged.keyed_findings().items()
    ]
    # In one order everywhere, so that two writers never wait for each other's items.
    for each in sorted(found, key=lambda one: (one.fingerprint, one.key[2])):
        file_finding(filing, each)
    is_audited = draw(connection, judged, sampling, is_new=filing.is_new_run, now=now)
    if is_audited or found:
        _keep_ledger(filing)
    if spans is not None and (is_audited or _is_sampled(connection, run)):
        keep_snapshot(connection, run, spans, policy, now)
    return Added(
        is_new_run=filing.is_new_run,
        n_findings=filing.n_findings,
        opened=tuple(filing.opened),
        reopened=tuple(filing.reopened),
        raised=tuple(filing.raised),
        n_blocked=filing.n_blocked,
        is_audited=is_audited,
    )


# --- the run


def _record_run(filing: Filing) -> bool:
    run, judged = filing.judged.run, filing.judged
    facts = {
        "is_flagged": judged.is_flagged,
        "is_complete": run.is_complete,
        "n_findings": len(judged.findings),
        "ended_at": filing.ended_at,
    }
    new = rows.insert_new(
        filing.connection,
        runs,
        trace_id=run.trace_id,
        run_id=run.run_id,
        root_span_id=run.root_span_id,
        service=rows.short(run.service),
        agent=rows.short(run.agent or run.workflow),
        workflow=rows.short(run.workflow),
        subject_item=rows.short(run.item_id),
        stack=rows.short(run.stack, rows.MAX_REASON_CHARS),
        contract=rows.short(judged.contract),
        content=run.content,
        judged_at=filing.now,
        day=filing.now.date().isoformat(),
        **facts,
    )
    if new is not None:
        return True
    known = runs.c.trace_id == run.trace_id, runs.c.run_id == run.run_id
    row = filing.connection.execute(sa.select(runs).where(*known).with_for_update()).one()
    if judged.is_update:
        facts["is_flagged"] = judged.is_flagged or row.is_flagged
        facts["n_findings"] = len(judged.findings) + row.n_findings
    facts["ended_at"] = filing.ended_at or row.ended_at
    if any(getattr(row, name) != value for name, value in facts.items()):
        filing.connection.execute(sa.update(runs).where(runs.c.id == row.id).values(**facts))
    return False


def _ended_at(run: Run, spans: Sequence[SpanRecord] | None) -> datetime | None:
    ends = [chat.end_ns for chat in run.chats]
    ends += [tool.end_ns for tool in run.tools]
    ends += [step.end_ns for step in run.steps]
    if spans is not None:
        ends += [span.end_ns for span in spans if span.span_id == run.root_span_id]
    latest = max(ends, default=0)
    if not 0 < latest < _FAR_NS:
        return None
    with contextlib.suppress(OverflowError):
        return _EPOCH + timedelta(microseconds=latest // 1000)
    return None


def _keep_ledger(filing: Filing) -> None:
    run = filing.judged.run
    ledger: object = None
    with guard("review.ledger"):
        import msgspec

        from spanwitness.rules.facts import Facts

        ledger = msgspec.to_builtins(Facts(run, ()).ledger)
    if ledger is not None:
        known = runs.c.trace_id == run.trace_id, runs.c.run_id == run.run_id
        filing.connection.execute(sa.update(runs).where(*known).values(ledger=ledger))


def _is_sampled(connection: Connection, run: Run) -> bool:
    for table in (samples, audits):
        wanted = sa.select(table.c.run_id).where(
            table.c.trace_id == run.trace_id, table.c.run_id == run.run_id
        )
        if connection.execute(wanted.limit(1)).first() is not None:
            return True
    return False
