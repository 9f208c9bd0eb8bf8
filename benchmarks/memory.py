"""Memory over many traced calls, some of whose streams are left or cancelled.

    python -m benchmarks.memory [--calls 20000] [--check]

A tenth of the calls are streams that are abandoned after their first chunk, a tenth are cancelled
while they wait. The last line is JSON: memory and object counts at a quarter, half and the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import openai
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

import spanwitness as sw
from spanwitness.capture import retries, spans
from spanwitness.capture.chat_span import ChatSpan

CHUNK = (
    b'data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":'
    b'{"role":"assistant","content":"word "},"finish_reason":null}]}\n\n'
)
END = (
    b'data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":'
    b'{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "q" * 200}]}
MAX_GROWTH_BYTES = 4_000_000
MAX_GROWTH_OBJECTS = 5_000


class _Body(httpx2.AsyncByteStream):
    async def __aiter__(self) -> Any:
        for _ in range(5):
            yield CHUNK
            await asyncio.sleep(0)
        yield END


async def _answer(request: Any) -> Any:
    if json.loads(request.read()).get("seed") == 1:
        await asyncio.sleep(60)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body())


class _Nowhere(SpanExporter):
    """Takes every span and keeps none. (The sweep of local files looks at up to 10,000 of them.)"""

    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002
        return SpanExportResult.SUCCESS


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


@sw.tool
def look(page: int) -> str:
    """Read a page."""
    return f"page {page}"


async def _one(client: openai.AsyncOpenAI, n: int) -> None:
    if n % 10 == 1:
        task = asyncio.create_task(client.chat.completions.create(**ASK, stream=True, seed=1))
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return
    stream = await client.chat.completions.create(**ASK, stream=True)
    async for _ in stream:
        if n % 10 == 2:
            return
    look(n)


async def _use(n_calls: int, marks: list[dict[str, int]], witness: sw.Witness) -> None:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(_answer))
    client = openai.AsyncOpenAI(api_key="k", base_url="http://x/v1", http_client=http)
    sw.wrap_client(client)
    at = {n_calls // 4, n_calls // 2, n_calls}
    for n in range(1, n_calls + 1):
        if n % 2:
            await _one(client, n)
        else:
            with sw.run("r"):
                await _one(client, n)
        if n in at:
            await asyncio.sleep(0.02)
            # `gc.get_objects` would meet tuples that another thread is still building.
            witness.flush(60)
            marks.append(_mark(n))
    await client.close()


def _mark(n: int) -> dict[str, int]:
    gc.collect()
    return {"calls": n, "rss": _resident_bytes(), "objects": len(gc.get_objects())}


def main() -> int:
    """Run, print, and with `--check` say by the exit status whether memory stayed flat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    marks: list[dict[str, int]] = []
    with sw.configure("bench", exporter=_Nowhere()) as witness:
        asyncio.run(_use(options.calls, marks, witness))
        is_flushed = witness.flush(60)
        gc.collect()
        kinds = Counter(type(o).__name__ for o in gc.get_objects() if _is_ours(o))
        found = {
            "calls": options.calls,
            "marks": marks,
            "open_spans": spans.open_count(),
            "waiting_retries": len(retries._waiting),
            "unfinished_chats": sum(
                isinstance(o, ChatSpan) and not o._is_finished for o in gc.get_objects()
            ),
            "traces_in_detector": len(witness.detector._buffer._traces),  # type: ignore[union-attr]
            "most_objects_of_ours": kinds.most_common(3),
        }
    for mark in marks:
        sys.stdout.write(
            f"{mark['calls']:>7} calls  {mark['rss'] / 1e6:7.1f} MB  {mark['objects']:>8} objects\n"
        )
    sys.stdout.write(json.dumps(found) + "\n")
    grown = marks[-1]["rss"] - marks[0]["rss"]
    more = marks[-1]["objects"] - marks[0]["objects"]
    is_flat = is_flushed and grown < MAX_GROWTH_BYTES and more < MAX_GROWTH_OBJECTS
    return 0 if is_flat or not options.check else 1


def _is_ours(value: object) -> bool:
    return str(type(value).__module__).startswith("spanwitness")


if __name__ == "__main__":
    sys.exit(main())
