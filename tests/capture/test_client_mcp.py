from __future__ import annotations

import asyncio
import inspect
import json
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import Tool, ToolAnnotations
from tests.capture import mcp_pages_server
from tests.capture.witnessing import watching

from spanwitness.capture.client import wrap_client
from spanwitness.capture.content import ContentPolicy
from spanwitness.capture.instrument import instrument, uninstrument
from spanwitness.capture.mcp_values import effect_of
from spanwitness.capture.run import run
from spanwitness.capture.tool import tool_call
from spanwitness.errors import PhaseError
from spanwitness.model import ToolRequest

SERVER = str(Path(__file__).with_name("mcp_pages_server.py"))


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes)


@asynccontextmanager
async def over_stdio(wrap: Any = wrap_client):
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER])
    async with stdio_client(parameters) as (read, write), mcp.ClientSession(read, write) as session:
        wrap(session)
        await session.initialize()
        yield session


@asynccontextmanager
async def in_memory(wrap: Any = wrap_client):
    client = mcp.Client(mcp_pages_server.server)
    wrap(client)
    async with client:
        yield client


@pytest.fixture(scope="module")
def http_url():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, SERVER, "http", str(port)])
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(5)


async def use(session: Any) -> None:
    listed = await session.list_tools()
    assert {tool.name for tool in listed.tools} >= {"read_page", "save_value", "search", "fail"}
    result = await session.call_tool("read_page", {"page": 2})
    assert result.structured_content["text"] == "250 mA"


def check(seen: Any) -> None:
    (listing,) = [attributes(span) for span in seen.named("tools/list")]
    assert listing["mcp.method.name"] == "tools/list"
    assert "read_page" in listing["spanwitness.tools.configured"]
    assert listing["spanwitness.tool.server"] == "pages"
    assert "inputSchema" in listing["spanwitness.tools.configured.schemas"] or (
        "parameters" in listing["spanwitness.tools.configured.schemas"]
    )
    (call,) = [attributes(span) for span in seen.named("execute_tool")]
    expected = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_page",
        "gen_ai.tool.call.arguments": '{"page":2}',
        "mcp.method.name": "tools/call",
        "spanwitness.tool.side": "mcp",
        "spanwitness.tool.server": "pages",
        "spanwitness.tool.effect": "read",
        "spanwitness.tool.outcome": "value",
    }
    assert {key: call[key] for key in expected} == expected
    assert json.loads(call["gen_ai.tool.call.result"])["text"] == "250 mA"


async def test_a_session_over_stdio_is_recorded():
    with watching() as seen:
        async with over_stdio() as session:
            await use(session)
        check(seen)


async def test_a_client_over_http_is_recorded(http_url):
    with watching() as seen:
        async with wrap_client(mcp.Client(http_url)) as client:
            await use(client)
        check(seen)


async def test_a_client_in_memory_is_recorded():
    with watching() as seen:
        async with in_memory() as client:
            await use(client)
        check(seen)


async def test_client_and_session_both_wrapped_give_one_span():
    with watching() as seen:
        async with in_memory() as client:
            wrap_client(client.session)
            wrap_client(client)
            await use(client)
            check(seen)
            await client.session.call_tool("read_page", {"page": 2})
        assert len(seen.named("execute_tool")) == 2


async def test_instrument_watches_every_session_until_uninstrument():
    instrument("mcp")
    instrument("mcp")
    try:
        with watching() as seen:
            async with in_memory(wrap=lambda client: client) as client:
                await use(client)
            check(seen)
    finally:
        uninstrument("mcp")
    with watching() as seen:
        async with in_memory(wrap=lambda client: client) as client:
            await use(client)
        assert seen.named("execute_tool") == []


@pytest.mark.parametrize(
    ("tool", "given", "outcome"),
    [
        ("read_page", {"page": 2}, "value"),
        ("search", {"query": "x"}, "empty"),
        ("fail", {"reason": "x"}, "error"),
        ("no_such_tool", {}, "error"),
    ],
)
async def test_what_a_tool_gave_is_told_and_passed_on_unchanged(tool, given, outcome):
    seen_results = []
    for wrap in (lambda client: client, wrap_client):
        with watching() as seen:
            async with in_memory(wrap) as client:
                try:
                    result = await client.call_tool(tool, given)
                    seen_results.append((type(result), result.model_dump()))
                except MCPError as error:
                    seen_results.append((type(error), str(error)))
    assert seen_results[0] == seen_results[1]
    (span,) = seen.named("execute_tool")
    assert span.attributes["spanwitness.tool.outcome"] == outcome
    if outcome == "error":
        assert span.status.status_code.name == "ERROR"
        assert span.attributes["error.type"]


