"""The figures of arXiv 2609.06147 and 2608.28439 that have counts, from their counts."""

from __future__ import annotations

import pytest
from tests.stats.printed import TABLES, assert_printed

from spanwitness.stats.agreement import agreement
from spanwitness.stats.intervals import newcombe, wilson, zero_event_bound
from spanwitness.stats.prediction import check_prediction
from spanwitness.stats.stability import configuration_stability, contrast, success_band

TABLE = TABLES["instability_and_provenance"]
DISPATCH = TABLES["dispatch"]


@pytest.mark.parametrize("row", TABLE["wilson95"], ids=lambda row: f"{row['k']}-of-{row['n']}")
def test_wilson_intervals(row):
    assert_printed(row["k"] / row["n"], row["rate"])
    if "interval" in row:
        found = wilson(row["k"], row["n"])
        assert_printed(found.low, row["interval"][0])
        assert_printed(found.high, row["interval"][1])


@pytest.mark.parametrize("row", TABLE["newcombe95"], ids=lambda row: f"{row['k1']}-{row['k2']}")
def test_newcombe_intervals(row):
    found = newcombe(row["k1"], row["n1"], row["k2"], row["n2"])
    assert_printed(found.difference, row["difference"])
    assert_printed(found.interval.low, row["interval"][0])
    assert_printed(found.interval.high, row["interval"][1])


@pytest.mark.parametrize("row", TABLE["configurations"], ids=lambda row: row["name"])
def test_configurations_have_their_unstable_items(row):
    items = {
        str(at): ["a", "a", "b" if at < row["unstable"] else "a"] for at in range(row["items"])
    }
    found = configuration_stability(items)
    assert (found.n_items, found.n_unstable) == (row["items"], row["unstable"])
    assert found.wobble == row["unstable"] / row["items"]
    assert found.interval == wilson(row["unstable"], row["items"])


def test_pooled_contrast_of_pairs_and_its_item_bootstrap():
    """432 and 5,116 pairs of 36 and 427 items under 12 configurations; 110 and 445 unstable."""
    flagged = {f"f{at}": (4 if at < 2 else 3, 12) for at in range(36)}
    clean = {f"c{at}": (2 if at < 18 else 1, 12) for at in range(427)}
    clean = dict(list(clean.items())[:419]) | {f"d{at}": (1, 11) for at in range(8)}
    assert sum(n for _, n in clean.values()) == 5116
    found = contrast(flagged, clean)
    assert (found.flagged.n_unstable, found.flagged.n_pairs) == (110, 432)
    assert (found.clean.n_unstable, found.clean.n_pairs) == (445, 5116)
    row = TABLE["newcombe95"][0]
    assert_printed(found.difference, row["difference"])
    assert_printed(found.newcombe.low, row["interval"][0])
    assert_printed(found.newcombe.high, row["interval"][1])
    assert found.item_bootstrap.low < found.difference < found.item_bootstrap.high


def test_registered_prediction_fails_as_published():
    figures = TABLE["registered_prediction"]
    found = check_prediction(
        threshold=figures["threshold"], k_before=32, n_before=120, k_after=25, n_after=120
    )
    assert_printed(found.before, figures["before"])
    assert_printed(found.after, figures["after"])
    assert not found.is_supported
    assert "not supported: " + " and ".join(found.reasons) == figures["verdict"]


def test_observable_band_has_the_published_ends():
    low, high = TABLE["observable_band"]
    rates = [0.0, 0.29, low, 0.5, high, 0.71, 1.0]
    assert success_band(rates).n_in_band == 3
    assert success_band(rates) == success_band(rates, low=low, high=high)


@pytest.mark.parametrize("row", DISPATCH["zero_event_bounds"], ids=lambda row: str(row["n"]))
def test_zero_event_bounds(row):
    assert_printed(zero_event_bound(row["n"]), row["bound"])
    assert zero_event_bound(row["n"]) == pytest.approx(1 - 0.05 ** (1 / row["n"]))


def test_zero_event_bound_of_cells_would_be_the_wrong_one():
    assert_printed(zero_event_bound(DISPATCH["clean_cells"]), 0.014)


def test_attribution_kappa_and_sensitivity():
    figures = DISPATCH["attribution"]
    confusion = figures["confusion"]
    found = agreement(
        {
            ("clean", "clean"): confusion["clean_clean"],
            ("clean", "problematic"): confusion["clean_problematic"],
            ("problematic", "clean"): confusion["problematic_clean"],
            ("problematic", "problematic"): confusion["problematic_problematic"],
        }
    )
    assert found.n_cases == figures["adjudicated"]
    assert found.agreed.k == figures["agree"]
    assert_printed(found.kappa, figures["kappa"])
    sensitivity = found.sensitivity["problematic"]
    assert f"{sensitivity.k} of {sensitivity.n}" == figures["sensitivity"]
    assert sensitivity.n - sensitivity.k == figures["classifier_misses"]
    assert found.sensitivity["clean"].n == figures["clean"]
