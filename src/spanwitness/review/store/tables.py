"""The tables of the queue. `migrations/` makes the same ones; a test compares the two."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from spanwitness.review.store.columns import CleanText, Instant, Json

__all__ = [
    "HEAD",
    "audit_verdicts",
    "audits",
    "deliveries",
    "events",
    "findings",
    "items",
    "keys",
    "metadata",
    "outbox",
    "runs",
    "samples",
    "settings",
    "snapshots",
    "tombstones",
    "verdicts",
]

HEAD: Final = "0002"
"""The newest revision in `migrations/`."""

metadata = MetaData()

# SQLite counts rows by itself only in a column of type INTEGER; there it holds 64 bits too.
_Id = BigInteger().with_variant(Integer, "sqlite")

runs = Table(
    "runs",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("trace_id", CleanText, nullable=False),
    Column("run_id", CleanText, nullable=False),
    Column("root_span_id", CleanText, nullable=False),
    Column("service", CleanText),
    Column("agent", CleanText),
    Column("workflow", CleanText),
    Column("subject_item", CleanText),
    Column("stack", CleanText),
    Column("contract", CleanText),
    Column("content", Text, nullable=False),
    Column("is_flagged", Boolean, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    Column("n_findings", Integer, nullable=False),
    Column("ended_at", Instant),
    Column("judged_at", Instant, nullable=False),
    Column("day", Text, nullable=False),
    Column("ledger", Json),
    UniqueConstraint("trace_id", "run_id", name="uq_runs_trace_run"),
    Index("ix_runs_agent", "agent", "day"),
    Index("ix_runs_day", "day"),
)

items = Table(
    "items",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("rule", CleanText, nullable=False),
    Column("rule_version", Integer, nullable=False),
    Column("severity", Integer, nullable=False),
    Column("fault", Text, nullable=False),
    Column("kind", Text),
    Column("contract", CleanText),
    Column("service", CleanText),
    Column("agent", CleanText),
    Column("subject", CleanText),
    Column("reason", CleanText, nullable=False),
    Column("state", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("first_seen", Instant, nullable=False),
    Column("last_seen", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("owner", CleanText),
    Column("until", Instant),
    Column("regressions", Integer, nullable=False),
    Column("verdict", Text),
    Column("verdict_by", CleanText),
    Column("verdict_at", Instant),
    Column("verdict_reason", CleanText),
    Column("verdict_trace_id", CleanText),
    Column("verdict_rule_version", Integer),
    Column("verdict_fault", Text),
    Column("verdict_kind", Text),
    Column("version", Integer, nullable=False),
    Index("ix_items_turn", "state", "severity", "due_at", "first_seen", "id"),
    Index("ix_items_until", "state", "until"),
    Index("ix_items_priority", "severity", "due_at", "first_seen", "id"),
    Index("ix_items_newest", "last_seen", "id"),
    Index("ix_items_rule", "rule"),
    sqlite_autoincrement=True,
)
"""`severity` is the place in `SEVERITIES` counted from the worst, so that it sorts upwards. `until`
is the end of the lease of a claimed item, or of the rest of a snoozed one."""

findings = Table(
    "findings",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("item_id", _Id, nullable=False),
    Column("trace_id", CleanText, nullable=False),
    Column("run_id", CleanText, nullable=False),
    Column("rule", CleanText, nullable=False),
    Column("rule_version", Integer, nullable=False),
    Column("contract", CleanText, nullable=False),
    Column("place", Integer, nullable=False),
    Column("severity", Text, nullable=False),
    Column("fault", Text, nullable=False),
    Column("kind", Text),
    Column("reason", CleanText, nullable=False),
    Column("span_ids", Json, nullable=False),
    Column("evidence", Json),
    Column("is_complete", Boolean, nullable=False),
    Column("detected_at", Instant, nullable=False),
    Column("day", Text, nullable=False),
    UniqueConstraint(
        "trace_id", "run_id", "rule", "contract", "place", "rule_version", name="uq_findings_place"
    ),
    Index("ix_findings_item", "item_id", "id"),
    Index("ix_findings_rule", "rule", "day"),
)

samples = Table(
    "samples",
    metadata,
    Column("item_id", _Id, ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
    Column("trace_id", CleanText, primary_key=True),
    Column("run_id", CleanText, primary_key=True),
    Column("added_at", Instant, nullable=False),
    Index("ix_samples_run", "trace_id", "run_id"),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("trace_id", CleanText, primary_key=True),
    Column("run_id", CleanText, primary_key=True),
    Column("content", Text, nullable=False),
    Column("n_spans", Integer, nullable=False),
    Column("n_bytes", Integer, nullable=False),
    Column("spans", LargeBinary, nullable=False),
    Column("taken_at", Instant, nullable=False),
    Index("ix_snapshots_taken", "taken_at"),
)

events = Table(
    "events",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("item_id", _Id),
    Column("at", Instant, nullable=False),
    Column("actor", CleanText, nullable=False),
    Column("action", Text, nullable=False),
    Column("from_state", Text),
    Column("to_state", Text),
    Column("version", Integer),
    Column("note", CleanText),
    Column("data", Json),
    Index("ix_events_item", "item_id", "id"),
    Index("ix_events_at", "at"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("item_id", _Id, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("trace_id", CleanText, nullable=False),
    Column("run_id", CleanText, nullable=False),
    Column("rule", CleanText, nullable=False),
    Column("rule_version", Integer, nullable=False),
    Column("agent", CleanText),
    Column("verdict", Text, nullable=False),
    Column("fault", Text),
    Column("kind", Text),
    Column("reason", CleanText),
    Column("by", CleanText, nullable=False),
    Column("at", Instant, nullable=False),
    Column("unit", Text, nullable=False),
    Column("is_current", Boolean, nullable=False),
    Index("ix_verdicts_rule", "rule", "rule_version"),
    Index("ix_verdicts_item", "item_id"),
)
"""`unit` is the independent unit: one judged trace an item, or one bulk verdict. `is_current` ends
when the verdict is undone, or given again for the same trace."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("message_id", Text, nullable=False, unique=True),
    Column("topic", Text, nullable=False),
    Column("item_id", _Id),
    Column("payload", Json, nullable=False),
    Column("created_at", Instant, nullable=False),
    Index("ix_outbox_created", "created_at"),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("outbox_id", _Id, ForeignKey("outbox.id", ondelete="CASCADE"), nullable=False),
    Column("destination", CleanText, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Instant, nullable=False),
    Column("last_status", Integer),
    Column("last_error", CleanText),
    Column("settled_at", Instant),
    UniqueConstraint("outbox_id", "destination", name="uq_deliveries_message"),
    Index("ix_deliveries_due", "destination", "state", "next_at"),
)

