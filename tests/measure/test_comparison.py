from __future__ import annotations

import json

import pytest
from tests.measure.tables import write_csv
from tests.measure.test_cli import run as measure
from tests.measure.traced import outcome, pair, run, write
from tests.stats.printed import TABLES, assert_printed

from spanwitness.measure import TableError, collect, measure_comparison, pairs_of
from spanwitness.stats.counts import CountError

MBPP = TABLES["correction_corruption"]["mbpp_one_sided"]


def one_sided():
    """Table `mbpp_one_sided`: items right before, their failures with the draft and the helper."""
    n_both = MBPP["draft_only_failures"] - MBPP["draft_only"]
    rest = MBPP["n1"] - n_both - MBPP["draft_only"] - MBPP["helper_only"]
    cells = ([(1, 1)] * n_both + [(1, 0)] * MBPP["draft_only"] + [(0, 1)] * MBPP["helper_only"]
             + [(0, 0)] * rest)  # fmt: skip
    return [
        {"item_id": at, "configuration": name, "before": 1, "after": 1 - failed}
        for at, bits in enumerate(cells)
        for name, failed in zip(("draft", "helper"), bits, strict=True)
    ]


def test_mbpp_one_sided_comes_out_of_the_command(tmp_path):
    path = write_csv(tmp_path / "t.csv", one_sided())
    form = json.loads(measure("compare", path, "--event", "corrupted", "--resamples", 4000,
                              "--format", "json"))  # fmt: skip
    assert form["schema"] == "spanwitness.comparison/1"
    assert (form["first"], form["second"], form["n_items"]) == ("draft", "helper", MBPP["n1"])
    assert_printed(form["first_rate"]["raw"], MBPP["gamma_draft"])
    assert_printed(form["second_rate"]["raw"], MBPP["gamma_helper"])
    assert_printed(form["difference"], MBPP["paired_increase"])
    low, high = MBPP["bootstrap95"]
    assert form["ci_low"] == pytest.approx(low, abs=MBPP["bootstrap_tolerance"])
    assert form["ci_high"] == pytest.approx(high, abs=MBPP["bootstrap_tolerance"])
    assert form["discordant"]["n_second_only"] == MBPP["helper_only"]
    assert form["mcnemar_p_value"] < 1e-12


def rows_of(*bits, **more):
    return [
        {"item_id": f"i{at}", "configuration": name, "before": before, "after": after} | more
        for at, pairs in enumerate(bits)
        for name, (before, after) in zip("ab", pairs, strict=True)
    ]


def test_items_not_at_risk_under_both_are_counted_and_in_neither_rate():
    rows = rows_of(((1, 0), (1, 1)), ((1, 1), (0, 1)), ((0, 1), (0, 0)))
    corrupted = measure_comparison(rows, event="corrupted")
    assert (corrupted.comparison.first.k, corrupted.comparison.first.n) == (1, 1)
    assert corrupted.n_not_at_risk == 2
    corrected = measure_comparison(rows, event="corrected")
    assert (corrected.comparison.first.k, corrected.comparison.second.k) == (1, 0)
    success = measure_comparison(rows)
    assert success.comparison.table.n_items == 3
    with pytest.raises(CountError, match="without items"):
        measure_comparison(rows_of(((0, 1), (1, 1))), event="corrupted")


def test_items_under_one_configuration_only_are_named():
    rows = rows_of(((1, 1), (1, 1)), ((1, 1), (1, 0)))[:-1]
    result = measure_comparison(rows)
    assert result.unmatched == (("i1", "a"),)
    assert result.to_dict()["unmatched"] == [{"item_id": "i1", "configuration": "a"}]
    assert result.comparison.table.n_items == 1


