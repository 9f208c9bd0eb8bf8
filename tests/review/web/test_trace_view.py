"""From a judged run to what the page shows of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.review import sample_runs
from tests.review.sample_runs import Script

from spanwitness.contracts import loads
from spanwitness.normalize import build_runs
from spanwitness.review.web.calls_view import call_view
from spanwitness.review.web.gap import gap_of
from spanwitness.review.web.trace_view import FindingFacts, links_out, trace_view
from spanwitness.rules.builtin import CLAUSE_RULES, RULES
from spanwitness.rules.engine import evaluate

AT = datetime(2026, 11, 20, tzinfo=UTC)


def judged(script: Script):
    (run,) = build_runs(script.spans)
    return evaluate(run)


def view(script: Script, *, rule: str | None = None, evidence=None, **more):
    evaluation = judged(script)
    if rule is not None:
        facts = FindingFacts(rule=rule, evidence=evidence or {})
    elif evaluation.findings:
        first = evaluation.findings[0]
        facts = FindingFacts(rule=first.rule, span_ids=first.span_ids, evidence=first.evidence)
    else:
        facts = FindingFacts(rule="")
    return trace_view(evaluation, facts, **{"with_content": True, **more})


def broken(seen) -> set[tuple[str, str]]:
    return {
        (row.tool, cell.column) for row in seen.ledger.rows for cell in row.cells if cell.is_broken
    }


@pytest.mark.parametrize(
    ("make", "cells"),
    [
        (
            sample_runs.bypassed_extraction,
            {
                (t, "requested")
                for t in ("open_document", "search_text", "read_page", "verify_quote")
            },
        ),
        (sample_runs.unexecuted_call, {("refund_order", "executed")}),
        (sample_runs.swallowed_error, {("find_order", "returned")}),
        (sample_runs.lost_result, {("read_page", "delivered")}),
        (sample_runs.healthy_extraction, set()),
        (sample_runs.cut_short, set()),
    ],
)
def test_the_broken_cell_is_where_the_account_breaks(make, cells):
    assert broken(view(make("run", AT))) == cells


def test_a_clause_names_its_tool_by_glob_or_by_a_group_that_is_not_known_here():
    script = sample_runs.bypassed_extraction("run", AT)
    by_glob = view(script, rule="required_tool_missing", evidence={"clause": "read_*"})
    assert broken(by_glob) == {("read_page", "executed")}
    by_group = view(script, rule="verification_skipped", evidence={"clause": "verification"})
    assert len(broken(by_group)) == 4


def test_a_clause_over_a_group_marks_the_tools_of_the_group_only():
    script = sample_runs.bypassed_extraction("run", AT)
    contract = loads(
        'contract: reading\nversion: "1"\ntools:\n  verification: [verify_quote, compare_*]\n'
        "expect:\n  - {rule: required_tool_missing, group: verification}\n"
    )
    (run,) = build_runs(script.spans)
    judged_by = evaluate(run, [contract])
    (found,) = [v for v in judged_by.verdicts if v.contract]
    assert found.evidence["group_tools"] == ["verify_quote", "compare_*"]
    seen = view(script, rule=found.rule, evidence=found.evidence)
    assert broken(seen) == {("verify_quote", "executed")}
    elsewhere = {"clause": "search", "group_tools": ["web_search"]}
    assert broken(view(script, rule="required_tool_missing", evidence=elsewhere)) == set()


def test_without_its_evidence_a_finding_is_placed_by_what_it_is_about():
    evaluation = judged(sample_runs.bypassed_extraction("run", AT))
    facts = FindingFacts(rule="required_tool_missing", subject="read_page, verify_quote")
    seen = trace_view(evaluation, facts, with_content=True)
    assert broken(seen) == {("read_page", "executed"), ("verify_quote", "executed")}


def test_every_rule_has_its_place_in_the_ledger_or_is_known_to_have_none():
    placed = {rule for rule in known_rules() if gap_of(rule, {}, ()).columns}
    assert known_rules() - placed == {
        "answer_changed_after_submit", "argument_not_given", "audit_false_assurance", "cap_reached",
        "detected_unrecovered", "empty_output", "finish_reason_contradiction",
        "format_false_assurance", "model_substituted", "prompt_truncated", "reasoning_not_replayed",
        "restriction_dropped", "schema_not_enforced", "sequence_incomplete", "silent_sequence",
        "trace_incomplete", "truncated_output", "verdict_missing",
    }  # fmt: skip


def known_rules() -> set[str]:
    return {rule.id for rule in RULES} | set(CLAUSE_RULES)


def test_a_forbidden_call_is_marked_where_it_ran():
    seen = view(
        sample_runs.healthy_extraction("run", AT),
        rule="forbidden_tool",
        evidence={"clause": "read_page"},
    )
    assert broken(seen) == {("read_page", "executed")}


def test_missing_dispatches_are_hollow_and_executed_ones_are_not():
    seen = view(sample_runs.unexecuted_call("run", AT)).timeline
    assert [(e.kind, e.name) for e in seen.events if e.kind != "chat"] == [
        ("tool", "find_order"),
        ("missing", "refund_order"),
    ]
    assert seen.n_missing == 1
    kinds = [e.kind for e in seen.events]
    assert kinds == ["chat", "tool", "chat", "missing", "chat"]


def test_what_the_finding_names_is_in_sight_in_a_long_run():
    seen = view(sample_runs.long_run("run", AT, n_spans=600)).timeline
    assert any(e.kind == "missing" for e in seen.events)
    assert len(seen.events) <= 60
    assert seen.n_events > 590
    first = view(sample_runs.long_run("run", AT, n_spans=600), first=1).timeline
    assert (first.first, first.earlier, first.later) == (1, None, 61)


def test_calls_that_went_alike_share_a_row_and_the_broken_one_stands_alone():
    rows = view(sample_runs.long_run("run", AT, n_spans=600)).ledger.rows
    assert [(r.tool, r.is_broken) for r in rows if r.n_calls > 1] == [("read_page", False)]
    assert [r.tool for r in rows if r.is_broken] == ["verify_quote"]


def test_the_answer_is_marked_with_what_each_claim_rests_on():
    answer = view(sample_runs.lost_result("run", AT)).answer
    assert answer is not None
    (value,) = [c for c in answer.claims if c.text == "3.6 V"]
    assert (value.state, value.tone) == ("not delivered", "bad")
    assert value.excerpts[0].source == "tool result of read_page"
    assert [p.text for p in value.excerpts[0].text.pieces if p.kind == "mark"] == ["3.6 V"]
    assert ("3.6 V", "bad") in [(p.text, p.tone) for p in answer.text.pieces if p.kind == "mark"]


def test_without_leave_to_see_content_the_view_holds_none():
    import msgspec

    script = sample_runs.lost_result("run", AT)
    hidden = msgspec.json.encode(view(script, with_content=False)).decode()
    open_view = msgspec.json.encode(view(script)).decode()
    for secret in ("3.6 V", "supply voltage", "Absolute maximum", "do not guess"):
        assert secret in open_view
        assert secret not in hidden
    assert "read_page" in hidden


def test_a_request_shows_what_is_new_in_it():
    run = judged(sample_runs.healthy_extraction("run", AT)).run
    second = call_view(run, 1, with_content=True)
    assert second.n_before == 2
    assert [m.role for m in second.messages] == ["assistant", "tool"]
    whole = call_view(run, 1, with_content=True, whole=True)
    assert [m.role for m in whole.messages] == ["system", "user", "assistant", "tool"]


def test_offered_tools_stand_against_used_ones():
    tools = view(sample_runs.unexecuted_call("run", AT)).offers.tools
    assert {t.name: (t.n_offering, t.n_requested, t.n_executed) for t in tools} == {
        "find_order": (3, 1, 1),
        "refund_order": (3, 1, 0),
        "send_email": (3, 0, 0),
    }


def test_a_run_without_anything_has_a_view():
    seen = view(Script("bare", tools={}, at=AT))
    assert seen.answer is None
    assert seen.ledger.rows == ()
    assert seen.timeline.events == ()


def test_links_out_quote_what_they_are_given():
    links = links_out(
        {"Jaeger": "http://j/trace/{trace_id}?uiFind={span_id}"}, trace_id="a/b?c", span_id="1 2"
    )
    assert links == {"Jaeger": "http://j/trace/a%2Fb%3Fc?uiFind=1%202"}
