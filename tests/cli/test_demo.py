"""`spanwitness demo` tells the founding story and ends by itself."""

from __future__ import annotations

import json


def test_the_demo_shows_both_ledgers_and_the_finding_with_its_fault(demo):
    assert demo.shown.status == 0, demo.shown.err
    assert demo.shown.out.count("configured") == 2
    assert "NO FINDING" in demo.shown.out
    assert "FLAGGED" in demo.shown.out
    assert "output_constraint_bypass  fault: harness" in demo.shown.out
    assert "spanwitness.finding" in demo.shown.out
    assert f"trace: {demo.healthy}" in demo.shown.out
    assert f"spanwitness check {demo.with_schema}" in demo.shown.out


def test_each_trace_is_one_file_of_otlp_json(demo):
    for path in (demo.healthy, demo.with_schema):
        ids = set()
        for line in path.read_text().splitlines():
            for group in json.loads(line)["resourceSpans"]:
                ids |= {s["traceId"] for scope in group["scopeSpans"] for s in scope["spans"]}
        assert len(ids) == 1


def test_the_healthy_run_exits_0_with_every_ledger_column_filled_but_cited(demo, spanwitness):
    checked = spanwitness("check", "--format", "json", demo.healthy)
    assert checked.status == 0, checked.err
    (run,) = json.loads(checked.out)["runs"]
    assert run["complete"] is True
    assert [row["tool"] for row in run["ledger"]] == ["search_text", "read_page", "verify_quote"]
    for row in run["ledger"]:
        known = {column: word for column, word in row.items() if column != "cited"}
        assert "unknown" not in known.values()
        assert (row["executed"], row["returned"], row["delivered"]) == ("span", "value", "whole")
    assert run["verdicts"] == []


def test_the_run_with_the_schema_exits_1_with_one_unexplained_violation(demo, spanwitness):
    checked = spanwitness("check", "--format", "json", demo.with_schema)
    assert checked.status == 1
    report = json.loads(checked.out)
    (run,) = report["runs"]
    violated = [v for v in run["verdicts"] if v["verdict"] == "violated"]
    unexplained = [v for v in violated if v["explained_by"] is None]
    assert [(v["rule"], v["fault"]) for v in unexplained] == [
        ("output_constraint_bypass", "harness")
    ]
    assert report["summary"]["flagged"] == 1
    assert {row["requested"] for row in run["ledger"]} == {"no"}


def test_the_demo_writes_its_files_also_where_an_endpoint_is_set(tmp_path, spanwitness):
    shown = spanwitness(
        "demo", "--out", tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9/"
    )
    assert shown.status == 0, shown.err
    assert (tmp_path / "healthy.otlp.json").exists()
    assert (tmp_path / "with-schema.otlp.json").exists()


def test_the_demo_says_what_to_do_where_the_sdk_is_disabled(tmp_path, spanwitness):
    shown = spanwitness("demo", "--out", tmp_path, OTEL_SDK_DISABLED="true")
    assert shown.status == 2
    assert "OTEL_SDK_DISABLED=true: unset it to run the demo" in shown.err
