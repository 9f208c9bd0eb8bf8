from __future__ import annotations

import pytest
from tests.capture.recording import watching

import spanwitness as sw
from spanwitness.normalize import build_runs
from spanwitness.stats.counts import CountError

ANSWERS = ["12", "7", "12", "9"]


def is_right(answer):
    return answer == "7"


def attributes_of(seen):
    return dict(seen.named("spanwitness.step")[0].attributes)


def test_a_decorated_choice_records_candidates_order_choice_and_success():
    @sw.step(kind="select", success=is_right, success_rule="equals@1")
    def judge(answers):
        shown = sw.shuffled(answers, item_id="q1", seed=5)
        return shown.choose(shown.candidates.index("7"))

    with watching() as seen, sw.run("pick", item_id="q1"):
        assert judge(ANSWERS) == "7"
    found = attributes_of(seen)
    order = found["spanwitness.selection.order"]
    assert sorted(order) == [0, 1, 2, 3]
    assert order != (0, 1, 2, 3)
    assert found["spanwitness.selection.seed"] == 5
    assert order[found["spanwitness.selection.anchor"]] == 0
    assert order[found["spanwitness.selection.chosen"]] == 1
    assert found["spanwitness.selection.success"] == tuple(at == 1 for at in order)
    digests = found["spanwitness.selection.candidates"]
    assert len(set(digests)) == 3
    assert digests[order.index(0)] == digests[order.index(2)]
    assert "12" not in digests
    assert found["spanwitness.success.before"] is False
    assert found["spanwitness.success.after"] is True


def test_the_order_depends_on_item_and_seed_alone():
    def orders(seed):
        return [sw.shuffled(list("abcdef"), item_id=f"q{n}", seed=seed).order for n in range(20)]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)
    assert len(set(orders(1))) > 10


def test_the_standard_order_is_stated_from_a_step_in_a_context_manager():
    with watching() as seen, sw.run("pick") as run, run.step("judge", kind="select") as step:
        shown = step.candidates(ANSWERS, anchor=3, success=is_right)
        assert shown.candidates == tuple(ANSWERS)
        assert shown.original(2) == 2
        shown.choose(2)
    found = attributes_of(seen)
    assert found["spanwitness.selection.order"] == (0, 1, 2, 3)
    assert found["spanwitness.selection.anchor"] == 3
    assert found["spanwitness.selection.chosen"] == 2
    assert "spanwitness.selection.seed" not in found
    assert found["spanwitness.selection.success"] == (False, True, False, False)


def test_outside_of_a_step_a_shuffle_still_maps_back():
    shown = sw.shuffled(ANSWERS, item_id="q", seed=1)
    for at in range(4):
        assert shown.choose(at) == ANSWERS[shown.original(at)]


def test_without_a_seed_the_order_is_the_standard_one():
    with watching() as seen, sw.run("pick") as run, run.step("judge", kind="select"):
        assert sw.shuffled(ANSWERS, item_id="q", seed=None).candidates == tuple(ANSWERS)
    assert "spanwitness.selection.seed" not in attributes_of(seen)


@pytest.mark.parametrize("position", [-1, 4])
def test_a_choice_of_none_of_them_is_an_index_error(position):
    shown = sw.shuffled(ANSWERS, item_id="q", seed=1)
    with pytest.raises(IndexError, match="none of 4 candidates"):
        shown.choose(position)
    with pytest.raises(IndexError, match="none of 4 candidates"):
        shown.original(position)


def test_no_candidates_and_no_anchor_are_refused():
    with pytest.raises(CountError, match="at least one"):
        sw.shuffled([], item_id="q", seed=1)
    with pytest.raises(CountError, match="anchor 4 is none of 4"):
        sw.shuffled(ANSWERS, item_id="q", seed=1, anchor=4)


def test_a_rule_that_cannot_score_one_candidate_leaves_the_scores_open():
    def strict(answer):
        return {"12": False, "7": True}[answer]

    with watching() as seen, sw.run("pick") as run, run.step("judge", kind="select") as step:
        step.candidates(ANSWERS, success=strict).choose(0)
    found = attributes_of(seen)
    assert "spanwitness.selection.success" not in found
    assert found["spanwitness.success.before"] is False


@pytest.mark.parametrize(
    ("change", "is_read"),
    [
        ({}, True),
        ({"spanwitness.selection.order": [0, 0, 1, 2]}, False),
        ({"spanwitness.selection.anchor": 4}, False),
        ({"spanwitness.selection.chosen": -1}, False),
        ({"spanwitness.selection.order": "[3, 2, 1, 0]"}, True),
    ],
)
def test_a_choice_that_contradicts_itself_is_not_read(change, is_read):
    from spanwitness.model import SpanRecord

    span = SpanRecord(
        trace_id="a" * 32, span_id="b" * 16, name="spanwitness.step judge", scope="spanwitness",
        attributes={
            "spanwitness.run_id": "r", "spanwitness.content": "on",
            "spanwitness.step.kind": "select", "spanwitness.step.name": "judge",
            "spanwitness.selection.candidates": ["a", "b", "c", "d"],
            "spanwitness.selection.order": [0, 1, 2, 3], "spanwitness.selection.anchor": 0,
            "spanwitness.selection.chosen": 1,
        } | change,
    )  # fmt: skip
    (run,) = build_runs([span])
    assert (run.steps[0].selection is not None) is is_read
