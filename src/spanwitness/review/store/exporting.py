"""The queue as plain rows, for files and for `measure`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from spanwitness.errors import ReviewError
from spanwitness.review.store import rows
from spanwitness.review.store.tables import (
    audit_verdicts,
    audits,
    findings,
    items,
    runs,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from spanwitness.review.store.values import Item

__all__ = ["EXPORTS", "Export", "export_rows", "item_row"]

Export: TypeAlias = Literal["items", "findings", "verdicts", "audit", "labels"]
EXPORTS: Final[tuple[Export, ...]] = ("items", "findings", "verdicts", "audit", "labels")
_BATCH: Final = 500
_SOUND: Final = {"sound": 1, "unsound": 0}

_COLUMNS: Final[dict[Export, list[sa.ColumnElement[Any]]]] = {
    "findings": [
        findings.c[name]
        for name in (
            "id", "item_id", "trace_id", "run_id", "rule", "rule_version", "contract", "severity",
            "fault", "kind", "reason", "span_ids", "is_complete", "detected_at",
        )
    ],
    "verdicts": [
        verdicts.c[name]
        for name in (
            "id", "item_id", "fingerprint", "trace_id", "run_id", "rule", "rule_version", "agent",
            "verdict", "fault", "kind", "reason", "by", "at", "unit",
        )
    ],
    "audit": [
        audit_verdicts.c.id,
        *(audits.c[n] for n in ("trace_id", "run_id", "agent", "is_flagged", "fraction")),
        *(audit_verdicts.c[n] for n in ("word", "reason", "by", "at")),
    ],
}  # fmt: skip


def export_rows(connection: Connection, what: Export) -> Iterator[dict[str, object]]:
    """Yield rows of plain values, the oldest first.

    `verdicts` holds those that stand, with the trace that was judged. `audit` holds what reviewers
    said of drawn runs, with the fraction at which each was drawn. `labels` holds what both say of
    runs, in the form in which `measure` takes outcomes.

    Raises:
        ReviewError: There is no such table.
    """
    if what not in EXPORTS:
        raise ReviewError(f"export of {what!r}: it is one of {', '.join(EXPORTS)}")
    if what == "labels":
        yield from _labels(connection)
        return
    last = 0
    while True:
        if what == "items":
            wanted = sa.select(items).where(items.c.id > last).order_by(items.c.id).limit(_BATCH)
            found = connection.execute(wanted).all()
            yield from map(item_row, rows.to_items(connection, found))
        else:
            found = connection.execute(_select(what, last)).all()
            for row in found:
                yield {k: _plain(v) for k, v in row._mapping.items()}  # noqa: SLF001
        if not found:
            return
        last = found[-1].id


def _labels(connection: Connection) -> Iterator[dict[str, object]]:
    """Yield one row a run whose account people called sound (1) or not (0).

    Audit mode asks just that, and the first word that decides counts; else a confirmed finding says
    that it is not. A false positive says that a rule was wrong, and nothing of the rest of the run.
    """
    found: dict[tuple[str, str], dict[str, object]] = {}
    confirmed = sa.select(verdicts.c.trace_id, verdicts.c.run_id).where(
        verdicts.c.is_current, verdicts.c.verdict == "confirmed"
    )
    for trace_id, run_id in connection.execute(confirmed.order_by(verdicts.c.id)):
        found[trace_id, run_id] = {"success": 0, "told_by": "verdict", "fraction": None}
    columns = audits.c.trace_id, audits.c.run_id, audits.c.fraction, audit_verdicts.c.word
    told = sa.select(*columns).select_from(audit_verdicts.join(audits))
    latest_first = told.order_by(audit_verdicts.c.id.desc())
    for row in connection.execute(latest_first).all():
        if row.word in _SOUND:
            audited = {"success": _SOUND[row.word], "told_by": "audit", "fraction": row.fraction}
            found[row.trace_id, row.run_id] = audited
    items_of = {
        (row.trace_id, row.run_id): row.subject_item
        for row in connection.execute(
            sa.select(runs.c.trace_id, runs.c.run_id, runs.c.subject_item).where(
                runs.c.subject_item.is_not(None)
            )
        )
    }
    for (trace_id, run_id), label in sorted(found.items()):
        yield {
            "trace_id": trace_id,
            "run_id": run_id,
            "item_id": items_of.get((trace_id, run_id)),
            "checkpoint": "review",
            **label,
        }


def _select(what: Export, last: int) -> sa.Select[Any]:
    columns = _COLUMNS[what]
    wanted = sa.select(*columns).where(columns[0] > last).order_by(columns[0]).limit(_BATCH)
    if what == "verdicts":
        return wanted.where(verdicts.c.is_current)
    if what == "audit":
        return wanted.select_from(audit_verdicts.join(audits))
    return wanted


def item_row(item: Item) -> dict[str, object]:
    """Return an item as plain values: first those that `review list` promises, then the others."""
    first: dict[str, object] = {
        "id": item.id,
        "rule": item.rule,
        "fault": item.fault,
        "state": item.state,
        "severity": item.severity,
        "count": item.count,
        "first_seen": item.first_seen.isoformat(),
        "last_seen": item.last_seen.isoformat(),
        "sample_trace_ids": list(dict.fromkeys(sample.trace_id for sample in item.samples)),
        "verdict": item.verdict,
    }
    rest = [n for n in type(item).__struct_fields__ if n not in first and n != "samples"]
    return first | {name: _plain(getattr(item, name)) for name in rest}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
