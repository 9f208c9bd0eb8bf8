"""The published figures, and how a value is compared with a printed one."""

from __future__ import annotations

import json
from pathlib import Path

TABLES = json.loads((Path(__file__).parent / "paper_tables.json").read_text(encoding="utf-8"))


def assert_printed(value: float | None, figure: float, *, digits: int | None = None) -> None:
    """Assert that a value rounds to a printed figure (three digits, or as many as are printed)."""
    assert value is not None
    if digits is None:
        digits = max(3, len(repr(figure).partition(".")[2]))
    assert round(value, digits) == figure or abs(value - figure) <= 0.5 * 10**-digits + 1e-12, (
        value,
        figure,
    )
