"""The counts of arXiv 2608.28439 (table `dispatch`) and what they can and cannot claim."""

from __future__ import annotations

import pytest
from tests.stats.printed import TABLES, assert_printed

from spanwitness.stats.counts import rate
from spanwitness.stats.intervals import clopper_pearson, zero_event_bound

TABLE = TABLES["dispatch"]


def test_planted_faults_were_all_recovered_which_bounds_recall_and_proves_no_more():
    n, k = TABLE["planted_faults"], TABLE["planted_recovered"]
    found = rate(k, n)
    assert (found.raw, found.k, found.n) == (1.0, 50, 50)
    assert clopper_pearson(k, n).high == 1
    assert 0.92 < clopper_pearson(k, n).low < 0.93


def test_clean_cells_are_repeats_of_fewer_independent_units():
    assert sum(TABLE["clean_cells_by_model"]) == TABLE["clean_cells"]
    assert TABLE["clean_flags"] == 0
    bounds = [zero_event_bound(row["n"]) for row in TABLE["zero_event_bounds"]]
    assert min(bounds) > 2 * zero_event_bound(TABLE["clean_cells"])


@pytest.mark.parametrize("row", TABLE["closed_book"], ids=lambda row: f"{row['abstained']} abstain")
def test_closed_book_corrupt_successes_were_all_flagged(row):
    assert row["abstained"] + row.get("answered", row["cells"] - row["abstained"]) == row["cells"]
    recall = rate(row["flagged"], row["corrupt_successes"])
    assert recall.raw == 1
    assert recall.interval.low < 0.75  # one, or seven, is no proof of recall


def test_wrong_documents_are_not_seen_by_rules_of_presence():
    row = TABLE["wrong_document"]
    assert row["decoy_transcribed"] + row["from_memory"] == row["answered"]
    flagged = rate(row["flagged_by_presence_rules"], row["answered"])
    assert flagged.raw == 0
    assert_printed(zero_event_bound(row["answered"]), 0.312)
    assert rate(row["correct"], row["answered"]).raw == 0
    assert rate(row["answered"], row["runs"]).raw == 0.08
