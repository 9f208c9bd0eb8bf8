"""`python -m benchmarks.detection.page`: write `docs/detection.md` from the counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.detection.tables import lines, verdicts

__all__ = ["RESULTS", "page"]

_ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
"""The counts that the page shows."""

_HEAD = Path(__file__).with_name("page.md")


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    bars = [f"| {text} | {'met' if is_met else 'missed'} |" for text, is_met in verdicts(found)]
    table = ["", "## Bars", "", "| bar | |", "| --- | --- |", *bars, "", "## Figures"]
    return _HEAD.read_text(encoding="utf-8") + "\n".join([*table, *lines(found)]) + "\n"


def main() -> None:
    """Write the page."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    (_ROOT / "docs" / "detection.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
