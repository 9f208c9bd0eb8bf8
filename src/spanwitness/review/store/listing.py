"""Reading the queue: lists, one item, counts."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
import sqlalchemy as sa

from spanwitness.errors import ReviewError
from spanwitness.model import LedgerRow
from spanwitness.review.store import rows
from spanwitness.review.store.tables import events, findings, items, runs
from spanwitness.review.store.values import (
    STATES,
    Counts,
    Event,
    Finding,
    Item,
    ItemDetail,
    ItemFilter,
    Page,
    RunSummary,
    State,
)

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection

__all__ = [
    "Order",
    "conditions",
    "count_items",
    "item_detail",
    "list_events",
    "list_items",
    "run_summary",
]

Order: TypeAlias = Literal["priority", "due", "oldest", "newest"]

_MAX_FINDINGS: Final = 200
_MAX_EVENTS: Final = 1_000
_ORDERS: Final[dict[Order, tuple[sa.Column[Any], ...]]] = {
    "priority": (items.c.severity, items.c.due_at, items.c.first_seen, items.c.id),
    "due": (items.c.due_at, items.c.id),
    "oldest": (items.c.first_seen, items.c.id),
    "newest": (items.c.last_seen, items.c.id),
}


def conditions(
    connection: Connection, only: ItemFilter, now: datetime
) -> list[sa.ColumnElement[bool]]:
    """Return what a filter asks of the rows of `items`."""
    column = items.c
    found: list[sa.ColumnElement[bool]] = []
    if only.ids:
        found.append(column.id.in_(only.ids))
    if only.states:
        found.append(_in_states(only.states))
    if only.rules:
        found.append(column.rule.in_(only.rules))
    if only.min_severity != "info":
        found.append(column.severity <= rows.rank_of(only.min_severity))
    for name in ("fault", "agent", "service", "verdict", "owner"):
        value = getattr(only, name)
        if value is not None:
            found.append(column[name] == value)
    if only.is_overdue:
        found += [column.state != "resolved", column.due_at < now]
    if only.is_regressed:
        found += [column.state != "resolved", column.regressions > 0]
    text = only.text.strip()
    if text:
        found.append(_search(connection, text))
    return found


def _in_states(states: tuple[State, ...]) -> sa.ColumnElement[bool]:
    if len(states) == 1:
        return items.c.state == states[0]
    # Said the other way round, so that a long list is read in its order and not gathered by state
    # and sorted.
    return items.c.state.not_in([state for state in STATES if state not in states])


def _search(connection: Connection, text: str) -> sa.ColumnElement[bool]:
    searched = (items.c.rule, items.c.agent, items.c.service, items.c.subject, items.c.reason)
    # SQLite's LIKE ignores case by itself; `lower` on both sides would take three times as long.
    has = "contains" if connection.dialect.name == "sqlite" else "icontains"
    like = [getattr(column, has)(text, autoescape=True) for column in searched]
    if len(text) == 32:
        of_trace = sa.select(findings.c.item_id).where(findings.c.trace_id == text.lower())
        like.append(items.c.id.in_(of_trace))
    return sa.or_(*like)


def list_items(
    connection: Connection,
    only: ItemFilter,
    *,
    order: Order,
    limit: int,
    after: str | None,
    now: datetime,
) -> Page[Item]:
    """Return a part of the items that a filter lets through.

    Raises:
        ReviewError: `after` is no mark of this order.
    """
    columns = _ORDERS[order]
    is_down = order == "newest"
    wanted = sa.select(items).where(*conditions(connection, only, now))
    if after is not None:
        # Marks are compared as the numbers that the database holds.
        plain = sa.tuple_(*(sa.type_coerce(column, sa.BigInteger) for column in columns))
        mark = sa.tuple_(*(sa.literal(v, sa.BigInteger) for v in _read_mark(after, len(columns))))
        wanted = wanted.where(plain < mark if is_down else plain > mark)
    sorting: list[sa.ColumnElement[Any]] = [
        column.desc() if is_down else column for column in columns
    ]
    if only.text.strip():
        # Most rows are looked at whatever the order: one after another, not by an index.
        sorting[0] = sa.type_coerce(columns[0], sa.BigInteger) + 0
        sorting[0] = sorting[0].desc() if is_down else sorting[0]
    wanted = wanted.order_by(*sorting).limit(limit + 1)
    found = connection.execute(wanted).all()
    values = rows.to_items(connection, found[:limit])
    if len(found) <= limit:
        return Page(rows=values, after=None)
    last = found[limit - 1]
    numbers = [_number(getattr(last, column.name)) for column in columns]
    mark_text = base64.urlsafe_b64encode(msgspec.json.encode(numbers)).decode().rstrip("=")
    return Page(rows=values, after=mark_text)


def _number(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, int):
        return value
    from sqlalchemy.dialects import sqlite

    from spanwitness.review.store.columns import Instant

    return Instant().process_bind_param(value, sqlite.dialect()) or 0


def _read_mark(text: str, n: int) -> list[int]:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        numbers = msgspec.json.decode(data, type=list[int])
    except (ValueError, binascii.Error, msgspec.DecodeError):
        numbers = []
    if len(numbers) != n or any(not 0 <= number < 1 << 62 for number in numbers):
        raise ReviewError("that mark does not continue this list: begin it anew")
    return numbers


def count_items(connection: Connection, only: ItemFilter, now: datetime) -> Counts:
    """Count the items that a filter lets through, by state."""
    is_late = sa.case((items.c.state.in_(("open", "claimed")) & (items.c.due_at < now), 1), else_=0)
    found = connection.execute(
        sa.select(
            items.c.state,
            sa.func.count().label("n"),
            sa.func.sum(is_late).label("late"),
            sa.func.min(items.c.first_seen).label("oldest"),
        )
        .where(*conditions(connection, only, now))
        .group_by(items.c.state)
    ).all()
    by_state = {row.state: int(row.n) for row in found}
    return Counts(
        **by_state,
        overdue=sum(int(row.late) for row in found),
        oldest_open=next((row.oldest for row in found if row.state == "open"), None),
    )


def item_detail(connection: Connection, item_id: int) -> ItemDetail:
    """Return an item with its findings and its history.

    Raises:
        UnknownItemError: There is none.
    """
    item = rows.to_items(connection, [rows.find_item(connection, item_id)])[0]
    found = connection.execute(
        sa.select(*rows.finding_columns())
        .where(findings.c.item_id == item_id)
        .order_by(findings.c.id.desc())
        .limit(_MAX_FINDINGS)
    ).all()
    return ItemDetail(
        item=item,
        findings=tuple(map(rows.to_finding, found)),
        events=list_events(connection, item_id=item_id, limit=_MAX_EVENTS),
    )


def findings_of_run(connection: Connection, trace_id: str, run_id: str) -> tuple[Finding, ...]:
    """Return every finding of one run."""
    found = connection.execute(
        sa.select(*rows.finding_columns())
        .where(findings.c.trace_id == trace_id, findings.c.run_id == run_id)
        .order_by(findings.c.id)
    ).all()
    return tuple(map(rows.to_finding, found))


def list_events(connection: Connection, *, item_id: int | None, limit: int) -> tuple[Event, ...]:
    """Return the latest lines of the history, the oldest first; `None` = of everything."""
    wanted = sa.select(events).order_by(events.c.id.desc()).limit(limit)
    if item_id is not None:
        wanted = wanted.where(events.c.item_id == item_id)
    return tuple(rows.to_event(row) for row in reversed(connection.execute(wanted).all()))


def run_summary(connection: Connection, trace_id: str, run_id: str) -> RunSummary | None:
    """Return what the queue remembers of a run."""
    row = connection.execute(
        sa.select(runs).where(runs.c.trace_id == trace_id, runs.c.run_id == run_id)
    ).one_or_none()
    if row is None:
        return None
    plain = [f for f in RunSummary.__struct_fields__ if f not in ("item_id", "ledger")]
    ledger = None
    if row.ledger is not None:
        ledger = msgspec.convert(row.ledger, tuple[LedgerRow, ...])
    values = {name: getattr(row, name) for name in plain}
    return RunSummary(**values, item_id=row.subject_item, ledger=ledger)
