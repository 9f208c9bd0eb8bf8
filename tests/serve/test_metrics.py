"""What Prometheus reads, read by its own parser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.review.outbound.receivers import SECRET, filled_queue, receiving
from tests.serve.servers import serving, wait_for
from tests.serve.spans import cut_run, good_run

from spanwitness.archive.otlp_json import encode_request
from spanwitness.export.destination import ExportSettings
from spanwitness.review.outbound.deliverer import deliverer_of
from spanwitness.review.outbound.settings import OutboundSettings
from spanwitness.serve.assembly import Plan, assemble
from spanwitness.serve.holder import HoldLimits
from spanwitness.serve.metrics import make_registry
from spanwitness.serve.service import ServeSettings, Service


def scraped(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def rendered(registry):
    from prometheus_client import generate_latest

    return scraped(generate_latest(registry).decode())


def test_receiver_and_queue_are_counted(tmp_path):
    plan = Plan(
        queue=f"sqlite:///{tmp_path}/queue.db",
        serve=ServeSettings(limits=HoldLimits(grace_s=0.05), spool=tmp_path / "spool"),
    )
    server = assemble(plan)
    try:
        with serving(server.app) as running:
            for spans in (cut_run(), good_run()):
                httpx.post(
                    f"{running.url}/v1/traces",
                    content=encode_request(spans),
                    headers={"content-type": "application/json"},
                )
            wait_for(lambda: sum(server.service.counters.runs.values()) == 2)
            reply = httpx.get(f"{running.url}/metrics")
            found = scraped(reply.text)
    finally:
        server.close()
    assert reply.headers["content-type"].startswith("text/plain")
    name = "spanwitness_receiver_requests_total"
    assert found[name, ("fate", "taken"), ("transport", "http")] == 2
    assert found["spanwitness_receiver_spans_total", ("fate", "taken")] == 4
    assert found["spanwitness_judged_runs_total", ("result", "flagged")] == 1
    assert found["spanwitness_judged_runs_total", ("result", "clean")] == 1
    assert found["spanwitness_queue_items", ("severity", "error"), ("state", "open")] == 1
    assert found["spanwitness_queue_items", ("severity", "info"), ("state", "open")] == 0
    assert found["spanwitness_queue_up",] == 1
    assert found["spanwitness_held_traces",] == 2
    assert found["spanwitness_spool_bytes",] > 0


def test_verdicts_and_messages_are_counted(tmp_path):
    with receiving(204, 410) as receiver:
        queue = filled_queue(tmp_path, 3)
        queue.verdict(1, verdict="confirmed", by="ada")
        queue.verdict(2, verdict="false_positive", by="ada")
        hook = {
            "name": "pager", "url": receiver.url, "secrets": [SECRET],
            "allow_private": True, "allow_http": True,
        }  # fmt: skip
        deliverer = deliverer_of(queue, OutboundSettings.model_validate({"webhooks": [hook]}))
        asyncio.run(deliverer.run_once())
    registry = make_registry(Service(ServeSettings()), queue=queue, deliverer=deliverer)
    found = rendered(registry)
    queue.close()
    name, rule = "spanwitness_queue_verdicts", ("rule", "truncated_output")
    assert found[name, rule, ("verdict", "confirmed")] == 1
    assert found[name, rule, ("verdict", "false_positive")] == 1
    assert found[name, rule, ("verdict", "expected")] == 0
    pager = ("destination", "pager")
    assert found["spanwitness_outbox_undeliverable", pager] == 1
    assert found["spanwitness_outbox_pending", pager] == 3
    assert found["spanwitness_destination_disabled", pager] == 1
    assert found["spanwitness_delivery_attempts_total", ("result", "delivered")] == 1
    assert found["spanwitness_outbox_oldest_due_seconds", pager] >= 0


@pytest.mark.contains_faults
def test_a_queue_that_does_not_answer_is_told_and_hides_nothing_else(tmp_path):
    queue = filled_queue(tmp_path)
    (tmp_path / "queue.db").unlink()
    queue.close()
    (tmp_path / "queue.db").mkdir()
    found = rendered(make_registry(Service(ServeSettings()), queue=queue))
    assert found["spanwitness_queue_up",] == 0
    assert ("spanwitness_held_traces",) in found


def test_outside_detectors_cannot_make_any_number_of_series(tmp_path, monkeypatch):
    from spanwitness.serve import metrics
    from spanwitness.serve.api_models import FindingsIn
    from spanwitness.serve.filing import judged_of

    monkeypatch.setattr(metrics, "_MAX_RULES", 5)
    queue = filled_queue(tmp_path)
    runs = [
        FindingsIn.model_validate(
            {
                "trace_id": f"{number:032x}", "root_span_id": "a" * 16, "service": "shop",
                "findings": [{"rule": f"shop.r{number}", "reason": "x"}],
            }
        )
        for number in range(1, 10)
    ]  # fmt: skip
    for added in queue.add_all([(judged_of(run), None) for run in runs]):
        queue.verdict(added.opened[0], verdict="confirmed", by="ada")
    found = rendered(make_registry(Service(ServeSettings()), queue=queue))
    queue.close()
    rules = {dict(key[1:])["rule"] for key in found if key[0] == "spanwitness_queue_verdicts"}
    assert len(rules) == 6
    assert "other" in rules
    total = sum(
        value
        for key, value in found.items()
        if key[0] == "spanwitness_queue_verdicts" and ("verdict", "confirmed") in key
    )
    assert total == 9


def test_every_metric_stands_in_the_docs(tmp_path):
    text = (Path(__file__).parents[2] / "docs/serve.md").read_text()
    queue = filled_queue(tmp_path)
    forward = ExportSettings(endpoint="http://127.0.0.1:1/v1/traces")
    service = Service(ServeSettings(spool=tmp_path / "spool", forward=forward))
    deliverer = deliverer_of(queue, OutboundSettings())
    registry = make_registry(service, queue=queue, deliverer=deliverer)
    names = {
        family.name.removeprefix("spanwitness_")
        for family in registry.collect()
        if family.name.startswith("spanwitness_")
    }
    service.stop()
    queue.close()
    assert len(names) > 20
    assert {name for name in names if name not in text} == set()
