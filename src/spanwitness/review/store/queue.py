"""The review queue as callers know it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from spanwitness.capture.policy import ContentPolicy
from spanwitness.errors import ReviewError
from spanwitness.review.store import audit, claims, filing, judging, retention, rows
from spanwitness.review.store.database import Database
from spanwitness.review.store.outbox import Outbox
from spanwitness.review.store.reading import ANY, QueueReader, utc_now
from spanwitness.review.store.values import Pruned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from sqlalchemy.engine import Connection

    from spanwitness.capture.policy import ContentMode
    from spanwitness.findings.judged import Judged
    from spanwitness.model import SpanRecord
    from spanwitness.model.verdict import Fault, ReasoningKind
    from spanwitness.review.store.values import (
        Added,
        Audit,
        AuditWord,
        Item,
        ItemFilter,
        Sampling,
        VerdictWord,
    )

__all__ = ["Queue", "utc_now"]

_LEASE_S = 900.0


class Queue(QueueReader):
    """Flagged runs on their way to people: `Queue.open("sqlite:///queue.db")`.

    Every method is one transaction, may be called from any thread, and gives back frozen values.
    Names (`by`) are taken as given: it is the page and the command that know who somebody is.
    """

    @classmethod
    def open(cls, url: str, *, now: Callable[[], datetime] = utc_now, migrate: bool = True) -> Self:
        """Open a queue; make or bring up its tables.

        Args:
            url: `sqlite:///PATH` (four slashes for an absolute path) or `postgresql://…`.
            now: The clock, with a time zone; tests give their own.
            migrate: `False` leaves the tables as they are.

        Raises:
            ReviewError: The address cannot be used, or a newer version wrote the tables.
            MissingExtraError: SQLAlchemy, Alembic or the driver is not installed.
        """
        database = Database(url)
        if migrate:
            try:
                database.upgrade()
            except BaseException:
                database.close()
                raise
        return cls(database, now)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    @property
    def outbox(self) -> Outbox:
        """Messages on their way out."""
        return Outbox(self._database, self._now)

    # --- what comes in

    def add(
        self,
        judged: Judged,
        *,
        spans: Sequence[SpanRecord] | None = None,
        content: ContentPolicy | ContentMode = "on",
    ) -> Added:
        """Record a judged run: findings, items, snapshot, history, messages, in one transaction.

        The same run again changes nothing.

        Args:
            judged: The run with its verdicts, flagged or not.
            spans: The spans of its trace; `None` = `judged.spans`, and without these no snapshot.
            content: What of their content may be kept.

        Raises:
            ReviewError: The database does not answer.
        """
        return self.add_all([(judged, spans)], content=content)[0]

    def add_all(
        self,
        judged: Sequence[tuple[Judged, Sequence[SpanRecord] | None]],
        *,
        content: ContentPolicy | ContentMode = "on",
    ) -> tuple[Added, ...]:
        """Record several judged runs in one transaction; else as `add`."""
        policy = content if isinstance(content, ContentPolicy) else ContentPolicy(mode=content)

        def file_all(connection: Connection) -> tuple[Added, ...]:
            filing.hold_causes(connection, (one for one, _ in judged))
            sampling = audit.read_sampling(connection)
            now = self._now()
            return tuple(
                filing.file_run(connection, one, spans, policy=policy, sampling=sampling, now=now)
                for one, spans in judged
            )

        return self._database.write_all(file_all)

    def record(
        self,
        actor: str,
        action: str,
        *,
        item_id: int | None = None,
        note: str | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        """Add a line of the caller's own to the history, such as a refused request."""
        with self._database.write() as connection:
            rows.log(
                connection,
                actor=actor,
                action=action,
                now=self._now(),
                item_id=item_id,
                note=note,
                data=data,
            )

    # --- who works on what

    def claim_next(
        self, by: str, *, lease_s: float = _LEASE_S, only: ItemFilter | None = None
    ) -> Item | None:
        """Take the open item that comes first by severity, due time and age.

        Args:
            by: Who takes it.
            lease_s: Seconds until it is open again unless renewed.
            only: Look among these items only.

        Returns:
            The item, held by `by`; `None` = nothing is open.
        """
        lease = timedelta(seconds=lease_s)
        with self._database.write() as connection:
            return claims.claim_next(connection, by, lease=lease, now=self._now(), only=only)

    def claim(self, item_id: int, by: str, *, lease_s: float = _LEASE_S) -> Item:
        """Take one item.

        Raises:
            UnknownItemError: There is none.
            ConflictError: Somebody else holds it, or it is resolved.
        """
        lease = timedelta(seconds=lease_s)
        with self._database.write() as connection:
            return claims.claim(connection, item_id, by, lease=lease, now=self._now())

    def renew(self, item_id: int, by: str, *, lease_s: float = _LEASE_S) -> Item:
        """Hold one's own item for `lease_s` from now.

        Raises:
            UnknownItemError: There is none.
            ConflictError: `by` does not hold it, or no longer.
        """
        lease = timedelta(seconds=lease_s)
        with self._database.write() as connection:
            return claims.renew(connection, item_id, by, lease=lease, now=self._now())

    def release(self, item_id: int, by: str) -> Item:
        """Give one's own item back.

        Raises:
            UnknownItemError: There is none.
            ConflictError: `by` does not hold it.
        """
        with self._database.write() as connection:
            return claims.release(connection, item_id, by, now=self._now())

    def expire(self) -> int:
        """Open items whose lease or rest is over; `claim_next` does so itself. Return how many."""
        with self._database.write() as connection:
            return claims.expire(connection, self._now())

    # --- what people decide

    def verdict(  # noqa: PLR0913  what a person may say of an item
        self,
        item_id: int,
        *,
        verdict: VerdictWord,
        by: str,
        reason: str | None = None,
        trace_id: str | None = None,
        fault: Fault | None = None,
        kind: ReasoningKind | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Item:
        """Resolve an item.

        Args:
            item_id: The item.
            verdict: The word.
            by: Who says so.
            reason: Why, in their words.
            trace_id: The trace that was judged; `None` = the latest sample.
            fault: The fault, where the rule names a wrong one.
            kind: The kind of reasoning fault, likewise.
            version: The version that was seen; `None` = whatever it is now.
            idempotency_key: The same key again does nothing.

        Raises:
            UnknownItemError: There is none.
            ConflictError: The item was changed since, or somebody else holds it.
            ReviewError: A word is not known, or the trace is none of the item's.
        """
        ruling = judging.Ruling(verdict, by, reason, trace_id, fault, kind)
        ruling.check()
        with self._database.write() as connection:
            now = self._now()
            row = rows.find_item(connection, item_id, is_locked=True)
            act = f"verdict:{verdict}"
            if judging.is_done_before(connection, idempotency_key, item_id, act, now):
                return rows.to_items(connection, [row])[0]
            judging.check_version(connection, row, version)
            return judging.give_verdict(connection, row, ruling, now=now)

    def bulk_verdict(
        self, only: ItemFilter, *, verdict: VerdictWord, by: str, reason: str | None = None
    ) -> tuple[Item, ...]:
        """Resolve every open item that a filter lets through; in statistics it counts once.

        Items that others hold are left out.

        Raises:
            ReviewError: A word is not known, or the filter lets everything through.
        """
        import uuid

        ruling = judging.Ruling(verdict, by, reason)
        ruling.check()
        if only == ANY:
            raise ReviewError("a bulk verdict on the whole queue is refused: give a filter")
        unit = f"bulk:{uuid.uuid4().hex}"

        def judge_all(connection: Connection) -> tuple[Item, ...]:
            now = self._now()
            found = judging.bulk_rows(connection, only, by, now)
            return tuple(
                judging.give_verdict(connection, row, ruling, now=now, unit=unit) for row in found
            )

        return self._database.write_all(judge_all)

    def undo(self, item_id: int, by: str, *, within_s: float | None = None) -> Item:
        """Take back one's own latest verdict, rest or reopening, if nothing happened since.

        Raises:
            UnknownItemError: There is none.
            ConflictError: Something happened since, or it is another person's act.
            ReviewError: There is nothing to undo, or it is longer ago than `within_s`.
        """
        within = None if within_s is None else timedelta(seconds=within_s)
        with self._database.write() as connection:
            row = rows.find_item(connection, item_id, is_locked=True)
            return judging.undo(connection, row, by=by, now=self._now(), within=within)

    def snooze(self, item_id: int, until: datetime, by: str, *, version: int | None = None) -> Item:
        """Let an item rest until a moment.

        Raises:
            UnknownItemError: There is none.
            ConflictError: It was changed since, somebody else holds it, or it is resolved.
            ReviewError: The moment is over.
        """
        with self._database.write() as connection:
            row = rows.find_item(connection, item_id, is_locked=True)
            judging.check_version(connection, row, version)
            return judging.snooze(connection, row, until=until, by=by, now=self._now())

    def reopen(self, item_id: int, by: str, *, reason: str | None = None) -> Item:
        """Open a resolved or resting item again.

        Raises:
            UnknownItemError: There is none.
            ConflictError: Somebody else holds it.
        """
        with self._database.write() as connection:
            row = rows.find_item(connection, item_id, is_locked=True)
            return judging.reopen(connection, row, by=by, reason=reason, now=self._now())

    def note(self, item_id: int, text: str, by: str) -> None:
        """Add a note to an item's history.

        Raises:
            UnknownItemError: There is none.
            ReviewError: The note is empty.
        """
        with self._database.write() as connection:
            row = rows.find_item(connection, item_id)
            judging.note(connection, row, text=text, by=by, now=self._now())

    # --- audit mode

    def set_sampling(self, sampling: Sampling, by: str = "someone") -> None:
        """Set the shares for runs that come from now on, for every writer of this queue.

        Args:
            sampling: The shares.
            by: Who sets them, for the history.

        Raises:
            ReviewError: A share is not in 0..1.
        """
        with self._database.write() as connection:
            audit.write_sampling(connection, sampling)
            shares = {name: getattr(sampling, name) for name in type(sampling).__struct_fields__}
            rows.log(connection, actor=by, action="sampling_set", now=self._now(), data=shares)

    def audit_next(self, by: str, *, lease_s: float = _LEASE_S) -> Audit | None:
        """Take the next drawn run; it says nothing of what rules found. `None` = there is none."""
        lease = timedelta(seconds=lease_s)
        with self._database.write() as connection:
            return audit.next_audit(connection, by, lease=lease, now=self._now())

    def audit_verdict(
        self, audit_id: int, *, word: AuditWord, by: str, reason: str | None = None
    ) -> Audit:
        """Say whether the account of a drawn run is sound.

        Raises:
            UnknownItemError: No such run was drawn.
            ConflictError: `by` has judged it, or somebody else holds it.
            ReviewError: The word is not known.
        """
        with self._database.write() as connection:
            return audit.judge_audit(
                connection, audit_id, word=word, by=by, reason=reason, now=self._now()
            )

    # --- what is forgotten

    def prune(
        self,
        by: str,
        *,
        content_before: datetime | None = None,
        runs_before: datetime | None = None,
        items_before: datetime | None = None,
    ) -> Pruned:
        """Forget what is old. Verdicts and history are never dropped.

        Args:
            by: Who asks, for the history.
            content_before: Drop spans and evidence kept before this.
            runs_before: Drop runs without a finding that were judged before this, and settled
                messages of the outbox.
            items_before: Drop items that were resolved before this. Each leaves a tombstone: old
                traces that are judged again do not bring it back.
        """
        done: list[Pruned] = []
        with self._database.write() as connection:
            now = self._now()
            if content_before is not None:
                done.append(retention.prune_content(connection, content_before))
            if items_before is not None:
                done.append(retention.prune_items(connection, items_before, by=by, now=now))
            if runs_before is not None:
                done.append(retention.prune_runs(connection, runs_before))
            fields = Pruned.__struct_fields__
            total = Pruned(**{name: sum(getattr(p, name) for p in done) for name in fields})
            data = {name: getattr(total, name) for name in fields}
            rows.log(connection, actor=by, action="prune", now=now, data=data)
        return total
