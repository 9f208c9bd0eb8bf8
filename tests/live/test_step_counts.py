"""Steps counted live, against the audit of the same traces."""

from __future__ import annotations

import json
import random

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from typer.testing import CliRunner

import spanwitness as sw
from spanwitness.archive.otlp_json import encode
from spanwitness.cli.app import app
from spanwitness.errors import SettingsError
from spanwitness.live.records import to_record

N_RUNS = 10_000


def is_right(answer):
    return answer == "right"


@sw.step(kind="revise", before="answer", success=is_right, success_rule="is-right@1")
def improve(answer, fate):
    if fate == "fail":
        raise TimeoutError
    return fate


@sw.step(kind="verify", before="answer", success=is_right, verdict=lambda said: said)
def check(answer, said):
    return said


def one_run(rng, at):
    with sw.run("answer", item_id=f"i{at}", tags=[f"depth={at % 4}"]):
        answer = rng.choice(["right", "wrong"])
        fate = rng.choices([answer, "right", "wrong", "fail"], [80, 10, 5 + at % 4, 1])[0]
        try:
            answer = improve(answer, fate)
        except TimeoutError:
            return
        check(answer, rng.choices([is_right(answer), not is_right(answer), None], [90, 9, 1])[0])


def audit(path, *options):
    result = CliRunner().invoke(app, ["measure", *options, str(path), "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def points(reader, name):
    found = {}
    for resource in reader.get_metrics_data().resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name == name:
                    for point in metric.data.data_points:
                        found[tuple(sorted(point.attributes.items()))] = point.value
    return found


def test_counters_of_10000_live_runs_equal_the_audit_of_their_traces(tmp_path):
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    meters = MeterProvider(metric_readers=[reader])
    witness = sw.configure("answers", exporter=spans, meter_provider=meters, step_group="tag:depth")
    rng = random.Random(7)
    for at in range(N_RUNS):
        one_run(rng, at)
        if at % 500 == 0:
            assert witness.flush(10)
    assert witness.flush(10)
    path = tmp_path / "t.jsonl"
    records = [to_record(span) for span in spans.get_finished_spans()]
    path.write_bytes(b"".join(line + b"\n" for line in encode(records)))

    pairs = audit(path, "paired", "--group", "tag:depth")
    tallies = {tally.group: tally for tally in witness.step_counts()
               if tally.identity.step == "improve"}  # fmt: skip
    assert sorted(tallies) == sorted(pairs["groups"]) == ["0", "1", "2", "3"]
    moves = points(reader, "spanwitness.step.transitions")
    for group, told in pairs["groups"].items():
        counts = tallies[group].pairs
        for name in ("n_corrected", "n_corrupted", "n_kept_right", "n_kept_wrong"):
            assert getattr(counts, name) == told[name] > 0
        assert counts.correction_rate_raw == told["correction_rate"]["raw"]
        labels = {"step": "improve", "rule": "is-right@1", "group": group}
        for (before, after), name in {
            ("wrong", "right"): "n_corrected", ("right", "wrong"): "n_corrupted",
            ("right", "right"): "n_kept_right", ("wrong", "wrong"): "n_kept_wrong",
        }.items():  # fmt: skip
            key = tuple(sorted((labels | {"from": before, "to": after}).items()))
            assert moves[key] == told[name]
    assert sum(moves.values()) == pairs["overall"]["n_pairs"]
    n_failed = sum(tally.n_unscored for tally in tallies.values())
    assert n_failed == pairs["accounting"]["n_missing"] == N_RUNS - pairs["overall"]["n_pairs"]

    verdicts = audit(path, "verdicts", "--group", "tag:depth")
    for tally in witness.step_counts():
        if tally.identity.step != "check":
            continue
        told = verdicts["groups"][tally.group]
        for name in tally.verdicts.__slots__:
            assert getattr(tally.verdicts, name) == told[name]
        assert tally.verdicts.false_positive_rate_raw == told["false_positive_rate"]["raw"]
    n_told = sum(points(reader, "spanwitness.step.verdicts").values())
    assert n_told == verdicts["overall"]["n"]
    n_unscored = sum(points(reader, "spanwitness.step.unscored").values())
    assert n_unscored == n_failed + verdicts["accounting"]["n_missing"]
    witness.shutdown()
    meters.shutdown()


def test_steps_of_a_child_run_are_counted_once_and_in_its_own_group():
    spans = InMemorySpanExporter()
    with sw.configure("a", exporter=spans, step_group="workflow") as witness:
        with sw.run("outer"):
            improve("wrong", "right")
            with sw.run("inner"):
                improve("right", "wrong")
            improve("wrong", "wrong")
        witness.flush(5)
        found = {tally.group: tally.pairs for tally in witness.step_counts()}
    assert (found["outer"].n_corrected, found["outer"].n_pairs) == (1, 2)
    assert (found["inner"].n_corrupted, found["inner"].n_pairs) == (1, 1)


def test_without_a_group_there_is_one_tally_a_step():
    with sw.configure("a", exporter=InMemorySpanExporter()) as witness:
        assert witness.step_counts() == ()
        with sw.run("one"):
            improve("wrong", "right")
        (tally,) = witness.step_counts()
    assert tally.group is None
    assert tally.identity.rule == "is-right@1"


def test_an_unsampled_run_is_counted_too():
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    spans = InMemorySpanExporter()
    with sw.configure("a", exporter=spans, sampler=ALWAYS_OFF) as witness:
        with sw.run("one"):
            improve("wrong", "right")
        (tally,) = witness.step_counts()
        witness.flush(5)
    assert tally.pairs.n_corrected == 1
    assert not [span for span in spans.get_finished_spans() if "step" in span.name]


def test_a_group_that_steps_do_not_have_is_refused_at_once():
    with pytest.raises(SettingsError, match="step_group='depth' is none of"):
        sw.configure("a", exporter=InMemorySpanExporter(), step_group="depth")


def test_tallies_beyond_the_bound_are_told_as_other(monkeypatch):
    from spanwitness.findings import step_counts

    monkeypatch.setattr(step_counts, "MAX_TALLIES", 2)
    with sw.configure("a", exporter=InMemorySpanExporter(), step_group="tag:n") as witness:
        for at in range(5):
            with sw.run("one", tags=[f"n={at}"]):
                improve("wrong", "right")
        found = [(tally.identity.step, tally.group, tally.pairs.n_pairs)
                 for tally in witness.step_counts()]  # fmt: skip
    assert found == [("improve", "0", 1), ("improve", "1", 1), ("other", None, 3)]
