"""Verdicts back to backends: strict stand-ins for what Phoenix, Langfuse and OTLP document."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.review.outbound.receivers import filled_queue, listening, receiving
from tests.serve.spans import cut_run

from spanwitness.archive.otlp_proto import decode_proto
from spanwitness.errors import SettingsError
from spanwitness.live.evaluate import judge_trace
from spanwitness.review.outbound.deliverer import Deliverer, destinations_of
from spanwitness.review.outbound.settings import OutboundSettings
from spanwitness.semconv import gen_ai


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PhoenixResult(Strict):
    label: str | None = None
    score: float | None = None
    explanation: str | None = None


class PhoenixAnnotation(Strict):
    span_id: str = Field(pattern=r"^[0-9a-f]{16}$")
    name: str = Field(min_length=1)
    annotator_kind: Literal["LLM", "CODE", "HUMAN"]
    result: PhoenixResult | None = None
    metadata: dict[str, object] | None = None
    identifier: str = ""


class PhoenixBody(Strict):
    data: list[PhoenixAnnotation]


class LangfuseScore(Strict):
    id: str | None = None
    traceId: str = Field(pattern=r"^[0-9a-f]{32}$")
    observationId: str | None = Field(default=None, pattern=r"^[0-9a-f]{16}$")
    name: str = Field(min_length=1)
    value: str
    dataType: Literal["CATEGORICAL"]
    comment: str | None = None
    metadata: dict[str, object] | None = None


class PhoenixStandIn:
    """Upserts by (name, span, identifier); knows some spans only."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.annotations: dict[tuple[str, str, str], PhoenixAnnotation] = {}
        self.n_requests = 0

    async def take(self, request):
        self.n_requests += 1
        if request.headers.get("authorization") != "Bearer px-key":
            return Response("Invalid token", status_code=401)
        if request.query_params.get("sync") != "true":
            return Response(status_code=500)
        try:
            body = PhoenixBody.model_validate_json(await request.body())
        except ValidationError as error:
            return Response(str(error), status_code=422)
        if missing := {each.span_id for each in body.data} - self.known:
            return Response(f"Spans with IDs {missing} do not exist.", status_code=404)
        for each in body.data:
            self.annotations[each.name, each.span_id, each.identifier] = each
        return JSONResponse({"data": [{"id": "U3Bhbg=="} for _ in body.data]})

    def app(self):
        return Starlette(routes=[Route("/v1/span_annotations", self.take, methods=["POST"])])


class LangfuseStandIn:
    """Upserts scores by id, deletes them by id; basic authentication."""

    def __init__(self) -> None:
        self.scores: dict[str, LangfuseScore] = {}

    async def take(self, request):
        if request.headers.get("authorization") != "Basic cGstbGYtMTpzay1sZi0x":
            return JSONResponse({"message": "no"}, status_code=401)
        if request.method == "DELETE":
            found = self.scores.pop(request.path_params["id"], None)
            return JSONResponse({"message": "ok"}, status_code=202 if found else 404)
        try:
            score = LangfuseScore.model_validate_json(await request.body())
        except ValidationError as error:
            return JSONResponse({"message": str(error)}, status_code=400)
        self.scores[score.id or ""] = score
        return JSONResponse({"id": score.id})

    def app(self):
        return Starlette(
            routes=[
                Route("/api/public/scores", self.take, methods=["POST"]),
                Route("/api/public/scores/{id}", self.take, methods=["DELETE"]),
            ]
        )


@pytest.fixture
def queue(tmp_path):
    queue = filled_queue(tmp_path)
    yield queue
    queue.close()


def deliver(queue, **feedback):
    settings = OutboundSettings.model_validate({"feedback": [{"name": "back", **feedback}]})
    return asyncio.run(Deliverer(queue, destinations_of(settings)).run_once())


def sample(queue):
    return queue.item(1).item.samples[0]


def root_of(queue):
    found = sample(queue)
    return queue.run(found.trace_id, found.run_id).root_span_id


def test_a_verdict_becomes_one_annotation_in_phoenix_however_often_it_changes(queue):
    phoenix = PhoenixStandIn()
    phoenix.known.add(root_of(queue))
    with listening(phoenix.app()) as port:
        where = {"kind": "phoenix", "url": f"http://127.0.0.1:{port}/", "api_key": "px-key"}
        queue.verdict(1, verdict="false_positive", by="ada", reason="a short answer is fine")
        assert deliver(queue, **where).delivered == 1
        (made,) = phoenix.annotations.values()
        assert (made.name, made.annotator_kind) == ("truncated_output.review", "HUMAN")
        assert made.result == PhoenixResult(
            label="false_positive", score=0.0, explanation="a short answer is fine"
        )
        assert made.metadata["by"] == "ada"
        queue.verdict(1, verdict="confirmed", by="ada")
        assert deliver(queue, **where).delivered == 1
        (made,) = phoenix.annotations.values()
        assert made.result == PhoenixResult(label="confirmed", score=1.0)
        queue.undo(1, "ada")
        assert deliver(queue, **where).delivered == 1
        (made,) = phoenix.annotations.values()
        assert made.result.label == "false_positive"


def test_a_verdict_that_was_taken_back_is_withdrawn_in_phoenix(queue):
    phoenix = PhoenixStandIn()
    phoenix.known.add(root_of(queue))
    with listening(phoenix.app()) as port:
        where = {"kind": "phoenix", "url": f"http://127.0.0.1:{port}", "api_key": "px-key"}
        queue.verdict(1, verdict="confirmed", by="ada")
        deliver(queue, **where)
        queue.undo(1, "ada")
        deliver(queue, **where)
        (made,) = phoenix.annotations.values()
        assert made.result == PhoenixResult(label="withdrawn")


