from __future__ import annotations

import random

import pytest

from spanwitness.stats.agreement import agreement
from spanwitness.stats.bootstrap import mean_interval, ratio_difference_interval, ratio_interval
from spanwitness.stats.comparison import compare_on_same_items
from spanwitness.stats.counts import CountError
from spanwitness.stats.reliability import split_half, transfer
from spanwitness.stats.selection import Choice, Stratum, audit_selection, shuffle_candidates
from spanwitness.stats.stability import item_stability, max_dispersion


def noisy_items(n_items: int, n_runs: int, *, own: bool) -> dict[str, list[float]]:
    generator = random.Random(11)
    values = {}
    for at in range(n_items):
        p = generator.choice([0.05, 0.95]) if own else 0.5
        values[f"q{at}"] = [float(generator.random() < p) for _ in range(n_runs)]
    return values


def test_a_property_of_items_is_reliable_and_noise_is_not():
    own = split_half(noisy_items(80, 10, own=True), n_splits=50)
    noise = split_half(noisy_items(80, 10, own=False), n_splits=50)
    assert own.reliability > 0.95
    assert abs(noise.reliability) < 0.35
    assert own.reliability == pytest.approx(2 * own.correlation / (1 + own.correlation))
    assert (own.n_items, own.n_runs, own.n_splits) == (80, 10, 50)


def test_halves_that_never_vary_have_no_correlation():
    found = split_half({item: [1.0, 1.0] for item in "abc"}, n_splits=5)
    assert (found.correlation, found.reliability, found.n_splits) == (None, None, 0)


@pytest.mark.parametrize("bad", [{}, {"a": [1, 0]}, {"a": [1], "b": [1], "c": [0]},
                                 {"a": [1, 0], "b": [1, 0], "c": [1, 0, 1]}])  # fmt: skip
def test_a_split_half_needs_items_and_equal_runs(bad):
    with pytest.raises(CountError, match="split half"):
        split_half(bad)


def configurations(*, shared: bool, n: int = 6) -> dict[str, dict[str, float]]:
    """Five unstable items of 100 in each, the same in all or others in each."""
    made = {}
    for c in range(n):
        first = 0 if shared else 10 * c
        made[f"m{c}"] = {
            f"q{at:03}": 0.1 * (1 + at - first) if first <= at < first + 5 else 0.0
            for at in range(100)
        }
    return made


def test_shared_unstable_items_transfer_at_the_structural_maximum():
    found = transfer(configurations(shared=True), k=3, n_permutations=200, n_resamples=200)
    assert found.mean_share == 1
    assert found.chance == pytest.approx(0.06)
    assert found.ratio == pytest.approx(100 / 6)
    assert found.ratio == pytest.approx(found.max_ratio)
    assert found.p_value == pytest.approx(1 / 201)
    assert found.n_ordered_pairs == 30


def test_separate_unstable_items_do_not_transfer():
    found = transfer(configurations(shared=False), k=2, n_permutations=200, n_resamples=200)
    assert found.mean_share == 0
    assert found.p_value == 1
    assert found.interval.high == 0


def test_k_is_truncated_to_the_unstable_items_and_told():
    made = configurations(shared=True)
    made["m0"] = {item: (0.1 if item == "q000" else 0.0) for item in made["m0"]}
    found = transfer(made, k=4, n_permutations=50, n_resamples=50)
    # m0 has one unstable item: its effective k is 1, so chance is 2/100 in its five pairs.
    assert found.n_truncated == 5
    assert found.chance == pytest.approx((25 * 0.08 + 5 * 0.02) / 30)


def test_ties_are_shared_so_that_the_order_of_items_does_not_matter():
    values = {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.0, "e": 0.0, "f": 0.0}
    other = {"a": 0.5, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0, "f": 0.0}
    found = transfer({"one": values, "two": other}, k=1, n_permutations=20)
    renamed = {"a": "f", "f": "a", "b": "e", "e": "b", "c": "d", "d": "c"}
    again = transfer(
        {name: {renamed[item]: value for item, value in items.items()}
         for name, items in (("one", values), ("two", other))}, k=1, n_permutations=20,
    )  # fmt: skip
    assert found.mean_share == pytest.approx(again.mean_share)
    # From one: a third of the list is each of a, b, c; two holds a and a fifth of each other.
    # From two: the list is a, which two of the three tied places of one hold.
    assert found.mean_share == pytest.approx(((1 + 0.2 + 0.2) / 3 + 2 / 3) / 2)
    assert found.interval is None


