"""The benchmarks run, on tiny sizes; what they measure is no matter of a test."""

from __future__ import annotations

import importlib.util

import pytest
from benchmarks.table import Row, lines
from benchmarks.timing import Candidate, compare, paired_difference_ns, paired_ratio

from benchmarks import check, export, imports, synthetic, tool_calls
from spanwitness.archive import TraceReader
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate


@pytest.fixture(autouse=True)
def raw_figures(tmp_path, monkeypatch):
    for module in ("benchmarks.timing", "benchmarks.check"):
        monkeypatch.setattr(f"{module}.RAW", tmp_path)
    return tmp_path


def needs(module):
    is_there = importlib.util.find_spec(module) is not None
    return pytest.mark.skipif(
        not is_there, reason=f"{module} is in the environment of `make bench`"
    )


@pytest.mark.parametrize("dialect", ["own", "genai"])
@pytest.mark.parametrize("is_interleaved", [False, True])
def test_synthetic_traces_are_whole_and_raise_no_alarm(tmp_path, dialect, is_interleaved):
    path = tmp_path / "traces.jsonl"
    n_spans = synthetic.write(path, n_spans=800, dialect=dialect, is_interleaved=is_interleaved)
    runs = [run for spans in TraceReader([path]) for run in build_runs(spans)]
    assert sum(1 for spans in TraceReader([path]) for _ in spans) == n_spans
    assert len(runs) > 40
    assert all(run.is_complete for run in runs)
    assert not any(evaluate(run).is_flagged for run in runs)


def test_synthetic_traces_are_equal_for_equal_seeds(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        synthetic.write(path, n_spans=100, dialect="own", seed=seed)
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()


def test_check_gives_its_memory_and_is_compared_with_what_is_installed(raw_figures):
    found = check.rows(n_spans=300, n_turns=1, n_peer_spans=100)
    whats = [row.what for row in found]
    assert sum("peak memory" in what for what in whats) == 2
    assert list(raw_figures.glob("check_memory_*.json"))
    assert not list(raw_figures.glob("synthetic-*"))


def test_decorated_calls_of_every_kind_have_a_bar():
    found = tool_calls.rows(n_batches=1, sizes=("small",))
    barred = [row.what for row in found if row.bar]
    for word in ("sync", "async", "generator", "switched off", "unsampled"):
        assert any(word in what for what in barred), word
    assert next(row for row in found if row.bar == "0").is_met


@needs("traceloop")
@needs("openinference")
def test_peers_stand_beside_decorated_calls():
    found = [row.what for row in tool_calls.rows(n_batches=1, sizes=("small",))]
    assert any("traceloop" in what for what in found)
    assert any("openinference" in what for what in found)


def test_import_is_judged():
    found = imports.rows(n_turns=1)
    assert next(row.what for row in found if row.bar) == "import spanwitness"


def test_ways_to_end_are_counted():
    rows = export.rows(n_trials=1, n_batches=1, n_calls=100, n_rounds=1)
    found = {row.what: row for row in rows}
    assert found["normal exit"].is_met
    assert found["SIGTERM (hook)"].is_met
    assert found["collector down: spans counted as lost"].is_met


def test_what_is_prepared_is_not_timed_and_what_is_around_is_entered_once_a_batch():
    calls = []

    class Around:
        def __enter__(self):
            calls.append("enter")

        def __exit__(self, *_):
            calls.append("leave")

    slow = Candidate(
        call=lambda: calls.append("call"), prepare=lambda: sum(range(20_000)), around=Around
    )
    timings = compare({"slow": slow, "bare": lambda: None}, n_calls=3, n_batches=2)
    assert calls == ["enter", "call", "call", "call", "leave"] * 3
    assert len(timings["slow"].batches_ns) == 2
    assert timings["slow"].median_ns < 100_000
    assert paired_ratio(timings, "slow", "slow") == 1
    assert paired_difference_ns(timings, "slow", "slow") == 0


def test_a_missed_bar_is_easy_to_see():
    rows = [Row(what="a", figure="3", bar="<= 2", is_met=False), Row(what="b", figure="1")]
    assert lines(rows)[2].split() == ["a", "3", "<=", "2", "NO"]
    assert lines(rows, as_markdown=True)[3].split() == ["|", "b", "|", "1", "|", "|", "|"]
