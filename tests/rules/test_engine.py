from __future__ import annotations

import itertools

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    contract,
    incomplete,
    json_schema,
    listing,
    offer,
    run,
    tool,
    without_content,
)

from spanwitness import guard
from spanwitness.model import Verdict
from spanwitness.rules import engine
from spanwitness.rules.builtin import CLAUSE_RULES, RULES
from spanwitness.rules.causes import CAUSES, explain
from spanwitness.rules.engine import evaluate
from spanwitness.rules.facts import Facts
from spanwitness.rules.offers import index_of
from spanwitness.rules.rule import HOLDS, rule, violated
from spanwitness.rules.subjects import ALL, OFFERS, subjects_of

READ = offer("read_page", page="integer")
CLEAN = run(
    chat(calls=[call("read_page", page=2)], offers=[READ]),
    tool("read_page", gives="Maximum output current 250 mA.", page=2),
    chat("250 mA (page 2)", offers=[READ]),
)
BYPASS = run(chat({"value": "300 mA", "page": 9}, offers=[READ], format=json_schema()))
NAVIGATES = contract({"rule": "navigation_bypassed", "tool": "read_page", "at_least": 1})


def violation(name, *, severity="error", spans=(), contract=None, reason="r"):
    return Verdict(
        rule=name,
        rule_version=1,
        verdict="violated",
        severity=severity,
        fault="reasoning",
        reason=reason,
        span_ids=spans,
        contract=contract,
    )


@pytest.fixture
def _lenient():
    guard.set_strict(False)
    yield
    guard.set_strict(True)


@pytest.fixture
def with_rule(monkeypatch):
    """Put a rule of the test among the built-in ones."""

    def put(check, **words):
        made = rule("made_up", severity="error", fault="harness", **words)(check)
        monkeypatch.setattr(engine, "RULES", (RULES[0], made, *RULES[1:]))
        engine._plan.cache_clear()

    yield put
    monkeypatch.undo()
    engine._plan.cache_clear()


@pytest.mark.contains_faults
@pytest.mark.usefixtures("_lenient")
@pytest.mark.contains_faults
def test_a_rule_that_raises_is_contained_and_the_others_still_judge(with_rule):
    def check(_facts):
        raise ZeroDivisionError

    with_rule(check)
    before = guard.faults().get("rules.engine", 0)
    verdicts = evaluate(BYPASS).verdicts
    (broken,) = [v for v in verdicts if v.rule == "made_up"]
    assert (broken.verdict, broken.reason) == ("not_assessed", "internal error")
    others = tuple(v for v in verdicts if v.rule != "made_up")
    assert len(others) == len(RULES)
    assert "output_constraint_bypass" in {v.rule for v in others if v.verdict == "violated"}
    assert guard.faults()["rules.engine"] == before + 1


@pytest.mark.usefixtures("_lenient")
@pytest.mark.contains_faults
def test_a_fault_while_claims_are_worked_out_is_contained(monkeypatch):
    judged = evaluate(CLEAN)
    assert judged.claims

    def fails(*_arguments, **_words):
        raise ZeroDivisionError

    monkeypatch.setattr("spanwitness.rules.attribution.attributed", fails)
    before = guard.faults().get("rules.claims", 0)
    assert judged.claims == ()
    assert guard.faults()["rules.claims"] == before + 1


def test_a_rule_whose_subject_does_not_occur_is_not_asked(with_rule):
    asked = []

    def check(facts):
        asked.append(facts)
        return HOLDS

    with_rule(check, needs=OFFERS)
    word = {v.rule: v.verdict for v in evaluate(run(chat("Hello."))).verdicts}["made_up"]
    assert (word, asked) == ("not_applicable", [])
    word = {v.rule: v.verdict for v in evaluate(CLEAN).verdicts}["made_up"]
    assert (word, len(asked)) == ("holds", 1)


def test_in_an_incomplete_run_every_rule_is_asked():
    assert subjects_of(incomplete(run(chat("Hello.")))) == ALL


def test_an_outcome_may_differ_from_the_standing_words_of_its_rule(with_rule):
    with_rule(lambda _: violated("x", severity="info", fault="tool", kind="selection"))
    (found,) = [v for v in evaluate(CLEAN).verdicts if v.rule == "made_up"]
    assert (found.severity, found.fault, found.kind) == ("info", "tool", "selection")


