"""Small tables for the tests of `measure`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared" / "data"
"""Public data beside a checkout; tests that need it are skipped where it is absent."""

NEEDS_SHARED = "needs the public data sets beside the checkout"


def write_csv(path: Path, rows: list[dict]) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def flows(*, corrected: int, corrupted: int, right: int, wrong: int, **features) -> list[dict]:
    """Rows with the given counts; `right` and `wrong` are the kept ones."""
    bits = [(0, 1)] * corrected + [(1, 0)] * corrupted + [(1, 1)] * right + [(0, 0)] * wrong
    tag = "-".join(map(str, features.values()))
    return [
        {"item_id": f"i{tag}-{at}", "before": before, "after": after, **features}
        for at, (before, after) in enumerate(bits)
    ]


def stage(case: int, condition: str, name: str, **cells) -> dict:
    row = {
        "case_id": f"c{case}", "condition": condition, "stage": name, "parser_valid": 1,
        "validity_judgment": 1, "evidence_adequate": int(condition == "clean"),
        "audit_detected_degradation": "", "audit_false_assurance": "", "escalation_recovery": "",
        "status": "retained",
    }  # fmt: skip
    return row | cells
