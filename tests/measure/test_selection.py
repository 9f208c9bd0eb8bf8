from __future__ import annotations

import json

import pytest
from tests.measure.tables import write_csv
from tests.measure.test_cli import run as measure
from tests.measure.traced import outcome, run, write
from tests.stats.printed import TABLES, assert_printed
from tests.stats.test_paper_corrections import judge_of_four

import spanwitness as sw
from spanwitness.measure import (
    TableError,
    audit_each,
    choices_of,
    collect,
    measure_selection,
)

TABLE = TABLES["correction_corruption"]["gsm8k_judge_k4_jeffreys"]


def rows_of(choices, order):
    return [
        {"item_id": choice.item_id, "order": order, "position": at, "candidate": candidate,
         "right": int(choice.is_right[at]), "anchor": int(at == choice.anchor),
         "chosen": int(at == choice.chosen)}
        for choice in choices for at, candidate in enumerate(choice.candidates)
    ]  # fmt: skip


def published():
    return rows_of(judge_of_four("standard_order"), "standard") + rows_of(
        judge_of_four("shuffled_order"), "shuffled"
    )


def test_gsm8k_judge_k4_comes_out_of_the_command_for_both_orders(tmp_path):
    path = write_csv(tmp_path / "choices.csv", published())
    form = json.loads(measure("selection", path, "--resamples", 100, "--format", "json"))
    assert form["schema"] == "spanwitness.selection/1"
    for order, key in (("standard", "standard_order"), ("shuffled", "shuffled_order")):
        told, printed = form["orders"][order], TABLE[key]
        assert told["n_items"] == TABLE["N"]
        assert (told["n_corrected"], told["n_corrupted"]) == (printed["c01"], printed["c10"])
        assert_printed(told["correction_rate"]["jeffreys"], printed["c"])
        assert_printed(told["corruption_rate"]["jeffreys"], printed["gamma"])
        assert_printed(told["first_chosen"]["raw"], printed["p_first"])
        assert_printed(told["anchor_chosen"]["raw"], printed["p_anchor"])
        k, n, rate = TABLE["anchor_retention"][order]["right"]
        assert (told["anchor_chosen_if_right"]["k"], told["anchor_chosen_if_right"]["n"]) == (k, n)
        assert_printed(told["anchor_chosen_if_right"]["raw"], rate)
        assert_printed(told["oracle"]["raw"], TABLE["p_oracle"])
        for stratum in TABLE["strata"]:
            found = told["strata"][stratum["name"]]
            assert found["n_items"] == stratum["N"]
            assert found["n_corrupted"] == stratum[order]["c10"]
    assert form["orders"]["standard"]["strata"]["headroom"]["corruption_rate"]["reason"] == (
        "not_at_risk"
    )


def test_what_moves_between_two_orders_is_told_on_the_same_items():
    result = measure_selection(published(), n_resamples=200)
    (success, anchor) = result.changes
    assert (success.first, success.second, success.n_unmatched) == ("standard", "shuffled", 0)
    assert success.comparison.difference == pytest.approx(0.770 - 0.795)
    assert anchor.comparison.difference == pytest.approx(0.28 - 0.79)
    assert anchor.comparison.interval.high < -0.4
    alone = measure_selection(published()[:-4], n_resamples=50)
    assert alone.changes[0].n_unmatched == 1


def test_choices_are_audited_by_group():
    rows = [row | {"depth": row["item_id"][-1]} for row in published()]
    result = measure_selection(rows, group="depth", n_resamples=10)
    assert list(result.to_dict()["groups"]) == [str(digit) for digit in range(10)]
    assert sum(each.audit.counts.n_pairs for each in result.audits
               if each.group is not None and each.order == "standard") == 200  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"right": ""}, "'right' is missing"),
        ({"position": 0}, "position 0 of item 'item-0' under 'standard' was in row 1 already"),
        ({"position": 4}, "they count from 0"),
        ({"position": "first"}, "it counts from 0"),
        ({"chosen": 1}, "2 rows with 'chosen', not one"),
        ({"candidate": ""}, "'candidate' is missing"),
        ({"operation": "b"}, "'operation' is 'b' where the first has 'a'"),
        ({"depth": 2}, "'depth' of item 'item-0' differs"),
    ],
)
def test_a_bad_row_of_candidates_is_named(cells, words):
    rows = [row | {"operation": "a", "depth": 1} for row in published()[:8]]
    rows[3] |= cells
    with pytest.raises(TableError, match=words):
        measure_selection(rows, group="depth")


# --- from traces


def choice(candidates="abcd", *, chosen=1, anchor=0, order=(0, 1, 2, 3), success=None, **more):
    cells = {"step.kind": "select", "step.name": "judge", "success.rule": "exact@1",
             "selection.candidates": list(candidates), "selection.order": list(order),
             "selection.anchor": anchor}  # fmt: skip
    if chosen is not None:
        cells["selection.chosen"] = chosen
    if success is not None:
        cells["selection.success"] = [bool(bit) for bit in success]
    return cells | {key.replace("_", "."): value for key, value in more.items()}


