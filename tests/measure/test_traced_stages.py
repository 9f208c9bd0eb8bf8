"""Evidence states, repeated answers and windows from stored traces; verdicts and totals."""

from __future__ import annotations

import json

import pytest
from tests.measure.tables import write_csv
from tests.measure.test_cli import run as measure
from tests.measure.test_evidence import as_rows
from tests.measure.traced import outcome, pair, run, span, write

from spanwitness.errors import SettingsError
from spanwitness.measure import (
    Features,
    TableError,
    answers_of,
    collect,
    measure_evidence,
    measure_stability,
    measure_totals,
    measure_verdicts,
    stages_of,
    windows_of,
)
from spanwitness.measure.traced_answers import n_without_configuration
from spanwitness.stats.counts import CountError


def stage(name, condition="clean", **facts):
    cells = {"step.kind": "verify", "step.name": name, "condition": condition}
    return cells | {key.replace("_", ".", 1): value for key, value in facts.items()}


def traced_stages():
    """The retained rows of the published ledger as steps, one run a case and condition."""
    runs = {}
    for row in as_rows():
        if row["status"] != "retained":
            continue
        cells = {"step.kind": "verify", "step.name": row["stage"], "condition": row["condition"],
                 "case_id": row["case_id"]}  # fmt: skip
        for column, attribute in (
            ("parser_valid", "parser.valid"), ("validity_judgment", "validity"),
            ("evidence_adequate", "evidence.adequate"),
            ("audit_detected_degradation", "audit.detected"),
            ("audit_false_assurance", "audit.false_assurance"),
        ):  # fmt: skip
            if row[column] not in ("", None):
                cells[attribute] = bool(int(row[column]))
        if row["escalation_recovery"] not in ("", None):
            is_recovered = str(row["escalation_recovery"]) in ("1", "recovered")
            cells["escalation.outcome"] = "recovered" if is_recovered else "unresolved"
        runs.setdefault((row["case_id"], row["condition"]), []).append(cells)
    return [run(*steps) for steps in runs.values()]


def test_stages_of_traces_tell_what_the_table_of_their_facts_tells():
    one = measure_evidence(stages_of(collect(traced_stages())), n_resamples=50).to_dict()
    rows = [row for row in as_rows() if row["status"] == "retained"]
    two = measure_evidence(rows, n_resamples=50).to_dict()
    assert one["accounting"]["retained"] == two["accounting"]["retained"] == 713

    def key(row):
        return (row["condition"], row["stage"], row.get("measure", ""))

    for part in ("cells", "paired"):
        assert sorted(one[part], key=key) == sorted(two[part], key=key)
    assert one["families"] == two["families"]


def test_a_failed_stage_is_a_missing_row_and_a_retry_makes_up_for_it(tmp_path):
    good = {"parser_valid": True, "validity": True}
    traces = [
        run(stage("decide", **good), stage("audit", failed=True), item="a"),
        run(
            stage("decide", failed=True), stage("decide", **good), stage("audit", **good), item="b"
        ),
        run(stage("decide", **good), stage("audit", validity=True), item="c"),
    ]
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("evidence", path, "--format", "json"))
    assert form["accounting"]["retained"] == 4
    assert [(row["case_id"], row["status"]) for row in form["accounting"]["missing"]] == [
        ("a", "step_failed:TimeoutError"), ("c", "parser_valid_not_recorded"),
    ]  # fmt: skip
    assert form["families"]["incomplete"] == 2


@pytest.mark.parametrize(
    ("steps", "root", "words"),
    [
        ([{}], {"item": "a"}, "no step states an evidence fact"),
        (
            [stage("decide", None, parser_valid=True)],
            {"item": "a"},
            r"span \w+ of run .* condition",
        ),
        ([stage("decide", parser_valid=True)], {}, "neither case_id"),
        (
            [stage("decide", parser_valid=True), stage("decide", parser_valid=True)],
            {"item": "a"},
            r"span \w+ of run .*was in step 'decide', span",
        ),
    ],
)
def test_stages_that_cannot_be_placed_are_refused_with_their_span(steps, root, words):
    steps = [{k: v for k, v in step.items() if v is not None} for step in steps]
    with pytest.raises(TableError, match=words):
        measure_evidence(stages_of(collect([run(*steps, **root)])))


# --- answers


def answer(item, text, *, configuration="m", **root):
    spans = run({"step.kind": "submit", "step.name": "submit", "submission.digest": "d",
                 "submission.answer": json.dumps(text)}, item=item,
                tags=[f"configuration:{configuration}"], **root)  # fmt: skip
    return spans


def repeated():
    return [
        answer(item, text, configuration=name)
        for name in ("m", "n")
        for item, texts in (("a", ["1", "1", "1"]), ("b", ["1", "2", "1"]))
        for text in (texts if name == "m" else ["1", "1", "1"])
    ]


