"""Reading the review queue: what a viewer may do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spanwitness.review.store import audit, exporting, figures, listing, snapshots
from spanwitness.review.store.values import ItemFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanwitness.review.store.database import Database
    from spanwitness.review.store.values import (
        AgentStats,
        Counts,
        Event,
        Finding,
        Item,
        ItemDetail,
        MissRate,
        Page,
        RuleDay,
        RuleStats,
        RunSummary,
        Sampling,
        Snapshot,
    )
    from spanwitness.stats.agreement import Agreement

__all__ = ["ANY", "QueueReader", "utc_now"]

ANY = ItemFilter()


def utc_now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


class QueueReader:
    """What can be read of a queue; `Queue` is one. Every method is one short transaction."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    @property
    def address(self) -> str:
        """The address, without its password."""
        return self._database.address

    def items(
        self,
        only: ItemFilter = ANY,
        *,
        order: listing.Order = "priority",
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Item]:
        """Return a part of the items.

        Args:
            only: Which ones.
            order: `priority` (severity, due time, age), `due`, `oldest` (first seen) or `newest`
                (last seen).
            limit: How many at most.
            after: `Page.after` of the part before.

        Raises:
            ReviewError: `after` does not belong to this order.
        """
        with self._database.read() as connection:
            return listing.list_items(
                connection, only, order=order, limit=limit, after=after, now=self._now()
            )

    def item(self, item_id: int) -> ItemDetail:
        """Return one item with its findings and history.

        Raises:
            UnknownItemError: There is none.
        """
        with self._database.read() as connection:
            return listing.item_detail(connection, item_id)

    def counts(self, only: ItemFilter = ANY) -> Counts:
        """Count the items by state."""
        with self._database.read() as connection:
            return listing.count_items(connection, only, self._now())

    def snapshot(self, trace_id: str, run_id: str) -> Snapshot | None:
        """Return the kept spans of a run; `None` when there are none, or no longer."""
        with self._database.read() as connection:
            return snapshots.load_snapshot(connection, trace_id, run_id)

    def run(self, trace_id: str, run_id: str) -> RunSummary | None:
        """Return what is remembered of a run, also after its content was pruned."""
        with self._database.read() as connection:
            return listing.run_summary(connection, trace_id, run_id)

    def findings_of_run(self, trace_id: str, run_id: str) -> tuple[Finding, ...]:
        """Return every finding of one run."""
        with self._database.read() as connection:
            return listing.findings_of_run(connection, trace_id, run_id)

    def events(self, item_id: int | None = None, *, limit: int = 1000) -> tuple[Event, ...]:
        """Return the latest lines of the history, the oldest first; `None` = of everything."""
        with self._database.read() as connection:
            return listing.list_events(connection, item_id=item_id, limit=limit)

    def sampling(self) -> Sampling:
        """Return the shares of runs that audit mode draws."""
        with self._database.read() as connection:
            return audit.read_sampling(connection)

    # --- what verdicts teach

    def rule_stats(
        self, *, method: figures.Method = "wilson", level: float = 0.95
    ) -> tuple[RuleStats, ...]:
        """Return the precision of each rule and version, with n and its interval.

        The queue is no random sample: it is the precision among what was reviewed.

        Args:
            method: `wilson` or `exact` (Clopper-Pearson).
            level: Nominal coverage.

        Raises:
            ReviewError: The method is not known.
            MissingExtraError: SciPy is not installed.
        """
        with self._database.read() as connection:
            return figures.rule_stats(connection, method=method, level=level)

    def rule_history(self, rule: str) -> tuple[RuleDay, ...]:
        """Return how many runs a rule found something in, a day at a time, the oldest first."""
        with self._database.read() as connection:
            return figures.rule_history(connection, rule)

    def agent_stats(self) -> tuple[AgentStats, ...]:
        """Return runs and flagged runs by service and agent, the most flagged first."""
        with self._database.read() as connection:
            return figures.agent_stats(connection)

    def agreement(self, *, level: float = 0.95) -> Agreement | None:
        """Return how far two reviewers of one audited run agree; `None` = none has two.

        Raises:
            MissingExtraError: statsmodels is not installed.
        """
        with self._database.read() as connection:
            return figures.agreement_of_reviewers(connection, level=level)

    def miss_rate(self, *, level: float = 0.95) -> MissRate:
        """Return the share of unsound runs that no rule flagged, from audit mode.

        Raises:
            MissingExtraError: SciPy is not installed.
        """
        with self._database.read() as connection:
            return figures.miss_rate(connection, level=level)

    def export(self, what: exporting.Export = "items") -> Iterator[dict[str, object]]:
        """Yield rows of plain values: `items`, `findings`, `verdicts`, `audit` or `labels`.

        Raises:
            ReviewError: There is no such table.
        """
        with self._database.read() as connection:
            yield from exporting.export_rows(connection, what)
