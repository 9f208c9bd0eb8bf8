"""Verdicts to the backends that hold the traces: Phoenix, Langfuse, and any that reads OTLP.

A second delivery of a verdict replaces the first: Phoenix and Langfuse by an identifier made from
the item's fingerprint and the trace, OTLP by the id of the span.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote, urlsplit

import httpx

from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.errors import SettingsError
from spanwitness.review.outbound.retry import Answer
from spanwitness.review.outbound.verdict import evaluation_span
from spanwitness.review.outbound.webhook import answer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.review.outbound.settings import (
        FeedbackSettings,
        LangfuseSettings,
        OtlpSettings,
        PhoenixSettings,
    )
    from spanwitness.review.outbound.verdict import HumanVerdict

__all__ = ["Backend", "LangfuseBackend", "OtlpBackend", "PhoenixBackend", "make_backend"]

_NOT_YET: Final = 404


class Backend(Protocol):
    """Takes verdicts."""

    name: str
    timeout_s: float
    """Bound on one attempt."""

    async def send(self, verdict: HumanVerdict) -> Answer:
        """Try once; faults of the network are answers, not exceptions."""
        ...


class PhoenixBackend:
    """`POST /v1/span_annotations`, on the root span of the judged run.

    Args:
        settings: Where the server is.
    """

    def __init__(self, settings: PhoenixSettings) -> None:
        self.name = settings.name
        self.timeout_s = settings.timeout_s
        self._url = f"{_checked(settings.name, settings.url)}/v1/span_annotations?sync=true"
        self._headers = {"content-type": "application/json"}
        if settings.api_key is not None:
            self._headers["authorization"] = f"Bearer {settings.api_key.get_secret_value()}"

    async def send(self, verdict: HumanVerdict) -> Answer:
        """Upsert one annotation."""
        result: dict[str, object] = {"label": verdict.label}
        if verdict.score is not None:
            result["score"] = verdict.score
        if verdict.reason:
            result["explanation"] = verdict.reason
        annotation = {
            "span_id": verdict.root_span_id,
            "name": verdict.name,
            "annotator_kind": "HUMAN",
            "result": result,
            "metadata": _metadata(verdict),
            "identifier": verdict.key,
        }
        answer = await _call(
            "POST",
            self._url,
            _json({"data": [annotation]}),
            self._headers,
            self.timeout_s,
        )
        # It answers so while it does not have the span; that may still be on its way.
        return _as_not_yet(answer)


class LangfuseBackend:
    """`POST /api/public/scores`, on the judged trace and the root span of the run.

    A verdict that was taken back deletes the score.

    Args:
        settings: Where the server is.
    """

    def __init__(self, settings: LangfuseSettings) -> None:
        self.name = settings.name
        self.timeout_s = settings.timeout_s
        self._url = f"{_checked(settings.name, settings.url)}/api/public/scores"
        pair = httpx.BasicAuth(settings.public_key, settings.secret_key.get_secret_value())
        request = next(pair.auth_flow(httpx.Request("GET", self._url)))
        self._headers = {
            "content-type": "application/json",
            "authorization": request.headers["authorization"],
        }

    async def send(self, verdict: HumanVerdict) -> Answer:
        """Upsert or delete one score."""
        score_id = hashlib.sha256(verdict.key.encode()).hexdigest()[:32]
        timeout_s = self.timeout_s
        if verdict.word is None:
            url = f"{self._url}/{quote(score_id)}"
            answer = await _call("DELETE", url, b"", self._headers, timeout_s)
            is_gone = answer.status == _NOT_YET
            return Answer(word="delivered", status=answer.status) if is_gone else answer
        score: dict[str, object] = {
            "id": score_id,
            "traceId": verdict.trace_id,
            "name": verdict.name,
            "value": verdict.word,
            "dataType": "CATEGORICAL",
            "metadata": _metadata(verdict),
        }
        if verdict.root_span_id:
            score["observationId"] = verdict.root_span_id
        if verdict.reason:
            score["comment"] = verdict.reason
        return await _call("POST", self._url, _json(score), self._headers, timeout_s)


class OtlpBackend:
    """A span `review <rule>` with a `gen_ai.evaluation.result` event, in the judged trace.

    Args:
        settings: The endpoint.
    """

    def __init__(self, settings: OtlpSettings) -> None:
        self.name = settings.name
        self.timeout_s = settings.timeout_s
        self._url = _checked(settings.name, settings.endpoint)
        self._headers = {
            **{name: held.get_secret_value() for name, held in settings.headers.items()},
            "content-type": "application/x-protobuf",
        }

    async def send(self, verdict: HumanVerdict) -> Answer:
        """Send one span."""
        body = encode_proto_request([evaluation_span(verdict)])
        return await _call("POST", self._url, body, self._headers, self.timeout_s)


def make_backend(settings: FeedbackSettings) -> Backend:
    """Make the backend that the settings ask for.

    Raises:
        SettingsError: Its URL cannot be used.
    """
    if settings.kind == "phoenix":
        return PhoenixBackend(settings)
    if settings.kind == "langfuse":
        return LangfuseBackend(settings)
    return OtlpBackend(settings)


async def _call(
    method: str, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float
) -> Answer:
    try:
        async with asyncio.timeout(timeout_s), httpx.AsyncClient(timeout=timeout_s) as client:
            request = client.build_request(method, url, content=body, headers=dict(headers))
            response = await client.send(request, stream=True)
            await response.aclose()
    except TimeoutError:
        return Answer(word="retry", error=f"no answer within {timeout_s:g} s")
    except (httpx.TransportError, OSError) as error:
        return Answer(word="retry", error=type(error).__name__)
    answer = answer_of(response)
    # To a backend of one's own, "gone" is an answer like another.
    return Answer(word="dead", status=410, error=answer.error) if answer.word == "gone" else answer


def _as_not_yet(answer: Answer) -> Answer:
    if answer.status != _NOT_YET:
        return answer
    return Answer(word="retry", status=_NOT_YET, error="it does not have the span (yet)")


def _metadata(verdict: HumanVerdict) -> dict[str, object]:
    found = {
        "item_id": verdict.item_id,
        "rule": verdict.rule,
        "rule_version": verdict.rule_version,
        "fault": verdict.fault,
        "kind": verdict.kind,
        "by": verdict.by,
        "run_id": verdict.run_id,
    }
    return {key: value for key, value in found.items() if value is not None}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("utf-8")


def _checked(name: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"feedback {name!r}: give a full http:// or https:// URL")
    return url.rstrip("/")
