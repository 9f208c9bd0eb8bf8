from __future__ import annotations

import itertools
import random

import pytest

from spanwitness.stats.composition import (
    chain,
    composition_gap,
    final_residuals,
    gap_of_sequences,
    transition,
)
from spanwitness.stats.counts import CountError
from spanwitness.stats.markov import markov_test
from spanwitness.stats.paired import PairedCounts


def sequences(counts: dict[str, int]) -> list[tuple[bool, ...]]:
    return [tuple(bit == "1" for bit in bits) for bits, n in counts.items() for _ in range(n)]


MARKOV = sequences({"000": 40, "001": 40, "010": 4, "011": 16, "100": 5, "101": 5, "110": 8,
                    "111": 32})  # fmt: skip
"""After a wrong step half become right, after a right one four in five, whatever came before."""
STICKY = sequences({"000": 45, "001": 5, "010": 20, "011": 5, "100": 5, "101": 15, "110": 5,
                    "111": 40})  # fmt: skip


def test_the_chain_equals_the_direct_transition_where_the_steps_do_not_remember():
    gap = gap_of_sequences(MARKOV, smoothing="raw")
    assert gap.mean == pytest.approx(0, abs=1e-12)
    assert gap.max == pytest.approx(0, abs=1e-12)
    assert gap.support_weighted == pytest.approx(0, abs=1e-12)
    assert 0 < gap_of_sequences(MARKOV).mean < 0.02


def test_the_three_gaps_are_what_their_names_say():
    steps = [PairedCounts.from_bits((row[at], row[at + 1]) for row in STICKY) for at in (0, 1)]
    direct = PairedCounts.from_bits((row[0], row[2]) for row in STICKY)
    gap = gap_of_sequences(STICKY, smoothing="raw")
    assert gap == composition_gap(steps, direct, smoothing="raw")
    # By hand: rows (wrong, right) of the product and of the direct matrix.
    chained = [1 / 3 * 9 / 14 + 2 / 3 * 2 / 7, 9 / 13 * 9 / 14 + 4 / 13 * 2 / 7]
    observed = [10 / 75, 55 / 65]
    rows = [2 * abs(a - b) for a, b in zip(chained, observed, strict=True)]
    assert gap.mean == pytest.approx(sum(rows) / 2)
    assert gap.max == pytest.approx(max(rows) / 2)
    assert gap.support_weighted == pytest.approx((75 * rows[0] + 65 * rows[1]) / 140)
    assert gap.n_items == 140


def test_a_held_out_gap_takes_the_direct_transition_of_other_items():
    gap = gap_of_sequences(MARKOV, held_out=STICKY, smoothing="raw")
    assert gap.n_items == len(STICKY)
    assert gap.mean > 0.3


def test_a_row_without_items_is_unknown_not_zero():
    gap = gap_of_sequences(sequences({"100": 3, "111": 5}))
    assert (gap.mean, gap.max, gap.support_weighted) == (None, None, None)
    assert gap.reason == "not_at_risk"
    never_wrong = PairedCounts(n_corrected=0, n_corrupted=1, n_kept_right=4, n_kept_wrong=0)
    assert transition(never_wrong).right_from_wrong is None
    assert not transition(never_wrong).is_known
    assert chain([transition(never_wrong)] * 2).right_from_right is None


def test_smoothing_is_jeffreys():
    counts = PairedCounts(n_corrected=1, n_corrupted=2, n_kept_right=6, n_kept_wrong=3)
    assert transition(counts).right_from_wrong == pytest.approx(1.5 / 5)
    assert transition(counts).right_from_right == pytest.approx(6.5 / 9)


EASY = {"111": 90, "101": 2, "110": 1, "011": 6, "000": 1}
HARD = {"111": 5, "110": 15, "010": 10, "000": 60, "001": 10}


