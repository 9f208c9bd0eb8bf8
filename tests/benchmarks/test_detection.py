"""The page of the detection benchmark shows its counts, and the counts are what the rules give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.detection import mas_sim
from benchmarks.detection.declared import contract_of, differs, expects
from benchmarks.detection.dialogs import DOMAINS, Call, Dialog, Said, define, load
from benchmarks.detection.measures import _caught, _flags, _mas_sim
from benchmarks.detection.mutants import MUTATIONS
from benchmarks.detection.page import RESULTS, page
from benchmarks.detection.scoring import judge_dialogs
from benchmarks.detection.spans import spans_of
from benchmarks.detection.tables import odds_ratio, verdicts

_ROOT = Path(__file__).resolve().parents[2]
DATA = _ROOT.parent / "shared" / "data"
# Recall on real dialogs cannot be had without the dialogs, which are too large to carry along. The
# mutations, the scoring and the published page are tested below on dialogs made here.
needs_data = pytest.mark.skipif(
    not (DATA / "tau_bench").is_dir(),
    reason=f"needs the data sets that docs/detection.md names, in {DATA.parent.name}/{DATA.name}",
)
QUICK = ("writes doubled", "write errors hidden", "results cut before delivery", "writes removed")


@pytest.fixture(scope="module")
def counted():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def dialog(*said: Said, task: str = "1", city: str = "Bonn") -> Dialog:
    order = f'{{"order_id": "W{task}001", "city": "{city}", "total": 342.81, "lamps": 12, '
    order += f'"note": "{"fragile, handle with care " * 8}"}}'
    turns = said or (
        Said(role="user", text=f"Cancel order W{task}001."),
        Said(role="assistant", calls=(call("get_order", order, order_id=f"W{task}001"),)),
        Said(
            role="assistant",
            text=f"Order W{task}001 goes to {city}, 12 lamps for $342.81. Cancel it?",
        ),
        Said(role="user", text="Yes."),
        Said(role="assistant", calls=(call("cancel_order", "cancelled", order_id=f"W{task}001"),)),
        Said(role="assistant", text="Your order has been successfully cancelled."),
    )
    made = Dialog(
        key=f"made/{task}", domain="made", model="m", system="Be kind.", said=turns, reward=1.0,
        task=task,
    )  # fmt: skip
    definitions = tuple(define(made.calls))
    return Dialog(**{**vars(made), "definitions": definitions})


def call(name: str, returned: str, **arguments: object) -> Call:
    return Call(id=f"{name}-1", name=name, arguments=arguments, returned=returned)


def test_the_page_is_made_from_the_counts(counted):
    written = (_ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
    assert written == page(counted), "run python -m benchmarks.detection.page"


def test_the_counts_hold_no_text_of_a_run(counted):
    def leaves(value):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                yield from leaves(item)
            else:
                yield item

    known = {rule for mutation in MUTATIONS for rule in mutation.rules} | set(mas_sim.CATEGORY_OF)
    texts = {leaf for leaf in leaves(counted) if isinstance(leaf, str)}
    assert texts <= known | {"argument_ungrounded", "tool_failed", "condition_omitted"}


def test_every_bar_has_a_figure(counted):
    assert len(list(verdicts(counted))) >= 16


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_mutation_changes_one_thing_leaves_its_input_alone_and_repeats(mutation):
    one, other = dialog(), dialog(task="2", city="Kiel")
    before = repr(one)
    made = mutation.make(one, [one, other])
    assert made is not None
    assert made != one
    assert repr(one) == before
    assert made == mutation.make(one, [one, other])
    assert mutation.what.endswith(".")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_dialog_without_calls_has_hardly_anything_to_break(mutation):
    talk = dialog(Said(role="user", text="Hi."), Said(role="assistant", text="Hello."))
    assert mutation.make(talk, [talk]) is None


def test_an_untouched_dialog_is_not_flagged_and_its_mutants_are():
    one, other = dialog(), dialog(task="2", city="Kiel")
    assert not any(unit.is_flagged for unit in judge_dialogs([one, other]).values())
    for mutation in MUTATIONS:
        if mutation.bar is not None:
            made = mutation.make(one, [one, other])
            unit = judge_dialogs([made])[one.key]
            assert unit.violated & set(mutation.rules), mutation.name


def test_the_layouts_hold_the_same_calls_and_no_label():
    one = dialog()
    turns, whole = spans_of(one), spans_of(one, "dialog")
    assert len({span.trace_id for span in turns}) == 2
    assert len({span.trace_id for span in whole}) == 1
    for spans in (turns, whole):
        assert sum("gen_ai.tool.call.id" in span.attributes for span in spans) == 2
        assert not any("reward" in str(span.attributes) for span in spans)


def test_an_odds_ratio_of_an_empty_cell_is_finite():
    assert odds_ratio(5, 50, 0, 30) > 3
    assert odds_ratio(5, 10, 5, 10) == 1


@needs_data
def test_counts_of_a_domain_are_what_the_rules_give_now(counted):
    domain = DOMAINS[0]
    dialogs = load(DATA, domain)
    right = [each for each in dialogs if each.is_right]
    untouched = judge_dialogs(right)
    assert _flags(untouched.values()) == counted["untouched"][domain.name]
    for mutation in MUTATIONS:
        if mutation.name in QUICK:
            made = [m for d in right if (m := mutation.make(d, dialogs)) is not None]
            counts = _caught(judge_dialogs(made), untouched, frozenset(mutation.rules))
            assert counts == counted["mutants"][mutation.name][domain.name], mutation.name


@needs_data
def test_the_runs_of_mas_sim_are_named_as_the_page_says(counted):
    assert _mas_sim(DATA) == counted["mas_sim"]


@needs_data
def test_a_contract_of_expected_writes_agrees_with_a_direct_comparison():
    declared = [each for each in load(DATA, DOMAINS[0]) if expects(each)]
    contracts = {each.key: contract_of(each) for each in declared}
    judged = judge_dialogs(declared, layout="dialog", contracts=contracts)
    rules = {"required_tool_missing", "count_out_of_range"}
    assert {key: bool(unit.violated & rules) for key, unit in judged.items()} == {
        each.key: differs(each) for each in declared
    }


@needs_data
def test_labels_reach_no_trace_of_mas_sim():
    for planted in mas_sim.load(DATA):
        text = repr(planted.spans)
        assert "fault.injected" not in text
        assert "expected" not in text
