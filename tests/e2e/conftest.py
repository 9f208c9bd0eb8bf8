"""Real backends and a real browser for the end-to-end tests; `make e2e` sets them up."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
      http: {{endpoint: "127.0.0.1:{http}"}}
processors:
  batch: {{timeout: 100ms}}
exporters:
  jaeger_storage_exporter: {{trace_storage: memory}}
extensions:
  jaeger_storage:
    backends:
      memory: {{memory: {{max_traces: 10000}}}}
  jaeger_query:
    storage: {{traces: memory}}
    http: {{endpoint: "127.0.0.1:{query}"}}
    grpc: {{endpoint: "127.0.0.1:{query_grpc}"}}
service:
  extensions: [jaeger_storage, jaeger_query]
  telemetry:
    metrics: {{level: none}}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [jaeger_storage_exporter]
"""


@dataclass(frozen=True)
class Jaeger:
    """A running Jaeger: where it takes OTLP, and its query API."""

    grpc_endpoint: str
    http_endpoint: str
    query_url: str

    def traces(self, service: str, **tags: str) -> list[dict[str, object]]:
        """Search traces of a service by tags, as its search page does."""
        import json

        parameters = {"service": service, "limit": "50", "lookback": "1h"}
        if tags:
            parameters["tags"] = json.dumps(tags)
        answer = httpx.get(f"{self.query_url}/api/traces", params=parameters, timeout=10)
        answer.raise_for_status()
        return answer.json()["data"] or []

    def wait_for_traces(
        self, service: str, n_traces: int, tags: dict[str, str] | None = None
    ) -> list[dict[str, object]]:
        """Search until so many traces are there, for at most 15 seconds."""
        deadline = time.monotonic() + 15
        found = self.traces(service, **(tags or {}))
        while len(found) < n_traces and time.monotonic() < deadline:
            time.sleep(0.2)
            found = self.traces(service, **(tags or {}))
        return found


def _free_ports(n_ports: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n_ports)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    folder = os.environ.get("SPANWITNESS_BACKENDS")
    binary = Path(folder) / "jaeger" if folder else None
    if binary is None or not binary.exists():
        pytest.fail("no Jaeger: run these tests by `make e2e`, which builds it")
    grpc, http, query, query_grpc = _free_ports(4)
    home = tmp_path_factory.mktemp("jaeger")
    config = home / "config.yaml"
    config.write_text(_CONFIG.format(grpc=grpc, http=http, query=query, query_grpc=query_grpc))
    with (home / "log").open("w") as log:
        process = subprocess.Popen([binary, "--config", config], stdout=log, stderr=log, cwd=home)
    found = Jaeger(
        f"http://127.0.0.1:{grpc}", f"http://127.0.0.1:{http}", f"http://127.0.0.1:{query}"
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{found.query_url}/api/services", timeout=2).raise_for_status()
                break
            except httpx.HTTPError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail("Jaeger did not start: " + (home / "log").read_text()[-2000:])
                time.sleep(0.2)
        yield found
    finally:
        # A graceful end of Jaeger takes half a minute, and nothing of it is kept.
        process.kill()
        process.wait(10)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            pytest.fail(f"no {name}: run these tests by `make e2e`, which installs it")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1360,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()
