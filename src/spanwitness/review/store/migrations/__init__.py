"""Migrations of the queue's tables, run by Alembic. A released one is never changed."""
