"""What `import spanwitness` costs: `python -m benchmarks imports`.

User and system CPU of a fresh interpreter; medians, candidates in turn. The bar is for the whole of
it, the interpreter included. The public names load on first use, so the second row is what a
program that uses them pays.
"""

from __future__ import annotations

import os
import statistics
import sys

from benchmarks.table import Row, at_most
from benchmarks.timing import keep

_BAR_MS = 200
_ALL = "; ".join(
    ("import spanwitness as sw", "sw.tool, sw.step, sw.agent, sw.run, sw.wrap_client, sw.configure")
)
_CODES = {
    "an interpreter that imports nothing": "pass",
    "import spanwitness": "import spanwitness",
    "import spanwitness and use of its main names": _ALL,
    "import of OpenTelemetry alone": "import opentelemetry.trace, opentelemetry.sdk.trace",
}


def rows(*, n_turns: int = 11) -> list[Row]:
    """Start interpreters in turn."""
    figures: dict[str, list[float]] = {name: [] for name in _CODES}
    for _ in range(n_turns + 1):
        for name, code in _CODES.items():
            figures[name].append(_cpu_ms(code))
    figures = {name: each[1:] for name, each in figures.items()}  # the first reads the disk
    keep("imports", figures)
    found = []
    for name, each in figures.items():
        median = statistics.median(each)
        figure = f"{median:.0f} ms CPU"
        if "spanwitness" in name:
            bar = f"<= {_BAR_MS} ms"
            found.append(at_most(name, median, _BAR_MS, figure=figure, bar=bar))
        else:
            found.append(Row(what=f"  {name}", figure=figure))
    return found


def _cpu_ms(code: str) -> float:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise AssertionError(f"{code!r} failed")
    return (usage.ru_utime + usage.ru_stime) * 1000
