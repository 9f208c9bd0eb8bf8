"""`check --format sarif` and `--format junit`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from tests.cli.sarif_parts import SCHEMA

from spanwitness.rules.builtin import CLAUSE_RULES, RULES

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"
_CLEAN = _TRACES / "clean.otlp.json"
_BYPASS = _TRACES / "bypass.otlp.json"


def sarif(spanwitness, *arguments: object):
    checked = spanwitness("check", "--format", "sarif", *arguments)
    document = json.loads(checked.out)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    return checked, run


def junit(spanwitness, *arguments: object):
    checked = spanwitness("check", "--format", "junit", *arguments)
    return checked, ElementTree.fromstring(checked.out)


def test_sarif_declares_every_rule_not_only_those_that_fired(spanwitness):
    _, run = sarif(spanwitness, _CLEAN)
    declared = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert declared == sorted([*(rule.id for rule in RULES), *CLAUSE_RULES])
    assert run["results"] == []


def test_sarif_has_a_result_for_each_finding_with_place_and_fingerprint(spanwitness):
    checked, run = sarif(spanwitness, _BYPASS)
    report = json.loads(spanwitness("check", "--format", "json", _BYPASS).out)["runs"][0]
    (finding,) = [v for v in report["verdicts"] if v["rule"] == "output_constraint_bypass"]
    (result,) = run["results"]
    assert checked.status == 1
    assert (result["ruleId"], result["level"]) == ("output_constraint_bypass", "error")
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["partialFingerprints"] == {"spanwitnessFinding/v1": finding["fingerprint"]}
    (location,) = result["locations"]
    (place,) = location["logicalLocations"]
    ids = (report["trace_id"], report["run_id"], finding["span_ids"][0])
    assert place["fullyQualifiedName"] == "/".join(ids)
    assert location["physicalLocation"]["artifactLocation"]["uri"] == _BYPASS.resolve().as_uri()


def test_sarif_names_no_file_where_the_traces_lie_in_several(spanwitness):
    _, run = sarif(spanwitness, _BYPASS, _CLEAN)
    assert "physicalLocation" not in run["results"][0]["locations"][0]


def test_sarif_tells_what_was_not_assessed_and_all_adds_the_other_verdicts(spanwitness):
    _, short = sarif(spanwitness, _BYPASS)
    notes = short["invocations"][0]["toolExecutionNotifications"]
    assert "trace_incomplete was not assessed in 1 of 1 runs." in {
        note["message"]["text"] for note in notes
    }
    _, full = sarif(spanwitness, "--all", _BYPASS)
    kinds = {result["kind"] for result in full["results"]}
    assert kinds == {"fail", "pass", "open", "notApplicable", "informational"}


def test_sarif_tells_of_inputs_that_could_not_be_used(spanwitness, tmp_path):
    broken = tmp_path / "broken.otlp.json"
    broken.write_text(_BYPASS.read_text().strip() + '\n{"resourceSpans": [}\n')
    checked, run = sarif(spanwitness, broken)
    assert checked.status == 2
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (problem,) = [n for n in invocation["toolExecutionNotifications"] if n["level"] == "error"]
    assert "broken.otlp.json:2" in problem["message"]["text"]


def test_junit_has_a_case_for_each_rule_that_had_something_to_judge(spanwitness):
    checked, root = junit(spanwitness, _BYPASS)
    (suite,) = root
    cases = suite.findall("testcase")
    assert checked.status == 1
    assert suite.get("tests") == str(len(cases))
    failed = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["output_constraint_bypass"]
    assert failed[0].find("failure").get("type") == "error"
    assert "fingerprint: " in failed[0].find("failure").text
    n_skipped = sum(case.find("skipped") is not None for case in cases)
    assert suite.get("skipped") == str(n_skipped)
    assert n_skipped > 0


@pytest.mark.parametrize(("fail_on", "n"), [("error", "1"), ("critical", "0")])
def test_junit_fails_only_at_or_above_the_threshold(spanwitness, fail_on, n):
    _, root = junit(spanwitness, "--fail-on", fail_on, _BYPASS)
    assert root[0].get("failures") == n


def test_junit_skips_what_is_not_assessed_with_the_reason(spanwitness):
    _, root = junit(spanwitness, _BYPASS)
    reasons = {
        case.get("name"): case.find("skipped").get("message")
        for case in root[0].findall("testcase")
        if case.find("skipped") is not None
    }
    assert reasons["trace_incomplete"] == "These spans carry no counts that would show a loss."
    assert reasons["tool_bypass"].startswith("explained by output_constraint_bypass")


def test_junit_names_each_clause_of_a_contract(spanwitness, tmp_path):
    contract = tmp_path / "c.yaml"
    contract.write_text(
        "contract: c\nversion: '1'\nexpect:\n"
        "  - {rule: required_tool_missing, tool: read_page}\n"
        "  - {rule: required_tool_missing, tool: search_pdf}\n"
    )
    _, root = junit(spanwitness, "--contract", contract, _CLEAN)
    names = [case.get("name") for case in root[0].findall("testcase")]
    assert names[-2:] == ["required_tool_missing [c 1]", "required_tool_missing [c 2]"]
    assert len(names) == len(set(names))


def test_junit_tells_of_inputs_that_could_not_be_used(spanwitness, tmp_path):
    checked, root = junit(spanwitness, tmp_path / "absent.json", _CLEAN)
    assert checked.status == 2
    assert root[-1].get("name") == "inputs"
    assert root[-1].find("testcase/error") is not None


def test_hostile_names_stay_inside_both_formats(spanwitness, tmp_path):
    hostile = 'x"><failure/>\\u0000\\ud800\\u202e&'
    name = '"' + hostile.replace('"', '\\"') + '"'
    text = _BYPASS.read_text().replace('"datasheet-run"', name)
    assert text != _BYPASS.read_text()
    path = tmp_path / "hostile.otlp.json"
    path.write_text(text)
    _, root = junit(spanwitness, path)
    assert root[0].get("failures") == "1"
    assert len(root[0].findall("testcase/failure")) == 1
    sarif(spanwitness, path)
