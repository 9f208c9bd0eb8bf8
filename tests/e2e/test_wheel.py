"""The wheel alone, in an environment that holds nothing else: what a user gets by `pip install`."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

_ROOT = Path(__file__).parent.parent.parent
_CLEAN = _ROOT / "tests/traces/otel-genai-openai/clean.otlp.json"
_BYPASS = _ROOT / "tests/traces/otel-genai-openai/bypass.otlp.json"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, _ROOT]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = folder.glob("spanwitness-*.whl")
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / "bin"
    install = [scripts / "python", "-m", "pip", "install", "--quiet", wheel]
    subprocess.run(install, check=True, timeout=300)
    return scripts


def _run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_core_install_checks_traces(scripts):
    assert _run(scripts / "spanwitness", "check", _CLEAN).returncode == 0
    flagged = _run(scripts / "spanwitness", "check", _BYPASS)
    assert flagged.returncode == 1
    assert "output_constraint_bypass" in flagged.stdout


def test_the_core_install_traces_a_tool(scripts, tmp_path):
    code = (
        "import spanwitness as sw\n"
        f"witness = sw.configure(service_name='x', state_dir={str(tmp_path)!r})\n"
        "look = sw.tool(lambda page: page + 1)\n"
        "with sw.run('ask') as run: run.submit(look(1))\n"
        "assert witness.flush(5)\n"
    )
    traced = _run(scripts / "python", "-c", code)
    assert traced.returncode == 0, traced.stderr
    assert len(list((tmp_path / "traces").glob("*.jsonl"))) == 1


def test_the_demo_names_the_extra_that_it_needs(scripts):
    told = _run(scripts / "spanwitness", "demo", "--no-page")
    assert told.returncode == 2
    assert "pip install 'spanwitness[demo]'" in told.stderr
    assert "Traceback" not in told.stderr
