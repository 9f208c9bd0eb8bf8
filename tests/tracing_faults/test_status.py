"""B39, B49, B63, B64: what a span says of how its work went is true."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import msgspec
import openai
import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags
from tests.capture.witnessing import watching
from tests.live.agents import ask, openai_client

import spanwitness as sw
from spanwitness.capture import spans
from spanwitness.contracts.model import Contract
from spanwitness.live.evaluate import judge_trace
from spanwitness.live.records import resource_of, to_record
from spanwitness.testing import ScriptedProvider, call, raw, reply, text

ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


class Interrupt(BaseException):
    """An interruption of the application's own."""


INTERRUPTIONS = [
    asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Interrupt("stop")
]  # fmt: skip


@pytest.mark.parametrize("error", INTERRUPTIONS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", ["tool", "step", "agent"])
def test_b39_an_interruption_ends_the_span_is_marked_and_passes_as_the_same_object(kind, error):
    """B39."""

    @getattr(sw, kind)
    def interrupted() -> None:
        raise error

    with watching(with_run=False) as seen:
        with pytest.raises(BaseException) as caught, sw.run("r"):
            interrupted()
        assert caught.value is error
        assert spans.open_count() == 0
        inner, root = seen.spans
    for span in (inner, root):
        attributes = dict(span.attributes or {})
        is_told = (
            attributes.get("spanwitness.tool.outcome") == "cancelled"
            or attributes.get("spanwitness.cancelled") is True
        )
        assert is_told, span.name
        assert attributes["error.type"].endswith(type(error).__name__)


def test_b39_a_cancelled_tool_is_no_evidence(tmp_path):
    """B39: the contract asks for a page that was read; one was asked for and cancelled."""
    contract = Contract.model_validate(
        {
            "contract": "c", "version": "1", "tools": {"reading": ["read_page"]},
            "expect": [{"rule": "navigation_bypassed", "group": "reading", "at_least": 1,
                        "before": "submit"}],
        }
    )  # fmt: skip

    @sw.tool(name="read_page")
    async def read_page(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "250 mA"

    judged: list[Any] = []

    class Keep:
        def take(self, found: Any) -> None:
            judged.append(found)

    async def use(seconds: float) -> None:
        with sw.run("r") as run:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(read_page(seconds), 0.05 if seconds else 10)
            run.submit("250 mA")

    witness = sw.configure("svc", state_dir=tmp_path, contracts=[contract], sinks=[Keep()])
    asyncio.run(use(5))
    asyncio.run(use(0))
    witness.flush(10)
    words = [{v.rule: v.verdict for v in j.verdicts}["navigation_bypassed"] for j in judged]
    assert words == ["violated", "holds"]


def test_b39_an_interrupted_model_call_is_no_success(monkeypatch):
    """B39: Ctrl-C while the SDK waits for the response."""

    class Stop(KeyboardInterrupt):
        pass

    with ScriptedProvider([reply(text("late"), delay_s=0.2)]) as provider, watching() as seen:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        transport = client._client._transport._witnessed

        def interrupt(request: Any) -> Any:
            raise Stop

        monkeypatch.setattr(transport, "handle_request", interrupt)
        with pytest.raises(Stop):
            client.chat.completions.create(**ASK)
        client.close()
        (chat,) = seen.chats
    assert chat["spanwitness.response.ending"] == "cancelled"
    assert chat["error.type"].endswith("Stop")


@sw.tool(effect="read")
def read_page(page: int) -> str:
    return f"page {page}"


TOOLS: Any = [
    {"type": "function", "function": {"name": "read_page", "parameters": {"type": "object"}}}
]


def small_agent(provider: ScriptedProvider) -> str:
    with openai.OpenAI(base_url=provider.openai_url, api_key="k") as bare:
        client = sw.wrap_client(bare)
        with sw.run("small") as run:
            client.chat.completions.create(**ASK, tools=TOOLS)
            page = read_page(3)
            list(client.chat.completions.create(**ASK, stream=True))
            run.submit(page)
    return page


SCRIPT = [[call("read_page", {"page": 3})], [text("page 3")]]


@pytest.mark.parametrize("how", ["no provider", "always off", "parent unsampled", "disabled"])
def test_b49_without_a_recording_span_the_users_code_runs(how, monkeypatch):
    """B49: no SDK, a sampler that says no, a parent that was not sampled, OTEL_SDK_DISABLED."""
    context = None
    if how == "always off":
        trace.set_tracer_provider(TracerProvider(sampler=ALWAYS_OFF))
    if how == "parent unsampled":
        trace.set_tracer_provider(TracerProvider())
        parent = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(0))
        context = trace.set_span_in_context(NonRecordingSpan(parent))
    witness = None
    if how == "disabled":
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
        witness = sw.configure("svc")
    token = otel_context.attach(context) if context is not None else None
    with ScriptedProvider(SCRIPT) as provider:
        assert small_agent(provider) == "page 3"
        with pytest.raises(ZeroDivisionError):
            sw.tool(lambda: 1 // 0)()
    if token is not None:
        otel_context.detach(token)
    if witness is not None:
        assert witness.flush(1) is True
        witness.shutdown()
    assert spans.open_count() == 0


def test_b49_an_unsampled_run_is_judged_by_its_structure_and_says_nothing_it_cannot_see():
    """B49: counts are known, content is not: rules that need it are not assessed."""
    judged: list[Any] = []

    class Keep:
        def take(self, found: Any) -> None:
            judged.append(found)

    trace.set_tracer_provider(TracerProvider(sampler=ALWAYS_OFF))
    witness = sw.configure(sinks=[Keep()])
    with ScriptedProvider(SCRIPT) as provider:
        small_agent(provider)
    witness.flush(10)
    (found,) = judged
    assert [tool.name for tool in found.run.tools] == ["read_page"]
    assert len(found.run.chats) == 2
    assert found.is_flagged is False
    words = {v.rule: v.verdict for v in found.verdicts}
    assert words["argument_not_in_schema"] == "not_assessed"


def test_b63_a_wall_clock_that_steps_back_gives_no_negative_duration(monkeypatch):
    """B63: -5 s between start and end; durations are monotonic, the order is by sequence."""
    real = time.time_ns
    steps = [0]
    for module in ("spanwitness.capture.spans", "spanwitness.capture.context"):
        monkeypatch.setattr(f"{module}.time_ns", lambda: real() - steps[0])

    @sw.tool(name="first")
    def first() -> str:
        steps[0] += 5_000_000_000
        time.sleep(0.002)
        return "a"

    with watching(with_run=False) as seen:
        with sw.run("clock"):
            first()
            sw.tool(name="second")(lambda: "b")()
        found = {span.name: span for span in seen.spans}
        records = [to_record(span, resource=resource_of(span)) for span in seen.spans]
    root = found["invoke_workflow clock"]
    for span in found.values():
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.end_time >= span.start_time
        assert root.start_time <= span.start_time <= span.end_time <= root.end_time
    assert found["execute_tool first"].end_time - found["execute_tool first"].start_time > 1_000_000
    for order in (records, records[::-1]):
        (judged,) = judge_trace(order, [])
        assert [tool.name for tool in judged.run.tools] == ["first", "second"]


@pytest.mark.parametrize("skew_s", [-3.0, 3.0])
def test_b63_a_tool_on_a_host_with_another_clock_keeps_its_place(skew_s):
    """B63: a child that starts before its parent, or ends after it, by the other host's clock."""
    contract = Contract.model_validate(
        {"contract": "c", "version": "1", "tools": {"reading": ["read_page"]},
         "expect": [{"rule": "navigation_bypassed", "group": "reading", "at_least": 1,
                     "before": "submit"}]}
    )  # fmt: skip
    with watching(with_run=False) as seen:
        with ScriptedProvider(SCRIPT) as provider, sw.run("loop") as run:
            client = openai_client(provider)
            run.submit(ask(client))
            client.close()
        records = [to_record(span, resource=resource_of(span)) for span in seen.spans]
    shift = int(skew_s * 1e9)
    moved = [
        msgspec.structs.replace(r, start_ns=r.start_ns + shift, end_ns=r.end_ns + shift)
        if r.name == "execute_tool read_page"
        else r
        for r in records
    ]
    assert moved != records
    before, after = (judge_trace(found, [contract])[0] for found in (records, moved))
    words = [(v.rule, v.verdict) for v in before.verdicts]
    assert ("navigation_bypassed", "holds") in words
    assert [(v.rule, v.verdict) for v in after.verdicts] == words
    assert before.run.is_complete
    assert after.run.is_complete


def test_b64_an_error_after_the_result_was_reported_is_told():
    """B64: a callback ends the span with success, then the function raises."""

    @sw.tool
    def calls_back() -> None:
        span = trace.get_current_span()
        span.set_status(trace.Status(StatusCode.OK))
        span.end()
        raise ValueError("after all")

    with watching(with_run=False) as seen:
        with pytest.raises(ValueError, match="after all"), sw.run("r"):
            calls_back()
        found = {span.name: span for span in seen.spans}
    late = found["execute_tool calls_back (late end)"]
    assert late.status.status_code is StatusCode.ERROR
    assert (late.attributes or {})["spanwitness.tool.outcome"] == "error"
    root = found["invoke_workflow r"].attributes or {}
    assert root["spanwitness.complete"] is False
    assert "span_ended_early" in root["spanwitness.incomplete_reasons"]


def test_b64_an_error_in_a_stream_after_a_200_is_an_error():
    """B64: status 200, half of the text, then the provider says that it failed."""
    body = (
        b'data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,'
        b'"delta":{"role":"assistant","content":"half"},"finish_reason":null}]}\n\n'
        b'data: {"error":{"message":"overloaded","type":"server_error","code":"500"}}\n\n'
    )
    script = [raw(body, headers={"content-type": "text/event-stream"})]
    with ScriptedProvider(script) as provider, watching() as seen:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        with pytest.raises(openai.APIError):
            list(client.chat.completions.create(**ASK, stream=True))
        client.close()
        (span,) = seen.named("chat")
    assert (span.attributes or {})["spanwitness.response.ending"] == "error"
    assert span.status.status_code is StatusCode.ERROR
