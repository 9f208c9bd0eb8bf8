"""The queue in a database: SQLite by default, PostgreSQL where replicas share it."""
