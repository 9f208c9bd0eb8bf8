"""Runs migrations in the transaction of the connection that `Database` gives."""

from __future__ import annotations

from alembic import context

from spanwitness.review.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
# The transaction is the caller's.
context.run_migrations()
