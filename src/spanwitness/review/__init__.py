"""The human review queue: its store, its page, and what goes out from it."""