def audited(traces, **options):
    found = choices_of(collect(traces), **options)
    return audit_each(found, lambda table: measure_selection(table, n_resamples=10)).audits[0]


def test_choices_of_both_orders_are_read_from_spans():
    traces = [run(choice(success=(1, 0, 0, 0)), item="a"),
              run(choice(order=(2, 0, 1, 3), chosen=0, anchor=1, success=(0, 1, 0, 0),
                         selection_seed=5), item="a"),
              run(choice(chosen=None, success=(1, 0, 0, 0)), item="b"),
              run(choice(), item="c"),
              run(choice(success=(1, 0, 0, 0), failed=True), item="d")]  # fmt: skip
    audit = audited(traces)
    orders = {each.order: each.audit for each in audit.result.audits}
    assert orders["standard"].counts.n_corrupted == 1
    assert orders["standard"].first_chosen.k == 0
    assert orders["shuffled"].first_chosen.k == 1
    assert orders["shuffled"].counts.n_corrupted == 1
    assert [(each.item_id, each.reason) for each in audit.accounting.missing] == [
        ("b", "no_choice"), ("c", "not_scored"), ("d", "step_failed:TimeoutError"),
    ]  # fmt: skip


def test_outcomes_recorded_later_score_candidates_by_their_place_before_the_shuffle():
    traces = [run(choice(order=(2, 0, 1, 3), chosen=0, anchor=1, selection_seed=5), item="a")]
    traces += [outcome(place == 2, f"judge.candidate.{place}", item="a") for place in range(4)]
    audit = audited(traces)
    assert audit.identity["rule"] == "outcomes"
    assert audit.result.audits[0].audit.counts.n_corrected == 1


def test_an_item_chosen_for_twice_is_refused_or_taken_once():
    traces = [run(choice(success=(1, 0, 0, 0)), item="a"),
              run(choice(chosen=0, success=(1, 0, 0, 0)), item="a")]  # fmt: skip
    with pytest.raises(TableError, match="item 'a' was chosen for under 'standard'"):
        audited(traces)
    assert audited(traces, repeated="first").result.audits[0].audit.counts.n_corrupted == 1
    assert audited(traces, repeated="last").result.audits[0].audit.counts.n_corrupted == 0
    with pytest.raises(TableError, match="items are the units"):
        audited(traces, repeated="each")


def test_traces_without_candidates_say_how_to_record_them():
    with pytest.raises(TableError, match=r"sw\.shuffled"):
        choices_of(collect([run({}, item="a")]))
    with pytest.raises(TableError, match="none of 1 choices can be audited: not_scored"):
        choices_of(collect([run(choice(), item="a")]))


def test_a_live_judge_is_audited_from_its_trace_file(tmp_path):
    from tests.capture.recording import watching

    from spanwitness.live.records import to_record

    @sw.step(kind="select", success=lambda answer: answer == "r", success_rule="is-r@1")
    def judge(answers, item, *, is_shuffled):
        shown = (sw.shuffled(answers, item_id=item, seed=3) if is_shuffled
                 else sw.current_step().candidates(answers))  # fmt: skip
        return shown.choose(0)  # a judge that always takes the first

    with watching() as seen:
        for at in range(40):
            for is_shuffled in (False, True):
                with sw.run("pick", item_id=f"i{at}"):
                    judge(["r", "w", "x", "y"], f"i{at}", is_shuffled=is_shuffled)
        path = write(tmp_path / "t.jsonl", [[to_record(span) for span in seen.spans]])
    form = json.loads(measure("selection", path, "--resamples", 50, "--format", "json"))
    standard, shuffled = form["orders"]["standard"], form["orders"]["shuffled"]
    assert standard["first_chosen"]["raw"] == shuffled["first_chosen"]["raw"] == 1
    assert standard["n_kept_right"] == 40
    assert 0 < shuffled["anchor_chosen"]["k"] < 20
    assert shuffled["n_corrupted"] == 40 - shuffled["anchor_chosen"]["k"]
    assert form["changes"][0]["ci_high"] < 0


def test_the_text_tells_orders_strata_and_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    path = write_csv(tmp_path / "choices.csv", published())
    text = measure("selection", path, "--resamples", 50)
    for word in ("shuffled", "135/200", "diversity without headroom", "13/28",
                 "anchor_chosen: shuffled minus standard -0.510"):  # fmt: skip
        assert word in text


def test_each_table_of_a_selection_has_its_csv(tmp_path):
    path = write_csv(tmp_path / "choices.csv", [row | {"step": "judge"} for row in published()])
    options = ("--resamples", 20, "--format", "csv", "--part")
    for part, n_rows in (("audits", 2), ("strata", 6), ("changes", 2)):
        (head, *rows) = measure("selection", path, *options, part).splitlines()
        assert head.startswith("step,")
        assert len(rows) == n_rows
