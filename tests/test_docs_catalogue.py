"""The catalogue's page names, for each fault of tracing tools, tests that exist and say its id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "catalogue.md"
ROW = re.compile(r"^\| (B\d\d) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = {row[0]: row for row in ROW.findall(PAGE.read_text(encoding="utf-8"))}
N_REPORTS = 46


def test_every_report_of_family_b_has_a_row():
    assert len(ROWS) == N_REPORTS
    assert (
        len(re.findall(r"^\| B\d\d ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == N_REPORTS
    )


@pytest.mark.parametrize("number", ROWS)
def test_each_row_names_test_files_that_name_its_id(number):
    files = [name.strip() for name in ROWS[number][3].split(",")]
    assert files
    for name in files:
        assert re.fullmatch(r"tests/[a-z_/]+/test_[a-z_]+\.py", name), name
        content = (ROOT / name).read_text(encoding="utf-8")
        said = re.search(rf"\b{number}\b|_{number.lower()}_", content)
        assert said is not None, f"{name} does not name {number}"
        assert "def test_" in content


@pytest.mark.parametrize("number", ROWS)
def test_each_row_has_a_test_among_the_tracing_faults(number):
    files = [name.strip() for name in ROWS[number][3].split(",")]
    own = [name for name in files if name.startswith("tests/tracing_faults/")]
    assert own
    for name in own:
        content = (ROOT / name).read_text(encoding="utf-8")
        tests = re.split(r"^(?:async )?def (test_)", content, flags=re.MULTILINE)[1:]
        head = content.partition("from __future__")[0]
        is_named = any(re.search(rf"\b{number}\b|{number.lower()}_", test) for test in tests)
        assert is_named or number in head, f"no test in {name} names {number}"
