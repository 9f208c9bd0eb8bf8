from __future__ import annotations

import numpy as np
import pytest

from spanwitness.stats.counts import CountError
from spanwitness.stats.decision import decide, gain_probability
from spanwitness.stats.paired import PairedCounts


def counts(corrected: int, wrong: int, corrupted: int, right: int) -> PairedCounts:
    return PairedCounts.from_flows(
        n_wrong_before=wrong, n_right_before=right, n_corrected=corrected, n_corrupted=corrupted
    )


@pytest.mark.parametrize(
    ("found", "cost"),
    [
        (counts(2, 62, 5, 72), 0.0),
        (counts(2, 62, 5, 72), -0.02),
        (counts(44, 372, 15, 947), 0.015),
        (counts(1, 3, 0, 1), 0.0),
        (counts(0, 2, 40, 4000), 0.0),
        (counts(300, 3000, 1, 2), 0.09),
        (counts(5000, 62000, 5100, 72000), 0.0),
    ],
)
def test_integration_agrees_with_a_large_sample(found, cost):
    generator = np.random.default_rng(7)
    n = 400_000
    c = generator.beta(found.n_corrected + 0.5, found.n_kept_wrong + 0.5, n)
    gamma = generator.beta(found.n_corrupted + 0.5, found.n_kept_right + 0.5, n)
    p0 = found.p_before
    sampled = float(np.mean((1 - p0) * c - p0 * gamma > cost))
    assert gain_probability(found, cost=cost) == pytest.approx(sampled, abs=0.004)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (counts(30, 60, 0, 40), "apply"),
        (counts(0, 60, 20, 40), "suppress"),
        (counts(3, 60, 2, 40), "insufficient"),
        (counts(0, 0, 3, 40), "suppress"),
        (counts(3, 40, 0, 0), "apply"),
        (counts(0, 0, 0, 0), "insufficient"),
        (counts(0, 1, 0, 0), "insufficient"),
        (counts(0, 0, 0, 1), "insufficient"),
    ],
)
def test_a_decision_needs_the_evidence_for_it(found, word):
    assert decide(found).word == word


def test_without_pairs_there_is_no_probability():
    assert decide(counts(0, 0, 0, 0)).probability is None


def test_nothing_can_be_gained_where_all_is_right():
    assert gain_probability(counts(0, 0, 0, 50)) == 0


def test_repeats_count_as_copies_of_an_item():
    once, four_times = counts(6, 20, 1, 30), counts(24, 80, 4, 120)
    assert gain_probability(four_times, repeats=4) == pytest.approx(
        gain_probability(once), abs=1e-6
    )
    assert gain_probability(four_times) > gain_probability(once)


@pytest.mark.parametrize("cost", [2.0, -1.5, float("nan")])
def test_a_cost_in_percent_is_refused(cost):
    with pytest.raises(CountError, match="share of items"):
        decide(counts(1, 2, 0, 2), cost=cost)


def test_without_corruption_by_design_only_corrections_decide():
    found = counts(6, 20, 0, 30)
    assert decide(found, corruption_possible=False).probability == 1
    never = decide(counts(0, 20, 0, 30), corruption_possible=False)
    assert (never.word, never.probability) == ("insufficient", 1)
    costly = decide(counts(0, 200, 0, 30), corruption_possible=False, cost=0.05)
    assert costly.word == "suppress"
    assert decide(counts(0, 0, 0, 30), corruption_possible=False, cost=0.01).word == "suppress"
