"""From rows of the tables to values, and the one way to change an item."""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import sqlalchemy as sa

from spanwitness.errors import ConflictError, UnknownItemError
from spanwitness.model.verdict import SEVERITIES
from spanwitness.review.store.columns import clean
from spanwitness.review.store.tables import events, findings, items, outbox, samples, snapshots
from spanwitness.review.store.values import Event, Finding, Item, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

    from spanwitness.model import Severity

__all__ = [
    "change",
    "due",
    "find_item",
    "insert_new",
    "is_id",
    "log",
    "rank_of",
    "send",
    "severity_of",
    "short",
    "to_event",
    "to_finding",
    "to_items",
]

MAX_SAMPLES: Final = 3
MAX_NAME_CHARS: Final = 300
MAX_REASON_CHARS: Final = 2_000
MAX_NOTE_CHARS: Final = 10_000
_SLA: Final[Mapping[Severity, timedelta]] = {
    "critical": timedelta(hours=4),
    "error": timedelta(days=1),
    "warning": timedelta(days=7),
    "info": timedelta(days=30),
}


def rank_of(severity: Severity) -> int:
    """Return the place of a severity from the worst, 0."""
    return len(SEVERITIES) - 1 - SEVERITIES.index(severity)


def severity_of(rank: int) -> Severity:
    """Return the severity at a place from the worst."""
    return SEVERITIES[len(SEVERITIES) - 1 - rank]


def due(severity: Severity, since: datetime) -> datetime:
    """Return when an item is to be judged: 4 hours, 1 day, 7 days or 30 days after it came."""
    return since + _SLA[severity]


def short(text: str | None, limit: int = MAX_NAME_CHARS) -> str | None:
    """Return a text with at most `limit` characters, as a database can hold it."""
    if text is None:
        return None
    return clean(text if len(text) <= limit else text[: limit - 1] + "…")


def insert_new(connection: Connection, table: sa.Table, **values: object) -> int | None:
    """Insert a row unless its unique key is there; return its id, or `None`."""
    statement = _insertion(connection.dialect.name, table)
    return cast("int | None", connection.execute(statement, values).scalar())


@lru_cache(maxsize=64)
def _insertion(dialect: str, table: sa.Table) -> sa.Executable:
    """Return the statement without its values: to build it takes longer than to run it."""
    insert: Any
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        insert = sqlite.insert(table)
    else:
        from sqlalchemy.dialects import postgresql

        insert = postgresql.insert(table)
    return cast("sa.Executable", insert.on_conflict_do_nothing().returning(table.c.id))


def is_id(number: int) -> bool:
    """Say whether a number can be the id of a row: a database refuses one of more than 64 bits."""
    return 0 < number < 1 << 63


def find_item(connection: Connection, item_id: int, *, is_locked: bool = False) -> Row[Any]:
    """Return the row of an item; `is_locked` keeps other writers from it until the end.

    Raises:
        UnknownItemError: There is none.
    """
    wanted = sa.select(items).where(items.c.id == item_id)
    if is_locked:
        wanted = wanted.with_for_update()
    row = connection.execute(wanted).one_or_none() if is_id(item_id) else None
    if row is None:
        raise UnknownItemError(f"the queue holds no item {item_id}")
    return row


def change(
    connection: Connection,
    row: Row[Any],
    *,
    actor: str,
    action: str,
    now: datetime,
    values: Mapping[str, object],
    note: str | None = None,
    data: Mapping[str, object] | None = None,
) -> Item:
    """Change an item, raise its version, and write the history; return it as it is then.

    Raises:
        ConflictError: Somebody else changed it in between.
    """
    changed = connection.execute(
        sa.update(items)
        .where(items.c.id == row.id, items.c.version == row.version)
        .values(**values, version=row.version + 1)
    )
    if changed.rowcount != 1:
        current = to_items(connection, [find_item(connection, row.id)])[0]
        raise ConflictError(f"item {row.id} was changed meanwhile", current=current)
    log(
        connection,
        actor=actor,
        action=action,
        now=now,
        item_id=row.id,
        states=(row.state, str(values.get("state", row.state))),
        version=row.version + 1,
        note=note,
        data=data,
    )
    return to_items(connection, [find_item(connection, row.id)])[0]


