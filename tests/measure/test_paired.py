from __future__ import annotations

import pytest
from tests.measure.tables import flows

from spanwitness.measure import TableError, measure_paired
from spanwitness.stats.counts import CountError
from spanwitness.stats.paired import PairedCounts

EASY = flows(corrected=3, corrupted=2, right=90, wrong=5, depth="easy")
HARD = flows(corrected=4, corrupted=20, right=20, wrong=56, depth="hard")

FIXED = {
    "n_pairs", "n_corrected", "n_corrupted", "n_kept_right", "n_kept_wrong", "p_before", "p_after",
    "correction_rate", "corruption_rate", "break_even_correction_rate", "decision",
}  # fmt: skip


def test_the_fixed_form_is_there_overall_and_by_group():
    form = measure_paired(EASY + HARD, group="depth").to_dict()
    assert form["schema"] == "spanwitness.paired/1"
    assert list(form["groups"]) == ["easy", "hard"]
    for audit in (form["overall"], *form["groups"].values()):
        assert audit.keys() >= FIXED
        for name in ("correction_rate", "corruption_rate"):
            assert audit[name].keys() >= {"raw", "jeffreys", "ci_low", "ci_high", "n"}
            assert audit[name]["ci_low"] < audit[name]["jeffreys"] < audit[name]["ci_high"]
    hard = form["groups"]["hard"]
    assert (hard["n_pairs"], hard["n_corrected"], hard["n_corrupted"]) == (100, 4, 20)
    assert hard["corruption_rate"]["raw"] == 0.5
    assert hard["corruption_rate"]["jeffreys"] == pytest.approx(20.5 / 41)
    assert hard["break_even_correction_rate"] == pytest.approx(0.5 * 40 / 60)
    assert hard["decision"] == "suppress"
    assert form["groups"]["easy"]["decision"] == "insufficient"


def test_groups_that_are_numbers_come_in_their_order():
    rows = [
        row | {"depth": depth, "item_id": f"{depth}-{row['item_id']}"}
        for depth in (10, 9, 2)
        for row in flows(corrected=1, corrupted=1, right=1, wrong=1)
    ]
    assert list(measure_paired(rows, group="depth").groups) == ["2", "9", "10"]


def test_a_rate_without_a_denominator_is_null_with_its_reason():
    form = measure_paired(flows(corrected=3, corrupted=0, right=0, wrong=5)).to_dict()
    assert form["overall"]["corruption_rate"] == {
        "raw": None, "jeffreys": None, "ci_low": None, "ci_high": None, "n": 0, "interval": None,
        "reason": "not_at_risk",
    }  # fmt: skip
    assert form["overall"]["break_even_correction_rate"] is None
    assert form["overall"]["break_even"]["reason"] == "not_at_risk"
    assert "reason" not in form["overall"]["correction_rate"]


def test_break_even_is_undefined_where_nothing_is_wrong_before():
    form = measure_paired(flows(corrected=0, corrupted=3, right=5, wrong=0)).to_dict()["overall"]
    assert form["break_even_correction_rate"] is None
    assert form["break_even"] == {
        "multiplier": None, "attainable": None, "reason": "nothing_to_correct",
    }  # fmt: skip
    assert form["correction_rate"]["reason"] == "not_at_risk"
    assert form["decision"] == "suppress"


def test_break_even_above_one_is_not_attainable():
    form = measure_paired(flows(corrected=1, corrupted=4, right=5, wrong=0)).to_dict()["overall"]
    assert form["break_even_correction_rate"] == pytest.approx((4 / 9) * 9)
    assert form["break_even"]["attainable"] is False


def test_the_cost_moves_the_decision():
    rows = flows(corrected=30, corrupted=2, right=100, wrong=68)
    assert measure_paired(rows).overall.decision.word == "apply"
    assert measure_paired(rows, cost=0.14).overall.decision.word == "insufficient"
    assert measure_paired(rows, cost=0.3).overall.decision.word == "suppress"


def test_repeated_runs_widen_the_interval_to_items():
    single = flows(corrected=10, corrupted=5, right=45, wrong=40)
    repeated = [row | {"run": run} for run in range(4) for row in single]
    one, four = measure_paired(single).overall, measure_paired(repeated).overall
    assert four.counts.n_pairs == 400
    assert four.n_items == one.n_items == 100
    assert four.correction.raw == one.correction.raw
    width_one = one.correction.interval.high - one.correction.interval.low
    width_four = four.correction.interval.high - four.correction.interval.low
    assert four.correction.interval.method == "percentile_bootstrap"
    assert width_four == pytest.approx(width_one, rel=0.15)
    assert four.decision.probability == pytest.approx(one.decision.probability, abs=1e-6)


