"""Rules of the house that a linter does not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_SOURCES = sorted((_ROOT / "src/spanwitness").rglob("*.py"))
_TESTS = sorted((_ROOT / "tests").rglob("*.py"))
_EMPTY_NAMES = {"utils", "helpers", "common", "misc", "base", "core"}
_LONGER = {"src/spanwitness/normalize/messages.py": 450, "src/spanwitness/capture/spans.py": 450}
"""Files that hold one codec or one birth place, and would be harder to read in two."""
_HEAVY = {
    *(
        "alembic",
        "grpc",
        "httpx",
        "httpx2",
        "jinja2",
        "jsonschema",
        "matplotlib",
        "numpy",
        "openai",
    ),
    *("pandas", "pint", "prometheus_client", "pyarrow", "pydantic", "rapidfuzz", "rich", "scipy"),
    *("sqlalchemy", "standardwebhooks", "starlette", "statsmodels", "typer", "uvicorn", "yaml"),
}
"""What takes long to load, and is loaded where it is used."""


@pytest.mark.parametrize("path", _SOURCES, ids=lambda p: str(p.relative_to(_ROOT)))
def test_a_source_file_can_be_held_in_the_head(path: Path):
    limit = _LONGER.get(str(path.relative_to(_ROOT)), 400)
    assert len(path.read_text().splitlines()) <= limit


@pytest.mark.parametrize("path", _TESTS, ids=lambda p: str(p.relative_to(_ROOT)))
def test_a_test_file_can_be_held_in_the_head(path: Path):
    assert len(path.read_text().splitlines()) <= 600


def test_every_file_is_named_after_what_it_holds():
    assert not {path.stem for path in _SOURCES} & _EMPTY_NAMES


def test_every_rule_file_is_named_after_its_rule():
    from spanwitness.rules.builtin import CLAUSE_RULES, RULES

    rules = {*(rule.id for rule in RULES), *CLAUSE_RULES}
    files = {path.stem for path in (_ROOT / "src/spanwitness/rules").glob("*.py")}
    assert rules <= files


def test_importing_the_package_loads_none_of_its_heavy_dependencies():
    code = "import spanwitness, sys; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not _HEAVY & set(loaded)


def test_checking_a_trace_loads_only_what_a_command_line_needs():
    trace = _ROOT / "tests/traces/otel-genai-openai/bypass.otlp.json"
    code = (
        "import sys; from spanwitness.cli.app import main\n"
        f"sys.argv = ['spanwitness', 'check', {str(trace)!r}]\n"
        "try: main()\n"
        "except SystemExit: print(' '.join(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert any("FLAGGED" in line for line in shown)
    assert _HEAVY & set(shown[-1].split()) == {"pydantic", "rich", "typer"}


def test_no_test_of_the_product_reads_what_it_cannot_carry():
    named = [p for p in _SOURCES if "../shared" in p.read_text()]
    assert named == []
