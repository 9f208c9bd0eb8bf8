"""From spans of any dialect to runs, and what a run's ledger shows."""

from __future__ import annotations

from spanwitness.normalize.runs import build_runs

__all__ = ["build_runs"]