def test_repeats_without_any_event_count_as_their_items():
    rows = [row | {"run": run} for run in range(5) for row in
            flows(corrected=2, corrupted=0, right=20, wrong=5)]  # fmt: skip
    repeated = measure_paired(rows).overall.corruption
    assert (repeated.k, repeated.n) == (0, 100)
    alone = PairedCounts.from_flows(
        n_wrong_before=7, n_right_before=20, n_corrected=2, n_corrupted=0
    ).corruption_rate()
    assert repeated.interval.method == "jeffreys"
    assert repeated.interval.high == pytest.approx(alone.interval.high)


def test_the_seed_decides_and_nothing_else():
    rows = [row | {"run": run, "after": row["after"] if run else 1}
            for run in range(2) for row in EASY + HARD]  # fmt: skip
    again = measure_paired(list(reversed(rows)), seed=1).to_dict()
    assert measure_paired(list(reversed(rows)), seed=1).to_dict() == again
    assert measure_paired(rows, seed=2).to_dict() != measure_paired(rows, seed=3).to_dict()


def test_the_frame_has_a_row_for_all_and_one_a_group():
    pytest.importorskip("pandas")
    frame = measure_paired(EASY + HARD, group="depth").to_frame()
    assert frame["n_pairs"].tolist() == [203 - 3, 100, 100]
    assert frame["group"].tolist()[1:] == ["easy", "hard"]
    assert frame["corruption_rate_raw"].tolist()[2] == 0.5


def test_giving_weight_to_the_hard_group_lowers_the_predicted_change():
    shifted = measure_paired(EASY + HARD, group="depth").to_dict()["sensitivity"]
    by_group = {row["group"]: row["predicted_change"] for row in shifted}
    assert by_group["hard"] < by_group["easy"]


def test_what_the_protocol_forbids_was_not_at_risk():
    rows = flows(corrected=4, corrupted=0, right=30, wrong=10)
    free = measure_paired(rows).to_dict()["overall"]
    forbidden = measure_paired(rows, corruption_possible=False).to_dict()["overall"]
    assert free["corruption_rate"]["raw"] == 0
    assert free["corruption_rate"]["ci_high"] > 0
    assert forbidden["corruption_rate"]["raw"] is None
    assert forbidden["corruption_rate"]["reason"] == "not_at_risk"
    assert forbidden["break_even_correction_rate"] is None
    assert forbidden["correction_rate"] == free["correction_rate"]
    assert forbidden["decision"] == "apply"
    assert forbidden["decision_probability"] > free["decision_probability"]


def test_a_revised_right_answer_disproves_that_the_protocol_forbids_it():
    rows = flows(corrected=4, corrupted=1, right=30, wrong=10)
    with pytest.raises(TableError, match="does not forbid") as refused:
        measure_paired(rows, corruption_possible=False)
    assert refused.value.row == 5


def test_a_declared_mixture_is_predicted_by_group_beside_the_pool():
    rows = EASY + HARD
    found = measure_paired(rows, group="depth", mixture={"easy": 0.2, "hard": 0.8})
    told = found.to_dict()["mixture"]
    assert told["conditioned"] < told["pooled"] < 0
    assert told["p_before"] == pytest.approx(0.2 * 0.92 + 0.8 * 0.4)
    with pytest.raises(CountError, match="of which there are no items"):
        measure_paired(rows, group="depth", mixture={"easy": 0.2, "odd": 0.8})
    with pytest.raises(CountError, match="sum to 1"):
        measure_paired(rows, group="depth", mixture={"easy": 0.2})
    assert measure_paired(rows).to_dict()["mixture"] is None


def test_each_half_of_the_items_is_predicted_from_the_other():
    rows = [row | {"run": run} for run in range(2) for row in EASY + HARD]
    found = measure_paired(rows, group="depth").held_out
    assert [(fold.fold, fold.n_pairs) for fold in found] == [("half 1", 200), ("half 2", 200)]
    total = sum(fold.error.observed * fold.n_pairs for fold in found)
    assert total == pytest.approx(2 * (7 - 22))
    for fold in found:
        assert abs(fold.error.conditioned) < 0.15
    assert measure_paired(rows).held_out == ()
    assert measure_paired([EASY[0]], group="depth").held_out == ()


def test_all_rows_of_a_result_have_the_same_columns_also_where_nothing_was_at_risk():
    rows = EASY + flows(corrected=1, corrupted=0, right=0, wrong=3, depth="none right")
    audits = measure_paired(rows, group="depth").parts["audits"]
    assert len({tuple(row) for row in audits}) == 1
    assert audits[-1]["corruption_rate_reason"] == "not_at_risk"