def test_a_groups_own_rates_predict_its_end_better_than_those_of_all():
    learned = {"easy": sequences(EASY), "hard": sequences(HARD)}
    others = {"easy": sequences(EASY | {"000": 3}), "hard": sequences(HARD | {"111": 9})}
    for found in final_residuals(learned, others):
        assert abs(found.conditioned) < abs(found.pooled) / 2
    hard = final_residuals(learned, others)[1]
    assert (hard.group, hard.n_items) == ("hard", 104)
    assert hard.observed == pytest.approx(19 / 104)


def test_on_the_same_items_chained_raw_rates_give_the_end_as_an_identity():
    found = final_residuals({"all": STICKY}, {"all": STICKY}, smoothing="raw")[0]
    assert found.pooled == pytest.approx(0, abs=1e-12)
    assert gap_of_sequences(STICKY, smoothing="raw").mean > 0.3


def test_a_group_that_was_never_learned_has_no_residual_of_its_own():
    found = final_residuals({"easy": sequences(EASY)}, {"hard": sequences(HARD)})[0]
    assert found.conditioned is None
    assert found.pooled is not None
    with pytest.raises(CountError, match="another number of steps"):
        final_residuals({"a": [(True,) * 3]}, {"a": [(True,) * 4]})


@pytest.mark.parametrize("bad", [[], [(True, False)], [(True,) * 3, (True,) * 4]])
def test_sequences_that_cannot_be_chained_are_refused(bad):
    with pytest.raises(CountError):
        gap_of_sequences(bad)


def test_steps_that_do_not_remember_pass_and_sticky_ones_fail():
    passes, fails = markov_test(MARKOV), markov_test(STICKY)
    assert passes.g_squared == pytest.approx(0, abs=1e-9)
    assert passes.p_value == pytest.approx(1)
    assert passes.effect_if_wrong == pytest.approx(0)
    assert fails.effect_if_wrong == pytest.approx(15 / 20 - 5 / 50)
    assert fails.effect_if_right == pytest.approx(40 / 45 - 5 / 25)
    assert fails.p_value < 1e-6
    assert fails.degrees_of_freedom == 2
    assert "chaining the rates gives a wrong" in fails.words


def test_thin_cells_get_the_exact_permutation_distribution():
    rows = sequences({"000": 3, "101": 3, "011": 4})
    found = markov_test(rows)
    assert found.method == "exact_permutation"
    assert found.degrees_of_freedom == 1
    # Both of the two extreme tables of 20 are as far: 3 of 3 against 0 of 3.
    assert found.p_value == pytest.approx(2 / 20)


def test_the_exact_distribution_is_that_of_all_permutations():
    rows = sequences({"000": 2, "001": 1, "100": 1, "101": 2, "010": 1, "011": 2, "111": 1,
                      "110": 1})  # fmt: skip
    strata = {bit: [row for row in rows if row[1] == bit] for bit in (False, True)}
    observed = markov_test(rows)

    def arrangements(bit):
        lasts = [row[2] for row in strata[bit]]
        ones = sum(row[0] for row in strata[bit])
        for chosen in itertools.combinations(range(len(lasts)), ones):
            yield [(at in chosen, bit, last) for at, last in enumerate(lasts)]

    statistics = [
        markov_test(one + two).g_squared
        for one in arrangements(False)
        for two in arrangements(True)
    ]
    expected = sum(g >= observed.g_squared - 1e-9 for g in statistics) / len(statistics)
    assert observed.p_value == pytest.approx(expected)


def test_a_stratum_that_never_varies_tells_nothing():
    found = markov_test(sequences({"000": 10, "111": 10}))
    assert (found.p_value, found.degrees_of_freedom) == (None, 0)
    assert found.effect_if_wrong is None
    assert "Nothing can be said" in found.words
    with pytest.raises(CountError):
        markov_test([])


def test_the_chi_squared_level_holds_under_the_null():
    generator = random.Random(3)
    rejected = 0
    for _ in range(60):
        rows = []
        for _ in range(200):
            between = generator.random() < 0.5
            rows.append(
                (generator.random() < 0.5, between, generator.random() < 0.3 + 0.4 * between)
            )
        rejected += markov_test(rows).p_value < 0.05
    assert rejected <= 9  # binomial(60, 0.05): above 9 with probability 0.0005