keys = Table(
    "idempotency_keys",
    metadata,
    Column("key", CleanText, primary_key=True),
    Column("item_id", _Id, nullable=False),
    Column("act", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

tombstones = Table(
    "tombstones",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("item_id", _Id, nullable=False),
    Column("rule", CleanText, nullable=False),
    Column("verdict", Text),
    Column("rule_version", Integer, nullable=False),
    Column("pruned_at", Instant, nullable=False),
)

settings = Table(
    "settings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Json, nullable=False),
)

audits = Table(
    "audits",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("trace_id", CleanText, nullable=False),
    Column("run_id", CleanText, nullable=False),
    Column("agent", CleanText),
    Column("is_flagged", Boolean, nullable=False),
    Column("fraction", Double, nullable=False),
    Column("needs_second", Boolean, nullable=False),
    Column("draw", Double, nullable=False),
    Column("n_verdicts", Integer, nullable=False),
    Column("owner", CleanText),
    Column("until", Instant),
    Column("sampled_at", Instant, nullable=False),
    UniqueConstraint("trace_id", "run_id", name="uq_audits_run"),
    Index("ix_audits_open", "n_verdicts", "draw"),
)

audit_verdicts = Table(
    "audit_verdicts",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("audit_id", _Id, ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
    Column("by", CleanText, nullable=False),
    Column("word", Text, nullable=False),
    Column("reason", CleanText),
    Column("at", Instant, nullable=False),
    UniqueConstraint("audit_id", "by", name="uq_audit_verdicts_by"),
)