def log(  # noqa: PLR0913  a line has that many columns
    connection: Connection,
    *,
    actor: str,
    action: str,
    now: datetime,
    item_id: int | None = None,
    states: tuple[str | None, str | None] = (None, None),
    version: int | None = None,
    note: str | None = None,
    data: Mapping[str, object] | None = None,
) -> None:
    """Add a line to the history."""
    connection.execute(
        sa.insert(events).values(
            item_id=item_id,
            at=now,
            actor=short(actor),
            action=action,
            from_state=states[0],
            to_state=states[1],
            version=version,
            note=short(note, MAX_NOTE_CHARS),
            data=data,
        )
    )


def send(connection: Connection, topic: str, item: Item, now: datetime) -> None:
    """Put a message about an item into the outbox: ids, names and counts."""
    connection.execute(
        sa.insert(outbox).values(
            message_id=f"msg_{uuid.uuid4().hex}",
            topic=topic,
            item_id=item.id,
            payload={
                "id": item.id,
                "fingerprint": item.fingerprint,
                "rule": item.rule,
                "rule_version": item.rule_version,
                "severity": item.severity,
                "fault": item.fault,
                "state": item.state,
                "count": item.count,
                "service": item.service,
                "agent": item.agent,
                "verdict": item.verdict,
                "trace_ids": [sample.trace_id for sample in item.samples],
                "at": now.isoformat(),
            },
            created_at=now,
        )
    )


def to_items(connection: Connection, rows: Sequence[Row[Any]]) -> tuple[Item, ...]:
    """Return rows of `items` as values, with their samples."""
    by_item = _samples(connection, [row.id for row in rows])
    return tuple(_item(row, by_item.get(row.id, ())) for row in rows)


def _samples(connection: Connection, ids: Iterable[int]) -> dict[int, tuple[Sample, ...]]:
    has = snapshots.c.trace_id.is_not(None).label("has")
    both = (snapshots.c.trace_id == samples.c.trace_id) & (snapshots.c.run_id == samples.c.run_id)
    rows = connection.execute(
        sa.select(samples.c.item_id, samples.c.trace_id, samples.c.run_id, has)
        .select_from(samples.outerjoin(snapshots, both))
        .where(samples.c.item_id.in_(list(ids)))
        .order_by(samples.c.added_at, samples.c.trace_id)
    )
    found: dict[int, tuple[Sample, ...]] = {}
    for row in rows:
        sample = Sample(trace_id=row.trace_id, run_id=row.run_id, has_snapshot=bool(row.has))
        found[row.item_id] = (*found.get(row.item_id, ()), sample)
    return found


def _item(row: Row[Any], found: tuple[Sample, ...]) -> Item:
    values = dict(row._mapping)  # noqa: SLF001  a public attribute in spite of its name
    return Item(**{**values, "severity": severity_of(row.severity), "samples": found})


def to_finding(row: Row[Any]) -> Finding:
    """Return a row of `findings` as a value."""
    names = [f for f in Finding.__struct_fields__ if f not in ("contract", "span_ids")]
    values = {name: getattr(row, name) for name in names}
    return Finding(**values, contract=row.contract or None, span_ids=tuple(row.span_ids))


def to_event(row: Row[Any]) -> Event:
    """Return a row of `events` as a value."""
    return Event(**{name: getattr(row, name) for name in Event.__struct_fields__})


def finding_columns() -> list[sa.Column[Any]]:
    """Return the columns that `to_finding` reads."""
    return [findings.c[name] for name in Finding.__struct_fields__]
