"""The command line as a user runs it: a process of its own, files, exit statuses."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


class Command:
    """`spanwitness ...` with a home of its own and no settings of the tester's."""

    def __init__(self, home: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "SPANWITNESS_"))}
        self.environment = kept | {
            "HOME": str(home),
            "SPANWITNESS_STATE_DIR": str(home / "state"),
            "COLUMNS": "100",
        }

    def __call__(self, *arguments: object, stdin: bytes | None = None, **settings: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "spanwitness", *map(str, arguments)],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=120,
            env=self.environment | settings,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def spanwitness(tmp_path: Path) -> Command:
    return Command(tmp_path)


@dataclass(frozen=True)
class Demo:
    shown: Outcome
    healthy: Path
    with_schema: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, run once; its two traces."""
    folder = tmp_path_factory.mktemp("demo")
    shown = Command(folder)("demo", "--no-page", "--out", folder)
    return Demo(shown, folder / "healthy.otlp.json", folder / "with-schema.otlp.json")
