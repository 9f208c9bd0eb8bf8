"""How many spans a `spanwitness serve` process takes and judges a CPU second, and its memory.

Linux only (`/proc`). Run it alone: `python -m benchmarks.serve_load [BATCHES] [serve options...]`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.model import SpanRecord

_HELLO = {"type": "text", "content": "Hello."}
RUNS_PER_BATCH = 50
SPANS_PER_RUN = 10


def run(number: int, *, is_flagged: bool) -> list[SpanRecord]:
    """Return an agent run: a root, a model call, eight tool calls with small results."""
    trace = f"{number + 1:032x}"
    resource = {"service.name": "load"}

    def span(own: int, name: str, **attributes: object) -> SpanRecord:
        return SpanRecord(
            trace_id=trace,
            span_id=f"{own:016x}",
            parent_span_id=None if own == 1 else f"{1:016x}",
            name=name,
            start_ns=1_000 + own,
            end_ns=2_000 + own,
            attributes={key.replace("__", "."): value for key, value in attributes.items()},
            resource=resource,
            scope="load",
        )

    reason = "length" if is_flagged else "stop"
    return [
        span(1, "invoke_agent a", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="a"),
        span(
            2,
            "chat m",
            gen_ai__operation__name="chat",
            gen_ai__response__finish_reasons=[reason],
            gen_ai__output__messages=json.dumps(
                [{"role": "assistant", "finish_reason": reason, "parts": [_HELLO]}]
            ),
        ),
        *(
            span(
                3 + place,
                "execute_tool t",
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="t",
                gen_ai__tool__call__arguments=json.dumps({"q": place}),
                gen_ai__tool__call__result="x" * 300,
            )
            for place in range(SPANS_PER_RUN - 2)
        ),
    ]


class Server:
    """A server process and what `/proc` says of it."""

    def __init__(self, folder: str, *options: str) -> None:
        command = [
            sys.executable, "-m", "spanwitness", "serve", "--port", "0", "--grpc-port", "0",
            "--queue", f"sqlite:///{folder}/queue.db", "--spool", f"{folder}/spool",
            "--grace", "1", "--no-page", *options,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.url = ""
        for line in self.process.stderr or ():
            found = re.search(r"(http://\S+)/v1/traces", line)
            self.url = found[1] if found else self.url
            if line.startswith("queue "):
                break

    def cpu_s(self) -> float:
        """Return the CPU time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def main() -> None:
    """Send batches until all are taken, wait until all are judged, and print what it cost."""
    n_batches = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    bodies = [
        encode_proto_request(
            [
                span
                for place in range(RUNS_PER_BATCH)
                for span in run(batch * RUNS_PER_BATCH + place, is_flagged=place == 0)
            ]
        )
        for batch in range(n_batches)
    ]
    n_spans = n_batches * RUNS_PER_BATCH * SPANS_PER_RUN
    with tempfile.TemporaryDirectory() as folder, httpx.Client(timeout=60) as client:
        server = Server(folder, *sys.argv[2:])
        client.get(f"{server.url}/healthz")
        before, n_refused = server.cpu_s(), 0
        for number, body in enumerate(bodies):
            headers = {"content-type": "application/x-protobuf"}
            while client.post(f"{server.url}/v1/traces", content=body, headers=headers).is_error:
                n_refused += 1
                time.sleep(0.5)
            if number % max(1, n_batches // 5) == 0:
                print(f"{number * RUNS_PER_BATCH * SPANS_PER_RUN:>9,} spans  "
                      f"{server.memory_mib():.0f} MiB")  # fmt: skip
        taken = server.cpu_s() - before
        while client.get(f"{server.url}/healthz").json()["traces_waiting"]:
            time.sleep(0.2)
        judged = server.cpu_s() - before
        print(f"{n_spans:>9,} spans  {server.memory_mib():.0f} MiB, {n_refused} times told to wait")
        print(f"taken:                     {n_spans / taken:>8,.0f} spans a CPU second")
        print(f"taken, judged and filed:   {n_spans / judged:>8,.0f} spans a CPU second")
        server.process.terminate()
        server.process.wait()


if __name__ == "__main__":
    main()
