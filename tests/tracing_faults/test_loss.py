"""B16, B18, B19, B20, B22: what is lost is counted, and never reads as "tool not used"."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tests.live.agents import CONTRACT, ask, openai_client, read_page

import spanwitness as sw
from spanwitness.archive import read_traces
from spanwitness.contracts import load
from spanwitness.live.evaluate import judge_trace
from spanwitness.live.records import resource_of, to_record
from spanwitness.testing import ScriptedProvider, call, text
from spanwitness.testing.collector import Answer, ScriptedCollector

ABSENCE = {
    "tool_bypass", "navigation_bypassed", "call_not_executed", "result_not_delivered",
    "fabricated_observation", "unperformed_action", "required_tool_missing",
}  # fmt: skip
HEALTHY = [[call("read_page", {"page": 3})], text("The highest supply voltage is 3.6 V.")]


@sw.tool
def other(question: str) -> str:
    return question


class Keep:
    """A sink that keeps what is judged."""

    def __init__(self) -> None:
        self.judged: list[Any] = []

    def take(self, judged: Any) -> None:
        self.judged.append(judged)


@pytest.fixture
def contract(tmp_path):
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    return load(tmp_path / "contract.yaml")


def healthy_run() -> None:
    """Read page 3, answer from it, submit."""
    with ScriptedProvider(HEALTHY) as provider, sw.run("extract") as run:
        client = openai_client(provider)
        run.submit(ask(client))
        client.close()


def words(verdicts: Any) -> dict[str, str]:
    return {verdict.rule: verdict.verdict for verdict in verdicts}


def test_b22_a_full_queue_is_counted_exactly_and_voids_the_verdicts(
    tmp_path, contract, monkeypatch
):
    """B22: an exporter that sleeps, a queue of 8: lost + exported = ended, absence not assessed."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")

    class Slow(SpanExporter):
        def __init__(self) -> None:
            self.names: list[str] = []

        def export(self, spans: Any) -> SpanExportResult:
            time.sleep(0.1)
            self.names += [span.name for span in spans]
            return SpanExportResult.SUCCESS

    slow, keep = Slow(), Keep()
    witness = sw.configure("svc", exporter=slow, contracts=[contract], sinks=[keep])
    with sw.run("lossy") as run:
        for _ in range(100):
            other("a")
        run.submit("an answer that no page was read for")
    assert witness.flush(10) is False
    (judged,) = keep.judged
    n_ended = 100 + 1 + 1
    n_verdicts = sum(name.startswith("verdict") for name in slow.names)
    assert n_verdicts == 0
    assert witness.losses.total + len(slow.names) == n_ended
    assert witness.losses.total >= 80
    assert judged.run.is_complete is False
    assert "spans_lost" in judged.run.incomplete_reasons
    found = words(judged.verdicts)
    assert found["navigation_bypassed"] == "not_assessed"
    assert found["trace_incomplete"] == "violated"
    assert not {v.rule for v in judged.findings} & ABSENCE


def test_b22_healthy_the_same_run_without_loss_is_flagged_for_what_it_did_not_do(
    tmp_path, contract
):
    """B22, healthy exporter: absence is a finding only where nothing was lost."""
    keep = Keep()
    witness = sw.configure("svc", state_dir=tmp_path, contracts=[contract], sinks=[keep])
    with sw.run("whole") as run:
        other("a")
        run.submit("an answer that no page was read for")
    assert witness.flush(10) is True
    assert witness.losses.total == 0
    assert words(keep.judged[0].verdicts)["navigation_bypassed"] == "violated"


def test_b22_whichever_span_a_stored_trace_lacks_no_tool_is_called_absent(tmp_path, contract):
    """B22: stored files that lack any one or two spans are incomplete and accuse nobody."""
    witness = sw.configure("svc", state_dir=tmp_path, contracts=[contract])
    healthy_run()
    assert witness.flush(10) is True
    (records,) = list(read_traces([witness.trace_dir]))
    assert len(records) == 5
    (whole,) = judge_trace(records, [contract])
    assert whole.run.is_complete
    assert words(whole.verdicts)["navigation_bypassed"] == "holds"
    n_missing = 0
    for i in range(len(records)):
        for j in range(i, len(records)):
            left = [record for n, record in enumerate(records) if n not in {i, j}]
            for judged in judge_trace(left, [contract]):
                n_missing += 1
                gone = sorted({records[i].name, records[j].name})
                assert judged.run.is_complete is False, gone
                assert not {v.rule for v in judged.findings} & ABSENCE, (gone, judged.findings)
                assert words(judged.verdicts)["navigation_bypassed"] != "violated", gone
    assert n_missing >= 12


