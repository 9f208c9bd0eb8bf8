from __future__ import annotations

import json
import random

import pytest
from tests.measure.tables import write_csv
from tests.measure.test_cli import run as measure
from tests.measure.traced import outcome, pair, run, write

from spanwitness.errors import SettingsError
from spanwitness.measure import (
    TableError,
    audit_each,
    collect,
    measure_composition,
    sequences_of,
)
from spanwitness.stats.composition import gap_of_sequences


def chain_rows(n=600, *, memory=0.0, seed=3):
    """Sequences whose second step repairs at one rate, or also at another where e0 was right."""
    rng = random.Random(seed)
    rows = []
    for at in range(n):
        e0 = rng.random() < 0.5
        e1 = rng.random() < (0.9 if e0 else 0.4)
        e2 = rng.random() < (0.9 if e1 else 0.3) + (memory if e0 and not e1 else 0)
        rows.append({"item_id": f"i{at}", "e0": int(e0), "e1": int(e1), "e2": int(e2),
                     "depth": at % 3})  # fmt: skip
    return rows


def bits(rows):
    return [(row["e0"], row["e1"], row["e2"]) for row in rows]


def test_the_command_tells_gaps_within_and_held_out_and_the_test(tmp_path):
    rows = chain_rows()
    path = write_csv(tmp_path / "t.csv", rows)
    form = json.loads(measure("composition", path, "--group", "depth", "--format", "json"))
    assert form["schema"] == "spanwitness.composition/1"
    assert form["stages"] == ["e0", "e1", "e2"]
    assert form["within"]["mean_jeffreys"] == gap_of_sequences(bits(rows)).mean
    assert form["within"]["mean_raw"] == gap_of_sequences(bits(rows), smoothing="raw").mean
    assert [row["fold"] for row in form["held_out"]] == ["half 1", "half 2"]
    assert [row["group"] for row in form["groups"]] == ["0", "1", "2"]
    assert sum(row["n_pairs"] for row in form["held_out"]) == 600
    assert len(form["residuals"]) == 6
    assert form["mean_absolute_residual"]["pooled"] < 0.1
    (test,) = form["tests"]
    assert test["p_value"] > 0.05
    assert "No dependence was found" in test["words"]


def test_memory_beyond_the_step_between_is_found_and_its_size_told():
    result = measure_composition(chain_rows(memory=0.5))
    (found,) = result.tests
    assert found.test.effect_if_wrong > 0.3
    assert abs(found.test.effect_if_right) < 0.1
    assert found.test.p_value < 1e-3
    plain = measure_composition(chain_rows())
    assert result.gaps[0].jeffreys.mean > plain.gaps[0].jeffreys.mean


def test_folds_of_the_table_are_held_out_one_by_one():
    rows = [row | {"seed": at % 4} for at, row in enumerate(chain_rows())]
    result = measure_composition(rows, fold="seed")
    folds = [gap for gap in result.gaps if gap.fold is not None]
    assert [gap.fold for gap in folds] == ["0", "1", "2", "3"]
    learned = [bit for bit, row in zip(bits(rows), rows, strict=True) if row["seed"] != 2]
    held_out = [bit for bit, row in zip(bits(rows), rows, strict=True) if row["seed"] == 2]
    assert folds[2].jeffreys == gap_of_sequences(learned, held_out=held_out)


def test_four_stages_are_tested_three_by_three():
    rows = [row | {"e3": row["e2"]} for row in chain_rows(100)]
    result = measure_composition(rows)
    assert [each.stages for each in result.tests] == [("e0", "e1", "e2"), ("e1", "e2", "e3")]
    named = measure_composition(rows, stages=["e0", "e2", "e3"])
    assert named.stages == ("e0", "e2", "e3")


