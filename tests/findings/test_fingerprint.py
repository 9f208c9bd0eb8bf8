"""Equal findings have equal fingerprints, and nothing else has."""

from __future__ import annotations

import msgspec
import pytest

from spanwitness.findings.fingerprint import fingerprint, subject_of
from spanwitness.model import ChatCall, Run, Step, ToolCall, ToolDefinition, Verdict

TOOLS = (ToolDefinition(name="read_page"), ToolDefinition(name="search_v2"))


def a_run(**more: object) -> Run:
    chat = ChatCall(span_id="c1", offered=TOOLS, step_span_id="s1")
    step = Step(span_id="s1", name="solve item 17", kind="solve")
    given: dict[str, object] = {
        "run_id": "r1",
        "trace_id": "a" * 32,
        "root_span_id": "b" * 16,
        "name": "run",
        "agent": "reader",
        "service": "datasheets",
        "chats": (chat,),
        "steps": (step,),
    }
    return Run(**(given | more))  # type: ignore[arg-type]


def a_verdict(**more: object) -> Verdict:
    given: dict[str, object] = {
        "rule": "call_not_executed",
        "rule_version": 1,
        "verdict": "violated",
        "severity": "error",
        "fault": "harness",
        "span_ids": ("c1",),
        "evidence": {"tools": ["read_page"], "call_ids": ["call_1"], "n_requested": 3},
    }
    return Verdict(**(given | more))  # type: ignore[arg-type]


def test_it_is_64_hex_digits():
    found = fingerprint(a_run(), a_verdict())
    assert len(found) == 64
    assert int(found, 16)


def test_it_stays_the_same_from_version_to_version():
    """A stored suppression must still match: change the schema when this changes."""
    expected = "106232c8615cdcb4cc0647d5a3edc3f800aed372a93f764b004b1e15bb332ac4"
    assert fingerprint(a_run(), a_verdict()) == expected


def test_other_ids_times_counts_and_texts_leave_it_alone():
    chat = ChatCall(span_id="c9", offered=TOOLS, step_span_id="s9", start_ns=5)
    step = Step(span_id="s9", name="solve item 18", kind="solve")
    other = a_run(
        run_id="r2", trace_id="d" * 32, root_span_id="e" * 16, chats=(chat,), steps=(step,),
        final_text="something else", item_id="i2", conversation_id="k2",
    )  # fmt: skip
    evidence = {"tools": ["read_page"], "call_ids": ["call_2"], "n_requested": 4}
    verdict = a_verdict(evidence=evidence, reason="2 calls", span_ids=("c9",), rule_version=2)
    assert fingerprint(other, verdict) == fingerprint(a_run(), a_verdict())


@pytest.mark.parametrize(
    ("run_change", "verdict_change"),
    [
        ({"service": "invoices"}, {}),
        ({"agent": "writer"}, {}),
        ({"steps": (Step(span_id="s1", name="verify", kind="verify"),)}, {}),
        ({}, {"rule": "result_not_delivered"}),
        ({}, {"fault": "reasoning"}),
        ({}, {"contract": "extraction"}),
        ({}, {"evidence": {"tools": ["search_v2"]}}),
        ({}, {"evidence": {"tools": ["read_page"], "error_type": "TimeoutError"}}),
        ({}, {"evidence": {"tools": ["read_page"], "field": "max_current"}}),
    ],
)
def test_another_service_agent_step_rule_fault_contract_tool_cause_or_field_changes_it(
    run_change: dict[str, object], verdict_change: dict[str, object]
):
    changed = fingerprint(a_run(**run_change), a_verdict(**verdict_change))
    assert changed != fingerprint(a_run(), a_verdict())


def test_the_order_of_tools_does_not_change_it():
    one = a_verdict(evidence={"tools": ["read_page", "search_v2"]})
    two = a_verdict(evidence={"tools": ["search_v2", "read_page"]})
    assert fingerprint(a_run(), one) == fingerprint(a_run(), two)


def test_tool_names_that_a_model_invented_do_not_make_new_findings():
    one = a_verdict(rule="unknown_tool", evidence={"tools": ["fetch_everything"]})
    two = a_verdict(rule="unknown_tool", evidence={"tools": ["please_read"]})
    assert fingerprint(a_run(), one) == fingerprint(a_run(), two)


def test_a_tool_that_only_ran_is_known():
    run = a_run(tools=(ToolCall(span_id="t1", name="hidden"), ToolCall(span_id="t2", name="other")))
    one = a_verdict(evidence={"tool": "hidden"})
    two = a_verdict(evidence={"tool": "other"})
    assert fingerprint(run, one) != fingerprint(run, two)


def test_ids_in_names_of_services_and_agents_do_not_count():
    one = a_run(agent="worker-7f3a9c01de", service="extract-2")
    two = a_run(agent="worker-0badcafe77", service="extract-11")
    assert fingerprint(one, a_verdict()) == fingerprint(two, a_verdict())


def test_two_clauses_of_one_contract_are_two_findings():
    made = [
        a_verdict(contract="c", rule="forbidden_tool", evidence={"clause": name, "n_executions": n})
        for name, n in (("web_v1", 1), ("web_v2", 1), ("web_v1", 2))
    ]
    first, second, again = (fingerprint(a_run(), verdict) for verdict in made)
    assert first == again != second


def test_evidence_of_any_shape_is_taken():
    odd = a_verdict(evidence={"tools": [None, 3, {"a": 1}], "error_type": 5, "due": "\ud800"})
    assert len(fingerprint(a_run(), odd)) == 64


def test_a_run_without_service_agent_and_spans_has_one():
    bare = msgspec.structs.replace(a_run(), service=None, agent=None, chats=(), steps=())
    assert len(fingerprint(bare, a_verdict(span_ids=()))) == 64


@pytest.mark.parametrize(
    ("evidence", "subject"),
    [
        ({"clause": "navigation", "n_executions": 0}, "navigation"),
        ({"tools": ["a", "b"]}, "a, b"),
        ({"field": "price"}, "price"),
        ({"steps": ["check"]}, "check"),
        ({"first": "open", "then": "read"}, "open before read"),
        ({"n": 3}, None),
    ],
)
def test_the_subject_is_what_the_verdict_is_about(evidence: dict[str, object], subject: str | None):
    assert subject_of(a_verdict(evidence=evidence)) == subject
