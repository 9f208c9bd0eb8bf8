"""B56, B65: bodies pass as they come, and a fault of ours or of a rule reaches nobody."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import httpx2
import openai
import pytest
from opentelemetry.sdk.trace import SpanProcessor
from tests.capture.witnessing import watching

import spanwitness as sw
from spanwitness import guard
from spanwitness.archive import read_traces
from spanwitness.rules import engine
from spanwitness.rules.facts import Facts
from spanwitness.testing import ScriptedProvider, raw, reply, text

ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
URL = "/chat/completions"


def test_b56_the_first_chunk_comes_when_it_is_sent():
    """B56: three chunks 0.1 s apart; the first is there long before the last is made."""
    with ScriptedProvider([reply(text("one two three"), delay_s=0.1)]) as provider, watching():
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        started = time.perf_counter()
        stream = client.chat.completions.create(**ASK, stream=True)
        next(stream)
        first = time.perf_counter() - started
        n_left = len(list(stream))
        whole = time.perf_counter() - started
        client.close()
    assert n_left >= 2
    assert first < whole - 0.15


def test_b56_two_hundred_megabytes_pass_and_a_bounded_copy_is_kept():
    """B56: memory of ours does not grow with the body."""
    piece = b"x" * 65_536
    n_pieces = 200 * 16

    class Big(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for _ in range(n_pieces):
                yield piece

    def answer(request: Any) -> Any:
        return httpx2.Response(200, stream=Big(), headers={"content-type": "text/event-stream"})

    with watching() as seen, httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        sw.http_client(http)
        tracemalloc.start()
        n_bytes = 0
        with http.stream("POST", f"http://x{URL}", json={**ASK, "stream": True}) as got:
            for chunk in got.iter_raw():
                n_bytes += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        (chat,) = seen.chats
    assert n_bytes == n_pieces * len(piece)
    assert peak < 16_000_000
    assert seen.state.incomplete_reasons == ["unread_reply"]
    assert "gen_ai.response.finish_reasons" not in chat


def test_b56_a_body_can_be_read_twice_as_without_us():
    """B56: `read`, `.content`, `.json()` and a second `.read()` give what the bare client gives."""

    def use(http: httpx2.Client) -> Any:
        got = http.post(f"{provider.openai_url}{URL}", json=ASK)
        streamed = http.build_request("POST", f"{provider.openai_url}{URL}", json=ASK)
        again = http.send(streamed, stream=True)
        body = again.read()
        assert again.read() == body
        again.close()
        return got.json(), got.content, got.read(), json.loads(body)

    with watching() as seen, httpx2.Client() as bare, httpx2.Client() as http:
        with ScriptedProvider([raw(b'{"id": "1", "choices": []}')] * 2) as provider:
            expected = use(bare)
        with ScriptedProvider([raw(b'{"id": "1", "choices": []}')] * 2) as provider:
            sw.http_client(http)
            assert use(http) == expected
        assert len(seen.chats) == 2


STRANGE: list[Any] = [
    {"choices": None},
    {"choices": [None, 3, {"message": None}]},
    {"choices": [{"message": {"content": [{"type": "hologram", "x": 1}], "tool_calls": {}}}]},
    {"choices": [{"message": {"content": "x" * 1_000_000}}], "usage": None},
    {"choices": [{"message": {"tool_calls": [{"function": None}, None]}}], "usage": "many"},
    [],
    "text",
    None,
    {"error": None, "choices": {"0": {}}},
    {"choices": [{"delta": {"content": "x"}, "finish_reason": ["stop"]}], "model": 7, "id": {}},
]


@pytest.mark.parametrize("body", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize("form", ["json", "sse"])
@pytest.mark.parametrize("path", [URL, "/responses", "/messages", "/models/m:generateContent"])
def test_b65_a_body_of_unexpected_shape_passes_untouched_and_is_one_span(body, form, path):
    """B65: guards are strict here, so a fault of ours would fail the test."""
    data = json.dumps(body).encode()
    kind = {"content-type": "application/json"}
    if form == "sse":
        data, kind = b"event: x\ndata: " + data + b"\n\n", {"content-type": "text/event-stream"}
    asked = {**ASK, "stream": form == "sse", "contents": 3, "input": {}, "tools": "none"}

    def answer(request: Any) -> Any:
        return httpx2.Response(200, content=data, headers=kind)

    with watching() as seen, httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        sw.http_client(http)
        assert http.post(f"http://x/v1{path}", json=asked).content == data
        assert len(seen.chats) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null", b"[" * 100_000], ids=range(5))
@pytest.mark.parametrize("path", [URL, "/responses", "/messages", "/models/m:generateContent"])
def test_b65_a_request_that_is_no_json_leaves_as_it_is(body, path):
    """B65."""
    got: list[bytes] = []

    def answer(request: Any) -> Any:
        got.append(request.read())
        return httpx2.Response(400, content=b"bad")

    with watching() as seen, httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        sw.http_client(http)
        assert http.post(f"http://x/v1{path}", content=body).status_code == 400
        assert len(seen.chats) == 1
    assert got == [body]
    assert seen.state.incomplete_reasons == ["unread_request"]


@sw.tool
def work(n: int) -> int:
    return n + 1


@pytest.mark.parametrize("where", ["a rule", "the engine"])
def test_b65_a_rule_that_raises_costs_the_caller_nothing_and_is_counted(
    where, tmp_path, lenient, monkeypatch
):
    """B65: it is contained and counted, and the run never reads as clean by it."""
    judged: list[Any] = []

    class Keep:
        def take(self, found: Any) -> None:
            judged.append(found)

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("in a rule")

    if where == "a rule":
        monkeypatch.setattr(Facts, "executions", property(broken))
    else:
        monkeypatch.setattr(engine, "Facts", broken)
    witness = sw.configure("svc", state_dir=tmp_path, sinks=[Keep()])
    with sw.run("r"):
        assert work(1) == 2
    assert witness.flush(10) is True
    for found in judged:
        assert found.is_flagged is False
        reasons = {v.reason for v in found.verdicts if v.verdict == "not_assessed"}
        assert any("internal error" in reason for reason in reasons)
    if where == "the engine":
        assert judged == []
        (records,) = read_traces([witness.trace_dir])
        root = next(r for r in records if r.name == "invoke_workflow r")
        assert root.attributes["spanwitness.complete"] is False
        assert "internal_error" in root.attributes["spanwitness.incomplete_reasons"]
        assert sum(witness.faults.values()) >= 1


@pytest.mark.parametrize("method", ["on_start", "on_end"])
def test_b65_a_processor_that_raises_does_not_reach_the_user_through_our_spans(method, lenient):
    """B65: with the bare SDK it does; ours are started and ended inside a guard."""

    class Raising(SpanProcessor):
        pass

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(method)

    setattr(Raising, method, broken)
    script = [[text("hi")]] * 2
    with ScriptedProvider(script) as provider, watching(with_run=False) as seen:
        guard.set_strict(False)
        seen.provider.add_span_processor(Raising())
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="k"))
        with sw.run("r") as run, run.step("s", kind="solve"):
            assert work(1) == 2
            assert client.chat.completions.create(**ASK).choices[0].message.content == "hi"
            assert len(list(client.chat.completions.create(**ASK, stream=True))) >= 1
            run.submit(2)
        client.close()
    assert sum(guard.faults().values()) >= 1


def test_b65_healthy_nothing_is_counted_where_nothing_fails(tmp_path):
    """B65, healthy."""
    before = guard.faults()
    witness = sw.configure("svc", state_dir=tmp_path)
    with sw.run("r"):
        work(1)
    assert witness.flush(10) is True
    assert guard.faults() == before
