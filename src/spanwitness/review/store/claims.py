"""Who works on what: leases, so that no item is with two people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from spanwitness.errors import ConflictError
from spanwitness.review.store import rows
from spanwitness.review.store.listing import conditions
from spanwitness.review.store.tables import items

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy.engine import Connection, Row

    from spanwitness.review.store.values import Item, ItemFilter

__all__ = ["claim", "claim_next", "expire", "hold_free", "release", "renew"]

_CLOCK = "clock"


def claim_next(
    connection: Connection,
    by: str,
    *,
    lease: timedelta,
    now: datetime,
    only: ItemFilter | None = None,
) -> Item | None:
    """Take the open item that comes first: by severity, due time, age."""
    expire(connection, now)
    wanted = (
        sa.select(items)
        .where(items.c.state == "open")
        .order_by(items.c.severity, items.c.due_at, items.c.first_seen, items.c.id)
        .limit(1)
        # PostgreSQL passes over what another claimer is just taking; SQLite has one writer.
        .with_for_update(skip_locked=True)
    )
    if only is not None:
        wanted = wanted.where(*conditions(connection, only, now))
    row = connection.execute(wanted).one_or_none()
    return None if row is None else _take(connection, row, by, lease=lease, now=now)


def claim(
    connection: Connection, item_id: int, by: str, *, lease: timedelta, now: datetime
) -> Item:
    """Take one item, whatever its turn; taking one's own again renews the lease.

    Raises:
        UnknownItemError: There is none.
        ConflictError: Somebody else holds it, or it is resolved.
    """
    row = rows.find_item(connection, item_id, is_locked=True)
    hold_free(connection, row, by, now)
    if row.state == "resolved":
        raise ConflictError(
            f"item {item_id} is resolved: reopen it first", current=_current(connection, row)
        )
    return _take(connection, row, by, lease=lease, now=now)


def renew(
    connection: Connection, item_id: int, by: str, *, lease: timedelta, now: datetime
) -> Item:
    """Hold one's own item for longer.

    Raises:
        UnknownItemError: There is none.
        ConflictError: This person does not hold it, or no longer.
    """
    row = rows.find_item(connection, item_id, is_locked=True)
    _need_own(connection, row, by, now)
    until = now + lease
    connection.execute(sa.update(items).where(items.c.id == item_id).values(until=until))
    data = {"until": until.isoformat()}
    rows.log(connection, actor=by, action="renewed", now=now, item_id=item_id, data=data)
    return _current(connection, row)


def release(connection: Connection, item_id: int, by: str, *, now: datetime) -> Item:
    """Give one's own item back.

    Raises:
        UnknownItemError: There is none.
        ConflictError: This person does not hold it.
    """
    row = rows.find_item(connection, item_id, is_locked=True)
    _need_own(connection, row, by, now)
    values = {"state": "open", "owner": None, "until": None}
    return rows.change(connection, row, actor=by, action="released", now=now, values=values)


def expire(connection: Connection, now: datetime) -> int:
    """Open the items whose lease or rest is over; return how many."""
    is_over = (items.c.until <= now) & items.c.state.in_(("claimed", "snoozed"))
    wanted = sa.select(items).where(is_over).limit(500).with_for_update(skip_locked=True)
    n_opened = 0
    for row in connection.execute(wanted).all():
        action = "expired" if row.state == "claimed" else "woke"
        values = {"state": "open", "owner": None, "until": None}
        note = row.owner if row.state == "claimed" else None
        rows.change(connection, row, actor=_CLOCK, action=action, now=now, values=values, note=note)
        n_opened += 1
    return n_opened


def hold_free(connection: Connection, row: Row[Any], by: str, now: datetime) -> None:
    """Refuse when somebody else holds an item.

    Raises:
        ConflictError: Somebody does.
    """
    if row.state == "claimed" and row.owner != rows.short(by) and row.until > now:
        raise ConflictError(
            f"{row.owner} holds item {row.id} until {row.until:%Y-%m-%d %H:%M:%S} UTC",
            current=_current(connection, row),
        )


def _need_own(connection: Connection, row: Row[Any], by: str, now: datetime) -> None:
    if row.state != "claimed" or row.owner != rows.short(by) or row.until <= now:
        raise ConflictError(f"{by} does not hold item {row.id}", current=_current(connection, row))


def _take(
    connection: Connection, row: Row[Any], by: str, *, lease: timedelta, now: datetime
) -> Item:
    values = {"state": "claimed", "owner": rows.short(by), "until": now + lease}
    return rows.change(connection, row, actor=by, action="claimed", now=now, values=values)


def _current(connection: Connection, row: Row[Any]) -> Item:
    return rows.to_items(connection, [rows.find_item(connection, row.id)])[0]
