"""Paired audits from stored traces."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.measure.tables import write_csv
from tests.measure.test_cli import run as measure
from tests.measure.traced import outcome, pair, run, write

from spanwitness.measure import (
    Features,
    TableError,
    audit_each,
    collect,
    measure_paired,
    pairs_of,
)

FLOWS = [(0, 1)] * 4 + [(1, 0)] * 2 + [(1, 1)] * 9 + [(0, 0)] * 5


def runs_of(**more):
    return [run(pair(*bits, **more), item=f"i{at}") for at, bits in enumerate(FLOWS)]


def paired(traces, **options):
    audits = audit_each(pairs_of(collect(traces), **options), measure_paired)
    return audits.audits[0]


def counts_of(audit):
    form = audit.to_dict()["overall"]
    return [form[name] for name in ("n_corrected", "n_corrupted", "n_kept_right", "n_kept_wrong")]


def test_a_trace_file_and_a_folder_of_them_give_the_fixed_form(tmp_path):
    path = write(tmp_path / "t.jsonl", runs_of())
    for given in (path, tmp_path):
        form = json.loads(measure("paired", given, "--format", "json"))
        assert form["schema"] == "spanwitness.paired/1"
        assert form["overall"]["n_corrected"] == 4
        assert form["overall"]["n_pairs"] == 20
        assert form["identity"]["step"] == "improve"
        assert form["identity"]["rule"] == "exact@1"
        assert form["accounting"]["n_rows"] == 20
        assert form["accounting"]["missing"] == []


def test_traces_tell_what_the_table_of_the_same_outcomes_tells(tmp_path):
    path = write(tmp_path / "t.jsonl", runs_of())
    table = write_csv(
        tmp_path / "t.csv",
        [{"item_id": at, "before": b, "after": a} for at, (b, a) in enumerate(FLOWS)],
    )
    one = json.loads(measure("paired", path, "--format", "json"))
    two = json.loads(measure("paired", table, "--format", "json"))
    assert one["overall"] == two["overall"]


@pytest.mark.parametrize(
    ("more", "option", "value"),
    [
        ({"step_operation": "b2"}, "--operation", "b"),
        ({"step_inputs": "short"}, "--inputs", "short"),
        ({"success_rule": "exact@2"}, "--rule", "exact@2"),
        ({"step_name": "polish"}, "--step", "polish"),
    ],
)
def test_two_audits_are_refused_chosen_or_reported_side_by_side(tmp_path, more, option, value):
    path = write(tmp_path / "t.jsonl", [*runs_of(), run(pair(0, 1, **more), item="x")])
    with pytest.raises(TableError, match=f"2 audits, which are never pooled: .*{option}"):
        measure("paired", path)
    form = json.loads(measure("paired", path, option, value, "--format", "json"))
    assert form["overall"]["n_pairs"] == 1
    both = json.loads(measure("paired", path, "--each", "--format", "json"))
    assert both["schema"] == "spanwitness.audits/1"
    assert [audit["overall"]["n_pairs"] for audit in both["audits"]] == [20, 1]
    rows = list(csv.DictReader(io.StringIO(measure("paired", path, "--each", "--format", "csv"))))
    assert [row["n_pairs"] for row in rows] == ["20", "1"]
    assert rows[1][option.strip("-")] == next(iter(more.values()))


def test_two_stacks_are_two_audits_unless_pooled_on_demand(tmp_path):
    traces = [*runs_of(), run(pair(0, 1), item="x", stack="openai/gpt-x #1")]
    path = write(tmp_path / "t.jsonl", traces)
    with pytest.raises(TableError, match=r"stack none: 20 rows.*stack 'openai/gpt-x #1': 1 rows"):
        measure("paired", path)
    form = json.loads(measure("paired", path, "--stack", "none", "--format", "json"))
    assert form["overall"]["n_pairs"] == 20
    form = json.loads(measure("paired", path, "--pool", "stack", "--format", "json"))
    assert form["overall"]["n_pairs"] == 21
    assert form["pooled"] == ["stack"]


def test_a_choice_that_no_row_has_tells_what_there_is(tmp_path):
    path = write(tmp_path / "t.jsonl", runs_of())
    with pytest.raises(TableError, match="no row has step 'polish'; there are 'improve'"):
        measure("paired", path, "--step", "polish")


def test_a_step_that_gives_a_verdict_is_no_pair():
    traces = [*runs_of(), run(pair(1, 0) | {"step.kind": "verify"}, item="x")]
    audit = paired(traces)
    assert counts_of(audit) == [4, 2, 9, 5]
    assert "1 verify and audit steps are left out" in audit.accounting.notes[0]


def test_what_failed_or_lacks_a_bit_is_missing_by_name_and_nothing_is_put_in_its_place():
    traces = [
        *runs_of(),
        run(pair(0, 0, failed=True), item="failed"),
        run({"success.rule": "exact@1", "success.before": True}, item="open"),
        run(item="cut", complete=False, incomplete_reasons=["spans_lost"]),
    ]
    audit = paired(traces)
    assert counts_of(audit) == [4, 2, 9, 5]
    told = {each.item_id: (each.reason, each.span_id is None) for each in audit.accounting.missing}
    assert told == {
        "failed": ("step_failed:TimeoutError", False),
        "open": ("not_scored:after", False),
        "cut": ("run_incomplete:spans_lost", True),
    }
    assert audit.to_dict()["accounting"]["n_missing"] == 3


def test_a_retry_that_succeeds_makes_up_for_the_attempt_that_failed():
    traces = [*runs_of(), run(pair(0, 0, failed=True), pair(0, 1), item="again"),
              run(pair(0, 1), pair(0, 0, failed=True), item="late")]  # fmt: skip
    audit = paired(traces, repeated="first")
    assert counts_of(audit)[0] == 6
    assert audit.accounting.n_retried == 1
    assert [each.item_id for each in audit.accounting.missing] == ["late"]


def test_a_step_scored_twice_in_a_run_is_refused_or_chosen():
    traces = [*runs_of(), run(pair(0, 1), pair(1, 0), item="twice")]
    with pytest.raises(TableError, match=r"step 'improve', span [0-9a-f]{16} of run .* already"):
        paired(traces)
    assert counts_of(paired(traces, repeated="first"))[:2] == [5, 2]
    assert counts_of(paired(traces, repeated="last"))[:2] == [4, 3]


def test_each_execution_counts_where_it_is_asked_for(tmp_path):
    path = write(tmp_path / "t.jsonl", [*runs_of(), run(pair(0, 1), pair(1, 0), item="twice")])
    with pytest.raises(TableError, match="unequal pairing"):
        measure("paired", path, "--repeated", "each")
    form = json.loads(measure("paired", path, "--repeated", "each", "--unequal-runs", "weigh",
                              "--format", "json"))  # fmt: skip
    assert form["overall"]["n_pairs"] == 22
    assert form["overall"]["n_items"] == 21
    assert form["overall"]["correction_rate"]["interval"] == "jeffreys"


def test_a_nested_step_of_another_name_is_an_audit_of_its_own():
    traces = [run(pair(0, 1), pair(1, 1, step_name="inner") | {"parent": 1}, item="a")]
    log = collect(traces)
    audits = audit_each(pairs_of(log), measure_paired, each=True).audits
    assert [audit.identity["step"] for audit in audits] == ["improve", "inner"]


def test_items_that_repeat_over_runs_are_the_units():
    traces = [run(pair(*bits), item=f"i{at}") for _ in range(3) for at, bits in enumerate(FLOWS)]
    form = paired(traces).to_dict()["overall"]
    assert (form["n_pairs"], form["n_items"]) == (60, 20)
    assert form["correction_rate"]["interval"] == "percentile_bootstrap"


def test_the_steps_of_a_child_run_count_once_and_for_their_own_item():
    (top, step) = run(pair(0, 1), item="outer")
    (inner, deep) = run(pair(1, 0, step_name="improve"), item="inner")
    moved = [
        type(inner)(**{name: getattr(s, name) for name in s.__struct_fields__}
                    | {"trace_id": top.trace_id,
                       "parent_span_id": s.parent_span_id or top.span_id})
        for s in (inner, deep)
    ]  # fmt: skip
    table = pairs_of(collect([[top, step, *moved]])).table
    assert sorted((row["item_id"], row["before"]) for row in table.rows) == [
        ("inner", True), ("outer", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("group", "root", "step", "features"),
    [
        ("tag:depth", {"tags": ["depth=2"]}, {}, None),
        ("condition", {}, {"condition": "2"}, None),
        ("inputs", {}, {"step.inputs": "2"}, None),
        ("subject", {"subject": "2"}, {}, None),
        ("app.tier", {"app.tier": "2"}, {}, None),
        ("depth", {}, {}, [{"item_id": "a", "depth": 2}]),
    ],
)
def test_any_fact_attribute_or_feature_groups(group, root, step, features):
    log = collect([run(pair(0, 1) | step, item="a", **root)])
    found = pairs_of(log, group=group, features=Features(features))
    assert list(measure_paired(found.table, group=group).groups) == ["2"]


def test_a_row_without_a_group_is_refused_with_its_span():
    with pytest.raises(TableError, match=r"span [0-9a-f]{16} of run run-\d+: nothing says"):
        pairs_of(collect(runs_of()), group="tag:depth")


def test_traces_without_a_scored_step_say_how_to_score_one():
    with pytest.raises(TableError, match="success= rule"):
        pairs_of(collect([run({}, item="a")]))
    with pytest.raises(TableError, match="none of 1 executions has both bits: step_failed"):
        pairs_of(collect([run(pair(0, 1, failed=True), item="a")]))


def test_runs_without_an_item_are_items_of_their_own_and_told():
    found = pairs_of(collect([run(pair(0, 1)), run(pair(0, 1))]))
    assert measure_paired(found.table).overall.n_items == 2
    assert "2 runs name no item_id" in found.notes[0]


# --- ground truth that arrives later


def late(at, before, after):
    return [outcome(before, "improve.before", item=f"i{at}"),
            outcome(after, "improve.after", item=f"i{at}")]  # fmt: skip


def test_outcomes_recorded_later_score_a_step_that_does_not_score_itself():
    traces = [run({}, item=f"i{at}") for at in range(len(FLOWS))]
    for at, (before, after) in enumerate(FLOWS):
        traces += late(at, before, after)
    audit = paired(traces)
    assert counts_of(audit) == [4, 2, 9, 5]
    assert audit.identity["rule"] == "outcomes"


def test_an_outcome_of_a_run_goes_before_one_of_its_item():
    traces = [run({}, item="a", run_id="r1"), run({}, item="a", run_id="r2"), *late("x", 1, 1),
              outcome(0, "improve.before", item="a"), outcome(0, "improve.after", item="a"),
              outcome(1, "improve.after", run_id="r2")]  # fmt: skip
    rows = pairs_of(collect(traces)).table.rows
    assert [(row["run_id"], row["after"]) for row in rows] == [("r1", False), ("r2", True)]


def test_outcomes_that_contradict_each_other_are_refused_and_equal_ones_are_one():
    traces = [run({}, item="a"), outcome(1, "final", item="a"), outcome(1, "final", item="a")]
    assert len(collect(traces).outcomes) == 1
    with pytest.raises(TableError, match="outcome of item 'a' at 'final' is False here and True"):
        collect([*traces, outcome(0, "final", item="a")])


def test_a_table_of_outcomes_and_two_checkpoints_pair_runs(tmp_path):
    path = write(tmp_path / "t.jsonl", [run(item=f"i{at}") for at in range(21)])
    rows = [{"item_id": f"i{at}", "checkpoint": checkpoint, "success": bit}
            for at, bits in enumerate(FLOWS)
            for checkpoint, bit in zip(("draft", "final"), bits, strict=True)]  # fmt: skip
    truth = write_csv(tmp_path / "truth.csv", rows)
    options = ("--outcomes", truth, "--before", "draft", "--after", "final", "--format", "json")
    form = json.loads(measure("paired", path, *options))
    assert form["overall"]["n_corrupted"] == 2
    assert [each["reason"] for each in form["accounting"]["missing"]] == ["no_outcome:draft+final"]
    with pytest.raises(TableError, match="there are outcomes at 'draft', 'final'"):
        measure("paired", path, "--outcomes", truth, "--before", "x", "--after", "final")
    with pytest.raises(TableError, match="checkpoints come in two"):
        measure("paired", path, "--before", "x")


def test_a_bad_table_of_outcomes_names_the_row(tmp_path):
    path = write(tmp_path / "t.jsonl", [run(item="a")])
    good = {"item_id": "a", "checkpoint": "", "success": 1}
    bad = write_csv(tmp_path / "o.csv", [good, good | {"success": ""}])
    with pytest.raises(TableError, match="row 2: 'success' is missing"):
        measure("paired", path, "--outcomes", bad)


def test_a_bit_of_the_step_is_never_filled_up_with_an_outcome():
    half = run({"success.before": True, "success.rule": "exact@1"}, item="a")
    log = collect([half, *runs_of(), outcome(1, "improve.after", item="a")])
    assert [each.reason for each in pairs_of(log).missing] == ["not_scored:after"]


def test_only_steps_that_answer_are_missing_from_an_incomplete_run():
    cut = run(item="cut", complete=False, incomplete_reasons=["spans_lost"])
    checked = run(pair(1, 1), pair(1, 1, step_name="check") | {"step.kind": "verify"}, item="a")
    log = collect([cut, checked, outcome(1, "never.after", item="a")])
    assert [(each.item_id, each.step) for each in pairs_of(log).missing] == [("cut", "improve")]
