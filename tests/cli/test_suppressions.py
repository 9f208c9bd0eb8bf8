"""Findings that do not count: suppressed with a reason and a last day, or known already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"
_CLEAN = _TRACES / "clean.otlp.json"
_BYPASS = _TRACES / "bypass.otlp.json"
_RULE = "output_constraint_bypass"


@pytest.fixture
def finding(spanwitness) -> str:
    report = json.loads(spanwitness("check", "--format", "json", _BYPASS).out)
    found = [v for v in report["runs"][0]["verdicts"] if v["rule"] == _RULE]
    return found[0]["fingerprint"]


def entries(path: Path, *wanted: str) -> Path:
    path.write_text("suppressions:\n" + "".join(f"  - {{{one}}}\n" for one in wanted))
    return path


def entry(fingerprint: str, *, rule: str = _RULE, expires: str = "2999-01-31") -> str:
    return f"fingerprint: '{fingerprint}', rule: {rule}, reason: a known bug, expires: {expires}"


def test_a_suppressed_finding_stays_in_the_output_and_does_not_fail(spanwitness, finding, tmp_path):
    file = entries(tmp_path / "s.yaml", entry(finding))
    checked = spanwitness("check", "--format", "json", "--suppressions", file, _BYPASS)
    assert checked.status == 0
    report = json.loads(checked.out)
    assert report["summary"]["flagged"] == 0
    assert report["summary"]["by_rule"] == {}
    assert report["summary"]["suppressed"] == 1
    (verdict,) = [v for v in report["runs"][0]["verdicts"] if v["rule"] == _RULE]
    assert verdict["verdict"] == "violated"
    assert verdict["suppressed"] == {
        "by": "suppression",
        "reason": "a known bug",
        "expires": "2999-01-31",
    }
    text = spanwitness("check", "--suppressions", file, _BYPASS).out
    assert " SUPPRESSED " in text
    assert f"{_RULE}: suppressed until 2999-01-31: a known bug" in text
    assert "1 suppressed or known" in text


def test_the_first_12_digits_that_the_text_shows_are_enough(spanwitness, finding, tmp_path):
    shown = spanwitness("check", _BYPASS)
    assert f"fingerprint {finding[:12]}\n" in shown.out
    file = entries(tmp_path / "s.yaml", entry(finding[:12]))
    assert spanwitness("check", "--suppressions", file, _BYPASS).status == 0


def test_an_expired_suppression_is_told_and_the_finding_counts_again(
    spanwitness, finding, tmp_path
):
    file = entries(tmp_path / "s.yaml", entry(finding, expires="2020-01-31"))
    checked = spanwitness("check", "--suppressions", file, _BYPASS)
    assert checked.status == 1
    assert "expired on 2020-01-31" in checked.err


def test_a_suppression_that_matches_nothing_is_told(spanwitness, finding, tmp_path):
    file = entries(tmp_path / "s.yaml", entry(finding))
    checked = spanwitness("check", "--suppressions", file, _CLEAN)
    assert checked.status == 0
    assert "matches no finding of these runs" in checked.err
    used = spanwitness("check", "--suppressions", file, _BYPASS)
    assert "matches no finding" not in used.err


def test_a_suppression_of_another_rule_covers_nothing(spanwitness, finding, tmp_path):
    file = entries(tmp_path / "s.yaml", entry(finding, rule="tool_bypass"))
    checked = spanwitness("check", "--suppressions", file, _BYPASS)
    assert checked.status == 1
    assert "matches no finding" in checked.err


def test_the_file_of_the_working_directory_is_read(spanwitness, finding, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entries(tmp_path / ".spanwitness.yaml", entry(finding))
    assert spanwitness("check", _BYPASS).status == 0
    (tmp_path / ".spanwitness.yaml").write_text("")
    assert spanwitness("check", _BYPASS).status == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suppressions: [{fingerprint: abcdefabcdef, rule: r, reason: x}]", "entry 1: expires"),
        (
            "suppressions: [{fingerprint: abc, rule: r, reason: x, expires: 2027-01-01}]",
            "64 hex digits",
        ),
        (
            "suppressions: [{fingerprint: abcdefabcdef, rule: r, reason: '', expires: 2027-01-01}]",
            "reason: must not be empty",
        ),
        (
            "suppressions: [{fingerprint: abcdefabcdef, rule: r, reason: x, expires: soon}]",
            "'soon' is no day",
        ),
        ("suppresions: []", "suppresions: unknown key"),
        ("suppressions: {", "not YAML"),
        ("- 1", "must be a mapping"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_the_entry(spanwitness, tmp_path, text, said):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    checked = spanwitness("check", "--suppressions", file, _BYPASS)
    assert checked.status == 2
    assert "s.yaml" in checked.err
    assert said in checked.err
    assert "Traceback" not in checked.err


def test_a_named_file_that_is_absent_is_an_error(spanwitness, tmp_path):
    checked = spanwitness("check", "--suppressions", tmp_path / "absent.yaml", _BYPASS)
    assert checked.status == 2
    assert "cannot be read" in checked.err


def test_only_findings_that_are_not_in_the_baseline_fail(spanwitness, tmp_path):
    known = tmp_path / "known.json"
    written = spanwitness("check", "--write-baseline", known, _BYPASS)
    assert written.status == 0
    assert "1 known findings" in written.err
    assert json.loads(known.read_text())["schema"] == "spanwitness.known/1"
    assert spanwitness("check", "--baseline", known, _BYPASS, _CLEAN).status == 0
    contract = tmp_path / "c.yaml"
    contract.write_text(
        "contract: c\nversion: '1'\nexpect: [{rule: required_tool_missing, tool: order_part}]\n"
    )
    arguments = ("--format", "json", "--baseline", known, "--contract", contract)
    checked = spanwitness("check", *arguments, _CLEAN, _BYPASS)
    assert checked.status == 1
    assert json.loads(checked.out)["summary"]["by_rule"] == {"required_tool_missing": 1}


def test_a_baseline_that_is_written_again_forgets_what_is_gone(spanwitness, tmp_path):
    known = tmp_path / "known.json"
    spanwitness("check", "--write-baseline", known, _BYPASS)
    spanwitness("check", "--baseline", known, "--write-baseline", known, _BYPASS)
    assert len(json.loads(known.read_text())["findings"]) == 1
    spanwitness("check", "--baseline", known, "--write-baseline", known, _CLEAN)
    assert json.loads(known.read_text())["findings"] == []
    assert spanwitness("check", "--baseline", known, _BYPASS).status == 1


@pytest.mark.parametrize(
    "text", [None, "{", "[]", '{"schema": "spanwitness.known/1", "findings": [{"rule": "x"}]}']
)
def test_a_file_that_is_no_baseline_is_an_error(spanwitness, tmp_path, text):
    known = tmp_path / "known.json"
    if text is not None:
        known.write_text(text)
    checked = spanwitness("check", "--baseline", known, _BYPASS)
    assert checked.status == 2
    assert "known.json" in checked.err
    assert "Traceback" not in checked.err


def test_sarif_and_junit_carry_the_suppression(spanwitness, finding, tmp_path):
    file = entries(tmp_path / "s.yaml", entry(finding))
    sarif = spanwitness("check", "--format", "sarif", "--suppressions", file, _BYPASS)
    (result,) = json.loads(sarif.out)["runs"][0]["results"]
    (mark,) = result["suppressions"]
    assert (mark["kind"], mark["status"]) == ("external", "accepted")
    assert mark["justification"] == "a known bug"
    junit = spanwitness("check", "--format", "junit", "--suppressions", file, _BYPASS).out
    assert 'failures="0"' in junit
    assert "suppressed until 2999-01-31 (a known bug)" in junit
