"""Runs of the demo agent arrive in a real Jaeger, over both protocols, and are found by flag."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

pytestmark = pytest.mark.e2e

_AGENT = """
import sys
import openai
import spanwitness as sw
from spanwitness.cli.demo_agent import answer_like_a_strict_server, extract
from spanwitness.testing import ScriptedProvider

witness = sw.configure(service_name=sys.argv[1], endpoint=sys.argv[2], protocol=sys.argv[3])
with ScriptedProvider(answer_like_a_strict_server) as provider:
    client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="scripted"))
    extract(client, with_schema=False)
    extract(client, with_schema=True)
assert witness.flush(timeout_s=10), witness.losses.as_dict()
"""


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_flagged_run_is_found_in_jaeger_by_its_flag(jaeger, protocol):
    service = f"extractor-{uuid.uuid4().hex[:8]}"
    endpoint = jaeger.grpc_endpoint if protocol == "grpc" else jaeger.http_endpoint
    subprocess.run(
        [sys.executable, "-c", _AGENT, service, endpoint, protocol], check=True, timeout=60
    )

    runs = jaeger.wait_for_traces(service, 2)
    flagged = jaeger.wait_for_traces(service, 1, {"spanwitness.flagged": "true"})

    assert len(runs) == 2
    assert len(flagged) == 1
    root = next(s for s in flagged[0]["spans"] if not s["references"])
    tags = {tag["key"]: tag["value"] for tag in root["tags"]}
    assert "output_constraint_bypass" in str(tags["spanwitness.rules.violated"])
    fields = [{f["key"]: f["value"] for f in log["fields"]} for log in root["logs"]]
    failed = [f for f in fields if f.get("gen_ai.evaluation.score.label") == "fail"]
    assert [f["gen_ai.evaluation.name"] for f in failed] == ["output_constraint_bypass"]

    healthy = next(run for run in runs if run["traceID"] != flagged[0]["traceID"])
    names = [span["operationName"] for span in healthy["spans"]]
    assert sorted(n for n in names if n.startswith("execute_tool")) == [
        "execute_tool read_page",
        "execute_tool search_text",
        "execute_tool verify_quote",
    ]
    assert sum(n.startswith("chat ") for n in names) == 4
