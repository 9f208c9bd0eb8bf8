"""What watching a client costs: CPU a call, time to the first chunk, memory of an open stream.

    python -m benchmarks.wrapped_client

The same requests go through an HTTP client of httpx2 whose transport answers at once: bare, bare
inside a plain OpenTelemetry span (`start_as_current_span`, eight attributes, `json.dumps` of small
arguments and of a small result), and watched. What the bare client costs by itself is subtracted
from both; the figure is what watching adds, in plain spans.
"""

from __future__ import annotations

import json
import statistics
import time
import tracemalloc
from itertools import cycle
from typing import TYPE_CHECKING

import httpx2
from opentelemetry.sdk.trace import TracerProvider

from benchmarks.table import Row, lines
from benchmarks.timing import Timing, compare, keep
from spanwitness.capture import spans
from spanwitness.capture.client import wrap_client
from spanwitness.capture.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry import trace

URL = "http://api.openai.com/v1/chat/completions"
N_CHUNKS = 200
N_TURNS = 20
BAR = 1.5
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Look into the open document and return what stands there. " * 2,
            "parameters": {
                "type": "object",
                "properties": {"page": {"type": "integer"}, "query": {"type": "string"}},
                "required": ["page"],
            },
        },
    }
    for name in ("read_page", "search_text", "read_table")
]
SYSTEM: dict[str, object] = {
    "role": "system",
    "content": "You extract values from data sheets and cite the page.",
}
QUESTION: dict[str, object] = {
    "role": "user",
    "content": "What is the maximum supply voltage of the DPS310?",
}