def test_answers_of_runs_by_item_and_configuration(tmp_path):
    path = write(tmp_path / "t.jsonl", repeated())
    truth = write_csv(tmp_path / "f.csv", [{"item_id": item, "label": "1", "flagged": item == "b"}
                                           for item in "ab"])  # fmt: skip
    form = json.loads(measure("stability", path, "--features", truth, "--format", "json"))
    (m, n) = form["configurations"]
    assert (m["configuration"], m["n_runs"], m["n_unstable"]) == ("m", 3, 1)
    assert m["accuracy"] == pytest.approx(5 / 6)
    assert n["wobble"] == 0
    assert form["contrast"]["flagged"]["wobble"] == 0.5


def test_success_of_runs_comes_from_outcomes_where_all_have_one(tmp_path):
    traces = repeated()
    log = collect(traces, keep="answers")
    assert "success" not in answers_of(log).columns
    for at, traced in enumerate(log.runs):
        traces += [outcome(at % 2, "final", run_id=traced.run.run_id)]
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("stability", path, "--format", "json"))
    assert [each["accuracy"] for each in form["configurations"]] == [0.5, 0.5]
    assert form["configurations"][0]["n_labelled"] == 2


def test_successes_are_rarefied_with_their_answers():
    rows = [{"configuration": "m", "item_id": item, "run": run, "answer": answer,
             "success": int(answer == "r")}
            for item, answers in (("a", "rrwwrwrr"), ("b", "rrw"), ("c", "www"))
            for run, answer in enumerate(answers)]  # fmt: skip
    labelled = [{k: v for k, v in row.items() if k != "success"} | {"label": "r"} for row in rows]
    for seed in range(5):
        one = measure_stability(rows, unequal="rarefy", seed=seed).configurations[0]
        two = measure_stability(labelled, unequal="rarefy", seed=seed).configurations[0]
        assert one.stability.accuracy == two.stability.accuracy


def test_runs_are_told_apart_by_stack_where_nothing_else_is_said():
    given = {"spanwitness.run.has_output": True, "spanwitness.run.output": "1"}
    traces = [run(item="a", stack=f"openai/{name}", **given) for name in "xxyy"]
    rows = answers_of(collect(traces, keep="answers")).rows
    assert [(row["configuration"], row["run"]) for row in rows] == [
        ("openai/x", 1), ("openai/x", 2), ("openai/y", 1), ("openai/y", 2),
    ]  # fmt: skip
    assert {row["answer"] for row in rows} == {"1"}


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ({"item": "a"}, "its answer was not recorded whole"),
        ({}, "names no item_id"),
        ({"item": "a", "tags": []}, "nothing says what 'tag:configuration' is here"),
    ],
)
def test_a_run_without_answer_item_or_configuration_is_refused_by_name(root, words):
    bad = run(**({"tags": ["configuration:m"]} | root))
    with pytest.raises(TableError, match=rf"run run-\d+: .*{words}"):
        answers_of(collect([*repeated(), bad], keep="answers"), configuration="tag:configuration")


def test_by_default_runs_that_repeat_nothing_are_left_out_and_counted():
    given = {"spanwitness.run.has_output": True, "spanwitness.run.output": "1"}
    other = [run(item="a", **given), run(item="b", **given)]
    log = collect([*repeated(), *other], keep="answers")
    assert answers_of(log).rows == answers_of(collect(repeated(), keep="answers")).rows
    assert n_without_configuration(log) == 2
    assert n_without_configuration(collect(other, keep="answers")) == 0


def test_a_run_that_gave_nothing_is_unparsed():
    nothing = run(item="a", tags=["configuration:m"], **{"spanwitness.run.has_output": False})
    assert answers_of(collect([nothing], keep="answers")).rows[0]["answer"] is None


# --- windows


def seen(item, text, claims):
    spans = run({"step.kind": "submit", "step.name": "submit", "submission.digest": "d",
                 "submission.answer": '"x"', "submission.claims": json.dumps(claims)},
                item=item)  # fmt: skip
    messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages),
            "spanwitness.run_id": spans[0].attributes["spanwitness.run_id"],
            "spanwitness.seq": 3, "gen_ai.request.model": "m"}  # fmt: skip
    spans.append(span("chat m", chat, trace=spans[0].trace_id, parent=spans[0].span_id))
    return spans


def test_claims_of_runs_are_sought_in_what_the_model_was_shown(tmp_path):
    traces = [
        seen("a", "The supply is 3.6 V at most.", [{"value": 3.6, "quote": "supply is 3.6 V"}]),
        seen("b", "Ratings: see page 9.", [{"value": 5.5, "quote": "VDD 5.5 V"}]),
    ]
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("provenance", path, "--format", "json"))
    assert {row["provenance"]: row["n"] for row in form["classes"]} == {
        "in_window": 1, "derivable": 0, "absent": 1, "untraceable": 0,
    }  # fmt: skip


