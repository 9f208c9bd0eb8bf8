from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.stats.counts import CountError, rate
from spanwitness.stats.coverage import METHODS, coverage, coverage_table, coverages
from spanwitness.stats.intervals import (
    clopper_pearson,
    jeffreys,
    newcombe,
    wilson,
    zero_event_bound,
)

NS = (10, 20, 30, 50, 100, 200)
PROPORTIONS = tuple(at / 100 for at in range(1, 100))


@pytest.fixture(scope="module")
def table():
    return coverage_table(NS, PROPORTIONS)


def mean(rows) -> float:
    return sum(row.coverage for row in rows) / len(rows)


@pytest.mark.parametrize("method", ["wilson", "jeffreys"])
@pytest.mark.parametrize("n", NS)
def test_wilson_and_jeffreys_cover_as_often_as_they_say_on_average(table, method, n):
    rows = [row for row in table if row.method == method and row.n == n]
    assert 0.93 <= mean(rows) <= 0.97


@pytest.mark.parametrize("method", ["clopper_pearson", "upper_bound"])
def test_exact_intervals_and_bounds_never_cover_less_than_they_say(table, method):
    assert min(row.coverage for row in table if row.method == method) >= 0.95 - 1e-12


def test_jeffreys_fails_for_small_rates_and_so_does_wilson_nearer_to_zero():
    assert coverage(jeffreys, 50, 0.05) == pytest.approx(0.885, abs=5e-4)
    assert coverage(wilson, 10, 0.01) == pytest.approx(0.904, abs=5e-4)
    assert coverage(wilson, 50, 0.01) == pytest.approx(0.911, abs=5e-4)
    assert coverage(clopper_pearson, 50, 0.05) == pytest.approx(0.988, abs=5e-4)


def test_coverage_is_the_sum_of_the_binomial():
    # n = 1, p = 1/2: the interval of k = 0 and of k = 1 both hold it, or neither does.
    holds = [interval.low <= 0.5 <= interval.high for interval in (wilson(0, 1), wilson(1, 1))]
    assert coverage(wilson, 1, 0.5) == pytest.approx(0.5 * sum(holds))
    assert coverages(lambda k, n: clopper_pearson(k, n, level=0.5), 2, [1.0]) == [1.0]


COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None, max_examples=50)
@given(COUNTS, st.sampled_from(["wilson", "clopper_pearson", "upper_bound"]))
def test_an_interval_lies_between_0_and_1_and_holds_the_estimate(counts, method):
    k, n = counts
    found = METHODS[method](k, n)
    assert 0 <= found.low <= k / n + 1e-12
    assert k / n - 1e-12 <= found.high <= 1


@settings(deadline=None, max_examples=50)
@given(COUNTS)
def test_a_rate_holds_its_jeffreys_estimate(counts):
    found = rate(*counts)
    assert 0 <= found.interval.low <= found.jeffreys <= found.interval.high <= 1


def test_a_rate_without_units_is_not_zero():
    found = rate(0, 0)
    assert (found.raw, found.jeffreys, found.interval) == (None, None, None)
    assert found.reason == "not_at_risk"


@settings(deadline=None, max_examples=50)
@given(COUNTS)
def test_one_sided_bounds_are_inside_of_the_two_sided_interval(counts):
    k, n = counts
    both = clopper_pearson(k, n)
    assert clopper_pearson(k, n, sides="upper").high <= both.high + 1e-12
    assert clopper_pearson(k, n, sides="lower").low >= both.low - 1e-12
    assert clopper_pearson(k, n, sides="upper").low == 0
    assert clopper_pearson(k, n, sides="lower").high == 1


@settings(deadline=None, max_examples=50)
@given(COUNTS, COUNTS)
def test_newcombe_holds_the_difference_and_turns_with_it(one, two):
    found, turned = newcombe(*one, *two), newcombe(*two, *one)
    assert found.interval.low - 1e-9 <= found.difference <= found.interval.high + 1e-9
    assert turned.interval.low == pytest.approx(-found.interval.high, abs=1e-9)


@pytest.mark.parametrize("bad", [(3, 2), (-1, 2), (0.5, 2), (True, 2)])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(CountError):
        wilson(*bad)


@pytest.mark.parametrize("make", [wilson, jeffreys, clopper_pearson])
def test_no_interval_is_made_without_units(make):
    with pytest.raises(CountError, match="nothing was at risk"):
        make(0, 0)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_is_a_probability(level):
    with pytest.raises(CountError, match="level"):
        wilson(1, 2, level=level)
    with pytest.raises(CountError, match="level"):
        zero_event_bound(5, level=level)