def test_repeated_items_stay_in_one_fold_and_are_tested_once():
    rows = [row | {"run": run} for run in range(3) for row in chain_rows(60)]
    result = measure_composition(rows)
    assert (result.n_pairs, result.n_items) == (180, 60)
    assert result.tests[0].test.n_items == 60
    assert [gap.jeffreys.n_items for gap in result.gaps if gap.fold] == [90, 90]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"e1": ""}, "row 4: 'e1' is missing"),
        ({"item_id": "i0"}, "row 4: item 'i0' was in row 1 already"),
        ({"rule": "b"}, "row 4: 'rule' is 'b' where the first has 'a'"),
        ({"e2": float("nan")}, "row 4: 'e2' is nan"),
    ],
)
def test_a_bad_sequence_is_named(cells, words):
    rows = [row | {"rule": "a"} for row in chain_rows(6)]
    rows[3] |= cells
    with pytest.raises(TableError, match=words):
        measure_composition(rows)


def test_an_item_in_two_folds_and_two_stages_are_refused():
    rows = [row | {"run": run, "fold": run} for run in (1, 2) for row in chain_rows(6)]
    with pytest.raises(TableError, match="row 7: item 'i0' is in fold '2' here and '1' before"):
        measure_composition(rows, fold="fold")
    with pytest.raises(SettingsError, match="three stages or more"):
        measure_composition(chain_rows(6), stages=["e0", "e1"])


# --- from traces


def two_steps(e0, e1, e2, **more):
    return [pair(e0, e1, step_name="draft", **more), pair(e1, e2, step_name="polish", **more)]


def test_steps_of_traces_tell_what_the_table_of_their_bits_tells(tmp_path):
    rows = chain_rows(80)
    traces = [run(*two_steps(row["e0"], row["e1"], row["e2"]), item=row["item_id"],
                  tags=[f"depth={row['depth']}"]) for row in rows]  # fmt: skip
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("composition", path, "--group", "tag:depth", "--format", "json"))
    plain = measure_composition(rows, group="depth").to_dict()
    for key in ("within", "groups", "held_out", "residuals"):
        assert form[key] == plain[key]
    assert form["identity"]["step"] == "draft > polish"
    assert [test["p_value"] for test in form["tests"]] == [
        test["p_value"] for test in plain["tests"]
    ]


def test_runs_without_the_whole_sequence_are_missing_by_name():
    traces = [run(*two_steps(0, 1, 1), item="a"), run(two_steps(0, 1, 1)[0], item="b"),
              run(*reversed(two_steps(1, 1, 1)), item="c")]  # fmt: skip
    found = sequences_of(collect(traces))
    assert len(found.table) == 1
    assert {(each.item_id, each.step, each.reason) for each in found.missing} == {
        ("b", "polish", "not_scored"), ("c", "draft", "other_order"),
    }  # fmt: skip


def test_another_answer_between_two_steps_makes_no_sequence():
    steps = [pair(0, 1, step_name="draft"), pair(0, 1, step_name="polish")]
    with pytest.raises(TableError, match=r"step 'polish'.*another answer went in"):
        sequences_of(collect([run(*steps, item="a")]))


def test_steps_scored_by_two_rules_make_no_sequence():
    steps = two_steps(0, 1, 1)
    steps[1]["success.rule"] = "exact@2"
    with pytest.raises(TableError, match="different rules"):
        sequences_of(collect([run(*steps, item="a")]))


def test_sequences_of_two_operations_are_two_audits():
    traces = [run(*two_steps(0, 1, 1, step_operation=name), item=f"i{name}") for name in "ab"]
    with pytest.raises(TableError, match=r"2 audits.*operation 'a > a'"):
        audit_each(sequences_of(collect(traces)), measure_composition)


def test_checkpoints_of_outcomes_make_sequences(tmp_path):
    rows = chain_rows(40)
    traces = [run(item=row["item_id"]) for row in rows]
    for row in rows:
        for at, name in enumerate(("draft", "reviewed", "final")):
            traces.append(outcome(row[f"e{at}"], name, item=row["item_id"]))
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("composition", path, "--checkpoints", "draft,reviewed,final",
                              "--format", "json"))  # fmt: skip
    assert form["within"]["mean_jeffreys"] == gap_of_sequences(bits(rows)).mean


def test_the_text_tells_gaps_and_plain_words(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    path = write_csv(tmp_path / "t.csv", chain_rows(memory=0.5))
    text = measure("composition", path, "--group", "depth")
    for word in ("half 1, held out", "depth 2, within", "chaining the", "mean absolute residual"):
        assert word in text
