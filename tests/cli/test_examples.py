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


def test_the_revision_that_made_an_answer_wrong_is_told_and_nothing_else(tmp_path, spanwitness):
    _run("verify_and_revise", tmp_path)
    checked = spanwitness("check", "--format", "json", tmp_path / "traces")
    assert checked.status == 1, checked.out
    report = json.loads(checked.out)
    assert all(run["complete"] for run in report["runs"])
    told = [
        [v["rule"] for v in run["verdicts"] if v["severity"] != "info"] for run in report["runs"]
    ]
    assert sorted(told) == [[], ["answer_corrupted"]]


def test_attaching_to_a_provider_of_the_application_adds_a_verdict_span(tmp_path):
    assert "verdict output_constraint_bypass" in _run("existing_provider", tmp_path)


def test_degraded_and_repeated_runs_are_measured_from_their_traces(tmp_path, spanwitness):
    _run("degrade_and_repeat", tmp_path)
    traces = tmp_path / "traces"
    told = json.loads(spanwitness("measure", "evidence", traces, "--format", "json").out)
    cells = {(cell["condition"], cell["stage"]): cell for cell in told["cells"]}
    assert [cells[name, "decide"]["n"] for name in
            ("clean", "partial_dropout", "wrong_document")] == [3, 3, 3]  # fmt: skip
    # A wrong document still parses: that is what the format lets pass.
    assert cells["wrong_document", "decide"]["parser_validity"] == 1
    assert cells["wrong_document", "decide"]["stage_success"] == 0
    assert cells["wrong_document", "audit"]["audit_false_assurance"] == 1
    assert cells["partial_dropout", "audit"]["detection"] == pytest.approx(1 / 3)
    families = {name: n for name, n in told["families"].items() if n}
    assert families == {"audit_false_assurance": 3, "recovered": 1, "preserved_success": 5}
    assert told["accounting"]["missing"] == []

    repeated = spanwitness("measure", "stability", traces, "--format", "json")
    found = {each["configuration"]: each for each in json.loads(repeated.out)["configurations"]}
    assert {name: (each["n_items"], each["n_runs"], each["n_unstable"])
            for name, each in found.items()} == {"whole": (3, 4, 0), "half": (3, 4, 1)}  # fmt: skip
    assert "9 runs have no tag configuration:NAME and are left out" in repeated.err


def test_every_example_is_listed_and_tested():
    files = {path.stem for path in _EXAMPLES.glob("*.py")}
    assert files == {
        *_WITH_FILES, "verify_and_revise", "existing_provider", "degrade_and_repeat",
    }  # fmt: skip
    listing = (_EXAMPLES / "README.md").read_text()
    assert all(f"`{name}.py`" in listing for name in files)
