"""Every example runs as it stands, and what it writes is judged as its story says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_EXAMPLES = Path(__file__).parent.parent.parent / "examples"
_WITH_FILES = {
    "openai_tool_loop": 1,
    "anthropic_streaming": 1,
    "verify_and_revise": 2,
    "framework_client": 1,
}


def _run(name: str, state: Path) -> str:
    environment = os.environ | {"SPANWITNESS_STATE_DIR": str(state)}
    done = subprocess.run(
        [sys.executable, _EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "n_runs"), _WITH_FILES.items())
def test_an_example_of_a_healthy_agent_is_judged_healthy(name, n_runs, tmp_path, spanwitness):
    _run(name, tmp_path)
    checked = spanwitness("check", "--format", "json", tmp_path / "traces")
    assert checked.status == 0, checked.out
    report = json.loads(checked.out)
    assert report["summary"]["runs"] == n_runs
    assert all(run["complete"] for run in report["runs"])


def test_attaching_to_a_provider_of_the_application_adds_a_verdict_span(tmp_path):
    assert "verdict output_constraint_bypass" in _run("existing_provider", tmp_path)


def test_every_example_is_listed_and_tested():
    files = {path.stem for path in _EXAMPLES.glob("*.py")}
    assert files == {*_WITH_FILES, "existing_provider"}
    listing = (_EXAMPLES / "README.md").read_text()
    assert all(f"`{name}.py`" in listing for name in files)
