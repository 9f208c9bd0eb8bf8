"""A webhook receiver on loopback that answers as it is told, and keeps what it got."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from tests.serve.spans import cut_run

from spanwitness.live.evaluate import judge_trace
from spanwitness.review.store.queue import Queue

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


class Got(NamedTuple):
    at: float
    headers: dict[str, str]
    body: bytes
    path: str

    @property
    def json(self):
        return json.loads(self.body)


class Receiver:
    """Answers by its script: a status, or (status, headers), or seconds to hang; then 204."""

    def __init__(self, *script) -> None:
        self.script = deque(script)
        self.got: list[Got] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def answer(self, request) -> Response:
        body = await request.body()
        self.got.append(Got(time.monotonic(), dict(request.headers), body, request.url.path))
        step = self.script.popleft() if self.script else 204
        if isinstance(step, float):
            await asyncio.sleep(step)
            return Response(status_code=204)
        if isinstance(step, tuple):
            return Response(status_code=step[0], headers=step[1])
        return Response(status_code=step)


@contextmanager
def listening(app, **tls):
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", lifespan="off",
        timeout_graceful_shutdown=1, **tls,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def receiving(*script, **tls):
    receiver = Receiver(*script)
    route = Route("/{path:path}", receiver.answer, methods=["POST", "DELETE"])
    with listening(Starlette(routes=[route]), **tls) as port:
        receiver.port = port
        yield receiver


def filled_queue(tmp_path, n_items=1, **more):
    """Open a queue with items in it: one for each agent."""
    queue = Queue.open(f"sqlite:///{tmp_path}/queue.db", **more)
    for number in range(n_items):
        spans = cut_run()
        spans[0].attributes["gen_ai.agent.name"] = f"clerk {'abcdefghijklmnopqrstuvwxyz'[number]}"
        for judged in judge_trace(spans):
            queue.add(judged, spans=spans)
    return queue