def test_b22_a_cut_off_file_is_incomplete(tmp_path, contract):
    """B22: a process killed in the middle of writing leaves half a line."""
    witness = sw.configure("svc", state_dir=tmp_path)
    healthy_run()
    witness.flush(10)
    (path,) = witness.trace_dir.iterdir()
    body = json.loads(path.read_text().splitlines()[0])
    scope = body["resourceSpans"][0]["scopeSpans"][0]
    scope["spans"] = [s for s in scope["spans"] if not s["name"].startswith("execute_tool")]
    other = tmp_path / "cut.jsonl"
    other.write_text(json.dumps(body))
    (records,) = list(read_traces([other]))
    (judged,) = judge_trace(records, [contract])
    assert "spans_missing" in judged.run.incomplete_reasons
    assert words(judged.verdicts)["navigation_bypassed"] != "violated"


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json", "grpc"])
def test_b19_spans_that_a_200_rejects_are_counted_and_told(protocol, caplog, monkeypatch):
    """B19: over every protocol, through `configure`."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    answer = Answer(rejected_spans=3, message="bad")
    with ScriptedCollector(answer, with_grpc=protocol == "grpc") as collector:
        endpoint = collector.grpc_target if protocol == "grpc" else collector.url
        witness = sw.configure("svc", endpoint=endpoint, protocol=protocol)
        with sw.run("rejected"), caplog.at_level(logging.WARNING, "spanwitness"):
            for page in (3, 12):
                read_page(page)
        assert witness.flush(10) is False
        assert witness.losses.total == 3
        with sw.run("later"):
            pass
        assert witness.flush(10) is True
        witness.shutdown()
    told = [r for r in caplog.records if r.name.startswith("spanwitness")]
    assert sum("reject" in record.getMessage() for record in told) == 1


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_b16_b18_a_five_megabyte_value_costs_nothing_but_itself(protocol, monkeypatch):
    """B16, B18: values are bounded before the export, with their size; the small spans arrive."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")

    @sw.tool
    def big(kind: str) -> Any:
        image = "data:image/png;base64," + "A" * 5_000_000
        return image if kind == "text" else {"note": "kept", "image": image}

    with ScriptedCollector(with_grpc=True, max_body_bytes=1_000_000) as collector:
        endpoint = collector.grpc_target if protocol == "grpc" else collector.url
        witness = sw.configure("svc", endpoint=endpoint, protocol=protocol)
        with sw.run("large"):
            for page in range(9):
                read_page(page)
            assert len(big("text")) > 5_000_000
            big("image")
        assert witness.flush(10) is True
        assert witness.losses.total == 0
        spans = collector.spans
        witness.shutdown()
    assert len(spans) == 12
    cut = [s.attributes for s in spans if s.name == "execute_tool big"]
    assert len(cut) == 2
    for attributes in cut:
        assert attributes["spanwitness.truncated"] == ("gen_ai.tool.call.result",)
        assert len(attributes["gen_ai.tool.call.result"]) < 20_000
        json.loads(attributes["gen_ai.tool.call.result"])
    assert cut[0]["spanwitness.truncated.chars"][0] > 5_000_000
    assert '"note":"kept"' in cut[1]["gen_ai.tool.call.result"]


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_b20_a_dead_collector_costs_the_caller_nothing_and_is_counted(protocol, monkeypatch):
    """B20: < 1 ms a call, a truthful flush in its time, every span counted as lost."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    witness = sw.configure("svc", endpoint="http://127.0.0.1:9", protocol=protocol)
    took: list[float] = []
    with sw.run("dead"):
        for _ in range(200):
            before = time.perf_counter()
            read_page(3)
            took.append(time.perf_counter() - before)
    assert sorted(took)[100] < 0.001
    assert sorted(took)[-2] < 0.5
    before = time.perf_counter()
    assert witness.flush(0.5) is False
    assert time.perf_counter() - before < 1.5
    before = time.perf_counter()
    assert witness.shutdown(0.5) is False
    assert time.perf_counter() - before < 2.5
    assert witness.losses.total == 201


def test_b20_healthy_a_collector_that_is_up_gets_every_span(monkeypatch):
    """B20, healthy."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with ScriptedCollector() as collector:
        witness = sw.configure("svc", endpoint=collector.url)
        with sw.run("up"):
            for _ in range(200):
                read_page(3)
        assert witness.flush(10) is True
        assert witness.losses.total == 0
        assert len(collector.spans) == 201
        witness.shutdown()


def test_b22_a_run_during_which_the_export_lost_spans_says_so_in_its_stored_root(
    tmp_path, contract, monkeypatch
):
    """B22: lost spans -> the root says incomplete -> a later check of the file does not accuse."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")

    class Sluggish(SpanExporter):
        def __init__(self) -> None:
            self.spans: list[Any] = []

        def export(self, spans: Any) -> SpanExportResult:
            time.sleep(0.05)
            self.spans += spans
            return SpanExportResult.SUCCESS

    exporter = Sluggish()
    witness = sw.configure("svc", exporter=exporter)
    with sw.run("lossy") as run:
        for _ in range(40):
            other("a")
        time.sleep(0.3)  # the queue has room again: the root itself arrives
        run.submit("no page was read for this")
    witness.flush(10)
    stored = [_stored(span) for span in exporter.spans]
    assert len(stored) < 42
    root = next(record for record in stored if record.name == "invoke_workflow lossy")
    assert root.attributes["spanwitness.complete"] is False
    assert root.attributes["spanwitness.spans.lost"] == 42 - len(stored)
    (judged,) = judge_trace(stored, [contract])
    assert words(judged.verdicts)["navigation_bypassed"] == "not_assessed"


def _stored(span: Any) -> Any:
    return to_record(span, resource=resource_of(span))
