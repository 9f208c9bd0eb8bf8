"""Tables of `spanwitness review` where 80 columns are all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.review.judged_runs import judged, spans_of, violation
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.review import Queue

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_no_cell_is_cut_at_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    url = f"sqlite:///{tmp_path}/queue.db"
    monkeypatch.setenv("SPANWITNESS_QUEUE", url)
    queue = Queue.open(url)
    one = judged(0, violation(severity="error"), agent="datasheet-extractor-of-the-night")
    queue.add(one, spans=spans_of(one))
    item = queue.claim_next("ann")
    assert item is not None

    listed = CliRunner().invoke(app, ["review", "list"]).stdout
    assert "…" not in listed
    assert "claimed by" in listed

    queue.verdict(item.id, verdict="confirmed", by="ann")
    queue.close()
    figures = CliRunner().invoke(app, ["review", "stats"]).stdout
    assert "…" not in figures
    assert "[0.21, 1.00]" in figures
    assert "tool_bypass" in figures
