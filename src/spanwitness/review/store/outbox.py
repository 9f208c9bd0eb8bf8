"""Messages about items on their way out, at least once to each destination."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from spanwitness.errors import ReviewError, UnknownItemError
from spanwitness.review.store import rows
from spanwitness.review.store.tables import deliveries, outbox
from spanwitness.review.store.values import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

    from spanwitness.review.store.database import Database

__all__ = ["Outbox"]

Outcome: TypeAlias = Literal["delivered", "retry", "dead"]

_STATES: Final = {"delivered": "delivered", "retry": "pending", "dead": "dead"}
_MAX_ERROR_CHARS: Final = 500


class Outbox:
    """Hands messages to a sender and keeps what became of them: `queue.outbox`.

    A message is written in the transaction of what it tells. A sender takes the due ones of a
    destination for a while; a sender that dies gives them back when that while is over, so a
    message may come twice, always under the same id.
    """

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    def take(
        self,
        destination: str,
        *,
        limit: int = 20,
        lease_s: float = 60.0,
        since: datetime | None = None,
        topics: tuple[str, ...] = (),
    ) -> tuple[Delivery, ...]:
        """Take the due messages of a destination, the oldest first.

        Args:
            destination: Its name; any text that stays the same.
            limit: How many at most.
            lease_s: Seconds until they are given to the next who asks, unless settled.
            since: A destination wants no older messages; `None` = all that are kept.
            topics: Only these; empty = all.
        """
        with self._database.write() as connection:
            now = self._now()
            _enlist(connection, destination, since=since, topics=topics, limit=limit, now=now)
            is_due = (
                (deliveries.c.destination == rows.short(destination))
                & (deliveries.c.state == "pending")
                & (deliveries.c.next_at <= now)
            )
            wanted = (
                sa.select(deliveries.c.id)
                .where(is_due)
                .order_by(deliveries.c.next_at, deliveries.c.id)
                .limit(limit)
                .with_for_update(skip_locked=True)
            )
            ids = list(connection.execute(wanted).scalars())
            connection.execute(
                sa.update(deliveries)
                .where(deliveries.c.id.in_(ids))
                .values(
                    attempts=deliveries.c.attempts + 1, next_at=now + timedelta(seconds=lease_s)
                )
            )
            return _read(connection, deliveries.c.id.in_(ids), limit=limit)

    def settle(
        self,
        delivery_id: int,
        outcome: Outcome,
        *,
        next_at: datetime | None = None,
        status: int | None = None,
        error: str | None = None,
    ) -> Delivery:
        """Say what became of an attempt.

        Args:
            delivery_id: The delivery.
            outcome: `delivered`, `retry` (then `next_at` says when) or `dead`.
            next_at: When to try again.
            status: The HTTP status of the answer.
            error: What went wrong, in one line, without content.

        Raises:
            UnknownItemError: There is no such delivery.
            ReviewError: The outcome is not known, or a retry has no time.
        """
        if outcome not in _STATES or (outcome == "retry") != (next_at is not None):
            raise ReviewError(f"outcome {outcome!r}: delivered, dead, or retry with next_at")
        now = self._now()
        values: dict[str, object] = {
            "state": _STATES[outcome],
            "last_status": status,
            "last_error": rows.short(error, _MAX_ERROR_CHARS),
        }
        values |= {"next_at": next_at} if outcome == "retry" else {"settled_at": now}
        return self._update(delivery_id, values)

    def redeliver(self, delivery_id: int) -> Delivery:
        """Send a message again, from the first attempt on.

        Raises:
            UnknownItemError: There is no such delivery.
        """
        values = {"state": "pending", "attempts": 0, "next_at": self._now(), "settled_at": None}
        return self._update(delivery_id, values)

    def undeliverable(self, *, limit: int = 100) -> tuple[Delivery, ...]:
        """Return the messages that were given up, the latest first."""
        with self._database.read() as connection:
            return _read(connection, deliveries.c.state == "dead", limit=limit, is_newest=True)

    def backlog(self) -> dict[str, int]:
        """Count the messages that wait to be sent, by destination."""
        count = sa.func.count(deliveries.c.id).label("n")
        wanted = (
            sa.select(deliveries.c.destination, count)
            .where(deliveries.c.state == "pending")
            .group_by(deliveries.c.destination)
        )
        with self._database.read() as connection:
            return {row.destination: row.n for row in connection.execute(wanted)}

    def next_due(self, destination: str) -> datetime | None:
        """Return when the next known message of a destination is due; `None` = there is none."""
        with self._database.read() as connection:
            return connection.execute(
                sa.select(sa.func.min(deliveries.c.next_at)).where(
                    deliveries.c.destination == rows.short(destination),
                    deliveries.c.state == "pending",
                )
            ).scalar()

    def _update(self, delivery_id: int, values: dict[str, object]) -> Delivery:
        with self._database.write() as connection:
            own = deliveries.c.id == (delivery_id if rows.is_id(delivery_id) else 0)
            if connection.execute(sa.update(deliveries).where(own).values(**values)).rowcount != 1:
                raise UnknownItemError(f"the outbox holds no delivery {delivery_id}")
            return _read(connection, own, limit=1)[0]


def _enlist(
    connection: Connection,
    destination: str,
    *,
    since: datetime | None,
    topics: tuple[str, ...],
    limit: int,
    now: datetime,
) -> None:
    """Address messages that this destination has not been given yet."""
    own = (deliveries.c.outbox_id == outbox.c.id) & (
        deliveries.c.destination == rows.short(destination)
    )
    wanted = (
        sa.select(outbox.c.id).where(~sa.exists().where(own)).order_by(outbox.c.id).limit(limit)
    )
    if since is not None:
        wanted = wanted.where(outbox.c.created_at >= since)
    if topics:
        wanted = wanted.where(outbox.c.topic.in_(topics))
    for outbox_id in list(connection.execute(wanted).scalars()):
        rows.insert_new(
            connection,
            deliveries,
            outbox_id=outbox_id,
            destination=rows.short(destination),
            state="pending",
            attempts=0,
            next_at=now,
        )


def _read(
    connection: Connection,
    which: sa.ColumnElement[bool],
    *,
    limit: int,
    is_newest: bool = False,
) -> tuple[Delivery, ...]:
    order = deliveries.c.id.desc() if is_newest else deliveries.c.id
    columns = [deliveries.c[n] if n in deliveries.c else outbox.c[n] for n in _FIELDS]
    found = connection.execute(
        sa.select(*columns)
        .select_from(deliveries.join(outbox))
        .where(which)
        .order_by(order)
        .limit(limit)
    ).all()
    return tuple(_delivery(row) for row in found)


_FIELDS: Final = Delivery.__struct_fields__


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(**{name: getattr(row, name) for name in _FIELDS})
