"""A tool ran outside the phase that exposes it."""

from __future__ import annotations

from tests.rules.builders import chat, incomplete, run, submission, tool

from spanwitness.rules.facts import Facts
from spanwitness.rules.phase_violation import phase_violation


def test_a_call_after_the_freeze_of_a_tool_exposed_before_it_is_violated() -> None:
    late = tool(
        "read_page", gives="x", fields={"phase": "after_submit", "is_phase_violation": True}
    )
    one = run(tool("search", gives="y", fields={"phase": "before_submit"}), submission("a"), late)
    outcome = phase_violation.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.severity is None
    assert outcome.span_ids == (one.tools[1].span_id,)
    assert outcome.evidence["tools"] == ["read_page"]
    assert phase_violation.severity == "error"
    assert phase_violation.fault == "harness"


def test_a_refused_call_is_told_at_info_because_the_phase_was_kept() -> None:
    refused = tool(
        "read_page",
        error="not now",
        fields={"phase": "after_submit", "is_phase_violation": True, "is_refused": True},
    )
    outcome = phase_violation.check(Facts(run(refused)))
    assert (outcome.word, outcome.severity, outcome.fault) == ("violated", "info", "reasoning")


def test_calls_inside_their_phase_hold() -> None:
    one = run(
        tool("read_page", gives="x", fields={"phase": "before_submit"}),
        submission("a"),
        tool("reveal", gives="y", fields={"phase": "after_submit"}),
    )
    assert phase_violation.check(Facts(one)).word == "holds"
    assert phase_violation.check(Facts(incomplete(one))).word == "not_assessed"


def test_a_run_without_phases_is_not_applicable() -> None:
    assert phase_violation.check(Facts(run(tool("read", gives=1), chat("x")))).word == (
        "not_applicable"
    )
