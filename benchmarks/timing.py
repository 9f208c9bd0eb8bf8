"""How the benchmarks time: thread CPU, candidates interleaved, medians of batches."""

from __future__ import annotations

import gc
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RAW = Path(__file__).parent.parent / "build" / "bench"


@dataclass(frozen=True)
class Timing:
    """CPU nanoseconds per call of one candidate, one figure a batch."""

    name: str
    batches_ns: list[float]

    @property
    def median_ns(self) -> float:
        return statistics.median(self.batches_ns)


def compare(
    candidates: dict[str, Callable[[], object]], *, n_calls: int, n_batches: int
) -> dict[str, Timing]:
    """Time candidates in turn, batch by batch, so that a drifting machine moves all alike."""
    batches: dict[str, list[float]] = {name: [] for name in candidates}
    for function in candidates.values():
        for _ in range(min(n_calls, 200)):
            function()
    for _ in range(n_batches):
        for name, function in candidates.items():
            gc.collect()
            gc.disable()
            start = time.thread_time_ns()
            for _ in range(n_calls):
                function()
            batches[name].append((time.thread_time_ns() - start) / n_calls)
            gc.enable()
    return {name: Timing(name, figures) for name, figures in batches.items()}


def paired_ratio(timings: dict[str, Timing], name: str, base: str) -> float:
    """Median over batches of one candidate's figure over the base's figure of the same batch."""
    pairs = zip(timings[name].batches_ns, timings[base].batches_ns, strict=True)
    return statistics.median(a / b for a, b in pairs)


def keep(name: str, timings: object) -> None:
    """Write raw figures to `build/bench/<name>.json`."""
    RAW.mkdir(parents=True, exist_ok=True)
    data = timings
    if isinstance(timings, dict):
        data = {
            key: value.batches_ns if isinstance(value, Timing) else value
            for key, value in timings.items()
        }
    (RAW / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")