def test_which_two_must_be_said_where_there_are_three():
    rows = [
        *rows_of(((1, 1), (1, 0))),
        {"item_id": "i0", "configuration": "c", "before": 1, "after": 1},
    ]
    with pytest.raises(TableError, match=r"3 values \(a, b, c\): say which two"):
        measure_comparison(rows)
    assert measure_comparison(rows, first="c", second="b").comparison.difference == -1
    with pytest.raises(TableError, match="no row has configuration 'd'"):
        measure_comparison(rows, first="d")
    with pytest.raises(TableError, match="with itself"):
        measure_comparison(rows, first="a", second="a")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"item_id": "i0"}, "row 4: item 'i0' under 'b' was in row 2 already"),
        ({"after": ""}, "'after' is missing"),
        ({"rule": "y"}, "row 4: 'rule' is 'y' and the two configurations have 'x'"),
        (
            {"operation": "q"},
            "row 4: 'operation' is 'q' and other rows of configuration 'b' have 'p'",
        ),
        ({"configuration": ""}, "row 4: 'configuration' is missing"),
    ],
)
def test_a_bad_row_is_named(cells, words):
    rows = rows_of(((1, 1), (1, 1)), ((1, 1), (1, 1)), rule="x", operation="p")
    rows[3] |= cells
    with pytest.raises(TableError, match=words):
        measure_comparison(rows)


def test_two_input_configurations_are_compared_from_traces(tmp_path):
    traces = []
    for at in range(30):
        for name, after in (("short", at % 10 != 0), ("long", at % 3 != 0)):
            more = {"step_inputs": name, "step_operation": f"op-{name}"}
            traces.append(run(pair(1, after, **more), item=f"i{at}"))
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("compare", path, "--by", "inputs", "--event", "corrupted",
                              "--format", "json"))  # fmt: skip
    assert (form["first"], form["second"]) == ("short", "long")
    assert form["difference"] == pytest.approx(10 / 30 - 3 / 30)
    by_tag = [run(pair(1, at % 2, step_operation="o"), item=f"i{at}", tags=[f"model={name}"])
              for at in range(6) for name in "xy"]  # fmt: skip
    table = pairs_of(collect(by_tag), group="tag:model").table
    assert measure_comparison(table, by="tag:model").comparison.difference == 0


def test_the_text_tells_difference_and_discordant_items(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    path = write_csv(tmp_path / "t.csv", one_sided())
    text = measure("compare", path, "--event", "corrupted")
    for word in ("28/357", "100/357", "difference +0.202", "McNemar"):
        assert word in text


def test_steps_that_were_scored_after_alone_are_compared_by_success(tmp_path):
    traces = [
        run({"step.kind": "solve", "step.name": "solve", "success.after": at % mod != 0,
             "success.rule": "exact@1", "step.inputs": name}, item=f"i{at}")
        for at in range(12) for name, mod in (("short", 2), ("long", 3))
    ]  # fmt: skip
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("compare", path, "--by", "inputs", "--format", "json"))
    assert form["difference"] == pytest.approx(8 / 12 - 6 / 12)
    with pytest.raises(TableError, match=r"none of 24 executions has both bits: not_scored:before"):
        measure("compare", path, "--by", "inputs", "--event", "corrupted")


def test_runs_are_compared_by_their_outcomes_and_those_without_are_missing(tmp_path):
    traces = [run(item=f"i{at}", tags=[f"model={name}"], run_id=f"{name}{at}")
              for at in range(5) for name in "xy"]  # fmt: skip
    traces += [outcome(name == "y", "final", run_id=f"{name}{at}")
               for at in range(4) for name in "xy"]  # fmt: skip
    path = write(tmp_path / "t.jsonl", traces)
    options = ("--by", "tag:model", "--after", "final")
    form = json.loads(measure("compare", path, *options, "--format", "json"))
    assert (form["first"], form["second"], form["difference"]) == ("x", "y", 1)
    assert form["accounting"]["n_missing"] == 2
    rows = measure("compare", path, *options, "--format", "csv", "--part", "missing").splitlines()
    assert len(rows) == 3


def test_items_without_a_partner_are_a_table_of_their_own(tmp_path):
    path = write_csv(tmp_path / "t.csv", one_sided()[:-1])
    rows = measure("compare", path, "--format", "csv", "--part", "unmatched").splitlines()
    assert rows == ["item_id,configuration", f"{MBPP['n1'] - 1},draft"]
