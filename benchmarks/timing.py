"""How the benchmarks time: thread CPU, candidates interleaved, medians of paired ratios.

The machine that runs them is seldom idle. Thread CPU leaves out the time in which others ran,
turns of a few milliseconds let a drifting clock move all candidates alike, and a ratio is taken
within each turn before the median is. The garbage collector runs between the turns, not in them.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RAW = Path(__file__).parent.parent / "build" / "bench"

_PACKAGES = ("spanwitness", "opentelemetry-sdk", "msgspec", "openai", "httpx2", "orjson")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Something to time that needs work which is not timed."""

    call: Callable[[], object]
    n_calls: int = 1
    """How many calls of the thing that is measured one `call` makes."""
    prepare: Callable[[], object] | None = None
    """Run before each `call`, not timed."""
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered and left around each batch, not timed."""


@dataclass(frozen=True)
class Timing:
    """CPU nanoseconds per call of one candidate, one figure a batch."""

    name: str
    batches_ns: list[float]

    @property
    def median_ns(self) -> float:
        return statistics.median(self.batches_ns)

    @property
    def median_us(self) -> float:
        return self.median_ns / 1000


def compare(
    candidates: Mapping[str, Callable[[], object] | Candidate], *, n_calls: int, n_batches: int
) -> dict[str, Timing]:
    """Time candidates in turn, batch by batch, so that a drifting machine moves all alike.

    Args:
        candidates: By name: a function, or one with work of its own around it.
        n_calls: How often each is called in a batch.
        n_batches: How many figures each gets, after one batch that is not counted.
    """
    whole = {
        name: found if isinstance(found, Candidate) else Candidate(call=found)
        for name, found in candidates.items()
    }
    batches: dict[str, list[float]] = {name: [] for name in whole}
    for number in range(n_batches + 1):
        for name, candidate in whole.items():
            figure = _batch_ns(candidate, n_calls)
            if number:
                batches[name].append(figure)
    return {name: Timing(name, figures) for name, figures in batches.items()}


def _batch_ns(candidate: Candidate, n_calls: int) -> float:
    call, prepare, clock = candidate.call, candidate.prepare, time.thread_time_ns
    with candidate.around():
        gc.collect()
        gc.disable()
        try:
            if prepare is None:
                start = clock()
                for _ in range(n_calls):
                    call()
                total = clock() - start
            else:
                total = -round(_reading_ns() * n_calls)
                for _ in range(n_calls):
                    prepare()
                    start = clock()
                    call()
                    total += clock() - start
        finally:
            gc.enable()
    return total / (n_calls * candidate.n_calls)


@cache
def _reading_ns() -> float:
    """Return what two readings of the clock show with nothing between them."""
    clock = time.thread_time_ns
    return statistics.median(-(clock() - clock()) for _ in range(5001))


def paired_ratio(timings: Mapping[str, Timing], name: str, base: str) -> float:
    """Median over batches of one candidate's figure over the base's figure of the same batch."""
    pairs = zip(timings[name].batches_ns, timings[base].batches_ns, strict=True)
    return statistics.median(a / b for a, b in pairs)


def paired_difference_ns(timings: Mapping[str, Timing], name: str, base: str) -> float:
    """Median over batches of what one candidate costs more than the base in the same batch."""
    pairs = zip(timings[name].batches_ns, timings[base].batches_ns, strict=True)
    return statistics.median(a - b for a, b in pairs)


def keep(name: str, figures: object) -> None:
    """Write raw figures, the machine, its load and the versions to `build/bench/<name>.json`."""
    RAW.mkdir(parents=True, exist_ok=True)
    data = {"machine": machine(), "figures": _plain(figures)}
    (RAW / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def machine() -> dict[str, object]:
    """Say where and on what the figures were taken."""
    found: dict[str, object] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _plain(value: object) -> object:
    if isinstance(value, Timing):
        return value.batches_ns
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