def test_labels_of_items_and_outcomes_go_before_claims():
    traces = [seen("a", "It is 7 km.", []), outcome(0, "final", item="a")]
    features = Features([{"item_id": "a", "label": "7 km", "quote": ""}])
    (row,) = windows_of(collect(traces, keep="windows"), features=features).rows
    assert (row["label"], row["outcome"]) == ("7 km", True)
    with pytest.raises(TableError, match="no label of item 'a'"):
        windows_of(collect(traces, keep="windows"),
                   features=Features([{"item_id": "b", "label": "1"}]))  # fmt: skip
    with pytest.raises(TableError, match="no run submitted a claim"):
        windows_of(collect(traces, keep="windows"))


def test_a_window_that_was_not_recorded_is_refused():
    with pytest.raises(TableError, match="is not recorded whole"):
        windows_of(collect([run(item="a")], keep="windows"))


# --- verdicts and totals


def verdict(right, accepted, **more):
    cells = {"step.kind": "verify", "step.name": "check", "verdict.declared": True,
             "success.before": bool(right), "success.rule": "exact@1"}  # fmt: skip
    if accepted is not None:
        cells["verdict"] = bool(accepted)
    return cells | more


def test_verdict_steps_are_a_classification_table_and_never_corrections(tmp_path):
    bits = [(1, 1)] * 7 + [(1, 0)] * 2 + [(0, 1)] * 3 + [(0, 0)] * 4
    traces = [run(verdict(*each), item=f"i{at}") for at, each in enumerate(bits)]
    traces += [run(verdict(1, None), item="x"), run(pair(1, 0), item="y")]
    path = write(tmp_path / "t.jsonl", traces)
    form = json.loads(measure("verdicts", path, "--format", "json"))
    assert form["schema"] == "spanwitness.verdicts/1"
    overall = form["overall"]
    assert (overall["n_right_accepted"], overall["n_wrong_accepted"]) == (7, 3)
    assert overall["false_positive_rate"]["raw"] == 3 / 7
    assert overall["false_negative_rate"]["raw"] == 2 / 9
    assert overall["acceptance_rate"]["n"] == 16
    assert [each["reason"] for each in form["accounting"]["missing"]] == ["no_verdict"]
    table = [{"item_id": at, "right": right, "accepted": accepted}
             for at, (right, accepted) in enumerate(bits)]  # fmt: skip
    assert measure_verdicts(table).to_dict()["overall"] == overall


def test_the_truth_of_a_verdict_may_come_later_by_item():
    unscored = {k: v for k, v in verdict(1, 1).items() if not k.startswith("success")}
    traces = [run(unscored, item="a"), run(unscored, item="b"), outcome(0, "final", item="a")]
    from spanwitness.measure import verdicts_of

    found = verdicts_of(collect(traces))
    assert [(row["right"], row["rule"]) for row in found.table.rows] == [(False, "outcomes:final")]
    assert [each.reason for each in found.missing] == ["no_outcome:final"]


def test_the_text_of_verdicts_and_missing_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    path = write(tmp_path / "t.jsonl", [run(verdict(1, 1), item="a"), run(verdict(1, None))])
    text = measure("verdicts", path)
    for word in ("not at risk", "1/1", "no_verdict", "1 missing", "step check"):
        assert word in text


def test_totals_alone_bound_the_flows(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    form = json.loads(measure("paired", "--totals", "200,191,195", "--format", "json"))
    assert form["schema"] == "spanwitness.totals/1"
    assert (form["n_corrected_low"], form["n_corrected_high"]) == (4, 9)
    assert (form["n_corrupted_low"], form["n_corrupted_high"]) == (0, 5)
    exact = json.loads(measure("paired", "--totals", "200,191,195", "--never-revises-right",
                               "--format", "json"))  # fmt: skip
    assert exact["is_exact"]
    assert exact["corruption_rate_high"] is None
    assert "not at risk" in measure("paired", "--totals", "200,191,195", "--never-revises-right")
    assert measure_totals(n_pairs=0, n_right_before=0, n_right_after=0).change is None


def test_totals_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="give three counts"):
        measure("paired", "--totals", "200,191")
    with pytest.raises(CountError, match="between 0 and n_pairs"):
        measure("paired", "--totals", "200,191,295")
    with pytest.raises(SettingsError, match="stands alone"):
        measure("paired", tmp_path, "--totals", "1,1,1")
    with pytest.raises(SettingsError, match="needs INPUT"):
        measure("paired")


def test_answers_and_windows_that_were_not_kept_are_refused():
    with pytest.raises(TableError, match="keep='answers'"):
        answers_of(collect(repeated()))
    with pytest.raises(TableError, match="keep='windows'"):
        windows_of(collect(repeated(), keep="answers"))
