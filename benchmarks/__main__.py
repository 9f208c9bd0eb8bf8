"""`python -m benchmarks [NAME ...] [--full] [--markdown]`: measure, and print the table."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import time
from typing import TYPE_CHECKING

import structlog

from benchmarks.table import lines
from benchmarks.timing import keep, machine

if TYPE_CHECKING:
    from benchmarks.table import Row

NAMES = ("imports", "tool_calls", "wrapped_client", "check", "export")
"""Modules of this package with a function `rows`, in the order of the table."""


def main() -> int:
    """Run the benchmarks that were asked for and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES) + "; none = all")
    parser.add_argument("--full", action="store_true", help="also those that take minutes")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(NAMES)}")
    # The timed runs repeat one call hundreds of times, which is a finding in each of them.
    logging.getLogger("spanwitness").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    print(_heading(), file=sys.stderr)
    found: list[Row] = []
    for name in options.names or NAMES:
        start = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        module = importlib.import_module(f"benchmarks.{name}")
        full = {"is_full": True} if options.full and name == "check" else {}
        found += module.rows(**full)
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    print("\n".join(lines(found, as_markdown=options.markdown)))
    missed = [row for row in found if row.is_met is False]
    judged = [row for row in found if row.is_met is not None]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} bars met; load {_load()}")
    keep("table", found)
    return 0


def _heading() -> str:
    about = machine()
    return f"Python {about['python']}, {about['cores']} cores, load {_load()}"


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
