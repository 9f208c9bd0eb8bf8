"""The real command in a process of its own: stopped, killed, started again."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import grpc
import httpx
import pytest
from tests.serve.servers import wait_for
from tests.serve.spans import cut_run, good_run, trace_id
from typer.testing import CliRunner

from spanwitness.archive.otlp_proto import encode_proto_request
from spanwitness.cli.app import app
from spanwitness.errors import SettingsError, SpanwitnessError
from spanwitness.review.store.queue import Queue
from spanwitness.review.web.settings import ROLES
from spanwitness.review.web.tokens import Tokens

PROTOBUF = {"content-type": "application/x-protobuf"}


class Command:
    """`spanwitness serve` on free ports."""

    def __init__(self, folder, *options) -> None:
        self.queue_url = f"sqlite:///{folder}/queue.db"
        command = [
            sys.executable, "-m", "spanwitness", "serve", "--port", "0", "--grpc-port", "0",
            "--queue", self.queue_url, "--spool", str(folder / "spool"), *options,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if line.startswith("queue "):
                break
        self.said = "".join(lines)
        found = re.search(r"http://(127\.0\.0\.1:\d+)/v1/traces", self.said)
        assert found, self.said + self.process.stderr.read()
        self.url = f"http://{found[1]}"

    def end(self, how=signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


@contextmanager
def running(folder, *options):
    command = Command(folder, *options)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.end(signal.SIGKILL)
        command.process.stderr.close()


def post(url, spans):
    body = encode_proto_request(spans)
    return httpx.post(f"{url}/v1/traces", content=body, headers=PROTOBUF, timeout=10)


def findings(queue_url):
    queue = Queue.open(queue_url)
    try:
        return Counter((row["trace_id"], row["rule"]) for row in queue.export("findings"))
    finally:
        queue.close()


def test_it_says_where_it_listens_and_a_stop_judges_what_it_holds(tmp_path):
    with running(tmp_path, "--grace", "3600") as server:
        for name in ("OTLP/HTTP", "OTLP/gRPC", "review", "API", "metrics"):
            assert name in server.said
        wait_for(lambda: httpx.get(f"{server.url}/healthz").status_code == 200)
        spans = cut_run()
        assert post(server.url, spans).status_code == 200
        assert httpx.get(f"{server.url}/").status_code == 200
        assert server.end() == 0
    assert findings(server.queue_url) == {(spans[0].trace_id, "truncated_output"): 1}
    assert list((tmp_path / "spool").glob("*.spool")) == []


def test_what_was_answered_outlives_kills_at_random_moments(tmp_path):
    """Acknowledged = answered 200: the request is on disk, and will be judged."""
    random_moment = random.Random(7)
    answered = set()
    unanswered = []
    for _ in range(2):
        with running(tmp_path, "--grace", "0.2", "--no-page") as server:
            n_left = random_moment.randint(15, 60)
            with httpx.Client(timeout=5) as client:
                is_killed = False
                while not is_killed:
                    run = unanswered.pop() if unanswered else cut_run(trace_id())
                    # Root and call come in two requests, so kills fall between them too.
                    for part in (run[1:], run[:1]):
                        n_left -= 1
                        if n_left <= 0 and not is_killed:
                            server.process.kill()
                            is_killed = True
                        try:
                            body = encode_proto_request(part)
                            reply = client.post(
                                f"{server.url}/v1/traces", content=body, headers=PROTOBUF
                            )
                            reply.raise_for_status()
                        except httpx.HTTPError:
                            unanswered.append(run)  # an exporter sends it again
                            break
                    else:
                        answered.add(run[0].trace_id)
            server.process.wait(10)
    with running(tmp_path, "--grace", "0.2", "--no-page") as server:
        assert server.end() == 0
    found = findings(server.queue_url)
    assert len(answered) >= 10
    lost = answered - {trace for trace, rule in found if rule == "truncated_output"}
    assert not lost, f"{len(lost)} of {len(answered)} answered runs were not judged"
    assert set(found.values()) == {1}, "a finding stands twice"


def test_a_proxy_says_who_may_do_what_by_the_headers_of_the_options(tmp_path):
    options = (
        "--access", "proxy", "--proxy", "127.0.0.1", "--user-header", "X-User",
        "--role-header", "X-Role", "--content-header", "X-Content",
    )  # fmt: skip
    with running(tmp_path, *options) as server:
        url = f"{server.url}/api/v1/items"

        def claim(**headers):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return httpx.post(f"{url}/claim", json={}, headers=named).status_code

        assert claim() == 401
        assert claim(X_Forwarded_User="ann", X_Role="admin") == 401
        assert claim(X_User="ann") == 403
        assert claim(X_User="ann", X_Role="owner") == 403
        assert claim(X_User="ann", X_Role="reviewer") == 204
    with running(tmp_path, *options[:4], "--proxy-role", "reviewer") as server:
        url = f"{server.url}/api/v1/items"
        assert claim(X_Forwarded_User="ann") == 204
        assert claim(X_User="ann") == 401


def test_grpc_calls_that_are_refused_stand_in_the_audit_trail(tmp_path):
    with running(tmp_path, "--access", "tokens") as server:
        tokens = Tokens.open(server.queue_url)
        made = {role: tokens.create(role, role, may_see_content=False) for role in ROLES}
        tokens.close()
        address = re.search(r"OTLP/gRPC +(\S+)", server.said)
        with grpc.insecure_channel(address[1]) as channel:
            export = channel.unary_unary(
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
            )
            body = encode_proto_request(good_run())
            for word in (None, "Bearer swt_x_y", f"Bearer {made['viewer'].text}"):
                named = None if word is None else (("authorization", word),)
                with pytest.raises(grpc.RpcError) as refused:
                    export(body, metadata=named, timeout=10)
                assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
            told = f"Bearer {made['reviewer'].text}"
            assert export(body, metadata=(("authorization", told),), timeout=10) == b""
        queue = Queue.open(server.queue_url)
        trail = [e for e in queue.events() if e.action == "refused"]
        queue.close()
    assert [event.actor for event in trail] == ["unknown", "unknown", "viewer"]
    assert {event.data["method"] for event in trail} == {"gRPC"}


def invoke(folder, *options):
    """Run the command in this process, which it does not leave when it refuses to start."""
    ports = ["--port", "0", "--grpc-port", "0"]
    where = ["--spool", str(folder / "other"), "--queue", f"sqlite:///{folder}/other.db"]
    return CliRunner().invoke(app, ["serve", *ports, *where, *options])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "open to the network"),
        (["--access", "proxy"], "needs the proxy's addresses"),
        (["--contract", "none.yaml"], "none.yaml"),
        (["--outbound", "none.yaml"], "cannot be read"),
        (["--suppressions", "none.yaml"], "none.yaml"),
        (["--baseline", "none.json"], "none.json"),
        (["--queue", "mysql://x/y"], "sqlite:///PATH"),
        (["--link", "jaeger=http://x"], "{trace_id}"),
        (["--forward", "localhost:4318"], "http://"),
        (["--port", "4319", "--forward", "http://localhost:4319"], "leads back"),
    ],
)
def test_what_cannot_work_is_told_at_once(tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    done = invoke(tmp_path, *options)
    assert isinstance(done.exception, SpanwitnessError)
    assert told in str(done.exception)


def test_a_port_that_is_taken_is_told(tmp_path):
    with running(tmp_path) as server:
        port = server.url.rpartition(":")[2]
        done = invoke(tmp_path, "--port", port)
        assert isinstance(done.exception, SettingsError)
        assert "is the port taken?" in str(done.exception)
        assert post(server.url, good_run()).status_code == 200
