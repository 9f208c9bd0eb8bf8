"""Findings and the items they belong to: a new cause, one more of it, or one that is back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import sqlalchemy as sa

from spanwitness.findings.fingerprint import subject_of
from spanwitness.review.store import rows
from spanwitness.review.store.plain_spans import scrubbed
from spanwitness.review.store.snapshots import drop_unused
from spanwitness.review.store.tables import findings, items, samples, tombstones

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.findings.judged import FindingKey, Judged
    from spanwitness.model import Verdict

__all__ = ["Filing", "Found", "file_finding"]

_DETECTOR: Final = "detector"
_SILENT: Final = ("false_positive", "expected")
"""Verdicts that stand for later findings of the same rule version too."""


class Found(NamedTuple):
    """A finding on its way in."""

    fingerprint: str
    key: FindingKey
    verdict: Verdict


@dataclass(kw_only=True)
class Filing:
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


def file_finding(filing: Filing, found: Found) -> None:
    """Add a finding to its item, unless it is there."""
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
    is_sampled = _sample(filing, row, is_back=is_back)
    if is_new and is_sampled:
        item = rows.to_items(filing.connection, [rows.find_item(filing.connection, item_id)])[0]
        rows.send(filing.connection, "item.opened", item, filing.now)


def _free_place(filing: Filing, found: Found) -> int | None:
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


def _is_known_to_another_version(filing: Filing, found: Found) -> bool:
    wanted = sa.select(findings.c.id).where(
        findings.c.trace_id == filing.judged.run.trace_id,
        findings.c.run_id == filing.judged.run.run_id,
        findings.c.rule == found.verdict.rule,
        findings.c.contract == (found.verdict.contract or ""),
        findings.c.rule_version != found.verdict.rule_version,
    )
    return filing.connection.execute(wanted.limit(1)).first() is not None


def _is_blocked(filing: Filing, found: Found, stone: Row[Any]) -> bool:
    """Say whether a finding is one that was judged and pruned, or stands for one."""
    if stone.verdict in _SILENT and stone.rule_version == found.verdict.rule_version:
        return True
    if not filing.is_new_run or filing.ended_at is None:
        return True
    is_old: bool = filing.ended_at <= stone.pruned_at
    return is_old


def _open_item(filing: Filing, found: Found, stone: Row[Any] | None) -> Row[Any]:
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


def _insert_finding(filing: Filing, found: Found, place: int, item_id: int) -> None:
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


def _is_back(row: Row[Any], found: Found, now: datetime) -> bool:
    """Say whether a finding opens its resolved item again."""
    if row.state != "resolved":
        return False
    if row.verdict == "confirmed":
        is_later: bool = now > row.verdict_at
        return is_later
    if row.verdict in _SILENT:
        return bool(found.verdict.rule_version != row.verdict_rule_version)
    return False


def _raise(filing: Filing, found: Found, row: Row[Any], *, by: int) -> None:
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


def _reopen(filing: Filing, found: Found, row: Row[Any]) -> None:
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


def _sample(filing: Filing, item: Row[Any], *, is_back: bool) -> bool:
    """Take the run as one of the traces that stand for an item, while there is room."""
    run = filing.judged.run
    found = filing.connection.execute(
        sa.select(samples).where(samples.c.item_id == item.id).order_by(samples.c.added_at)
    ).all()
    if any((row.trace_id, row.run_id) == (run.trace_id, run.run_id) for row in found):
        return True
    if len(found) >= rows.MAX_SAMPLES:
        if not is_back:
            return False
        # What is back is to be looked at; what was judged stays to compare with.
        judged = item.verdict_trace_id
        old = next((row for row in reversed(found) if row.trace_id != judged), found[-1])
        filing.connection.execute(
            sa.delete(samples).where(
                samples.c.item_id == item.id,
                samples.c.trace_id == old.trace_id,
                samples.c.run_id == old.run_id,
            )
        )
        drop_unused(filing.connection, old.trace_id, old.run_id)
    filing.connection.execute(
        sa.insert(samples).values(
            item_id=item.id, trace_id=run.trace_id, run_id=run.run_id, added_at=filing.now
        )
    )
    return True
