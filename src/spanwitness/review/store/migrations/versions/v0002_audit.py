"""Audit mode: runs drawn at random, flagged and unflagged, and what reviewers say of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of audit mode."""
    op.create_table(
        "audits",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("is_flagged", sa.Boolean, nullable=False),
        sa.Column("fraction", sa.Double, nullable=False),
        sa.Column("needs_second", sa.Boolean, nullable=False),
        sa.Column("draw", sa.Double, nullable=False),
        sa.Column("n_verdicts", sa.Integer, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("until", sa.BigInteger),
        sa.Column("sampled_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("trace_id", "run_id", name="uq_audits_run"),
    )
    op.create_index("ix_audits_open", "audits", ["n_verdicts", "draw"])
    audit = sa.ForeignKey("audits.id", ondelete="CASCADE")
    op.create_table(
        "audit_verdicts",
        sa.Column("id", _Id, primary_key=True, autoincrement=True),
        sa.Column("audit_id", _Id, audit, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("word", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("audit_id", "by", name="uq_audit_verdicts_by"),
    )


def downgrade() -> None:
    """Drop them; the queue itself is untouched."""
    op.drop_table("audit_verdicts")
    op.drop_table("audits")
