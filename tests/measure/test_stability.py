from __future__ import annotations

import pytest

from spanwitness.measure import measure_stability
from spanwitness.stats.intervals import newcombe, wilson


def runs(configuration: str, item: str, answers: str, **cells) -> list[dict]:
    return [
        {"configuration": configuration, "item_id": item, "run": at,
         "answer": "" if answer == "-" else answer, **cells}
        for at, answer in enumerate(answers)
    ]  # fmt: skip


def bench() -> list[dict]:
    """Twenty flagged and eighty clean items under two configurations; 12 of 40 and 8 of 160."""
    rows = []
    for name in ("one", "two"):
        for at in range(100):
            is_flagged = at < 20
            unstable = at < 6 if is_flagged else 20 <= at < 24
            rows += runs(name, f"q{at}", "aab" if unstable else "aaa", flagged=int(is_flagged),
                         label="a")  # fmt: skip
    return rows


def test_the_fixed_form_is_there():
    form = measure_stability(bench()).to_dict()
    assert form["schema"] == "spanwitness.stability/1"
    assert [each["configuration"] for each in form["configurations"]] == ["one", "two"]
    first = form["configurations"][0]
    assert (first["n_items"], first["n_runs"], first["n_unstable"]) == (100, 3, 10)
    assert first["wobble"] == 0.1
    assert first["dispersion"] == pytest.approx(10 / 300)
    assert first["accuracy"] == pytest.approx(290 / 300)
    assert (first["ci_low"], first["ci_high"]) == (wilson(10, 100).low, wilson(10, 100).high)


def test_the_contrast_has_items_as_its_headline_unit():
    found = measure_stability(bench()).to_dict()["contrast"]
    assert (found["flagged"]["n_unstable"], found["flagged"]["n_pairs"]) == (12, 40)
    assert (found["clean"]["n_unstable"], found["clean"]["n_pairs"]) == (8, 160)
    assert found["difference"] == pytest.approx(0.25)
    expected = newcombe(12, 40, 8, 160).interval
    assert found["ci_newcombe"] == [expected.low, expected.high]
    low, high = found["ci_item_bootstrap"]
    # The two configurations agree on which items are unstable: items are fewer than pairs say.
    assert high - low > expected.high - expected.low
    assert low < 0.25 < high


def test_without_flags_there_is_no_contrast_and_without_labels_no_accuracy():
    form = measure_stability(runs("m", "x", "ab") + runs("m", "y", "aa")).to_dict()
    assert form["contrast"] is None
    assert form["configurations"][0]["accuracy"] is None
    assert form["configurations"][0]["split_half_reliability"] is None


def test_an_unparsed_answer_is_an_answer_of_its_own_kind_and_told():
    rows = runs("m", "x", "a-a") + runs("m", "y", "---") + runs("m", "z", "aaa")
    found = measure_stability(rows).to_dict()["configurations"][0]
    assert (found["n_unstable"], found["n_unparsed"]) == (1, 4)


def test_items_on_which_all_agree_against_the_label_are_listed():
    rows = []
    for name, answers in (("one", "bbb"), ("two", "bba"), ("three", "bbb")):
        rows += runs(name, "x", answers, label="a")
        rows += runs(name, "y", "aaa" if name == "two" else "bbb", label="a")
        rows += runs(name, "z", "aaa", label="a")
    found = measure_stability(rows)
    assert found.to_dict()["agreed_against_label"] == [
        {"item_id": "x", "label": "a", "answer": "b"}
    ]


def test_a_tie_agrees_with_nobody():
    rows = runs("one", "x", "ab", label="c") + runs("two", "x", "aa", label="c")
    assert measure_stability(rows).against_label == ()


def test_runs_are_rarefied_across_configurations():
    rows = runs("one", "x", "abababab") + runs("one", "y", "aaaaaaaa") + runs("two", "x", "aa")
    found = measure_stability(rows, unequal="rarefy")
    assert {each.stability.n_runs for each in found.configurations} == {2}
    assert [each.stability.n_runs_dropped for each in found.configurations] == [12, 0]


def test_instability_that_is_the_items_own_transfers():
    found = measure_stability(bench()).transfer(5)
    assert (found.n_items, found.n_ordered_pairs, found.n_truncated) == (100, 2, 0)
    assert found.chance == pytest.approx(0.1)
    assert found.ratio > 4
    assert found.p_value < 0.01


def test_every_part_is_a_frame():
    pytest.importorskip("pandas")
    result = measure_stability(bench())
    assert result.to_frame()["wobble"].tolist() == [0.1, 0.1]
    assert len(result.to_frame("items")) == 200


def test_transfer_is_told_on_demand_and_only_then():
    rows = [
        {"configuration": name, "item_id": f"i{at}", "run": run,
         "answer": "b" if at < 4 and run == at % 3 else "a"}
        for name in ("m", "n", "o") for at in range(40) for run in range(3)
    ]  # fmt: skip
    assert measure_stability(rows).to_dict()["transfer"] is None
    found = measure_stability(rows, transfer_k=4, n_resamples=50)
    told = found.to_dict()["transfer"]
    assert told["mean_share"] == 1
    assert told["ratio"] == told["max_ratio"] == pytest.approx(5)
    assert told["p_value"] < 0.01
    assert found.transferred == found.transfer(4)


def test_the_command_tells_transfer_in_words(tmp_path, monkeypatch):
    from tests.measure.tables import write_csv
    from tests.measure.test_cli import run

    monkeypatch.setenv("COLUMNS", "160")
    path = write_csv(tmp_path / "t.csv", bench())
    assert "transfer" not in run("stability", path)
    assert "transfer" in run("stability", path, "--transfer", 2, "--resamples", 20)