def test_every_rule_gives_one_verdict_in_order_of_id():
    rules = [v.rule for v in evaluate(CLEAN).verdicts]
    assert rules == sorted({r.id for r in RULES})


def test_ids_are_unique_and_equal_to_their_files():
    for made in (*RULES, *CLAUSE_RULES.values()):
        assert made.check.__module__ == f"spanwitness.rules.{made.id}"


@pytest.mark.parametrize("made", [*RULES, *CLAUSE_RULES.values()], ids=lambda made: made.id)
def test_a_rule_says_what_it_claims_needs_when_it_is_silent_and_how_it_errs(made):
    places = [
        made.doc.find(word) for word in ("Claims:", "Needs:", "Not assessed when:", "Can be wrong:")
    ]
    assert -1 not in places
    assert places == sorted(places)


def test_a_clean_run_has_no_finding_and_a_bypass_has_one():
    assert evaluate(CLEAN).findings == ()
    assert not evaluate(CLEAN).is_flagged
    (finding,) = evaluate(BYPASS).findings
    assert (finding.rule, finding.fault) == ("output_constraint_bypass", "harness")
    assert evaluate(BYPASS).is_flagged


def test_a_finding_at_info_flags_nothing():
    of = run(chat("The tower is 330 m high.", offers=[READ]))
    assert [v.severity for v in evaluate(of).findings] == ["info"]
    assert not evaluate(of).is_flagged


def test_the_same_run_gives_equal_verdicts():
    assert evaluate(BYPASS, [NAVIGATES]).verdicts == evaluate(BYPASS, [NAVIGATES]).verdicts


def test_facts_asked_in_any_order_are_the_same():
    names = ["used_evidence", "offering", "output_tools", "due", "executions", "answer_text"]
    seen = []
    for order in itertools.islice(itertools.permutations(names), 0, None, 97):
        facts = Facts(BYPASS)
        for name in order:
            getattr(facts, name)
        seen.append([getattr(facts, name) for name in names])
    assert all(values == seen[0] for values in seen)


def test_nothing_holds_or_is_absent_in_an_incomplete_run_without_proof():
    verdicts = evaluate(incomplete(run(chat("Hello.")), "spans_lost")).verdicts
    unproven = {
        v.rule for v in verdicts if v.verdict in ("holds", "not_applicable") and v.rule in _MINE
    }
    assert unproven == set()


_MINE = {
    "argument_not_in_schema", "call_in_text", "call_not_executed", "content_part_lost",
    "discovery_failed", "empty_result_answered", "error_as_answer", "fabricated_observation",
    "output_constraint_bypass", "repeated_call", "result_altered", "result_not_delivered",
    "schema_posing_as_tool", "served_from_cache", "tool_bypass", "tool_choice_ignored",
    "tool_error_swallowed", "tools_withheld", "unknown_tool", "unperformed_action",
}  # fmt: skip


def test_no_contract_that_is_about_another_run_is_applied():
    other = contract({"rule": "forbidden_tool", "tool": "read_page"}, when={"agent": "someone"})
    evaluation = evaluate(CLEAN, [other])
    assert evaluation.contract is None
    assert len(evaluation.verdicts) == len(RULES)


def test_several_contracts_are_each_applied_and_named():
    forbids = contract({"rule": "forbidden_tool", "tool": "read_page"}, contract="strict")
    evaluation = evaluate(CLEAN, [NAVIGATES, forbids])
    assert evaluation.contract == "test, strict"
    clauses = evaluation.verdicts[len(RULES) :]
    assert [(v.rule, v.contract, v.verdict) for v in clauses] == [
        ("navigation_bypassed", "test", "holds"),
        ("forbidden_tool", "strict", "violated"),
    ]


def test_a_clause_sets_its_own_severity():
    strict = contract({"rule": "forbidden_tool", "tool": "read_page", "severity": "critical"})
    assert evaluate(CLEAN, [strict]).verdicts[-1].severity == "critical"


def test_two_contracts_that_say_the_same_make_one_finding():
    twin = contract({"rule": "forbidden_tool", "tool": "read_page"}, contract="twin")
    first = contract({"rule": "forbidden_tool", "tool": "read_page"})
    findings = evaluate(CLEAN, [first, twin]).findings
    assert [v.contract for v in findings] == ["test"]


