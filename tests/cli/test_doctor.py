"""`spanwitness doctor` says what a set-up or a trace can and cannot show."""

from __future__ import annotations

import json
from pathlib import Path

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"


def test_a_set_up_without_an_endpoint_writes_local_files(spanwitness):
    told = spanwitness("doctor")
    assert told.status == 0, told.err
    assert "local files" in told.out
    assert "httpx2 transport" in told.out
    assert "batch and realtime traffic" in " ".join(told.out.split())


def test_an_endpoint_that_does_not_answer_is_named_as_unreachable(spanwitness):
    told = spanwitness("doctor", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert "unreachable" in told.out
    assert "lost and counted" in " ".join(told.out.split())


def test_a_privacy_switch_that_cannot_be_read_is_refused(spanwitness):
    told = spanwitness("doctor", SPANWITNESS_CONTENT="nope")
    assert told.status == 2
    assert "SPANWITNESS_CONTENT='nope'" in told.err


def test_a_trace_is_told_column_by_column_and_rule_by_rule(spanwitness):
    told = spanwitness("doctor", _TRACES / "bypass_content_off.otlp.json")
    assert told.status == 0, told.err
    assert "otel_genai" in told.out
    row = next(line for line in told.out.splitlines() if line.startswith("tool_bypass "))
    assert row.split()[1:4] == ["0", "0", "1"]


def test_a_path_that_is_not_there_is_an_error(spanwitness, tmp_path):
    told = spanwitness("doctor", tmp_path / "absent")
    assert told.status == 2
    assert "absent" in told.err


def test_runs_with_content_that_was_cut_are_counted(spanwitness, tmp_path):
    cut = tmp_path / "cut.otlp.json"
    text = (_TRACES / "clean.otlp.json").read_text()
    trace = json.loads(text)
    for resource in trace["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for attribute in span["attributes"]:
                    if attribute["key"] == "gen_ai.input.messages":
                        value = attribute["value"]["stringValue"]
                        attribute["value"]["stringValue"] = value[: len(value) // 2]
    cut.write_text(json.dumps(trace))
    assert "content cut to size in 1" in spanwitness("doctor", cut).out
    assert "content cut" not in spanwitness("doctor", _TRACES / "clean.otlp.json").out
