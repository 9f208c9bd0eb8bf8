"""What goes wrong on the first day must not look like a good result."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import threading
import spanwitness as sw

@sw.tool
def look(page: int) -> str:
    return "3.6 V"

witness = sw.configure("first-day")
with sw.run("unwrapped", agent="reader"):
    look(3)
thread = threading.Thread(target=look, args=(3,))
thread.start()
thread.join()
try:
    with sw.run("crashed", agent="reader"):
        raise LookupError("x")
except LookupError:
    pass
assert witness.flush(5)
"""
_PLAIN_SPAN = (
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",'
    '"spanId":"eee19b7ec3c1b174","name":"GET"}]}]}]}'
)


@pytest.fixture
def state(tmp_path, spanwitness):
    subprocess.run([sys.executable, "-c", _SCRIPT], env=spanwitness.environment, check=True)
    return tmp_path / "state"


def test_runs_that_show_no_model_call_cannot_tell_and_say_why(state, spanwitness):
    lines = spanwitness("check", state).out.splitlines()
    told = {line.split()[2]: line for line in lines if line.startswith(" CANNOT TELL ")}
    assert sorted(told) == ["crashed", "execute_tool", "unwrapped"]
    assert told["crashed"].endswith("  ended with LookupError")
    out = "\n".join(lines)
    assert "no model call is recorded; was the client given to sw.wrap_client?" in out
    assert "in a thread without its context? (sw.bind_context)" in out
    assert "NO FINDING" not in out


def test_the_state_folder_itself_can_be_checked_where_findings_lie_beside_traces(
    state, spanwitness
):
    (state / "findings.jsonl").write_text('{"schema": "spanwitness.finding/1", "rule": "x"}\n')
    checked = spanwitness("check", state)
    assert checked.status == 0
    assert checked.err == ""
    alone = spanwitness("check", state / "findings.jsonl")
    assert "findings.jsonl: findings, not spans" in alone.err


def test_a_contract_that_is_about_no_run_is_told(state, spanwitness):
    contract = state / "reader.yaml"
    text = 'contract: reading\nversion: "1"\nwhen: {agent: AGENT}\nexpect: []\n'
    contract.write_text(text.replace("AGENT", "readers"))
    told = "contract reading: it is about none of these runs; compare its `when` with them"
    assert told in spanwitness("check", "--contract", contract, state).err
    contract.write_text(text.replace("AGENT", "reader"))
    assert spanwitness("check", "--contract", contract, state).err == ""


def test_a_trace_of_something_else_is_told(tmp_path, spanwitness):
    trace = tmp_path / "web.json"
    trace.write_text(_PLAIN_SPAN)
    checked = spanwitness("check", trace)
    assert checked.status == 3
    assert "1 trace holds no span of an agent, a model call or a tool" in checked.err


def test_the_demo_needs_no_proxy(tmp_path, spanwitness):
    shown = spanwitness("demo", "--no-page", "--out", tmp_path, HTTP_PROXY="http://127.0.0.1:9")
    assert shown.status == 0, shown.err
    assert f"  spanwitness check {tmp_path / 'with-schema.otlp.json'}\n" in shown.out


def test_a_finding_below_warning_is_noted(tmp_path, spanwitness):
    script = f"""
import openai
import spanwitness as sw
from spanwitness.testing import ScriptedProvider, text

definition = {{"name": "look", "parameters": {{"type": "object", "properties": {{}}}}}}
witness = sw.configure("first-day", state_dir={str(tmp_path)!r})
with ScriptedProvider([text("It is 37.5 V.")]) as provider:
    with openai.OpenAI(base_url=provider.openai_url, api_key="x") as client, sw.run("guess"):
        sw.wrap_client(client).chat.completions.create(
            model="scripted",
            messages=[{{"role": "user", "content": "Look."}}],
            tools=[{{"type": "function", "function": definition}}],
        )
assert witness.flush(5)
"""
    subprocess.run([sys.executable, "-c", script], env=spanwitness.environment, check=True)
    checked = spanwitness("check", tmp_path / "traces")
    assert checked.status == 0
    assert checked.out.startswith(" NOTED  guess")
    assert "info  tool_bypass" in checked.out
