"""A real server on a free port, for the tests of this folder."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager

import uvicorn


class Running:
    def __init__(self, server: uvicorn.Server, thread: threading.Thread, port: int) -> None:
        self.server = server
        self.thread = thread
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(app):
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    wait_for(lambda: server.started, what="the server")
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Running(server, thread, port)
    finally:
        server.should_exit = True
        thread.join(20)


def wait_for(is_true, *, timeout_s: float = 10.0, what: str = "it"):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found = is_true()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited {timeout_s} s for {what}")


class Collecting:
    """A sink that keeps what it is told; it fails as often as it is asked to."""

    name = "collecting"

    def __init__(self, *, n_failures: int = 0) -> None:
        self.runs = []
        self.n_failures = n_failures

    def take(self, runs) -> None:
        if self.n_failures:
            self.n_failures -= 1
            raise OSError("not now")
        self.runs.extend(runs)

    def rules(self):
        return {v.rule for run in self.runs for v in run.judged.findings}
