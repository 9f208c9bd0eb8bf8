"""The figures of arXiv 2604.18245 (tables `correction_corruption`), from their counts."""

from __future__ import annotations

import itertools

import pytest
from tests.stats.printed import TABLES, assert_printed

from spanwitness.stats.comparison import compare_on_same_items
from spanwitness.stats.paired import (
    PairedCounts,
    bounds_from_totals,
    break_even_multiplier,
    predicted_change,
)
from spanwitness.stats.selection import Choice, Stratum, audit_selection

TABLE = TABLES["correction_corruption"]


def counts_of(row: dict) -> PairedCounts:
    return PairedCounts.from_flows(
        n_wrong_before=row["n0"],
        n_right_before=row["n1"],
        n_corrected=row["c01"],
        n_corrupted=row["c10"],
    )


@pytest.mark.parametrize("row", TABLE["helper_transcript_raw"], ids=lambda row: row["helper"])
def test_helper_transcript_rates_are_raw(row):
    counts = counts_of(row)
    assert counts.n_pairs == row["N"]
    assert_printed(counts.p_before, row["p0"])
    assert_printed(counts.p_after, row["p1"])
    assert_printed(counts.correction_rate().raw, row["c"])
    assert_printed(counts.corruption_rate().raw, row["gamma"])


def test_helper_transcript_break_even_is_out_of_reach():
    row = TABLE["helper_transcript_raw"][0]
    needed = counts_of(row).break_even()
    assert_printed(needed.rate, row["break_even_c"])
    assert needed.attainable is row["attainable"]


@pytest.mark.parametrize("row", TABLE["helper_transcript_raw"], ids=lambda row: row["helper"])
def test_the_change_is_the_identity_of_the_two_rates(row):
    counts = counts_of(row)
    accounting = counts.accounting()
    assert accounting.change == pytest.approx((row["c01"] - row["c10"]) / row["N"], abs=1e-15)
    by_rates = predicted_change(
        counts.p_before, counts.correction_rate().raw, counts.corruption_rate().raw
    )
    assert by_rates == pytest.approx(accounting.change, abs=1e-12)
    assert counts.p_after - counts.p_before == pytest.approx(accounting.change, abs=1e-12)


def test_gsm8k_judge_of_two_has_jeffreys_rates():
    row = TABLE["gsm8k_judge_k2_jeffreys"]
    counts = counts_of(row)
    assert counts.n_pairs == row["N"]
    assert_printed(counts.p_before, row["p0"])
    assert_printed(counts.p_after, row["p1"])
    assert_printed(counts.correction_rate().jeffreys, row["c"])
    assert_printed(counts.corruption_rate().jeffreys, row["gamma"])


def judge_of_four(order: str) -> list[Choice]:
    """Choices with the counts of table `gsm8k_judge_k4_jeffreys`: strata, flows, retention."""
    table = TABLE["gsm8k_judge_k4_jeffreys"]
    flows = {stratum["name"]: stratum["standard" if order == "standard_order" else "shuffled"]
             for stratum in table["strata"]}  # fmt: skip
    kept = table["anchor_retention"]["standard" if order == "standard_order" else "shuffled"]
    n_first = 158 if order == "standard_order" else table["first_presented_shuffled"][0]
    rows = []
    for stratum in table["strata"]:
        name = stratum["name"]
        for is_right in [True] * stratum["n1"] + [False] * stratum["n0"]:
            done = sum(r["stratum"] == name and r["right"] == is_right for r in rows)
            moved = flows[name]["c10" if is_right else "c01"]
            rows.append({"stratum": name, "right": is_right, "moved": done < moved})
    # An unmoved choice keeps the anchor as long as there are retentions to spend.
    left = {True: kept["right"][0], False: kept["wrong"][0]}
    for row in rows:
        row["kept"] = not row["moved"] and left[row["right"]] > 0
        left[row["right"]] -= row["kept"]
    assert left == {True: 0, False: 0}
    return [_choice(at, row, order, n_first) for at, row in enumerate(rows)]


def _choice(at: int, row: dict, order: str, n_first: int) -> Choice:
    right, name = row["right"], row["stratum"]
    if name == "no_diversity":
        answers, success = ("a", "a", "a", "a"), (right,) * 4
    elif name == "headroom":
        answers, success = ("a", "b", "c", "d"), (False, True, False, False)
    elif right:
        answers, success = ("a", "b", "a", "d"), (True, False, True, False)
    else:
        answers, success = ("a", "b", "c", "d"), (False,) * 4
    goal = not right if row["moved"] else right
    others = [i for i in range(1, 4) if success[i] == goal]
    chosen = 0 if row["kept"] else others[0]
    # Which candidate is presented first: the chosen one for n_first of the items.
    if order == "standard_order":
        presented = [0, 1, 2, 3]
    else:
        first = chosen if at < n_first else (chosen + 1) % 4
        presented = [first, *(i for i in range(4) if i != first)]
    return Choice(
        item_id=f"item-{at}",
        candidates=tuple(answers[i] for i in presented),
        is_right=tuple(success[i] for i in presented),
        anchor=presented.index(0),
        chosen=presented.index(chosen),
    )


