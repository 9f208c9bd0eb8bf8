"""The rules over stage facts: what the steps of a pipeline say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, contract, incomplete, judge, run, step, tool

from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from spanwitness.model import Run, Step

RULES = (
    "answer_corrupted", "audit_false_assurance", "detected_unrecovered", "format_false_assurance",
    "sequence_incomplete", "silent_sequence",
)  # fmt: skip


def stage(name: str, kind: str = "solve", case: str | None = "c1", **fields: object) -> Step:
    return step(name, kind, case_id=case, **({"parser_valid": True} | fields))


def found(of: Run, *contracts: object) -> dict[str, str]:
    """Unexplained findings of the stage rules, with their severity."""
    findings = evaluate(of, contracts).findings  # type: ignore[arg-type]
    return {v.rule: v.severity for v in findings if v.rule in RULES}


GOOD = stage("read", validity=True)
BAD = stage("read", validity=False)
CALM = stage("audit", "audit", audit_detected=False)
ALARM = stage("audit", "audit", audit_detected=True)
FALSE = stage("audit", "audit", audit_false_assurance=True)


def escalation(outcome: str) -> Step:
    return stage("escalate", "escalate", escalation_outcome=outcome)


FAULTY = {
    "the form is right and the content wrong": (run(BAD), "format_false_assurance"),
    "the same outside a case": (
        run(stage("read", case=None, validity=False)), "format_false_assurance",
    ),
    "a wrong output that passed every stage": (run(BAD, CALM), "silent_sequence"),
    "a false assurance as recorded": (run(BAD, FALSE), "audit_false_assurance"),
    "a pass on evidence called inadequate": (
        run(step("check", "verify", verdict=True, evidence_adequate=False)),
        "audit_false_assurance",
    ),
    "a pass beside its own detection": (
        run(step("check", "audit", verdict=True, audit_detected=True, case_id="c1")),
        "audit_false_assurance",
    ),
    "no detection on inadequate evidence": (
        run(step("check", "audit", audit_detected=False, evidence_adequate=False)),
        "audit_false_assurance",
    ),
    "detected and left": (run(BAD, ALARM), "detected_unrecovered"),
    "detected and unresolved": (
        run(BAD, ALARM, escalation("unresolved")), "detected_unrecovered",
    ),
    "detected in a single step": (
        run(step("audit", "audit", audit_detected=True)), "detected_unrecovered",
    ),
    "a stage that most cases have": (
        run(GOOD, CALM, stage("read", case="c2"), stage("audit", case="c2"),
            stage("read", case="c3")),
        "sequence_incomplete",
    ),
    "a stage that failed without a word": (
        run(GOOD, stage("audit", "audit", parser_valid=None, error_type="Timeout")),
        "sequence_incomplete",
    ),
    "a revision that spoilt it": (
        run(step("improve", "revise", success_before=True, success_after=False)),
        "answer_corrupted",
    ),
}  # fmt: skip
FINE = {
    "all stages succeeded": run(GOOD, CALM),
    "a recovered case": run(BAD, ALARM, escalation("recovered")),
    "a deferral is no failure": run(BAD, ALARM, escalation("deferred")),
    "deferred without an audit": run(BAD, escalation("deferred")),
    "a second attempt that is valid": run(BAD, stage("read", validity=True), CALM),
    "a false alarm on good evidence": run(
        GOOD, stage("audit", "audit", audit_detected=True, evidence_adequate=True)
    ),
    "a false alarm on valid outputs": run(GOOD, ALARM),
    "an answer that abstains": run(stage("read"), ALARM, chat("I could not determine it.")),
    "a run that failed loudly": run(BAD, CALM, status="error"),
    "a parser that refused": run(stage("read", parser_valid=False), CALM),
    "a pass that a later audit took back": run(
        step("check", "verify", verdict=True, evidence_adequate=False),
        step("check again", "verify", verdict=False),
    ),
    "a rejection of inadequate evidence": run(
        step("check", "verify", verdict=False, evidence_adequate=False)
    ),
    "a wrong answer that stays wrong": run(
        step("improve", "revise", success_before=False, success_after=False)
    ),
    "a corrected answer": run(step("improve", "revise", success_before=False, success_after=True)),
    "a verify step with both": run(
        step("check", "verify", success_before=True, success_after=False, verdict=True)
    ),
    "escalations that only some cases need": run(
        GOOD, ALARM, escalation("recovered"), stage("read", case="c2"), stage("audit", case="c2"),
        stage("read", case="c3"), stage("audit", case="c3"),
    ),
    "steps without stage facts": run(step("plan"), step("act"), chat("Done.")),
}  # fmt: skip


@pytest.mark.parametrize(("one", "rule"), FAULTY.values(), ids=FAULTY)
def test_a_failing_stage_is_told_once_by_the_rule_for_it(one: Run, rule: str) -> None:
    assert found(one) == {rule: "warning" if rule == "answer_corrupted" else "error"}


@pytest.mark.parametrize("one", FINE.values(), ids=FINE)
def test_what_succeeded_recovered_or_was_deferred_is_not_told(one: Run) -> None:
    assert found(one) == {}


def test_a_corruption_that_a_later_revision_mended_is_a_remark() -> None:
    one = run(
        step("improve", "revise", success_before=True, success_after=False),
        step("improve", "revise", success_before=False, success_after=True),
    )
    assert found(one) == {"answer_corrupted": "info"}


def test_a_revision_that_was_not_scored_is_not_assessed() -> None:
    one = run(step("improve", "revise", success_before=True))
    assert judge("answer_corrupted", one).verdict == "not_assessed"


def test_a_case_without_a_judgement_is_not_assessed_for_silence() -> None:
    assert judge("silent_sequence", run(stage("read"), CALM)).verdict == "not_assessed"


@pytest.mark.parametrize("rule", ["detected_unrecovered", "sequence_incomplete", "silent_sequence"])
def test_with_spans_missing_the_stage_may_be_among_them(rule: str) -> None:
    assert judge(rule, incomplete(run(BAD, ALARM))).verdict == "not_assessed"


def test_a_contract_declares_the_stages_of_a_case() -> None:
    declared = contract(stages=["read", "audit"])
    assert found(run(GOOD), declared) == {"sequence_incomplete": "error"}
    assert found(run(GOOD, CALM), declared) == {}
    verdict = judge("sequence_incomplete", run(GOOD), declared)
    assert verdict.evidence["stages"] == ["audit"]


def test_the_form_is_explained_by_what_the_case_tells() -> None:
    verdict = judge("format_false_assurance", run(BAD, CALM))
    assert (verdict.verdict, verdict.explained_by) == ("violated", "silent_sequence")


def test_the_form_in_one_case_is_not_explained_by_another_case() -> None:
    one = run(
        stage("read", case="c1", validity=False), stage("audit", "audit", case="c1"),
        stage("read", case=None, validity=False, condition=None),
    )  # fmt: skip
    assert set(found(one)) == {"silent_sequence"}


def test_a_run_without_steps_has_nothing_to_judge() -> None:
    assert {judge(rule, run(chat("hi"))).verdict for rule in RULES} == {"not_applicable"}


def audited(says: str, **fields: object) -> Run:
    return run(
        chat(calls=[call("read_page", page=3)]),
        tool("read_page", gives="The supply voltage is 3.6 V.", page=3),
        chat(says),
        step("check", "audit", **fields),
    )


def test_an_audit_that_passes_what_the_receipts_fail_is_told_with_the_cause() -> None:
    verdict = judge("audit_false_assurance", audited("It is 48.25 V and 91.5 mA.", verdict=True))
    assert (verdict.verdict, verdict.explained_by) == ("violated", "value_ungrounded")
    assert "2 of 2 claims" in verdict.reason


def test_an_audit_that_passes_what_is_supported_and_one_that_rejects_hold() -> None:
    assert judge("audit_false_assurance", audited("It is 3.6 V.", verdict=True)).verdict == "holds"
    rejected = audited("It is 48.25 V and 91.5 mA.", verdict=False)
    assert judge("audit_false_assurance", rejected).verdict == "holds"
