"""What judging stored traces costs: `python -m benchmarks check [--full]`.

The file is read, made into runs and judged by every rule through the same code as `spanwitness
check`; printing is left out. Beside it, in the same process and turn by turn: `orjson.loads` of
every line of the same file, with nothing else imported: a larger heap makes the garbage collector
slow down orjson's many objects, not ours. CPU of the whole process (the reader uses no threads).

The peers judge a tenth of it, in the same turns: tracelint 0.14 holds the whole file in memory and
grows with it. What a peer cannot read as it stands is converted outside the timed part:

* tracelint reads OTLP lines itself; timed are `load_source` and `lint_trace` with its own rules.
* agentic-behavioral-contracts wants one JSON document a trace, so each trace was written as one
  text before; timed are `json.loads`, its OTLP adapter and the six constraints of its own
  claims-processing contract.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.synthetic import traces, write
from benchmarks.table import Row, at_most
from benchmarks.timing import RAW, keep
from spanwitness.archive import TraceReader
from spanwitness.archive.otlp_json import encode_request
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.synthetic import Dialect

_DECODE_BAR, _PEER_BAR, _MEMORY_BAR_MB = 3.0, 2.0, 100
_N_FULL = 1_000_000
_MEMORY_CODE = """
import re, sys
from benchmarks.check import judge
found = judge(sys.argv[1])
# Not ru_maxrss: a child inherits the peak of the process that started it.
peak_kb = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
print(peak_kb / 1024, found["flagged"], found["runs"])
"""


def judge(path: Path | str) -> Counter[str]:
    """Read, build and judge everything in a file; return what was seen."""
    seen: Counter[str] = Counter()
    reader = TraceReader([path])
    for spans in reader:
        seen["spans"] += len(spans)
        for run in build_runs(spans):
            seen["runs"] += 1
            seen["flagged"] += evaluate(run).is_flagged
    if reader.problems:
        raise AssertionError(reader.problems[0])
    return seen


def rows(
    *, n_spans: int = 100_000, n_turns: int = 2, n_peer_spans: int = 10_000, is_full: bool = False
) -> list[Row]:
    """Judge files of both dialects, traces together and interleaved."""
    RAW.mkdir(parents=True, exist_ok=True)
    found: list[Row] = []
    dialects: tuple[Dialect, ...] = ("own", "genai")
    for dialect in dialects:
        for is_interleaved in (False, True):
            found += _file_rows(dialect, n_spans, n_turns, is_interleaved=is_interleaved)
    found += _peer_rows(n_peer_spans, n_turns)
    if is_full:
        for dialect in dialects:
            for is_interleaved in (False, True):
                with _file(dialect, _N_FULL, is_interleaved=is_interleaved) as path:
                    found.append(_memory_row(path, dialect, _N_FULL, is_interleaved=is_interleaved))
    return found


def _name(dialect: Dialect, *, is_interleaved: bool) -> str:
    spans = {"own": "our spans", "genai": "plain OTel GenAI"}[dialect]
    return f"{spans}, {'interleaved' if is_interleaved else 'traces together'}"


@contextlib.contextmanager
def _file(dialect: Dialect, n_spans: int, *, is_interleaved: bool = False):
    path = RAW / f"synthetic-{dialect}-{n_spans}.jsonl"
    try:
        write(path, n_spans=n_spans, dialect=dialect, is_interleaved=is_interleaved)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _in_turn(candidates: dict[str, Callable[[], object]], n_turns: int) -> dict[str, list[float]]:
    """CPU seconds of each candidate in each turn."""
    figures: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(n_turns):
        for name, candidate in candidates.items():
            start = time.process_time()
            candidate()
            figures[name].append(time.process_time() - start)
    return figures


def _ratio(figures: dict[str, list[float]], name: str, base: str) -> float:
    return statistics.median(a / b for a, b in zip(figures[name], figures[base], strict=True))


def _file_rows(dialect: Dialect, n_spans: int, n_turns: int, *, is_interleaved: bool) -> list[Row]:
    name = _name(dialect, is_interleaved=is_interleaved)
    with _file(dialect, n_spans, is_interleaved=is_interleaved) as path:
        seen: Counter[str] = Counter()
        n_bytes = path.stat().st_size
        memory = (
            [_memory_row(path, dialect, n_spans, is_interleaved=True)] if is_interleaved else []
        )
        loads = _orjson_loads()
        if loads is None:
            return [Row(what=f"check, {name}", figure="orjson is not installed"), *memory]
        figures = _in_turn(
            {
                "spanwitness": lambda: seen.update(judge(path)),
                "orjson": lambda: _decode(path, loads),
            },
            n_turns,
        )
    n_spans = seen["spans"] // n_turns
    keep(f"check_{dialect}_{'interleaved' if is_interleaved else 'together'}", figures)
    ratio = _ratio(figures, "spanwitness", "orjson")
    per_second = n_spans / statistics.median(figures["spanwitness"])
    kb = n_bytes / n_spans / 1000
    n_runs, n_flagged = seen["runs"] // n_turns, seen["flagged"] // n_turns
    figure = (
        f"{ratio:.2f} x orjson ({per_second / 1000:.0f}k spans a CPU second, {kb:.1f} kB a span,"
        f" {n_flagged} of {n_runs} runs flagged)"
    )
    bar = f"<= {_DECODE_BAR:g} x"
    return [at_most(f"check, {name}", ratio, _DECODE_BAR, figure=figure, bar=bar), *memory]


def _orjson_loads() -> Callable[[bytes], object] | None:
    try:
        import orjson
    except ImportError:
        return None
    return orjson.loads


def _decode(path: Path, loads: Callable[[bytes], object]) -> None:
    with path.open("rb") as file:
        for line in file:
            loads(line)


# --- peers


def _peer_rows(n_spans: int, n_turns: int) -> list[Row]:
    found = []
    dialects: tuple[Dialect, ...] = ("own", "genai")
    for dialect in dialects:
        with _file(dialect, n_spans) as path:
            candidates: dict[str, Callable[[], object]] = {"spanwitness": lambda p=path: judge(p)}
            for make in (_tracelint, _behavioral_contracts):
                with contextlib.suppress(ImportError):
                    name, candidate = make(path, dialect, n_spans)
                    candidates[name] = candidate
            for candidate in candidates.values():
                candidate()
            figures = _in_turn(candidates, n_turns)
        keep(f"check_peers_{dialect}", figures)
        found += _compared(dialect, figures)
    return found


def _compared(dialect: Dialect, figures: dict[str, list[float]]) -> list[Row]:
    name = _name(dialect, is_interleaved=False)
    peers = {
        peer: _ratio(figures, peer, "spanwitness") for peer in figures if peer != "spanwitness"
    }
    what = f"check, {name}, beside the fastest peer"
    if not peers:
        return [Row(what=what, figure="no peer is installed")]
    fastest = min(peers, key=peers.__getitem__)
    first = Row(
        what=what,
        figure=f"{peers[fastest]:.1f} times as fast as {fastest}",
        bar=f">= {_PEER_BAR:g} times",
        is_met=peers[fastest] >= _PEER_BAR,
    )
    return [first, *(Row(what=f"  {p}", figure=f"{r:.1f} x our CPU") for p, r in peers.items())]


def _tracelint(path: Path, *_: object) -> tuple[str, Callable[[], object]]:
    from importlib.metadata import version

    from tracelint import ToolRegistry, default_rules, lint_trace
    from tracelint.sources import load_source

    def lint() -> object:
        registry, rules = ToolRegistry(), default_rules()
        return [lint_trace(trace, rules, registry) for trace in load_source(path, "otel")]

    return f"tracelint {version('tracelint')}", lint


def _behavioral_contracts(
    _: Path, dialect: Dialect, n_spans: int
) -> tuple[str, Callable[[], object]]:
    import json
    from importlib.metadata import version

    from agent_validator.adapters.otel import OTELAdapter
    from agent_validator.registry import load_contract
    from agent_validator.validator import validate

    texts = [encode_request(spans) for spans in traces(n_spans, dialect)]
    contract, adapter = load_contract("claims-processing-v1"), OTELAdapter()

    def check() -> object:
        return [validate(contract, adapter.normalize(json.loads(text))) for text in texts]

    return f"agentic-behavioral-contracts {version('agentic-behavioral-contracts')}", check


# --- memory


def _memory_row(path: Path, dialect: Dialect, n_spans: int, *, is_interleaved: bool) -> Row:
    start = time.monotonic()
    output = subprocess.run(
        [sys.executable, "-c", _MEMORY_CODE, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    ).stdout
    peak_mb = float(output.split()[0])
    name = f"check_memory_{dialect}_{n_spans}_{'interleaved' if is_interleaved else 'together'}"
    keep(name, {"peak_mb": peak_mb, "wall_s": time.monotonic() - start})
    return at_most(
        f"  peak memory, {n_spans:,} spans, {_name(dialect, is_interleaved=is_interleaved)}",
        peak_mb,
        _MEMORY_BAR_MB,
        figure=f"{peak_mb:.0f} MB",
        bar=f"<= {_MEMORY_BAR_MB} MB",
    )