def test_stable_configurations_have_no_transfer_and_no_chance():
    found = transfer({name: dict.fromkeys("abcd", 0.0) for name in ("one", "two")}, k=1)
    assert (found.n_ordered_pairs, found.ratio, found.p_value) == (0, None, None)


@pytest.mark.parametrize("k", [0, 51])
def test_a_list_longer_than_half_of_the_items_is_refused(k):
    with pytest.raises(CountError, match="half"):
        transfer(configurations(shared=True), k=k)


def test_modal_answer_and_dispersion_of_an_item():
    found = item_stability(["a", "b", "a", None])
    assert (found.modal_answer, found.n_disagreeing, found.n_unparsed) == ("a", 2, 1)
    assert found.dispersion == 0.5
    assert item_stability(["b", "a"]).is_modal_tied
    assert item_stability(list("abcd")).dispersion == max_dispersion(4)
    assert item_stability([None, None]).modal_answer is None
    with pytest.raises(CountError):
        item_stability([])
    with pytest.raises(CountError):
        max_dispersion(0)


def test_clusters_are_drawn_whole():
    # Ten items, all runs of an item alike: as uncertain as ten items, however many runs.
    one = ratio_interval([1, 0] * 5, [1] * 10)
    many = ratio_interval([50, 0] * 5, [50] * 10)
    assert (one.low, one.high) == (many.low, many.high)
    assert ratio_interval([0, 0], [5, 5]) is None
    assert ratio_interval([1, 0, 0], [2, 2, 0]) == ratio_interval([1, 0], [2, 2])


def test_a_bootstrap_follows_its_seed():
    values = [float(at % 7) for at in range(50)]
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)
    assert mean_interval([1.0]) is None
    assert ratio_difference_interval([(1, 2)], [(1, 2), (0, 2)]) is None
    with pytest.raises(CountError, match="level"):
        mean_interval(values, level=95)
    with pytest.raises(CountError, match="resample"):
        mean_interval(values, n_resamples=0)


def test_two_configurations_need_the_same_items():
    with pytest.raises(CountError, match="differ"):
        compare_on_same_items([True], [True, False])
    with pytest.raises(CountError, match="without items"):
        compare_on_same_items([], [])
    same = compare_on_same_items([True, False], [True, False])
    assert (same.difference, same.mcnemar_p_value) == (0, 1)


def test_mcnemar_is_the_exact_sign_test_of_the_discordant_items():
    first, second = [True] * 5 + [False] * 5, [False] * 5 + [False] * 5
    assert compare_on_same_items(first, second).mcnemar_p_value == pytest.approx(2 / 32)


def test_agreement_on_one_word_alone_has_no_kappa():
    found = agreement({("clean", "clean"): 9, ("clean", "bad"): 0})
    assert found.kappa is None
    assert found.agreed.raw == 1
    assert found.sensitivity["bad"].reason == "not_at_risk"
    opposed = agreement({("clean", "bad"): 5, ("bad", "clean"): 5})
    assert opposed.kappa == pytest.approx(-1)
    with pytest.raises(CountError):
        agreement({})


def test_a_shuffle_is_recorded_and_maps_back():
    shuffle = shuffle_candidates(4, item_id="q1", seed=7)
    assert shuffle == shuffle_candidates(4, item_id="q1", seed=7)
    assert sorted(shuffle.order) == [0, 1, 2, 3]
    candidates = ("a", "b", "c", "d")
    presented = shuffle.presented(candidates)
    assert [candidates[shuffle.original(at)] for at in range(4)] == list(presented)
    firsts = {shuffle_candidates(4, item_id=f"q{at}", seed=7).order[0] for at in range(40)}
    assert firsts == {0, 1, 2, 3}
    with pytest.raises(CountError):
        shuffle.original(4)
    with pytest.raises(CountError):
        shuffle_candidates(0, item_id="q", seed=1)


def test_an_item_chosen_twice_or_a_position_out_of_range_is_refused():
    choice = Choice(item_id="q", candidates=("a", "b"), is_right=(True, False), anchor=0, chosen=1)
    assert choice.stratum is Stratum.diversity_without_headroom
    with pytest.raises(CountError, match="twice"):
        audit_selection([choice, choice])
    with pytest.raises(CountError, match="chosen 2"):
        Choice(item_id="q", candidates=("a", "b"), is_right=(True, False), anchor=0, chosen=2)
    with pytest.raises(CountError, match="success bits"):
        Choice(item_id="q", candidates=("a", "b"), is_right=(True,), anchor=0, chosen=0)
