"""What people do with an item: verdicts, undoing, rest, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import sqlalchemy as sa

from spanwitness.errors import ConflictError, ReviewError
from spanwitness.model.verdict import Fault, ReasoningKind
from spanwitness.review.store import rows
from spanwitness.review.store.claims import hold_free
from spanwitness.review.store.listing import conditions
from spanwitness.review.store.tables import events, findings, items, keys, samples, verdicts
from spanwitness.review.store.values import VERDICTS

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy.engine import Connection, Row

    from spanwitness.review.store.values import Item, ItemFilter, VerdictWord

__all__ = ["Ruling", "give_verdict", "is_done_before", "note", "reopen", "snooze", "undo"]

_VERDICT_FIELDS: Final = (
    "verdict", "verdict_by", "verdict_at", "verdict_reason", "verdict_trace_id",
    "verdict_rule_version", "verdict_fault", "verdict_kind",
)  # fmt: skip
_BEFORE: Final = ("state", "owner", "until", *_VERDICT_FIELDS)
_UNDOABLE: Final = ("verdict", "snoozed", "reopened_by_hand")


class Ruling(NamedTuple):
    """What a person decides."""

    verdict: VerdictWord
    by: str
    reason: str | None = None
    trace_id: str | None = None
    """The trace that was judged; `None` = the latest sample."""
    fault: Fault | None = None
    kind: ReasoningKind | None = None

    def check(self) -> None:
        """Refuse words that are not known.

        Raises:
            ReviewError: One is not.
        """
        for name, value, known in (
            ("verdict", self.verdict, VERDICTS),
            ("fault", self.fault, (None, *get_args(Fault))),
            ("kind", self.kind, (None, *get_args(ReasoningKind))),
        ):
            if value not in known:
                words = ", ".join(word for word in known if word is not None)
                raise ReviewError(f"{name} {value!r}: it is one of {words}")
        if not self.by.strip():
            raise ReviewError("a verdict needs the name of who gives it")


class _JudgedTrace(NamedTuple):
    trace_id: str
    run_id: str
    rule_version: int


def is_done_before(
    connection: Connection, key: str | None, item_id: int, act: str, now: datetime
) -> bool:
    """Say whether an act with this key was done before; else note that it is done now.

    Raises:
        ReviewError: The key was used for another act.
    """
    if key is None:
        return False
    found = connection.execute(sa.select(keys).where(keys.c.key == key)).one_or_none()
    if found is None:
        connection.execute(sa.insert(keys).values(key=key, item_id=item_id, act=act, at=now))
        return False
    if (found.item_id, found.act) != (item_id, act):
        raise ReviewError(f"idempotency key {key!r} was used for another act")
    return True


def check_version(connection: Connection, row: Row[Any], version: int | None) -> None:
    """Refuse when the caller saw another version.

    Raises:
        ConflictError: The item has changed since.
    """
    if version is not None and version != row.version:
        current = rows.to_items(connection, [row])[0]
        raise ConflictError(
            f"item {row.id} was changed since you saw it (version {version}, now {row.version})",
            current=current,
        )


def give_verdict(
    connection: Connection,
    row: Row[Any],
    ruling: Ruling,
    *,
    now: datetime,
    unit: str | None = None,
) -> Item:
    """Resolve an item by a verdict on one trace.

    Raises:
        ConflictError: Somebody else holds the item.
        ReviewError: The trace is none of this item's.
    """
    hold_free(connection, row, ruling.by, now)
    judged = _judged_finding(connection, row, ruling.trace_id)
    by, reason = rows.short(ruling.by), rows.short(ruling.reason, rows.MAX_NOTE_CHARS)
    given = {
        "verdict": ruling.verdict,
        "verdict_by": by,
        "verdict_at": now,
        "verdict_reason": reason,
        "verdict_trace_id": judged.trace_id,
        "verdict_rule_version": judged.rule_version,
        "verdict_fault": ruling.fault,
        "verdict_kind": ruling.kind,
    }
    connection.execute(
        sa.update(verdicts)
        .where(
            verdicts.c.item_id == row.id,
            verdicts.c.trace_id == judged.trace_id,
            verdicts.c.is_current,
        )
        .values(is_current=False)
    )
    connection.execute(
        sa.insert(verdicts).values(
            item_id=row.id,
            fingerprint=row.fingerprint,
            trace_id=judged.trace_id,
            run_id=judged.run_id,
            rule=row.rule,
            rule_version=judged.rule_version,
            agent=row.agent,
            verdict=ruling.verdict,
            fault=ruling.fault,
            kind=ruling.kind,
            reason=reason,
            by=by,
            at=now,
            unit=unit or f"item:{row.id}:{judged.trace_id}",
            is_current=True,
        )
    )
    item = rows.change(
        connection,
        row,
        actor=ruling.by,
        action="verdict",
        now=now,
        values={"state": "resolved", "owner": None, "until": None, **given},
        note=ruling.reason,
        data={
            "verdict": ruling.verdict,
            "trace_id": judged.trace_id,
            "rule_version": judged.rule_version,
            "fault": ruling.fault,
            "kind": ruling.kind,
            "unit": unit,
            "before": _before(row),
        },
    )
    rows.send(connection, "item.resolved", item, now)
    return item


def _judged_finding(connection: Connection, row: Row[Any], trace_id: str | None) -> _JudgedTrace:
    """Return the finding that a verdict is about."""
    of_item = findings.c.item_id == row.id
    wanted = sa.select(findings.c.trace_id, findings.c.run_id, findings.c.rule_version)
    if trace_id is not None:
        wanted = wanted.where(of_item, findings.c.trace_id == trace_id)
    else:
        both = (samples.c.trace_id == findings.c.trace_id) & (samples.c.run_id == findings.c.run_id)
        wanted = (
            wanted.select_from(findings.outerjoin(samples, both & (samples.c.item_id == row.id)))
            .where(of_item)
            .order_by(samples.c.added_at.is_(None), samples.c.added_at.desc())
        )
    wanted = wanted.order_by(findings.c.id.desc()).limit(1)
    found = connection.execute(wanted).one_or_none()
    if found is None:
        raise ReviewError(f"trace {trace_id!r} is none of those of item {row.id}")
    return _JudgedTrace(found.trace_id, found.run_id, found.rule_version)


def bulk_rows(connection: Connection, only: ItemFilter, by: str, now: datetime) -> list[Row[Any]]:
    """Return the unresolved items that a filter lets through and nobody else holds."""
    is_held = (
        (items.c.state == "claimed") & (items.c.owner != rows.short(by)) & (items.c.until > now)
    )
    wanted = (
        sa.select(items)
        .where(*conditions(connection, only, now), items.c.state != "resolved", sa.not_(is_held))
        .order_by(items.c.fingerprint)
        .with_for_update()
    )
    return list(connection.execute(wanted).all())


def snooze(
    connection: Connection, row: Row[Any], *, until: datetime, by: str, now: datetime
) -> Item:
    """Let an item rest.

    Raises:
        ConflictError: Somebody else holds it, or it is resolved.
        ReviewError: The time is over already.
    """
    hold_free(connection, row, by, now)
    if row.state == "resolved":
        current = rows.to_items(connection, [row])[0]
        raise ConflictError(f"item {row.id} is resolved: reopen it first", current=current)
    if until <= now:
        raise ReviewError(f"an item cannot rest until {until:%Y-%m-%d %H:%M} UTC: that is over")
    values = {"state": "snoozed", "owner": None, "until": until}
    data = {"until": until.isoformat(), "before": _before(row)}
    return rows.change(
        connection, row, actor=by, action="snoozed", now=now, values=values, data=data
    )


def reopen(
    connection: Connection, row: Row[Any], *, by: str, reason: str | None, now: datetime
) -> Item:
    """Open a resolved or resting item again; its verdict stays in the history and counts.

    Raises:
        ConflictError: Somebody else holds it.
    """
    hold_free(connection, row, by, now)
    if row.state == "open":
        return rows.to_items(connection, [row])[0]
    severity = rows.severity_of(row.severity)
    values = {"state": "open", "owner": None, "until": None, "due_at": rows.due(severity, now)}
    item = rows.change(
        connection,
        row,
        actor=by,
        action="reopened_by_hand",
        now=now,
        values=values,
        note=reason,
        data={"before": _before(row)},
    )
    rows.send(connection, "item.reopened", item, now)
    return item


def note(connection: Connection, row: Row[Any], *, text: str, by: str, now: datetime) -> None:
    """Add a note to the history.

    Raises:
        ReviewError: The note is empty.
    """
    if not text.strip():
        raise ReviewError("a note needs text")
    rows.log(connection, actor=by, action="note", now=now, item_id=row.id, note=text)


def undo(
    connection: Connection,
    row: Row[Any],
    *,
    by: str,
    now: datetime,
    within: timedelta | None = None,
) -> Item:
    """Take back one's own latest verdict, rest or reopening, if nothing happened since.

    Raises:
        ConflictError: Something happened since, or it is another person's act.
        ReviewError: There is nothing to undo, or it is too long ago.
    """
    last = connection.execute(
        sa.select(events)
        .where(events.c.item_id == row.id, events.c.version.is_not(None))
        .order_by(events.c.id.desc())
        .limit(1)
    ).one_or_none()
    if last is None or last.action not in _UNDOABLE or not isinstance(last.data, dict):
        raise ReviewError(f"item {row.id}: its latest change cannot be undone")
    if last.actor != rows.short(by) or last.version != row.version:
        current = rows.to_items(connection, [row])[0]
        raise ConflictError(f"item {row.id} was changed by {last.actor}", current=current)
    if within is not None and now - last.at > within:
        raise ReviewError(f"item {row.id}: its latest change is too long ago to be undone")
    before = dict(last.data["before"])
    if last.action == "verdict":
        _take_back(connection, row)
    values = {name: _moment(name, before[name]) for name in _BEFORE}
    item = rows.change(
        connection, row, actor=by, action="undone", now=now, values=values, note=last.action
    )
    rows.send(connection, "item.undone", item, now)
    return item


def _take_back(connection: Connection, row: Row[Any]) -> None:
    """Let the latest verdict count no more, and the one before on the same trace count again."""
    given = connection.execute(
        sa.select(verdicts.c.id)
        .where(verdicts.c.item_id == row.id, verdicts.c.trace_id == row.verdict_trace_id)
        .order_by(verdicts.c.id.desc())
        .limit(2)
    ).all()
    connection.execute(sa.delete(verdicts).where(verdicts.c.id == given[0].id))
    if len(given) > 1:
        connection.execute(
            sa.update(verdicts).where(verdicts.c.id == given[1].id).values(is_current=True)
        )


def _before(row: Row[Any]) -> dict[str, object]:
    values = {name: getattr(row, name) for name in _BEFORE}
    return {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in values.items()}


def _moment(name: str, value: object) -> object:
    if name in ("until", "verdict_at") and isinstance(value, str):
        from datetime import datetime

        return datetime.fromisoformat(value)
    return value
