"""`spanwitness demo` tells the founding story and ends by itself."""

from __future__ import annotations

import json
import os
import re
import signal

import httpx


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


def test_the_demo_ends_with_a_page_on_which_its_finding_waits(tmp_path, spanwitness):
    shown = spanwitness("demo", "--out", tmp_path)
    assert shown.status == 0, shown.err
    process = int(re.search(r"process (\d+)", shown.out)[1])
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", shown.out)[0]
        page = httpx.get(address, trust_env=False)
    finally:
        os.kill(process, signal.SIGTERM)
    assert page.status_code == 200
    assert page.text.count("output_constraint_bypass") >= 1
    assert "datasheet-extractor" in page.text
    listed = spanwitness("review", "list", "--queue", f"sqlite:///{tmp_path}/queue.db")
    assert "output_constraint_bypass" in listed.out


def test_the_page_closes_by_itself_when_nobody_uses_it(tmp_path, spanwitness):
    queue = f"sqlite:///{tmp_path}/queue.db"
    ended = spanwitness("review", "serve", "--queue", queue, "--idle-exit", 1)
    assert ended.status == 0, ended.err
    assert ended.out.startswith("review  http://127.0.0.1:")


def test_the_healthy_run_exits_0_with_every_ledger_column_filled(demo, spanwitness):
    checked = spanwitness("check", "--format", "json", demo.healthy)
    assert checked.status == 0, checked.err
    (run,) = json.loads(checked.out)["runs"]
    assert run["complete"] is True
    assert [row["tool"] for row in run["ledger"]] == ["search_text", "read_page", "verify_quote"]
    for row in run["ledger"]:
        assert "unknown" not in row.values()
        assert row["cited"] == "yes"
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
        "demo", "--no-page", "--out", tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9/"
    )
    assert shown.status == 0, shown.err
    assert (tmp_path / "healthy.otlp.json").exists()
    assert (tmp_path / "with-schema.otlp.json").exists()


def test_the_demo_says_what_to_do_where_the_sdk_is_disabled(tmp_path, spanwitness):
    shown = spanwitness("demo", "--no-page", "--out", tmp_path, OTEL_SDK_DISABLED="true")
    assert shown.status == 2
    assert "OTEL_SDK_DISABLED=true: unset it to run the demo" in shown.err
