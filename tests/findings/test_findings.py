"""Where a finding goes, sink by sink."""

from __future__ import annotations

import json
import logging
import threading

import pytest
import structlog
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from spanwitness.findings import Judged, Sink
from spanwitness.findings.attributes import (
    MAX_EVENTS,
    evaluation_events,
    root_attributes,
    verdict_attributes,
)
from spanwitness.findings.file import FileSink
from spanwitness.findings.log import LogSink
from spanwitness.findings.metrics import MAX_NAMES, MetricsSink
from spanwitness.guard import faults, set_strict
from spanwitness.model import ChatCall, Run, ToolCall, Usage, Verdict


def verdict(rule="tool_bypass", word="violated", **more) -> Verdict:
    given = {"severity": "error", "fault": "reasoning", "rule_version": 1, "reason": "why"} | more
    return Verdict(rule=rule, verdict=word, **given)


def judged(*verdicts: Verdict, **run) -> Judged:
    given = {"run_id": "r1", "trace_id": "a" * 32, "root_span_id": "b" * 16, "name": "run x"}
    return Judged(run=Run(**(given | run)), verdicts=verdicts)


def test_an_explained_violation_neither_flags_nor_counts_as_violated():
    it = judged(verdict(explained_by="tools_withheld"), verdict("tools_withheld", fault="harness"))
    assert root_attributes(it) == {
        "spanwitness.flagged": True,
        "spanwitness.rules.violated": ["tools_withheld"],
    }
    assert root_attributes(judged(verdict(explained_by="x")))["spanwitness.flagged"] is False


def test_a_violation_below_warning_is_named_and_does_not_flag():
    attributes = root_attributes(judged(verdict(severity="info")))
    assert attributes == {
        "spanwitness.flagged": False,
        "spanwitness.rules.violated": ["tool_bypass"],
    }


def test_events_are_made_of_findings_and_of_what_could_not_be_assessed():
    it = judged(
        verdict("a", "holds"),
        verdict("b", "not_applicable"),
        verdict("c", "not_assessed", reason="content is off"),
        verdict("d", severity="warning", kind="selection"),
        verdict("e", severity="critical", contract="k"),
        verdict("f", explained_by="e"),
    )
    events = list(evaluation_events(it))
    assert [(e["gen_ai.evaluation.name"], e["gen_ai.evaluation.score.label"]) for e in events] == [
        ("e", "fail"), ("d", "fail"), ("c", "not_assessed"),
    ]  # fmt: skip
    assert events[0]["spanwitness.contract"] == "k"
    assert events[1]["spanwitness.fault.kind"] == "selection"
    assert events[2]["gen_ai.evaluation.explanation"] == "content is off"


def test_events_are_bounded_and_the_worst_come_first():
    many = [verdict(f"r{n}", "not_assessed") for n in range(100)]
    events = list(evaluation_events(judged(*many, verdict("last"))))
    assert len(events) == MAX_EVENTS
    assert events[0]["gen_ai.evaluation.name"] == "last"


def test_a_verdict_span_repeats_what_the_root_says():
    it = judged(verdict(), item_id="i", subject="DPS310", agent="extractor", is_complete=False)
    attributes = verdict_attributes(it, it.findings[0])
    assert attributes["spanwitness.rule.id"] == "tool_bypass"
    assert attributes["spanwitness.rule.version"] == 1
    assert attributes["spanwitness.fault"] == "reasoning"
    assert attributes["spanwitness.flagged"] is True
    assert attributes["spanwitness.item_id"] == "i"
    assert attributes["spanwitness.complete"] is False
    assert attributes["spanwitness.run_id"] == "r1"


def test_findings_keep_their_keys_when_other_verdicts_change():
    clause = {"contract": "k"}
    first = judged(verdict("c", "holds", **clause), verdict("c", **clause), verdict("d", "holds"))
    again = judged(verdict("c", **clause), verdict("c", **clause), verdict("d"))
    told = first.keyed_findings()
    assert set(told) == {("c", "k", 1)}
    news = [key for key in again.keyed_findings() if key not in told]
    update = again.update(news)
    assert [(v.rule, v.contract) for v in update.findings] == [("c", "k"), ("d", None)]
    assert update.is_update


