"""`spanwitness check --queue`: what is found lands in the review queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spanwitness.review import Queue

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"
_CLEAN = _TRACES / "clean.otlp.json"
_BYPASS = _TRACES / "bypass.otlp.json"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/queue.db"


def test_findings_and_their_spans_stand_in_the_queue_once(spanwitness, url):
    first = spanwitness("check", "--queue", url, _CLEAN, _BYPASS)
    assert first.status == 1
    assert f"queue {url}: 1 new findings, 1 new items" in first.err
    again = spanwitness("check", "--queue", url, _CLEAN, _BYPASS)
    assert "0 new findings, 0 new items" in again.err
    queue = Queue.open(url)
    (item,) = queue.items().rows
    assert (item.rule, item.fault, item.count) == ("output_constraint_bypass", "harness", 1)
    assert item.samples[0].has_snapshot
    assert sum(stats.n_runs for stats in queue.agent_stats()) == 2
    queue.close()


def test_the_list_shows_what_check_filed(spanwitness, url):
    checked = json.loads(spanwitness("check", "--format", "json", "--queue", url, _BYPASS).out)
    listed = json.loads(spanwitness("review", "list", "--format", "json", "--queue", url).out)
    (item,) = listed["items"]
    (run,) = checked["runs"]
    assert item["sample_trace_ids"] == [run["trace_id"]]
    assert item["rule"] == "output_constraint_bypass"
    shown = spanwitness("review", "show", str(item["id"]), "--queue", url).out
    assert "read_page" in shown


def test_the_default_queue_is_that_of_the_settings(spanwitness, url):
    spanwitness("check", "--queue", "default", _BYPASS, SPANWITNESS_QUEUE=url)
    assert "1 open" in spanwitness("review", "list", SPANWITNESS_QUEUE=url).out


def test_without_content_the_queue_keeps_none(spanwitness, url):
    spanwitness("check", "--queue", url, _BYPASS, SPANWITNESS_CONTENT="off")
    queue = Queue.open(url)
    (sample,) = queue.items().rows[0].samples
    kept = queue.snapshot(sample.trace_id, sample.run_id)
    assert kept is not None
    assert kept.content == "off"
    assert not any("gen_ai.input.messages" in span.attributes for span in kept.spans)
    queue.close()


def test_a_queue_that_cannot_be_opened_is_said_before_anything_is_judged(spanwitness, tmp_path):
    (tmp_path / "file").write_text("x")
    checked = spanwitness("check", "--queue", f"sqlite:///{tmp_path}/file/q.db", _BYPASS)
    assert checked.status == 2
    assert "cannot be opened" in checked.err
    assert checked.out == ""


def test_a_queue_that_fails_on_the_way_loses_no_result(spanwitness, url):
    queue = Queue.open(url)
    with queue._database.write() as connection:
        connection.exec_driver_sql("DROP TABLE findings")
    queue.close()
    checked = spanwitness("check", "--format", "json", "--queue", url, _BYPASS)
    assert checked.status == 2
    assert json.loads(checked.out)["summary"]["flagged"] == 1
    assert "not everything is in the queue" in checked.err
