"""What is forgotten: content first, then what only told of runs, verdicts never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from spanwitness.review.store import rows
from spanwitness.review.store.tables import (
    audits,
    deliveries,
    findings,
    items,
    keys,
    outbox,
    runs,
    samples,
    snapshots,
    tombstones,
)
from spanwitness.review.store.values import Pruned

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection

__all__ = ["prune_content", "prune_items", "prune_runs"]

_BATCH: Final = 500


def prune_content(connection: Connection, before: datetime) -> Pruned:
    """Drop the spans and the evidence that were kept before a moment."""
    n_snapshots = connection.execute(
        sa.delete(snapshots).where(snapshots.c.taken_at < before)
    ).rowcount
    n_evidence = connection.execute(
        sa.update(findings)
        .where(findings.c.detected_at < before, findings.c.evidence.is_not(None))
        .values(evidence=None)
    ).rowcount
    return Pruned(snapshots=n_snapshots, evidence=n_evidence)


def prune_items(connection: Connection, before: datetime, *, by: str, now: datetime) -> Pruned:
    """Drop items that were resolved before a moment; each leaves a tombstone.

    Their verdicts and their history stay: what the queue has taught is not forgotten.
    """
    found = connection.execute(
        sa.select(items)
        .where(items.c.state == "resolved", items.c.verdict_at < before)
        .order_by(items.c.fingerprint)
        .with_for_update()
    ).all()
    for row in found:
        stone = {
            "item_id": row.id,
            "rule": row.rule,
            "verdict": row.verdict,
            "rule_version": row.verdict_rule_version or row.rule_version,
            "pruned_at": now,
        }
        own = tombstones.c.fingerprint == row.fingerprint
        connection.execute(sa.delete(tombstones).where(own))
        connection.execute(sa.insert(tombstones).values(fingerprint=row.fingerprint, **stone))
        rows.log(
            connection,
            actor=by,
            action="pruned",
            now=now,
            item_id=row.id,
            states=("resolved", None),
            data={"fingerprint": row.fingerprint, "verdict": row.verdict},
        )
    ids = [row.id for row in found]
    for at in range(0, len(ids), _BATCH):
        some = ids[at : at + _BATCH]
        connection.execute(sa.delete(findings).where(findings.c.item_id.in_(some)))
        connection.execute(sa.delete(samples).where(samples.c.item_id.in_(some)))
        connection.execute(sa.delete(keys).where(keys.c.item_id.in_(some)))
        connection.execute(sa.delete(items).where(items.c.id.in_(some)))
    n_snapshots = _drop_unused(connection) if ids else 0
    return Pruned(items=len(ids), snapshots=n_snapshots)


def prune_runs(connection: Connection, before: datetime) -> Pruned:
    """Drop runs that were judged before a moment and have no finding, and settled messages."""
    of_run = (findings.c.trace_id == runs.c.trace_id) & (findings.c.run_id == runs.c.run_id)
    in_audit = (audits.c.trace_id == runs.c.trace_id) & (audits.c.run_id == runs.c.run_id)
    n_runs = connection.execute(
        sa.delete(runs).where(
            runs.c.judged_at < before,
            ~sa.exists().where(of_run),
            ~sa.exists().where(in_audit),
        )
    ).rowcount
    pending = (deliveries.c.outbox_id == outbox.c.id) & (deliveries.c.state == "pending")
    n_messages = connection.execute(
        sa.delete(outbox).where(outbox.c.created_at < before, ~sa.exists().where(pending))
    ).rowcount
    connection.execute(sa.delete(keys).where(keys.c.at < before))
    return Pruned(runs=n_runs, messages=n_messages)


def _drop_unused(connection: Connection) -> int:
    """Drop the spans of runs that stand for no item and are not audited."""
    used = [
        sa.exists().where(
            table.c.trace_id == snapshots.c.trace_id, table.c.run_id == snapshots.c.run_id
        )
        for table in (samples, audits)
    ]
    return connection.execute(sa.delete(snapshots).where(~used[0], ~used[1])).rowcount