def test_a_sink_is_known_by_its_method():
    assert isinstance(LogSink(), Sink)
    assert not isinstance(object(), Sink)


# --- log


@pytest.fixture
def plain_structlog():
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_without_a_structlog_configuration_the_line_goes_to_standard_logging(
    plain_structlog, caplog, capsys
):
    with caplog.at_level(logging.INFO, logger="spanwitness.findings"):
        LogSink().take(judged(verdict(), verdict("low", severity="info"), item_id="i 1"))
    error, info = caplog.records
    assert (error.levelname, info.levelname) == ("WARNING", "INFO")
    for part in ("event='spanwitness.finding'", "rule='tool_bypass'", "fault='reasoning'",
                 f"trace_id='{'a' * 32}'", "run_id='r1'", "item_id='i 1'"):  # fmt: skip
        assert part in error.getMessage()
    assert capsys.readouterr() == ("", "")


def test_the_applications_structlog_configuration_is_used(plain_structlog):
    seen = []

    def keep(logger, method, event):
        seen.append((method, dict(event)))
        raise structlog.DropEvent

    sink = LogSink()
    structlog.configure(processors=[keep])
    sink.take(judged(verdict()))
    ((method, event),) = seen
    assert method == "warning"
    assert event["event"] == "spanwitness.finding"
    assert (event["severity"], event["trace_id"]) == ("error", "a" * 32)


def test_a_run_without_findings_writes_nothing(plain_structlog, caplog, tmp_path):
    it = judged(verdict("x", "holds"), verdict("y", "not_assessed"), verdict(explained_by="z"))
    with caplog.at_level(logging.DEBUG):
        LogSink().take(it)
        FileSink(tmp_path / "state").take(it)
    assert caplog.records == []
    assert not (tmp_path / "state").exists()


# --- file


def test_a_finding_becomes_one_line_that_only_its_owner_reads(tmp_path):
    sink = FileSink(tmp_path / "state")
    sink.take(judged(verdict(evidence={"n": 1}, span_ids=("c" * 16,)), subject="DPS310 µ"))
    sink.take(judged(verdict("other")))
    first, second = map(json.loads, sink.path.read_text().splitlines())
    assert first["schema"] == "spanwitness.finding/1"
    assert (first["rule"], first["subject"], first["evidence"]) == (
        "tool_bypass", "DPS310 µ", {"n": 1},
    )  # fmt: skip
    assert first["span_ids"] == ["c" * 16]
    assert second["rule"] == "other"
    assert sink.path.stat().st_mode & 0o077 == 0


def test_a_full_file_is_put_aside(tmp_path, monkeypatch):
    monkeypatch.setattr("spanwitness.findings.file.MAX_FILE_BYTES", 100)
    sink = FileSink(tmp_path)
    for rule in ("a", "b"):
        sink.take(judged(verdict(rule)))
    assert json.loads((tmp_path / "findings.1.jsonl").read_text())["rule"] == "a"
    assert json.loads(sink.path.read_text())["rule"] == "b"


@pytest.mark.contains_faults
def test_a_folder_that_cannot_be_written_costs_the_caller_nothing_and_is_counted(tmp_path):
    (tmp_path / "state").write_text("a file, no folder")
    before = faults().get("findings.file", 0)
    set_strict(False)
    FileSink(tmp_path / "state").take(judged(verdict()))
    assert faults()["findings.file"] == before + 1