def called(i: int) -> dict[str, object]:
    function = {"name": "read_page", "arguments": json.dumps({"page": i})}
    call = {"id": f"call_{i}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def delivered(i: int, n_chars: int) -> dict[str, object]:
    text = f"Page {i}: the supply voltage may be between 1.7 V and 3.6 V; see table 5. "
    content = (text * (n_chars // len(text) + 1))[:n_chars]
    return {"role": "tool", "tool_call_id": f"call_{i}", "content": content}


def body(messages: list[dict[str, object]], *, is_streaming: bool = False) -> bytes:
    asked: dict[str, object] = {"model": "gpt-4.1-mini", "messages": messages, "tools": TOOLS}
    if is_streaming:
        asked["stream"] = True
    return json.dumps(asked, separators=(",", ":"), ensure_ascii=False).encode()


def conversation(n_bytes: int, *, name: str = "") -> list[bytes]:
    """Return the requests of some turns: each has one call and its result more than the last."""
    system: dict[str, object] = {"role": "system", "content": f"{SYSTEM['content']} {name}"}
    messages: list[dict[str, object]] = [system, QUESTION]
    for i in range(20):
        messages += [called(i), delivered(i, n_bytes // 20)]
    made = []
    for i in range(20, 20 + N_TURNS):
        messages += [called(i), delivered(i, 300)]
        made.append(body(messages))
    return made


UNSET: dict[str, object] = {"refusal": None, "annotations": []}


def reply(message: dict[str, object], reason: str) -> bytes:
    said = {"role": "assistant", **message, **UNSET}
    choice = {"index": 0, "message": said, "finish_reason": reason}
    usage = {"prompt_tokens": 812, "completion_tokens": 31, "total_tokens": 843}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4.1-mini"}
    return json.dumps({**head, "choices": [choice], "usage": usage}).encode()


ANSWER = reply({"content": "The maximum supply voltage is 3.6 V (page 4, table 5)."}, "stop")
CALL = reply({"content": None, "tool_calls": called(40)["tool_calls"]}, "tool_calls")


def stream() -> list[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: dict[str, object], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"

    words = [chunk({"content": f" word{i}"}, None) for i in range(N_CHUNKS - 2)]
    return [*words, chunk({}, "stop"), b"data: [DONE]\n\n"]


class Chunks(httpx2.SyncByteStream):
    """A body that comes in pieces."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks


class AtOnce(httpx2.BaseTransport):
    """Answers every request at once with the same body."""

    def __init__(self, chunks: list[bytes], kind: str) -> None:
        self._chunks = chunks
        self._kind = kind

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200,
            headers={"content-type": self._kind},
            stream=Chunks(self._chunks),
            request=request,
        )


def client(chunks: list[bytes], *, kind: str = "application/json") -> httpx2.Client:
    return httpx2.Client(transport=AtOnce(chunks, kind))


def sending(it: httpx2.Client, bodies: list[bytes]) -> Callable[[], object]:
    following = cycle(bodies)
    headers = {"content-type": "application/json"}
    return lambda: it.post(URL, content=next(following), headers=headers)


def streaming(it: httpx2.Client, asked: bytes) -> Callable[[], object]:
    headers = {"content-type": "application/json"}

    def read() -> None:
        with it.stream("POST", URL, content=asked, headers=headers) as response:
            for _ in response.iter_raw():
                pass

    return read


def in_plain_span(function: Callable[[], object], tracer: trace.Tracer) -> Callable[[], object]:
    """Do it in a span as one writes it by hand around a call."""
    arguments, result = {"page": 4, "query": "supply voltage"}, {"ok": True, "text": "1.7 to 3.6 V"}

    def call() -> None:
        with tracer.start_as_current_span("chat gpt-4.1-mini") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.provider.name", "openai")
            span.set_attribute("gen_ai.request.model", "gpt-4.1-mini")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
            function()
            span.set_attribute("gen_ai.response.id", "chatcmpl-1")
            span.set_attribute("gen_ai.usage.input_tokens", 812)
            span.set_attribute("gen_ai.usage.output_tokens", 31)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))

    return call


def added(timings: dict[str, Timing], name: str) -> float:
    """Median over batches of what one candidate costs beyond the bare one, in microseconds."""
    pairs = zip(timings[name].batches_ns, timings["bare"].batches_ns, strict=True)
    return statistics.median(a - b for a, b in pairs) / 1000


def cases() -> list[tuple[str, list[bytes], str, Callable[[httpx2.Client], Callable[[], object]]]]:
    first = [body([SYSTEM, QUESTION])]
    asked = body([SYSTEM, QUESTION], is_streaming=True)
    openings = [conversation(18_000, name=str(i))[0] for i in range(8)]
    json_kind, sse = "application/json", "text/event-stream"
    return [
        ("JSON reply, tool call", [CALL], json_kind, lambda it: sending(it, first)),
        ("JSON reply, answer", [ANSWER], json_kind, lambda it: sending(it, first)),
        ("stream of 200 chunks", stream(), sse, lambda it: streaming(it, asked)),
        ("18 kB history, next turn", [CALL], json_kind, _turns(18_000)),
        ("280 kB history, next turn", [CALL], json_kind, _turns(280_000)),
        ("18 kB history, never seen", [CALL], json_kind, lambda it: sending(it, openings)),
    ]


def _turns(n_bytes: int) -> Callable[[httpx2.Client], Callable[[], object]]:
    bodies = conversation(n_bytes)
    return lambda it: sending(it, bodies)


def costs(*, n_batches: int = 40) -> list[Row]:
    """Measure what each kind of call costs, with content on and off."""
    provider = TracerProvider(shutdown_on_exit=False)
    spans.use_provider(provider)
    tracer = provider.get_tracer("bench")
    found: list[Row] = []
    raw: dict[str, object] = {}
    for name, chunks, kind, using in cases():
        for mode in ("on", "off"):
            bare = using(client(chunks, kind=kind))
            plain = in_plain_span(using(client(chunks, kind=kind)), tracer)
            watched = using(wrap_client(client(chunks, kind=kind)))
            with run("bench", content=mode):
                timings = compare(
                    {"bare": bare, "plain": plain, "watched": watched},
                    n_calls=N_TURNS,
                    n_batches=n_batches,
                )
            ours, theirs = added(timings, "watched"), added(timings, "plain")
            label = f"wrapped client, {name}, content {mode}"
            raw[label] = {key: timing.batches_ns for key, timing in timings.items()}
            figure = f"{ours / theirs:.2f} plain spans ({ours:.0f} us)"
            met = ours <= BAR * theirs
            found.append(Row(what=label, figure=figure, bar=f"<= {BAR}", is_met=met))
    keep("wrapped_client", raw)
    spans.use_provider(None)
    return found


def first_chunk(*, n_rounds: int = 400) -> list[Row]:
    """Measure the wall-clock time from sending to the first chunk, bare and watched in turn."""
    asked = body([SYSTEM, QUESTION], is_streaming=True)
    headers = {"content-type": "application/json"}
    found: dict[str, list[float]] = {"bare": [], "watched": []}
    clients = {
        "bare": client(stream(), kind="text/event-stream"),
        "watched": wrap_client(client(stream(), kind="text/event-stream")),
    }
    with run("bench"):
        for _ in range(n_rounds):
            for name, it in clients.items():
                start = time.perf_counter_ns()
                with it.stream("POST", URL, content=asked, headers=headers) as response:
                    next(response.iter_raw())
                    found[name].append(time.perf_counter_ns() - start)
    keep("first_chunk", found)
    bare, watched = (statistics.median(found[name]) / 1000 for name in ("bare", "watched"))
    delay = watched - bare
    return [
        Row(
            what="wrapped client, time to first chunk",
            figure=f"{bare:.0f} us bare, {watched:.0f} us watched",
            bar="< 1 ms later",
            is_met=delay < 1000,
        )
    ]


def memory(*, n_streams: int = 200, n_long_bytes: int = 64 * 1024 * 1024) -> list[Row]:
    """Measure what an open stream holds: after its first chunk, and after very many."""
    held = _held_by_open(n_streams)
    piece = b": " + b"x" * 65_534
    long = client([piece] * (n_long_bytes // len(piece)), kind="text/event-stream")
    asked = body([SYSTEM, QUESTION], is_streaming=True)
    with run("bench"), wrap_client(long).stream("POST", URL, content=asked) as response:
        chunks = response.iter_raw()
        tracemalloc.start()
        for _ in chunks:
            pass
        peak = tracemalloc.get_traced_memory()[1] / 1024 / 1024
        tracemalloc.stop()
    keep("stream_memory", {"open_bytes": held, "long_peak_mib": peak})
    return [
        Row(what="wrapped client, an open stream", figure=f"{held / 1024:.1f} kB"),
        Row(
            what="wrapped client, a stream of 64 MiB",
            figure=f"{peak:.1f} MiB at most",
            bar="<= 16 MiB",
            is_met=peak <= 16,
        ),
    ]


def _held_by_open(n_streams: int) -> float:
    asked = body([SYSTEM, QUESTION], is_streaming=True)
    sizes = []
    for it in (
        client(stream(), kind="text/event-stream"),
        wrap_client(client(stream(), kind="text/event-stream")),
    ):
        with run("bench"):
            opened = []
            tracemalloc.start()
            for _ in range(n_streams):
                request = it.build_request("POST", URL, content=asked)
                response = it.send(request, stream=True)
                chunks = response.iter_raw()
                next(chunks)
                opened.append((response, chunks))
            sizes.append(tracemalloc.get_traced_memory()[0] / n_streams)
            tracemalloc.stop()
            for response, _ in opened:
                response.close()
    return sizes[1] - sizes[0]


def rows(*, n_batches: int = 40, n_rounds: int = 400, n_streams: int = 200) -> list[Row]:
    """Return every row about wrapped clients."""
    return [
        *costs(n_batches=n_batches),
        *first_chunk(n_rounds=n_rounds),
        *memory(n_streams=n_streams),
    ]


if __name__ == "__main__":
    print("\n".join(lines(rows())))
