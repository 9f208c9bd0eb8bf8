"""Taking a judged run into the queue, once, however often it comes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa

from spanwitness.findings.fingerprint import fingerprint, subject_of
from spanwitness.guard import guard
from spanwitness.review.store import rows
from spanwitness.review.store.audit import draw
from spanwitness.review.store.plain_spans import scrubbed
from spanwitness.review.store.snapshots import drop_unused, keep_snapshot
from spanwitness.review.store.tables import (
    audits,
    findings,
    items,
    runs,
    samples,
    tombstones,
)
from spanwitness.review.store.values import Added

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection, Row

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.findings.judged import FindingKey, Judged
    from spanwitness.model import Run, SpanRecord, Verdict
    from spanwitness.review.store.values import Sampling

__all__ = ["file_run"]

_DETECTOR: Final = "detector"
_SILENT: Final = ("false_positive", "expected")
"""Verdicts that stand for later findings of the same rule version too."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FAR_NS: Final = 1 << 62


class _Found(NamedTuple):
    fingerprint: str
    key: FindingKey
    verdict: Verdict


@dataclass(kw_only=True)
class _Filing:
    """One run on its way in."""

    connection: Connection
    judged: Judged
    policy: ContentPolicy
    now: datetime
    """When it was detected."""
    is_new_run: bool = False
    ended_at: datetime | None = None
    n_findings: int = 0
    n_blocked: int = 0
    opened: list[int] = field(default_factory=list)
    reopened: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)


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
    ended_at = _ended_at(judged.run, spans)
    filing = _Filing(
        connection=connection, judged=judged, policy=policy, now=now, ended_at=ended_at
    )
    filing.is_new_run = _record_run(filing)
    run = judged.run
    found = [
        _Found(fingerprint(run, verdict), key, verdict)
        for key, verdict in judged.keyed_findings().items()
    ]
    # In one order everywhere, so that two writers never wait for each other's items.
    for each in sorted(found, key=lambda one: (one.fingerprint, one.key[2])):
        _file_finding(filing, each)
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


def _record_run(filing: _Filing) -> bool:
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


def _keep_ledger(filing: _Filing) -> None:
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


# --- its findings


def _file_finding(filing: _Filing, found: _Found) -> None:
    place = _free_place(filing, found)
    if place is None:
        return
    n_opened = len(filing.opened)
    is_recount = _is_known_to_another_version(filing, found)
    row = filing.connection.execute(
        sa.select(items).where(items.c.fingerprint == found.fingerprint).with_for_update()
    ).one_or_none()
    if row is None:
        blocked = filing.connection.execute(
            sa.select(tombstones).where(tombstones.c.fingerprint == found.fingerprint)
        ).one_or_none()
        if blocked is not None and _is_blocked(filing, found, blocked):
            filing.n_blocked += 1
            return
        row = _open_item(filing, found, blocked)
    item_id = row.id
    filing.n_findings += 1
    _insert_finding(filing, found, place, item_id)
    is_new = len(filing.opened) > n_opened
    is_back = not is_new and _is_back(row, found, filing.now)
    _raise(filing, found, row, by=0 if is_recount else 1)
    if is_back:
        _reopen(filing, found, row)
    elif not is_new and item_id not in filing.opened:
        filing.raised.append(item_id)
    is_sampled = _sample(filing, item_id, is_back=is_back)
    if is_new and is_sampled:
        item = rows.to_items(filing.connection, [rows.find_item(filing.connection, item_id)])[0]
        rows.send(filing.connection, "item.opened", item, filing.now)


def _free_place(filing: _Filing, found: _Found) -> int | None:
    """Return the place of a finding that is not there; `None` when it is."""
    run, verdict = filing.judged.run, found.verdict
    known = filing.connection.execute(
        sa.select(findings.c.place, items.c.fingerprint)
        .select_from(findings.outerjoin(items, items.c.id == findings.c.item_id))
        .where(
            findings.c.trace_id == run.trace_id,
            findings.c.run_id == run.run_id,
            findings.c.rule == verdict.rule,
            findings.c.contract == (verdict.contract or ""),
            findings.c.rule_version == verdict.rule_version,
        )
    ).all()
    place = found.key[2]
    if not filing.judged.is_update:
        return None if any(row.place == place for row in known) else place
    # An update holds only the news, so its places do not count from the same start.
    if any(row.fingerprint == found.fingerprint for row in known):
        return None
    return max((row.place for row in known), default=place - 1) + 1


def _is_known_to_another_version(filing: _Filing, found: _Found) -> bool:
    wanted = sa.select(findings.c.id).where(
        findings.c.trace_id == filing.judged.run.trace_id,
        findings.c.run_id == filing.judged.run.run_id,
        findings.c.rule == found.verdict.rule,
        findings.c.contract == (found.verdict.contract or ""),
        findings.c.rule_version != found.verdict.rule_version,
    )
    return filing.connection.execute(wanted.limit(1)).first() is not None


def _is_blocked(filing: _Filing, found: _Found, stone: Row[Any]) -> bool:
    """Say whether a finding is one that was judged and pruned, or stands for one."""
    if stone.verdict in _SILENT and stone.rule_version == found.verdict.rule_version:
        return True
    if not filing.is_new_run or filing.ended_at is None:
        return True
    return filing.ended_at <= stone.pruned_at