def test_threads_write_whole_lines(tmp_path):
    sink = FileSink(tmp_path)
    threads = [
        threading.Thread(target=lambda n=n: sink.take(judged(verdict(f"r{n}")))) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rules = {json.loads(line)["rule"] for line in sink.path.read_text().splitlines()}
    assert rules == {f"r{n}" for n in range(20)}


# --- metrics


@pytest.fixture
def metered():
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    yield reader, MetricsSink(provider, lost=lambda: {"queue_full": 3})
    provider.shutdown()


def points(reader: InMemoryMetricReader) -> dict[str, list]:
    (resource,) = reader.get_metrics_data().resource_metrics
    return {m.name: list(m.data.data_points) for s in resource.scope_metrics for m in s.metrics}


def test_runs_verdicts_and_findings_are_counted(metered):
    reader, sink = metered
    sink.take(judged(verdict(), verdict("x", "holds"), verdict("y", "not_applicable")))
    sink.take(judged(verdict("x", "holds"), is_complete=False))
    found = points(reader)
    assert [(dict(p.attributes), p.value) for p in found["spanwitness.findings"]] == [
        ({"rule": "tool_bypass", "fault": "reasoning", "severity": "error"}, 1)
    ]
    verdicts = {(p.attributes["rule"], p.attributes["verdict"]): p.value
                for p in found["spanwitness.verdicts"]}  # fmt: skip
    assert verdicts == {("tool_bypass", "violated"): 1, ("x", "holds"): 2}
    assert {p.attributes["flagged"]: p.value for p in found["spanwitness.runs"]} == {
        True: 1, False: 1,
    }  # fmt: skip
    assert found["spanwitness.spans.lost"][0].value == 3


def test_calls_and_tokens_are_measured_under_their_standard_names(metered):
    reader, sink = metered
    chat = ChatCall(
        span_id="1", start_ns=1_000_000_000, end_ns=3_000_000_000, provider="openai",
        request_model="m", response_model="m-1", usage=Usage(input_tokens=10, output_tokens=0),
    )  # fmt: skip
    tool = ToolCall(span_id="2", name="read_page", start_ns=0, end_ns=500_000_000, error_type="E")
    sink.take(judged(chats=(chat,), tools=(tool,)))
    found = points(reader)
    (duration,) = found["gen_ai.client.operation.duration"]
    assert duration.sum == 2.0
    assert dict(duration.attributes) == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m", "gen_ai.response.model": "m-1",
    }  # fmt: skip
    assert duration.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    tokens = {p.attributes["gen_ai.token.type"]: p.sum for p in found["gen_ai.client.token.usage"]}
    assert tokens == {"input": 10, "output": 0}
    (execution,) = found["gen_ai.execute_tool.duration"]
    assert (execution.sum, execution.attributes["error.type"]) == (0.5, "E")


def test_a_token_count_that_was_not_reported_is_not_measured_as_zero(metered):
    reader, sink = metered
    sink.take(judged(chats=(ChatCall(span_id="1"),)))
    assert "gen_ai.client.token.usage" not in points(reader)


def test_a_child_runs_calls_and_an_updates_run_are_not_counted_twice(metered):
    reader, sink = metered
    tool = ToolCall(span_id="2", name="t", start_ns=0, end_ns=1)
    parent = judged(verdict(), tools=(tool,))
    sink.take(parent)
    sink.take(judged(tools=(tool,), parent_run_id="r1", run_id="r2"))
    sink.take(parent.update(parent.keyed_findings()))
    found = points(reader)
    assert [p.count for p in found["gen_ai.execute_tool.duration"]] == [1]
    assert sum(p.value for p in found["spanwitness.runs"]) == 2
    assert [p.value for p in found["spanwitness.findings"]] == [2]


def test_invented_tool_names_do_not_make_series_without_end(metered):
    reader, sink = metered
    for start in range(0, 10_000, 100):
        tools = tuple(
            ToolCall(span_id=str(n), name=f"tool-{n}", start_ns=0, end_ns=1, error_type=f"E{n}")
            for n in range(start, start + 100)
        )
        sink.take(judged(tools=tools, run_id=f"session-{start}"))
    found = points(reader)["gen_ai.execute_tool.duration"]
    assert {p.attributes["gen_ai.tool.name"] for p in found} == {
        *(f"tool-{n}" for n in range(MAX_NAMES)),
        "other",
    }
    assert len(found) <= 2 * MAX_NAMES
    assert sum(p.count for p in found) == 10_000
