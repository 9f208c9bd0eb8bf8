"""The queue: runs, findings, items, their history, and what is to be sent out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _make_runs()
    _make_items()
    _make_findings()
    _make_samples()
    _make_history()
    _make_outbox()
    _make_rest()
    _forbid_changes()


def downgrade() -> None:
    """Drop the tables."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER events_insert_only ON events")
        op.execute("DROP FUNCTION spanwitness_refuse_change()")
    for name in (
        "settings", "tombstones", "idempotency_keys", "deliveries", "outbox", "verdicts", "events",
        "snapshots", "samples", "findings", "items", "runs",
    ):  # fmt: skip
        op.drop_table(name)


def _make_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("root_span_id", sa.Text, nullable=False),
        sa.Column("service", sa.Text),
        sa.Column("agent", sa.Text),
        sa.Column("workflow", sa.Text),
        sa.Column("subject_item", sa.Text),
        sa.Column("stack", sa.Text),
        sa.Column("contract", sa.Text),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("is_flagged", sa.Boolean, nullable=False),
        sa.Column("is_complete", sa.Boolean, nullable=False),
        sa.Column("n_findings", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("judged_at", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("ledger", sa.Text),
        sa.UniqueConstraint("trace_id", "run_id", name="uq_runs_trace_run"),
    )
    op.create_index("ix_runs_agent", "runs", ["agent", "day"])
    op.create_index("ix_runs_day", "runs", ["day"])


def _make_items() -> None:
    op.create_table(
        "items",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("fingerprint", sa.Text, nullable=False, unique=True),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("rule_version", sa.Integer, nullable=False),
        sa.Column("severity", sa.Integer, nullable=False),
        sa.Column("fault", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("contract", sa.Text),
        sa.Column("service", sa.Text),
        sa.Column("agent", sa.Text),
        sa.Column("subject", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("first_seen", sa.BigInteger, nullable=False),
        sa.Column("last_seen", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("until", sa.BigInteger),
        sa.Column("regressions", sa.Integer, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("verdict_by", sa.Text),
        sa.Column("verdict_at", sa.BigInteger),
        sa.Column("verdict_reason", sa.Text),
        sa.Column("verdict_trace_id", sa.Text),
        sa.Column("verdict_rule_version", sa.Integer),
        sa.Column("verdict_fault", sa.Text),
        sa.Column("verdict_kind", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    turn = ["severity", "due_at", "first_seen", "id"]
    op.create_index("ix_items_turn", "items", ["state", *turn])
    op.create_index("ix_items_until", "items", ["state", "until"])
    op.create_index("ix_items_priority", "items", turn)
    op.create_index("ix_items_newest", "items", ["last_seen", "id"])
    op.create_index("ix_items_rule", "items", ["rule"])


def _make_findings() -> None:
    op.create_table(
        "findings",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("item_id", _Id, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("rule_version", sa.Integer, nullable=False),
        sa.Column("contract", sa.Text, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("severity", sa.Text, nullable=False),
        sa.Column("fault", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("span_ids", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text),
        sa.Column("is_complete", sa.Boolean, nullable=False),
        sa.Column("detected_at", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.UniqueConstraint(
            "trace_id", "run_id", "rule", "contract", "place", "rule_version",
            name="uq_findings_place",
        ),
    )  # fmt: skip
    op.create_index("ix_findings_item", "findings", ["item_id", "id"])
    op.create_index("ix_findings_rule", "findings", ["rule", "day"])


def _make_samples() -> None:
    item = sa.ForeignKey("items.id", ondelete="CASCADE")
    op.create_table(
        "samples",
        sa.Column("item_id", _Id, item, primary_key=True),
        sa.Column("trace_id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("added_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_samples_run", "samples", ["trace_id", "run_id"])
    op.create_table(
        "snapshots",
        sa.Column("trace_id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("n_spans", sa.Integer, nullable=False),
        sa.Column("n_bytes", sa.Integer, nullable=False),
        sa.Column("spans", sa.LargeBinary, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_snapshots_taken", "snapshots", ["taken_at"])


def _make_history() -> None:
    op.create_table(
        "events",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("item_id", _Id),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("from_state", sa.Text),
        sa.Column("to_state", sa.Text),
        sa.Column("version", sa.Integer),
        sa.Column("note", sa.Text),
        sa.Column("data", sa.Text),
    )
    op.create_index("ix_events_item", "events", ["item_id", "id"])
    op.create_index("ix_events_at", "events", ["at"])
    op.create_table(
        "verdicts",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("item_id", _Id, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("rule_version", sa.Integer, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("fault", sa.Text),
        sa.Column("kind", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("is_current", sa.Boolean, nullable=False),
    )
    op.create_index("ix_verdicts_rule", "verdicts", ["rule", "rule_version"])
    op.create_index("ix_verdicts_item", "verdicts", ["item_id"])


def _make_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("message_id", sa.Text, nullable=False, unique=True),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("item_id", _Id),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_created", "outbox", ["created_at"])
    message = sa.ForeignKey("outbox.id", ondelete="CASCADE")
    op.create_table(
        "deliveries",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("outbox_id", _Id, message, nullable=False),
        sa.Column("destination", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("last_status", sa.Integer),
        sa.Column("last_error", sa.Text),
        sa.Column("settled_at", sa.BigInteger),
        sa.UniqueConstraint("outbox_id", "destination", name="uq_deliveries_message"),
    )
    op.create_index("ix_deliveries_due", "deliveries", ["destination", "state", "next_at"])


def _make_rest() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("item_id", _Id, nullable=False),
        sa.Column("act", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tombstones",
        sa.Column("fingerprint", sa.Text, primary_key=True),
        sa.Column("item_id", _Id, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("rule_version", sa.Integer, nullable=False),
        sa.Column("pruned_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def _forbid_changes() -> None:
    """Let the database itself hold that the history is only ever added to."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION spanwitness_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the history is insert-only'; END $$"
        )
        op.execute(
            "CREATE TRIGGER events_insert_only BEFORE UPDATE OR DELETE ON events "
            "FOR EACH ROW EXECUTE FUNCTION spanwitness_refuse_change()"
        )
        return
    for way in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER events_no_{way.lower()} BEFORE {way} ON events "
            "BEGIN SELECT RAISE(ABORT, 'the history is insert-only'); END"
        )