async def test_a_cancelled_call_ends_its_span_as_cancelled():
    with watching() as seen:
        async with in_memory() as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await client.call_tool("wait", {"seconds": 5})
        (span,) = seen.named("execute_tool")
    assert span.attributes["spanwitness.tool.outcome"] == "cancelled"


async def test_a_listing_that_fails_is_recorded_with_its_error():
    with watching() as seen:
        async with wrap_client(mcp.Client(Server("no tools"))) as client:
            with pytest.raises(MCPError):
                await client.list_tools()
        (span,) = seen.named("tools/list")
    assert span.attributes["error.type"]
    assert "spanwitness.tools.configured" not in span.attributes


async def test_the_models_call_is_claimed_and_its_result_held():
    request = ToolRequest(name="read_page", call_id="call_1", arguments={"page": 2})
    with watching() as seen:
        seen.state.board.post([request], "")
        async with in_memory() as client:
            await client.call_tool("read_page", {"page": 2})
        (span,) = seen.named("execute_tool")
        held = seen.state.board.held("call_1")
    assert span.attributes["gen_ai.tool.call.id"] == "call_1"
    assert span.attributes["spanwitness.tool.link"] == "exact"
    assert held.value["text"] == "250 mA"


async def test_the_call_that_a_loop_names_is_taken():
    with watching() as seen:
        async with in_memory() as client:
            with tool_call("call_9"):
                await client.call_tool("read_page", {"page": 2})
        (span,) = seen.named("execute_tool")
    assert span.attributes["gen_ai.tool.call.id"] == "call_9"
    assert span.attributes["spanwitness.tool.link"] == "explicit"


async def test_with_content_off_neither_arguments_nor_results_leave():
    with watching(policy=ContentPolicy(mode="off")) as seen:
        async with in_memory() as client:
            await client.list_tools()
            await client.call_tool("read_page", {"page": 271828})
            await client.call_tool("fail", {"reason": "canary-argument"})
        everything = "".join(span.to_json() for span in seen.spans if "MCP" not in span.name)
    assert "canary" not in everything
    assert "271828" not in everything
    assert "spanwitness.tool.result.digest" in everything


async def test_the_wrapped_methods_look_like_the_bare_ones():
    bare = mcp.Client(mcp_pages_server.server)
    wrapped = wrap_client(mcp.Client(mcp_pages_server.server))
    for name in ("call_tool", "list_tools"):
        assert inspect.signature(getattr(wrapped, name)) == inspect.signature(getattr(bare, name))
        assert inspect.iscoroutinefunction(getattr(wrapped, name))
        assert getattr(wrapped, name).__doc__ == getattr(bare, name).__doc__


@pytest.mark.parametrize("on_violation", ["flag", "refuse"])
async def test_the_phases_of_a_run_hold_for_calls_of_a_session(on_violation):
    with watching(with_run=False) as seen:
        async with in_memory() as client:
            phases = {"read_page": "before_submit"}
            with run("r", phases=phases, on_violation=on_violation) as current:
                await client.call_tool("read_page", {"page": 2})
                current.submit("250 mA")
                if on_violation == "refuse":
                    with pytest.raises(PhaseError, match="'read_page' is not exposed after submit"):
                        await client.call_tool("read_page", {"page": 3})
                else:
                    await client.call_tool("read_page", {"page": 3})
                await client.call_tool("search", {"query": "x"})
    fine, late, free = [attributes(span) for span in seen.named("execute_tool")]
    assert fine["spanwitness.phase"] == "before_submit"
    assert fine["spanwitness.phase.violation"] is False
    assert late["spanwitness.phase"] == "after_submit"
    assert late["spanwitness.phase.violation"] is True
    assert late["spanwitness.phase.refused"] is (on_violation == "refuse")
    assert late["spanwitness.tool.outcome"] == ("error" if on_violation == "refuse" else "value")
    assert "spanwitness.phase" not in free


@pytest.mark.parametrize(
    ("hints", "effect"),
    [
        ({"read_only_hint": True}, "read"),
        ({"read_only_hint": False, "destructive_hint": False}, "write"),
        ({"destructive_hint": True}, "write"),
        ({"destructive_hint": False}, None),
        ({}, None),
    ],
)
def test_the_hints_of_a_tool_say_what_it_does(hints, effect):
    listed = Tool(name="t", input_schema={}, annotations=ToolAnnotations(**hints))
    assert effect_of(listed) == effect
