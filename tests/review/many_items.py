"""Fifty thousand items at once: rows as the queue writes them, without judging a run for each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa
from tests.review.judged_runs import trace_id

from spanwitness.review.store.database import Database
from spanwitness.review.store.tables import findings, items, runs

if TYPE_CHECKING:
    from collections.abc import Sequence

_RULES = ("tool_bypass", "call_not_executed", "truncated_output")


def add_many(url: str, names: Sequence[str], n_items: int = 50_000) -> None:
    """Add items, each with its finding and its run; agents have the names."""
    now = datetime.now(UTC)
    made: list[dict[str, object]] = []
    ran: list[dict[str, object]] = []
    found: list[dict[str, object]] = []
    for n in range(n_items):
        at = now - timedelta(minutes=n % 40_000)
        day, trace, rule = at.date().isoformat(), trace_id(n), _RULES[n % 3]
        who = {"service": "shop", "agent": names[n // 3 % len(names)]}
        common = {"rule": rule, "rule_version": 1, "fault": "reasoning"}
        reason = f"{rule} is broken in this run of {who['agent']}."
        made.append(
            {
                **common, **who, "fingerprint": trace, "severity": n % 7 % 3, "reason": reason,
                "state": "resolved" if n % 5 == 0 else "open", "count": 1, "first_seen": at,
                "last_seen": at, "due_at": at + timedelta(days=1), "regressions": 0, "version": 1,
                "verdict": "expected" if n % 5 == 0 else None,
            }
        )  # fmt: skip
        run = {"trace_id": trace, "run_id": trace[:16], "day": day}
        ran.append(
            {
                **who, **run, "root_span_id": "a" * 16, "content": "on", "is_flagged": True,
                "is_complete": True, "n_findings": 1, "judged_at": at,
            }
        )  # fmt: skip
        found.append(
            {
                **common, **run, "item_id": n + 1, "contract": "", "place": 0, "severity": "error",
                "reason": reason, "span_ids": [], "is_complete": True, "detected_at": at,
            }
        )  # fmt: skip
    database = Database(url)
    with database.write() as connection:
        for table, rows in ((runs, ran), (items, made), (findings, found)):
            connection.execute(sa.insert(table), rows)
    database.close()