def test_phoenix_is_asked_again_while_it_does_not_have_the_span(queue):
    phoenix = PhoenixStandIn()
    with listening(phoenix.app()) as port:
        where = {"kind": "phoenix", "url": f"http://127.0.0.1:{port}", "api_key": "px-key"}
        queue.verdict(1, verdict="confirmed", by="ada")
        assert deliver(queue, **where).retried == 1
        assert phoenix.n_requests == 1


def test_a_wrong_key_is_a_dead_message_that_can_be_sent_again(queue):
    phoenix = PhoenixStandIn()
    phoenix.known.add(root_of(queue))
    with listening(phoenix.app()) as port:
        where = {"kind": "phoenix", "url": f"http://127.0.0.1:{port}"}
        queue.verdict(1, verdict="confirmed", by="ada")
        assert deliver(queue, **where, api_key="wrong").dead == 1
        queue.outbox.redeliver(queue.outbox.undeliverable()[0].id)
        assert deliver(queue, **where, api_key="px-key").delivered == 1


def test_a_verdict_becomes_one_score_in_langfuse_and_goes_when_it_is_taken_back(queue):
    langfuse = LangfuseStandIn()
    with listening(langfuse.app()) as port:
        where = {
            "kind": "langfuse",
            "url": f"http://127.0.0.1:{port}",
            "public_key": "pk-lf-1",
            "secret_key": "sk-lf-1",
        }
        queue.verdict(1, verdict="expected", by="ada", reason="known")
        assert deliver(queue, **where).delivered == 1
        (score,) = langfuse.scores.values()
        assert (score.value, score.comment) == ("expected", "known")
        assert score.traceId == sample(queue).trace_id
        assert score.observationId == root_of(queue)
        queue.verdict(1, verdict="confirmed", by="ada")
        assert deliver(queue, **where).delivered == 1
        assert [score.value for score in langfuse.scores.values()] == ["confirmed"]
        queue.undo(1, "ada")
        deliver(queue, **where)
        assert [score.value for score in langfuse.scores.values()] == ["expected"]


def test_a_score_that_is_not_there_any_more_counts_as_taken_back(queue):
    langfuse = LangfuseStandIn()
    with listening(langfuse.app()) as port:
        where = {
            "kind": "langfuse",
            "url": f"http://127.0.0.1:{port}",
            "public_key": "pk-lf-1",
            "secret_key": "sk-lf-1",
        }
        queue.verdict(1, verdict="confirmed", by="ada")
        queue.undo(1, "ada")
        # Both messages wait: the first is told though it was taken back since.
        assert deliver(queue, **where).delivered == 2
        assert langfuse.scores == {}


def test_a_verdict_becomes_an_evaluation_event_in_the_same_trace(queue):
    with receiving(200) as receiver:
        queue.verdict(1, verdict="confirmed", by="ada", reason="cut off indeed", fault="harness")
        tally = deliver(
            queue, kind="otlp", endpoint=f"{receiver.url}/v1/traces", headers={"x-key": "k"}
        )
        assert tally.delivered == 1
    (got,) = receiver.got
    assert got.headers["content-type"] == "application/x-protobuf"
    assert got.headers["x-key"] == "k"
    (span,) = decode_proto(got.body).spans
    assert span.trace_id == sample(queue).trace_id
    assert span.parent_span_id == root_of(queue)
    assert span.name == "review truncated_output"
    assert span.resource == {"service.name": "shop"}
    assert span.attributes["spanwitness.review.verdict"] == "confirmed"
    assert span.attributes["spanwitness.fault"] == "harness"
    (event,) = span.events
    assert event.name == gen_ai.EVALUATION_EVENT
    assert event.attributes[gen_ai.EVALUATION_NAME] == "truncated_output.review"
    assert event.attributes[gen_ai.EVALUATION_SCORE_LABEL] == "confirmed"
    assert event.attributes[gen_ai.EVALUATION_SCORE_VALUE] == 1.0
    assert event.attributes[gen_ai.EVALUATION_EXPLANATION] == "cut off indeed"


def test_a_second_delivery_makes_the_same_span(queue):
    with receiving(503, 200) as receiver:
        queue.verdict(1, verdict="cannot_tell", by="ada")
        where = {"kind": "otlp", "endpoint": receiver.url}
        assert deliver(queue, **where).retried == 1
        (sent,) = [decode_proto(got.body).spans for got in receiver.got]
        delivery = queue.outbox.settle(1, "dead") or None
        queue.outbox.redeliver(delivery.id)
        assert deliver(queue, **where).delivered == 1
    assert [decode_proto(got.body).spans for got in receiver.got] == [sent, sent]
    assert gen_ai.EVALUATION_SCORE_VALUE not in sent[0].events[0].attributes


def test_a_verdict_span_of_a_reviewer_is_no_part_of_the_run(queue):
    with receiving(200) as receiver:
        queue.verdict(1, verdict="confirmed", by="ada")
        deliver(queue, kind="otlp", endpoint=receiver.url)
    spans = cut_run(sample(queue).trace_id)
    before = judge_trace(spans)
    after = judge_trace([*spans, *decode_proto(receiver.got[0].body).spans])
    assert [j.verdicts for j in after] == [j.verdicts for j in before]


def test_opened_items_are_not_told_to_backends(queue):
    with receiving(200) as receiver:
        assert deliver(queue, kind="otlp", endpoint=receiver.url).total == 0


def test_a_backend_without_a_usable_address_is_refused():
    settings = OutboundSettings.model_validate(
        {"feedback": [{"kind": "otlp", "name": "x", "endpoint": "localhost:4318"}]}
    )
    with pytest.raises(SettingsError, match="http"):
        destinations_of(settings)
