from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.stats.counts import CountError
from spanwitness.stats.groups import (
    held_out_error,
    mixture_of,
    pooled,
    predict_mixture,
    sensitivity,
)
from spanwitness.stats.paired import PairedCounts, bounds_from_totals, break_even, predicted_change
from spanwitness.stats.verdicts import VerdictCounts

CELLS = st.tuples(*[st.integers(0, 60)] * 4)


def of(cells) -> PairedCounts:
    a, b, c, d = cells
    return PairedCounts(n_corrected=a, n_corrupted=b, n_kept_right=c, n_kept_wrong=d)


EASY = of((3, 2, 90, 5))
HARD = of((4, 20, 20, 56))


@settings(deadline=None, max_examples=50)
@given(CELLS)
def test_the_four_counts_sum_to_the_pairs_and_the_accounting_is_exact(cells):
    counts = of(cells)
    assert sum(cells) == counts.n_pairs
    accounting = counts.accounting()
    if accounting is None:
        assert counts.n_pairs == 0
    else:
        assert accounting.from_corrections + accounting.from_corruptions == pytest.approx(
            accounting.change, abs=1e-12
        )
        assert counts.p_after - counts.p_before == pytest.approx(accounting.change, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(CELLS)
def test_the_flows_lie_within_the_bounds_of_their_totals(cells):
    counts = of(cells)
    found = bounds_from_totals(
        n_pairs=counts.n_pairs,
        n_right_before=counts.n_right_before,
        n_right_after=counts.n_right_after,
    )
    assert found.n_corrected_low <= counts.n_corrected <= found.n_corrected_high
    assert found.n_corrupted_low <= counts.n_corrupted <= found.n_corrupted_high


@settings(deadline=None, max_examples=50)
@given(CELLS)
def test_the_raw_rates_of_one_group_predict_its_own_change(cells):
    counts = of(cells)
    if counts.n_pairs:
        found = predict_mixture({"g": counts}, {"g": 1.0}, smoothing="raw")
        assert found.pooled == pytest.approx(counts.accounting().change, abs=1e-12)
        assert found.conditioned == pytest.approx(found.pooled, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(CELLS)
def test_no_harm_is_exactly_a_correction_rate_at_break_even(cells):
    counts = of(cells)
    c, needed = counts.correction_rate_raw, counts.break_even().rate
    if c is not None and needed is not None and abs(c - needed) > 1e-9:
        assert (c > needed) == (counts.n_corrected > counts.n_corrupted)


def test_groups_predict_a_harder_mixture_better_than_the_pool():
    groups = {"easy": EASY, "hard": HARD}
    mixture = {"easy": 0.1, "hard": 0.9}
    found = predict_mixture(groups, mixture, smoothing="raw")
    truth = 0.1 * EASY.accounting().change + 0.9 * HARD.accounting().change
    assert found.conditioned == pytest.approx(truth)
    assert abs(found.pooled - truth) > 0.03
    assert found.p_before == pytest.approx(0.1 * EASY.p_before + 0.9 * HARD.p_before)


def test_a_held_out_mixture_tells_which_prediction_errs():
    tripled = {"easy": EASY, "hard": HARD + HARD + HARD}
    found = held_out_error({"easy": EASY, "hard": HARD}, tripled, smoothing="raw")
    assert found.conditioned == pytest.approx(0, abs=1e-12)
    assert abs(found.pooled) > 0.01
    assert found.observed == pytest.approx(pooled(tripled).accounting().change)


def test_a_held_out_group_that_was_never_learned_leaves_nothing_predicted():
    found = held_out_error({"easy": EASY}, {"easy": EASY, "hard": HARD})
    assert (found.pooled, found.conditioned) == (None, None)
    assert found.unseen_groups == ("hard",)


def test_a_rate_that_matters_and_is_unknown_leaves_the_prediction_unknown():
    never_wrong = of((0, 2, 8, 0))
    assert predict_mixture({"g": never_wrong}, {"g": 1.0}).conditioned is not None
    found = predict_mixture({"g": never_wrong}, {"g": 1.0}, baselines={"g": 0.5})
    assert found.conditioned is None
    assert predicted_change(0.5, None, 0.1) is None
    assert predicted_change(1.0, None, 0.1) == pytest.approx(-0.1)


def test_all_weight_on_one_group_is_that_group():
    found = {each.group: each.change for each in sensitivity({"easy": EASY, "hard": HARD}, shift=1,
                                                            smoothing="raw")}  # fmt: skip
    assert found["hard"] == pytest.approx(HARD.accounting().change)
    assert found["easy"] == pytest.approx(EASY.accounting().change)


def test_a_mixture_that_is_none_is_refused():
    with pytest.raises(CountError, match="sum to 1"):
        predict_mixture({"easy": EASY}, {"easy": 0.5})
    with pytest.raises(CountError, match="no items"):
        predict_mixture({"easy": EASY}, {"hard": 1.0})
    with pytest.raises(CountError, match="without items"):
        mixture_of({"none": of((0, 0, 0, 0))})


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ({"n_pairs": 5, "n_right_before": 6, "n_right_after": 1}, "n_right_before"),
        ({"n_pairs": 5, "n_right_before": 3, "n_right_after": 2, "corruption_possible": False},
         "fell by 1"),
    ],
)  # fmt: skip
def test_totals_that_contradict_each_other_are_refused(totals, words):
    with pytest.raises(CountError, match=words):
        bounds_from_totals(**totals)


def test_break_even_is_undefined_at_a_perfect_baseline():
    found = break_even(1.0, 0.1)
    assert (found.rate, found.attainable, found.reason) == (None, None, "nothing_to_correct")
    assert break_even(0.5, 1.0).attainable is True
    assert break_even(0.75, 0.4).attainable is False


def test_negative_counts_are_refused():
    with pytest.raises(CountError, match="n_kept_right"):
        PairedCounts.from_flows(n_wrong_before=1, n_right_before=1, n_corrected=0, n_corrupted=2)


def test_a_verdict_step_is_a_classification_table():
    bits = [(True, True)] * 6 + [(True, False)] * 2 + [(False, True)] * 1 + [(False, False)] * 3
    found = VerdictCounts.from_bits(bits)
    assert (found.acceptance_rate().k, found.acceptance_rate().n) == (7, 12)
    assert found.false_positive_rate().raw == 0.25
    assert found.false_negative_rate().raw == 0.25
    all_right = VerdictCounts.from_bits([(True, True)])
    assert all_right.false_positive_rate().reason == "not_at_risk"