def test_a_bypass_explains_the_clauses_it_breaks():
    evaluation = evaluate(BYPASS, [NAVIGATES])
    told = {v.rule: v.explained_by for v in evaluation.verdicts if v.verdict == "violated"}
    assert told["navigation_bypassed"] == "output_constraint_bypass"
    assert told["tool_bypass"] == "output_constraint_bypass"
    assert [v.rule for v in evaluation.findings] == ["output_constraint_bypass"]


def test_a_failed_discovery_stands_before_all_that_follows_from_it():
    of = run(
        listing(error="401", server="crm"),
        chat("The tool returned: 3 claims, page 9.", offers=[]),
        configured=("find_claim",),
    )
    evaluation = evaluate(of, [contract({"rule": "required_tool_missing", "tool": "find_claim"})])
    assert [v.rule for v in evaluation.findings] == ["discovery_failed"]


def test_the_order_of_verdicts_does_not_change_what_explains_what():
    found = [
        violation("tools_withheld"),
        violation("tool_bypass"),
        violation("navigation_bypassed", contract="c"),
        violation("fabricated_observation"),
    ]
    results = {
        tuple(sorted((v.rule, v.explained_by or "") for v in explain(order)))
        for order in itertools.permutations(found)
    }
    assert len(results) == 1


def test_a_remark_explains_no_error():
    verdicts = explain([violation("tool_bypass", severity="info"), violation("unperformed_action")])
    assert [v.explained_by for v in verdicts] == [None, None]


def test_a_cause_is_raised_to_the_severity_of_the_clause_it_explains():
    verdicts = explain(
        [
            violation("tool_bypass"),
            violation("navigation_bypassed", severity="critical", contract="c"),
        ]
    )
    assert [(v.severity, v.explained_by) for v in verdicts] == [
        ("critical", None),
        ("critical", "tool_bypass"),
    ]


def test_a_fault_of_one_call_does_not_explain_the_fault_of_another():
    apart = [
        violation("content_part_lost", spans=("a",)),
        violation("result_altered", spans=("b",), severity="warning"),
    ]
    assert [v.explained_by for v in explain(apart)] == [None, None]
    together = [apart[0], msgspec.structs.replace(apart[1], span_ids=("a", "b"))]
    assert explain(together)[1].explained_by == "content_part_lost"


def test_the_table_of_causes_has_no_circle():
    places = {cause: place for place, (cause, _) in enumerate(CAUSES)}
    assert len(places) == len(CAUSES)
    for cause, consequences in CAUSES:
        later = {c for c in consequences if c in places}
        assert all(places[c] > places[cause] for c in later), cause


def test_the_ledger_is_built_on_demand_and_has_a_row_a_call():
    assert [row.call_id for row in evaluate(CLEAN).ledger if row.call_id] == ["call_read_page"]


def test_content_off_never_turns_a_violation_into_holds():
    words = {v.rule: v.verdict for v in evaluate(without_content(BYPASS)).verdicts}
    assert words["output_constraint_bypass"] == "not_assessed"
    assert words["tool_bypass"] == "not_assessed"


def test_where_calls_are_not_recorded_no_rule_says_that_no_tool_ran():
    unseen = dict.fromkeys(["requested", "delivered", "offers", "format", "choice"])
    unseen["dialect"] = "otel_genai"
    of = without_content(run(chat("250 mA", **unseen), dialects=("otel_genai",)))
    words = {v.rule: v.verdict for v in evaluate(of).verdicts}
    about_executions = {
        "empty_result_answered", "error_as_answer", "repeated_call", "result_not_delivered",
        "served_from_cache", "tool_error_swallowed",
    }  # fmt: skip
    assert {words[rule] for rule in about_executions} == {"not_assessed"}
    assert {words[rule] for rule in _MINE - {"discovery_failed", "tools_withheld"}} == {
        "not_assessed"
    }


def test_lists_of_tools_are_indexed_once_and_never_mixed_up():
    first, second = (offer("a"),), (offer("b", x="string"),)
    assert index_of(first) is index_of(first)
    assert index_of(first).names == {"a"}
    assert set(index_of(second).schemas) == {"b"}
    assert index_of(None) is index_of(())
    for n in range(2_000):
        assert index_of((offer(f"tool_{n}"),)).names == {f"tool_{n}"}
    assert index_of(first).names == {"a"}