def _open_item(filing: _Filing, found: _Found, stone: Row[Any] | None) -> Row[Any]:
    run, verdict, now = filing.judged.run, found.verdict, filing.now
    is_back = stone is not None and stone.verdict == "confirmed"
    new = rows.insert_new(
        filing.connection,
        items,
        fingerprint=found.fingerprint,
        rule=verdict.rule,
        rule_version=verdict.rule_version,
        severity=rows.rank_of(verdict.severity),
        fault=verdict.fault,
        kind=verdict.kind,
        contract=rows.short(verdict.contract),
        service=rows.short(run.service),
        agent=rows.short(run.agent or run.workflow),
        subject=rows.short(subject_of(verdict)),
        reason=rows.short(verdict.reason, rows.MAX_REASON_CHARS),
        state="open",
        count=0,
        first_seen=now,
        last_seen=now,
        due_at=rows.due(verdict.severity, now),
        regressions=int(is_back),
        version=1,
    )
    if new is not None:
        filing.opened.append(new)
        note = None
        if stone is not None:
            filing.connection.execute(
                sa.delete(tombstones).where(tombstones.c.fingerprint == found.fingerprint)
            )
            note = f"again after item {stone.item_id}, which was {stone.verdict} and pruned"
        rows.log(
            filing.connection,
            actor=_DETECTOR,
            action="opened",
            now=now,
            item_id=new,
            states=(None, "open"),
            version=1,
            note=note,
        )
    # Another writer may have made it between our looking and our writing.
    return filing.connection.execute(
        sa.select(items).where(items.c.fingerprint == found.fingerprint).with_for_update()
    ).one()


def _insert_finding(filing: _Filing, found: _Found, place: int, item_id: int) -> None:
    run, verdict = filing.judged.run, found.verdict
    evidence = scrubbed(verdict.evidence, filing.policy) if filing.policy.is_on else None
    filing.connection.execute(
        sa.insert(findings).values(
            item_id=item_id,
            trace_id=run.trace_id,
            run_id=run.run_id,
            rule=verdict.rule,
            rule_version=verdict.rule_version,
            contract=verdict.contract or "",
            place=place,
            severity=verdict.severity,
            fault=verdict.fault,
            kind=verdict.kind,
            reason=rows.short(verdict.reason, rows.MAX_REASON_CHARS),
            span_ids=list(verdict.span_ids),
            evidence=evidence,
            is_complete=run.is_complete,
            detected_at=filing.now,
            day=filing.now.date().isoformat(),
        )
    )


def _is_back(row: Row[Any], found: _Found, now: datetime) -> bool:
    """Say whether a finding opens its resolved item again."""
    if row.state != "resolved":
        return False
    if row.verdict == "confirmed":
        is_later: bool = now > row.verdict_at
        return is_later
    if row.verdict in _SILENT:
        return bool(found.verdict.rule_version != row.verdict_rule_version)
    return False


def _raise(filing: _Filing, found: _Found, row: Row[Any], *, by: int) -> None:
    """Count a finding. This is no act of a person, so the version stays."""
    verdict = found.verdict
    values: dict[str, object] = {
        "count": items.c.count + by,
        "last_seen": max(row.last_seen, filing.now),
        "first_seen": min(row.first_seen, filing.now),
        "rule_version": verdict.rule_version,
        "reason": rows.short(verdict.reason, rows.MAX_REASON_CHARS),
    }
    rank = rows.rank_of(verdict.severity)
    if rank < row.severity:
        values["severity"] = rank
        values["due_at"] = min(row.due_at, rows.due(verdict.severity, filing.now))
    filing.connection.execute(sa.update(items).where(items.c.id == row.id).values(**values))


def _reopen(filing: _Filing, found: _Found, row: Row[Any]) -> None:
    is_regression = row.verdict == "confirmed"
    version = found.verdict.rule_version
    item = rows.change(
        filing.connection,
        row,
        actor=_DETECTOR,
        action="regressed" if is_regression else "reopened",
        now=filing.now,
        values={
            "state": "open",
            "owner": None,
            "until": None,
            "due_at": rows.due(rows.severity_of(row.severity), filing.now),
            "regressions": row.regressions + is_regression,
        },
        note=None if is_regression else f"version {version} of the rule finds it too",
        data={"trace_id": filing.judged.run.trace_id},
    )
    filing.reopened.append(item.id)
    topic = "item.regressed" if is_regression else "item.reopened"
    rows.send(filing.connection, topic, item, filing.now)


def _sample(filing: _Filing, item_id: int, *, is_back: bool) -> bool:
    """Take the run as one of the traces that stand for an item, while there is room."""
    run = filing.judged.run
    found = filing.connection.execute(
        sa.select(samples).where(samples.c.item_id == item_id).order_by(samples.c.added_at)
    ).all()
    if any((row.trace_id, row.run_id) == (run.trace_id, run.run_id) for row in found):
        return True
    if len(found) >= rows.MAX_SAMPLES:
        if not is_back:
            return False
        # What is back is to be looked at: the newest of the old samples makes room.
        old = found[-1]
        filing.connection.execute(
            sa.delete(samples).where(
                samples.c.item_id == item_id,
                samples.c.trace_id == old.trace_id,
                samples.c.run_id == old.run_id,
            )
        )
        drop_unused(filing.connection, old.trace_id, old.run_id)
    filing.connection.execute(
        sa.insert(samples).values(
            item_id=item_id, trace_id=run.trace_id, run_id=run.run_id, added_at=filing.now
        )
    )
    return True
