"""`python -m benchmarks [NAME ...] [--full] [--markdown]`: measure, and print the table."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import structlog

from benchmarks.table import Row, lines
from benchmarks.timing import keep, machine

NAMES = (
    "imports",
    "tool_calls",
    "wrapped_client",
    "check",
    "content",
    "export",
    "learned_bound",
)
"""Modules of this package with a function `rows`, in the order of the table."""


def main() -> int:
    """Run the benchmarks that were asked for and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES) + "; none = all")
    parser.add_argument("--full", action="store_true", help="also those that take minutes")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(NAMES)}")
    if options.rows:
        Path(options.rows).write_text(
            json.dumps([asdict(row) for row in _rows(options.names[0], is_full=options.full)])
        )
        return 0
    print(_heading(), file=sys.stderr)
    found: list[Row] = []
    for name in options.names or NAMES:
        start = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        found += _in_own_process(name, is_full=options.full)
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    print("\n".join(lines(found, as_markdown=options.markdown)))
    missed = [row for row in found if row.is_met is False]
    judged = [row for row in found if row.is_met is not None]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} bars met; load {_load()}")
    keep("table", found)
    return 0


def _in_own_process(name: str, *, is_full: bool) -> list[Row]:
    """Run one benchmark in a fresh process.

    What another one has imported would change the figures: with the peers loaded, the garbage
    collector doubles what decoding with orjson costs.
    """
    with tempfile.TemporaryDirectory(prefix="spanwitness-bench-") as folder:
        path = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", name, "--rows", str(path)]
        subprocess.run([*command, *(["--full"] if is_full else [])], check=True)
        return [Row(**each) for each in json.loads(path.read_text())]


def _rows(name: str, *, is_full: bool) -> list[Row]:
    # The timed runs repeat one call hundreds of times, which is a finding in each of them.
    logging.getLogger("spanwitness").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    module = importlib.import_module(f"benchmarks.{name}")
    found: list[Row] = module.rows(is_full=True) if is_full and name == "check" else module.rows()
    return found


def _heading() -> str:
    about = machine()
    return f"Python {about['python']}, {about['cores']} cores, load {_load()}"


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
