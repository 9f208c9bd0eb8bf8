"""Audit mode: runs drawn at random, flagged or not, judged without knowing what rules found."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from spanwitness.errors import ConflictError, ReviewError, UnknownItemError
from spanwitness.review.store import rows
from spanwitness.review.store.tables import audit_verdicts, audits, settings
from spanwitness.review.store.values import AUDIT_WORDS, Audit, Sampling

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy.engine import Connection, Row

    from spanwitness.findings.judged import Judged
    from spanwitness.review.store.values import AuditWord

__all__ = ["draw", "judge_audit", "next_audit", "read_sampling", "write_sampling"]

_SETTING = "audit_sampling"


def read_sampling(connection: Connection) -> Sampling:
    """Return the shares that are drawn; they are kept in the queue, for all who write to it."""
    value = connection.execute(
        sa.select(settings.c.value).where(settings.c.name == _SETTING)
    ).scalar()
    return Sampling(**value) if isinstance(value, dict) else Sampling()


def write_sampling(connection: Connection, sampling: Sampling) -> None:
    """Set the shares for runs that come from now on.

    Raises:
        ReviewError: A share is not in 0..1.
    """
    shares = {name: getattr(sampling, name) for name in Sampling.__struct_fields__}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ReviewError(f"{name}={share!r}: a share is between 0 and 1")
    connection.execute(sa.delete(settings).where(settings.c.name == _SETTING))
    connection.execute(sa.insert(settings).values(name=_SETTING, value=shares))


def draw(
    connection: Connection, judged: Judged, sampling: Sampling, *, is_new: bool, now: datetime
) -> bool:
    """Draw a run for audit, or not; say whether it is drawn.

    The draw is a digest of its ids, so every process and every repetition draws alike. The fraction
    is stored with the run. A run that is flagged only later gets the fraction of flagged ones when
    that is higher.
    """
    run = judged.run
    if run.parent_run_id is not None:
        return False  # its calls count for the run around it, which may be drawn
    known = audits.c.trace_id == run.trace_id, audits.c.run_id == run.run_id
    found = None if is_new else connection.execute(sa.select(audits).where(*known)).one_or_none()
    if found is not None and (found.is_flagged or not judged.is_flagged):
        return True
    number, second = _draws(run.trace_id, run.run_id)
    fraction = sampling.flagged if judged.is_flagged else sampling.unflagged
    if not is_new:
        if not judged.is_flagged:
            return False
        fraction = max(sampling.flagged, sampling.unflagged)
    if found is not None:
        connection.execute(
            sa.update(audits)
            .where(*known)
            .values(is_flagged=True, fraction=max(found.fraction, fraction))
        )
        return True
    if number >= fraction:
        return False
    rows.insert_new(
        connection,
        audits,
        trace_id=run.trace_id,
        run_id=run.run_id,
        agent=rows.short(run.agent or run.workflow),
        is_flagged=judged.is_flagged,
        fraction=fraction,
        needs_second=second < sampling.second,
        draw=second,
        n_verdicts=0,
        sampled_at=now,
    )
    return True


def next_audit(connection: Connection, by: str, *, lease: timedelta, now: datetime) -> Audit | None:
    """Take the next run to judge: one nobody judged, else one that wants a second reviewer."""
    by = rows.short(by) or ""
    judged_by_me = sa.select(audit_verdicts.c.audit_id).where(audit_verdicts.c.by == by)
    is_free = audits.c.until.is_(None) | (audits.c.until <= now) | (audits.c.owner == by)
    for n_verdicts in (0, 1):
        wanted = (
            sa.select(audits)
            .where(audits.c.n_verdicts == n_verdicts, is_free, audits.c.id.not_in(judged_by_me))
            .order_by(audits.c.draw)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        if n_verdicts:
            wanted = wanted.where(audits.c.needs_second)
        row = connection.execute(wanted).one_or_none()
        if row is not None:
            until = now + lease
            connection.execute(
                sa.update(audits).where(audits.c.id == row.id).values(owner=by, until=until)
            )
            return _audit(row, until)
    return None


def judge_audit(
    connection: Connection,
    audit_id: int,
    *,
    word: AuditWord,
    by: str,
    reason: str | None,
    now: datetime,
) -> Audit:
    """Record what one person says of an audited run.

    Raises:
        UnknownItemError: No such run was drawn.
        ReviewError: The word is not known.
        ConflictError: This person has judged it, or somebody else holds it.
    """
    by = rows.short(by) or ""
    if word not in AUDIT_WORDS:
        raise ReviewError(f"audit verdict {word!r}: it is one of {', '.join(AUDIT_WORDS)}")
    wanted = sa.select(audits).where(audits.c.id == audit_id).with_for_update()
    row = connection.execute(wanted).one_or_none() if rows.is_id(audit_id) else None
    if row is None:
        raise UnknownItemError(f"the queue holds no audited run {audit_id}")
    if row.until is not None and row.until > now and row.owner != by:
        raise ConflictError(f"{row.owner} holds audited run {audit_id}", current=_audit(row, None))
    new = rows.insert_new(
        connection,
        audit_verdicts,
        audit_id=audit_id,
        by=by,
        word=word,
        reason=rows.short(reason, rows.MAX_NOTE_CHARS),
        at=now,
    )
    if new is None:
        raise ConflictError(f"{by} has judged run {audit_id} before", current=_audit(row, None))
    connection.execute(
        sa.update(audits)
        .where(audits.c.id == audit_id)
        .values(n_verdicts=row.n_verdicts + 1, owner=None, until=None)
    )
    rows.log(
        connection,
        actor=by,
        action="audit_verdict",
        now=now,
        data={"audit_id": audit_id, "trace_id": row.trace_id, "word": word},
    )
    return _audit(row, None)


def _audit(row: Row[Any], until: datetime | None) -> Audit:
    return Audit(
        id=row.id,
        trace_id=row.trace_id,
        run_id=row.run_id,
        agent=row.agent,
        is_second=row.n_verdicts > 0,
        until=until,
    )


def _draws(trace_id: str, run_id: str) -> tuple[float, float]:
    digest = hashlib.sha256(f"{trace_id}\x00{run_id}".encode("utf-8", "replace")).digest()
    whole = 1 << 64
    return int.from_bytes(digest[:8]) / whole, int.from_bytes(digest[8:16]) / whole
