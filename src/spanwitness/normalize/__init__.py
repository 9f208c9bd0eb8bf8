"""Spans of any dialect to runs, and the dispatch ledger of a run."""
