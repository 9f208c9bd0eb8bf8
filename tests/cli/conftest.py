"""The command line as a user runs it: a process of its own, files, exit statuses."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


class Prepared:
    """One process for many commands: see `forking.py`."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "forking.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def run(self, request: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], 120)
        assert ready, f"no end after 120 s: {request['arguments']}"
        status = self._process.stdout.readline()
        assert status, "the prepared process ended; its last words are on stderr"
        return int(status)

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "SPANWITNESS_"))}


class Command:
    """`spanwitness ...` with a home of its own and no settings of the tester's."""

    def __init__(self, home: Path, prepared: Prepared | None = None) -> None:
        self._home = home
        self._prepared = prepared
        self._count = 0
        self.environment = _environment() | {
            "HOME": str(home),
            "SPANWITNESS_STATE_DIR": str(home / "state"),
            "COLUMNS": "100",
        }

    def __call__(self, *arguments: object, stdin: bytes = b"", **settings: str) -> Outcome:
        words = [str(word) for word in arguments]
        environment = self.environment | settings
        # The demo is started as users start it; it watches SDKs and ends with work at its exit.
        if self._prepared is None or "demo" in words:
            return _spawned(words, stdin, environment)
        self._count += 1
        files = self._home / ".streams" / str(self._count)
        files.mkdir(parents=True)
        streams = {name: files / name for name in ("stdin", "out", "err")}
        for path in streams.values():
            path.write_bytes(stdin if path.name == "stdin" else b"")
        status = self._prepared.run(
            {"arguments": words, "environment": environment, "directory": str(Path.cwd())}
            | {name: str(path) for name, path in streams.items()}
        )
        return Outcome(status, *(streams[name].read_bytes().decode() for name in ("out", "err")))


def _spawned(words: list[str], stdin: bytes, environment: dict[str, str]) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "spanwitness", *words],
        input=stdin,
        capture_output=True,
        timeout=120,
        env=environment,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    process = Prepared(_environment())
    yield process
    process.stop()


@pytest.fixture
def spanwitness(tmp_path: Path, prepared: Prepared) -> Command:
    return Command(tmp_path, prepared)


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
