from __future__ import annotations

from pathlib import Path

import pytest

from spanwitness.stats.coverage import METHODS, coverage_markdown

DOCS = Path(__file__).parents[2] / "docs" / "measures.md"


@pytest.mark.parametrize("method", METHODS)
def test_the_coverage_in_the_docs_is_the_computed_one(method):
    table = coverage_markdown(
        method, (10, 20, 30, 50, 100, 200), (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    )
    assert f"`{method}`\n\n{table}" in DOCS.read_text(encoding="utf-8")
