"""`spanwitness check`: its fixed JSON form, its exit statuses, what it says of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"
_CLEAN = _TRACES / "clean.otlp.json"
_BYPASS = _TRACES / "bypass.otlp.json"


def test_the_json_form_is_the_published_one(spanwitness):
    checked = spanwitness("check", "--format", "json", _BYPASS)
    report = json.loads(checked.out)
    assert list(report) == ["schema", "runs", "summary"]
    assert report["schema"] == "spanwitness.check/1"
    (run,) = report["runs"]
    assert list(run) == [
        *("run_id", "trace_id", "conversation_id", "agent", "contract", "dialects", "complete"),
        *("incomplete_reasons", "ledger", "verdicts", "claims"),
    ]
    assert list(run["ledger"][0]) == [
        *("tool", "call_id", "side", "configured", "offered", "requested", "executed"),
        *("returned", "delivered", "cited"),
    ]
    assert list(run["verdicts"][0]) == [
        *("rule", "rule_version", "verdict", "severity", "fault", "kind", "explained_by"),
        *("reason", "span_ids", "evidence", "fingerprint"),
    ]
    assert list(report["summary"]) == ["runs", "flagged", "by_rule", "not_assessed"]
    assert report["summary"]["by_rule"] == {"output_constraint_bypass": 1}


def test_all_adds_what_holds_and_what_does_not_apply(spanwitness):
    short = json.loads(spanwitness("check", "--format", "json", _CLEAN).out)
    full = json.loads(spanwitness("check", "--format", "json", "--all", _CLEAN).out)
    words = {v["verdict"] for v in short["runs"][0]["verdicts"]}
    assert words <= {"violated", "not_assessed"}
    words = {v["verdict"] for v in full["runs"][0]["verdicts"]}
    assert words == {"holds", "not_applicable", "not_assessed"}


def test_exit_status_0_where_nothing_is_violated(spanwitness):
    assert spanwitness("check", _CLEAN).status == 0


@pytest.mark.parametrize(("fail_on", "status"), [("info", 1), ("error", 1), ("critical", 0)])
def test_fail_on_sets_the_severity_that_fails(spanwitness, fail_on, status):
    assert spanwitness("check", "--fail-on", fail_on, _BYPASS).status == status


def test_exit_status_2_names_file_line_and_reason_and_judges_the_rest(spanwitness, tmp_path):
    broken = tmp_path / "broken.otlp.json"
    good_line = _BYPASS.read_text().strip()
    broken.write_text(f'{good_line}\n{{"resourceSpans": [}}\n')
    checked = spanwitness("check", "--format", "json", broken)
    assert checked.status == 2
    assert f"{broken}:2:" in checked.err
    assert json.loads(checked.out)["summary"]["flagged"] == 1


def test_exit_status_2_for_a_path_that_is_not_there(spanwitness, tmp_path):
    checked = spanwitness("check", tmp_path / "absent.json", _CLEAN)
    assert checked.status == 2
    assert "absent.json" in checked.err
    assert "1 run," in checked.out


def test_exit_status_3_where_nothing_could_be_assessed(spanwitness, tmp_path):
    (tmp_path / "traces").mkdir()
    assert spanwitness("check", tmp_path / "traces").status == 3


def test_standard_input_is_read(spanwitness):
    checked = spanwitness("check", "-", stdin=_BYPASS.read_bytes())
    assert checked.status == 1
    assert "output_constraint_bypass" in checked.out


def test_a_contract_judges_runs_and_explains_what_a_cause_explains(spanwitness, tmp_path):
    contract = tmp_path / "contract.yaml"
    contract.write_text(
        "contract: extraction\n"
        'version: "1"\n'
        "tools: {navigation: [search_pdf, read_page]}\n"
        "expect:\n"
        "  - {rule: navigation_bypassed, group: navigation, at_least: 1, before: submit}\n"
    )
    checked = spanwitness("check", "--contract", contract, "--format", "json", _BYPASS, _CLEAN)
    runs = json.loads(checked.out)["runs"]
    assert {run["contract"] for run in runs} == {"extraction"}
    clauses = [v for run in runs for v in run["verdicts"] if v["rule"] == "navigation_bypassed"]
    assert [(v["verdict"], v["explained_by"]) for v in clauses] == [
        ("violated", "output_constraint_bypass")
    ]


def test_a_contract_that_cannot_be_used_is_told_before_anything_is_judged(spanwitness, tmp_path):
    contract = tmp_path / "contract.yaml"
    contract.write_text('contract: x\nversion: "1"\nexpects: []\n')
    checked = spanwitness("check", "--contract", contract, _CLEAN)
    assert checked.status == 2
    assert "expects" in checked.err
    assert checked.out == ""


def test_a_trace_without_content_cannot_tell(spanwitness):
    checked = spanwitness("check", _TRACES / "bypass_content_off.otlp.json")
    assert "CANNOT TELL" in checked.out
    assert "does not record which tools were offered" in checked.out


def test_hostile_text_of_a_trace_changes_nothing_on_the_terminal(spanwitness, tmp_path):
    hostile = "\x1b[31m[bold red]run\u202e\x07" + "x" * 100_000
    trace = tmp_path / "hostile.otlp.json"
    text = _BYPASS.read_text().replace('"datasheet-run"', json.dumps(hostile))
    text = text.replace("search_pdf", json.dumps("\x1b]0;t\x07[red]s")[1:-1].replace("\\", "\\\\"))
    trace.write_text(text)
    checked = spanwitness("check", trace)
    assert "\x1b" not in checked.out
    assert "\x07" not in checked.out
    assert "\u202e" not in checked.out
    assert "\\u001b[31m[bold red]run\\u202e" in checked.out.replace("\\x1b", "\\u001b")
    assert len(checked.out) < 10_000


def test_many_clean_runs_are_counted_and_not_listed(spanwitness, tmp_path):
    line = _CLEAN.read_text()
    trace_id = json.loads(line.splitlines()[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0][
        "traceId"
    ]
    for number in range(8):
        copy = line.replace(trace_id, f"{number + 1:032x}")
        (tmp_path / f"{number}.otlp.json").write_text(copy)
    checked = spanwitness("check", tmp_path)
    assert "more runs not shown (--all shows them): 3 no finding" in checked.out
    assert "8 runs, 0 flagged" in checked.out


def test_without_content_the_first_line_says_what_cannot_be_judged(spanwitness):
    first = spanwitness("check", _TRACES / "bypass_content_off.otlp.json").out.splitlines()[0]
    assert first == "content off: rules that read text cannot judge"
    assert "content off" not in spanwitness("check", _BYPASS).out


def test_call_ids_are_shown_where_calls_of_one_tool_fared_differently(spanwitness, tmp_path):
    assert "call id" not in spanwitness("check", _TRACES / "parallel.otlp.json").out
    twice = tmp_path / "twice.otlp.json"
    error = _TRACES / "tool_error.otlp.json"
    twice.write_text(error.read_text().replace("search_pdf", "read_page"))
    told = spanwitness("check", twice).out
    assert "call id" in told
    rows = [line.split() for line in told.splitlines() if line.startswith("read_page")]
    assert [(row[1], row[6]) for row in rows] == [("call_0149_0", "?"), ("call_0150_0", "error")]