@pytest.mark.parametrize("order", ["standard_order", "shuffled_order"])
def test_gsm8k_judge_of_four_comes_out_for_both_orders(order):
    table = TABLE["gsm8k_judge_k4_jeffreys"]
    figures = table[order]
    audit = audit_selection(judge_of_four(order))
    assert audit.counts.n_pairs == table["N"]
    assert (audit.counts.n_wrong_before, audit.counts.n_right_before) == (table["n0"], table["n1"])
    assert (audit.counts.n_corrected, audit.counts.n_corrupted) == (figures["c01"], figures["c10"])
    assert_printed(audit.counts.correction_rate().jeffreys, figures["c"])
    assert_printed(audit.counts.corruption_rate().jeffreys, figures["gamma"])
    assert_printed(audit.counts.p_after, figures["p1"])
    assert_printed(audit.first_chosen.raw, figures["p_first"])
    assert_printed(audit.anchor_chosen.raw, figures["p_anchor"])
    assert (audit.oracle.k, audit.oracle.n) == tuple(table["p_oracle_counts"])
    assert_printed(audit.oracle.raw, table["p_oracle"])
    assert audit.headroom == pytest.approx(28 / 200)


@pytest.mark.parametrize(("order", "key"), [("standard_order", "standard"),
                                            ("shuffled_order", "shuffled")])  # fmt: skip
def test_gsm8k_judge_of_four_retains_the_anchor_as_printed(order, key):
    retention = TABLE["gsm8k_judge_k4_jeffreys"]["anchor_retention"][key]
    audit = audit_selection(judge_of_four(order))
    for rate, (k, n, printed) in (
        (audit.anchor_chosen_if_right, retention["right"]),
        (audit.anchor_chosen_if_wrong, retention["wrong"]),
    ):
        assert (rate.k, rate.n) == (k, n)
        assert_printed(rate.raw, printed)


@pytest.mark.parametrize(
    ("order", "stratum"),
    list(itertools.product(["standard", "shuffled"], TABLE["gsm8k_judge_k4_jeffreys"]["strata"])),
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_gsm8k_judge_of_four_strata_come_out(order, stratum):
    audit = audit_selection(judge_of_four(f"{order}_order"))
    counts = audit.strata[Stratum(stratum["name"])].counts
    assert counts.n_pairs == stratum["N"]
    assert (counts.n_wrong_before, counts.n_right_before) == (stratum["n0"], stratum["n1"])
    assert (counts.n_corrected, counts.n_corrupted) == (
        stratum[order]["c01"],
        stratum[order]["c10"],
    )
    assert_printed(counts.p_after, stratum[order]["accuracy"])
    correction = stratum[order].get("c", stratum.get("c", stratum.get(f"c_{order}")))
    if correction is not None:
        assert_printed(counts.correction_rate().jeffreys, correction)
    corruption = stratum[order].get("gamma", stratum.get("gamma"))
    if stratum["n1"] == 0:
        assert corruption is None
        assert counts.corruption_rate().jeffreys is None
        assert counts.corruption_rate().reason == "not_at_risk"
    else:
        assert_printed(counts.corruption_rate().jeffreys, corruption)


def test_mbpp_one_sided_increase_has_its_bootstrap_interval():
    row = TABLE["mbpp_one_sided"]
    n_both = row["draft_only_failures"] - row["draft_only"]
    rest = row["n1"] - n_both - row["draft_only"] - row["helper_only"]
    cells = [((1, 1), n_both), ((1, 0), row["draft_only"]), ((0, 1), row["helper_only"]),
             ((0, 0), rest)]  # fmt: skip
    pairs = [pair for pair, n in cells for _ in range(n)]
    found = compare_on_same_items([a for a, _ in pairs], [b for _, b in pairs], n_resamples=4000)
    assert found.first.k == row["draft_only_failures"]
    assert found.second.k == row["helper_failures"]
    assert_printed(found.first.raw, row["gamma_draft"])
    assert_printed(found.second.raw, row["gamma_helper"])
    assert_printed(found.difference, row["paired_increase"])
    low, high = row["bootstrap95"]
    assert found.interval.low == pytest.approx(low, abs=row["bootstrap_tolerance"])
    assert found.interval.high == pytest.approx(high, abs=row["bootstrap_tolerance"])
    assert (found.table.n_first_only, found.table.n_second_only) == (11, 83)
    assert found.mcnemar_p_value < 1e-12


def test_aggregate_bounds_are_exact_where_the_guide_never_revises_right_answers():
    found = bounds_from_totals(
        n_pairs=200, n_right_before=191, n_right_after=195, corruption_possible=False
    )
    assert found.is_exact
    assert (found.n_corrected_low, found.n_corrupted_high) == (4, 0)


@pytest.mark.parametrize("row", TABLE["break_even_multiplier"], ids=lambda row: str(row["p0"]))
def test_break_even_multiplier(row):
    assert break_even_multiplier(row["p0"]) == pytest.approx(row["p0_over_1_minus_p0"])


@pytest.mark.parametrize("size", ["6b", "175b"])
def test_gsm8k_public_pipelines(size):
    row = TABLE["gsm8k_public_pipelines"][size]
    (corrected, wrong), (corrupted, right) = row["corrected"], row["corrupted"]
    counts = PairedCounts.from_flows(
        n_wrong_before=wrong, n_right_before=right, n_corrected=corrected, n_corrupted=corrupted
    )
    assert counts.n_pairs == 1319
    assert_printed(counts.p_before, row["p0"])
    assert_printed(counts.p_after, row["p1"])


def test_gsm8k_sentence_group_predicts_a_loss():
    row = TABLE["gsm8k_sentence_group_6_13"]
    counts = counts_of(row)
    c, gamma = counts.correction_rate().jeffreys, counts.corruption_rate().jeffreys
    assert counts.n_pairs == row["N"]
    assert_printed(c, row["c"])
    assert_printed(gamma, row["gamma"])
    assert_printed(predicted_change(counts.p_before, c, gamma), row["predicted_change"])
