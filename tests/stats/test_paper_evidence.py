"""The figures of arXiv 2608.21559 (tables `evidence_state_reliability`), from their counts."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.stats.evidence_ledger import CONDITIONS, STAGES, ledger, plan
from tests.stats.printed import TABLES, assert_printed

from spanwitness.stats.bootstrap import mean_interval
from spanwitness.stats.evidence import Family, account, cell_rates, families, matched_changes

TABLE = TABLES["evidence_state_reliability"]
DEGRADED = CONDITIONS[1:]
RESAMPLING = {
    "n_resamples": TABLE["bootstrap"]["resamples"],
    "seed": TABLE["bootstrap"]["seed"],
}


@pytest.fixture(scope="module")
def cells():
    return {(cell.condition, cell.stage): cell for cell in cell_rates(ledger())}


@pytest.fixture(scope="module")
def changes():
    found = matched_changes(ledger(), baseline="clean", **RESAMPLING)
    return {(c.condition, c.stage, c.measure): c for c in found}


def test_accounting_names_every_missing_row(cells):
    figures = TABLE["accounting"]
    accounting = account(ledger(), plan())
    assert accounting.planned == figures["planned"]
    assert accounting.attempted == figures["ledgered"]
    assert accounting.retained == figures["retained"]
    assert len(accounting.missing) == figures["ledger_only"]
    assert accounting.missing_by("stage") == figures["missing_by_stage"]
    assert accounting.missing_by("condition") == figures["missing_by_condition"]
    n_valid = sum(cell.parser_validity.k for cell in cells.values())
    assert n_valid == figures["parser_valid"]
    assert accounting.attempted - n_valid == figures["parser_invalid_ledger"]
    assert accounting.retained - n_valid == figures["parser_invalid_retained"]


@pytest.mark.parametrize("stage", STAGES)
def test_clean_cells(cells, stage):
    figures, cell = TABLE["clean"][stage], cells["clean", stage]
    assert cell.n == figures["N"]
    assert cell.parser_validity.k == figures["parser_valid"]
    assert_printed(cell.parser_validity.raw, figures["rate"])
    assert cell.stage_success.k == figures["stage_success"]


@pytest.mark.parametrize("condition", DEGRADED)
def test_degraded_cells(cells, condition):
    figures, audit = TABLE["degraded"], cells[condition, "audit"]
    assert audit.parser_validity.k == figures["audit_parser_valid"][condition]
    assert (audit.detection.k, audit.detection.n) == (
        figures["audit_detected"][condition],
        figures["audit_parser_valid"][condition],
    )
    n_false, share = figures["audit_false_assurance"][condition]
    assert audit.audit_false_assurance.k == n_false
    assert_printed(audit.audit_false_assurance.raw, share)
    escalation = cells[condition, "escalation"]
    assert escalation.parser_validity.k == figures["escalation_parser_valid"][condition]
    assert escalation.recovery.k == figures["escalation_recovered"][condition]
    assert escalation.recovery.n == figures["escalation_parser_valid"][condition]
    for stage in STAGES:
        assert cells[condition, stage].stage_success.k == figures["stage_success_everywhere"]


def test_format_layer_false_assurance_is_every_parsed_row_without_success(cells):
    for cell in cells.values():
        assert cell.format_false_assurance.k == cell.parser_validity.k - cell.stage_success.k
        assert cell.format_false_assurance.n == cell.n


def test_matched_changes_have_the_printed_ranges(changes):
    ranges = TABLE["paired_ranges"]
    parser = [c for c in changes.values() if c.measure == "parser_validity"]
    success = [c for c in changes.values() if c.measure == "stage_success"]
    for found, key in ((parser, "parser_validity_change"), (success, "stage_success_change")):
        assert_printed(min(c.mean_change for c in found), ranges[key][0])
        assert_printed(max(c.mean_change for c in found), ranges[key][1])
    assert [min(c.n for c in parser), max(c.n for c in parser)] == ranges["paired_n"]


def test_divergence_is_the_change_of_parsing_minus_that_of_success(changes):
    for condition in DEGRADED:
        for stage in STAGES:
            parser = changes[condition, stage, "parser_validity"].mean_change
            success = changes[condition, stage, "stage_success"].mean_change
            divergence = changes[condition, stage, "reliability_layer_divergence"]
            assert divergence.mean_change == pytest.approx(parser - success, abs=1e-12)
            assert divergence.interval.low > 0


@pytest.mark.parametrize(
    ("stage", "n", "n_gained", "n_lost"),
    [("decision", 59, 18, 14), ("audit", 58, 19, 11), ("escalation", 60, 20, 13)],
)
def test_partial_dropout_intervals_come_out_within_one_case(stage, n, n_gained, n_lost):
    """The discordant counts are not public; these fit, and resampling moves an end by one case."""
    changes = [1.0] * n_gained + [-1.0] * n_lost + [0.0] * (n - n_gained - n_lost)
    found = mean_interval(changes, **RESAMPLING)
    low, high = TABLE["partial_dropout_parser_intervals"][stage]
    assert found.low == pytest.approx(low, abs=1.01 / n)
    assert found.high == pytest.approx(high, abs=1.01 / n)


def test_cascade_families_follow_the_published_precedence():
    figures = TABLE["cascade"]
    found = families(ledger())
    assert len(found) == figures["groups"]
    counts = Counter(found.values())
    for family in Family:
        assert counts[family] == figures.get(family.value, 0), family
    n_failures = len(found) - counts[Family.preserved_success] - counts[Family.recovered]
    assert_printed(n_failures / len(found), figures["failure_rate"])
    clean = Counter(family for (_, condition), family in found.items() if condition == "clean")
    assert clean.total() == figures["clean"]["groups"]
    for name in ("parser_failure", "incomplete", "preserved_success"):
        assert clean[Family(name)] == figures["clean"][name]
    assert_printed(1 - clean[Family.preserved_success] / 60, figures["clean"]["failure_rate"])


def test_families_are_those_of_the_study_and_the_unnamed_ones():
    assert {family.value for family in Family} == set(TABLE["family_keys"])
