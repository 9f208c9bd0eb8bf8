"""Every way out of the process, watched, and an agent that says a secret at every place it can."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import logging
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import anthropic
import mcp
import openai
import pydantic
import structlog
from google import genai
from google.genai import types
from mcp.server.mcpserver import MCPServer

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, error, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization")
PROVIDER_LOGGERS = ("openai", "anthropic", "google_genai", "httpx", "httpcore", "mcp", "asyncio")
"""Libraries of others that log what they send by themselves at DEBUG."""


class RawCollector:
    """Takes every OTLP request over HTTP and keeps its bytes, uncompressed."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        kept = self.bodies

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                is_packed = self.headers.get("content-encoding") == "gzip"
                kept.append(gzip.decompress(body) if is_packed else body)
                kept.append(str(self.headers).encode())
                self.send_response(200)
                self.send_header("content-type", self.headers["content-type"])
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> RawCollector:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Ways:
    """What left the process, by the way it took."""

    collector: RawCollector
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Log lines: logger and text, arguments and traceback included."""
    events: list[str] = field(default_factory=list)
    """structlog events."""
    kept: list[Any] = field(default_factory=list)
    """Judged runs, as a sink gets them."""

    def take(self, judged: Any) -> None:
        self.kept.append(judged)

    def leaks(self, secret: str, folder: Path) -> list[str]:
        """Say by which ways a secret left."""
        raw = secret.encode()
        found = [f"otlp body {i}" for i, body in enumerate(self.collector.bodies) if raw in body]
        found += [str(p) for p in folder.rglob("*") if p.is_file() and raw in p.read_bytes()]
        found += [
            f"log {name}: {line[:200]}"
            for name, line in self.lines
            if secret in line and not name.startswith(PROVIDER_LOGGERS)
        ]
        found += [f"structlog {event}" for event in self.events if secret in event]
        found += [f"verdict {v.rule}" for j in self.kept for v in j.verdicts if secret in repr(v)]
        return found


@contextlib.contextmanager
def watching_all_ways() -> Iterator[Ways]:
    """Watch a collector, every logger at DEBUG, and structlog."""
    root = logging.getLogger()
    level = root.level
    formatter = logging.Formatter("%(message)s")

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            ways.lines.append((record.name, formatter.format(record)))

    def keep(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
        ways.events.append(repr(event))
        raise structlog.DropEvent

    handler = Keep(logging.DEBUG)
    with RawCollector() as collector:
        ways = Ways(collector)
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        structlog.configure(processors=[keep])
        try:
            yield ways
        finally:
            structlog.reset_defaults()
            root.removeHandler(handler)
            root.setLevel(level)


TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"page": {"type": "string"}}},
        },
    }
    for name in ("read_page", "fail")
]


class Talker:
    """An agent that has a secret in every value that it touches."""

    def __init__(self, secret: str, *, header: str | None = None) -> None:
        self.secret = secret
        self.header = header or secret

    def script(self) -> list[Any]:
        """Replies of the provider, in the order of `use_models`."""
        s = self.secret
        asking = call("read_page", {"page": s}, id="call_1")
        return [
            error(500, f"{s} in an error body", headers={"x-trace": s}),
            error(429, f"{s} slow down", headers={"retry-after": "0.01"}),
            [think(f"{s} in reasoning"), text(f"{s} said"), asking],
            reply(text(f"{s} streamed in pieces"), call("fail", {"page": s}), chunk_bytes=5),
            [text(f"{s} abandoned after the first chunk")],
            [text(f'{{"value": 3.6, "quote": "{s}"}}')],
            [think(f'{{"name": "read_page", "arguments": {{"page": "{s}"}}}}'), text(f"a {s}")],
            [text(f'I used read_page and it returned "{s}" on page 4.')],
            [think(s), text(f"{s} by Claude"), call("invent", {"page": s})],
            error(400, f"{s} refused", kind="invalid_request_error"),
            [text(f"{s} by Gemini"), call("read_page", {"page": s, s: s})],
            reply(text(f"{s} and the line goes dead"), dies_after=1),
        ]

    def use_models(self, provider: ScriptedProvider) -> None:
        """Call models over every wire format: whole, streamed, retried, refused, broken off."""
        s = self.secret
        secrets = dict.fromkeys((*HEADERS, "x-acme-token"), self.header)
        client = sw.wrap_client(
            openai.OpenAI(
                base_url=provider.openai_url,
                api_key=self.header,
                default_headers=secrets,
                max_retries=3,
            )
        )
        asking: Any = {
            "model": "m",
            "messages": [
                {"role": "system", "content": f"{s} in the instructions"},
                {"role": "user", "content": f"{s} in the question"},
                {"role": "tool", "tool_call_id": "call_0", "content": f"{s} in a result"},
            ],
            "tools": TOOLS,
            "user": s,
            "metadata": {"k": s},
        }
        chat = client.chat.completions
        chat.create(**asking)
        for _ in chat.create(stream=True, **asking):
            pass
        with chat.create(stream=True, **asking) as chunks:
            next(iter(chunks))
        schema = {
            "type": "object",
            "properties": {"value": {"type": "number"}, "quote": {"const": s}},
            "description": s,
        }
        form: Any = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        chat.create(response_format=form, **asking)
        client.responses.create(model="m", input=s, instructions=s, tools=_flat(TOOLS))
        chat.with_raw_response.create(**asking).parse()
        client.close()
        self._use_claude(provider)
        self._use_gemini(provider)

    def _use_claude(self, provider: ScriptedProvider) -> None:
        s = self.secret
        claude = sw.wrap_client(
            anthropic.Anthropic(
                base_url=provider.anthropic_url, api_key=self.header, max_retries=0,
                default_headers={"X-Acme-Token": self.header},
            )
        )  # fmt: skip
        messages: Any = [{"role": "user", "content": s}]
        with claude.messages.stream(model="c", max_tokens=9, system=s, messages=messages) as got:
            got.get_final_message()
        with contextlib.suppress(anthropic.APIStatusError):
            claude.messages.create(model="c", max_tokens=9, messages=messages)
        claude.close()

    def _use_gemini(self, provider: ScriptedProvider) -> None:
        s = self.secret
        http = types.HttpOptions(base_url=provider.gemini_url, headers={"X-Acme": self.header})
        gemini = sw.wrap_client(genai.Client(api_key=self.header, http_options=http))
        config = types.GenerateContentConfig(system_instruction=s)
        gemini.models.generate_content(model="g", contents=s, config=config)
        with contextlib.suppress(Exception):
            for _ in gemini.models.generate_content_stream(model="g", contents=s):
                pass
        gemini.close()

    def use_tools(self) -> None:
        """Call tools of every kind, with arguments, results, items and exceptions."""
        s = self.secret
        tools = _tools(s, self.header)
        tools["read_page"](s)
        for name in ("fail", "fail_with_headers"):
            with contextlib.suppress(ValueError):
                tools[name](s)
        tools["says_error"](s)
        list(tools["items"](s))
        with contextlib.suppress(RuntimeError):
            list(tools["breaks"](s))
        for _ in tools["items"](s):
            break
        asyncio.run(self._use_async_tools(tools))

    async def _use_async_tools(self, tools: Any) -> None:
        s = self.secret
        async for _ in tools["async_items"](s):
            pass
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(tools["waits"](s), 0.01)
        await self.use_mcp()

    async def use_mcp(self) -> None:
        """Call tools of an MCP server, one of which fails."""
        s = self.secret
        server = MCPServer("pages")

        @server.tool()
        def read_remote(page: str) -> dict[str, str]:
            """Read a page."""
            return {"page": page, "text": f"{s} remote"}

        @server.tool()
        def fail_remote(page: str) -> str:
            raise ValueError(f"{s} remote failure of {page}")

        async with mcp.Client(server) as client:
            sw.wrap_client(client)
            await client.list_tools()
            for name in ("read_remote", "fail_remote", "unknown_remote"):
                with contextlib.suppress(Exception):
                    await client.call_tool(name, {"page": s})

    def run_all(self, provider: ScriptedProvider, **options: Any) -> None:
        """Do all of it in runs: with steps, an agent, a submission, and an end by exception."""
        s = self.secret
        with sw.run("secret", input={"question": s}, **options) as run:
            self.use_models(provider)
            self.use_tools()
            _protocol(s)
            answer = {"answer": s}
            run.submit(answer, claims=[sw.Claim(value=s, quote=s, source=s)])
            answer["answer"] = f"{s} changed"
            run.set(output={"answer": s}, termination="completed")
        with contextlib.suppress(RuntimeError), sw.run("crash", **options):
            raise RuntimeError(f"{s} ends the run")


def _flat(tools: Any) -> Any:
    return [{"type": "function", **tool["function"], "strict": False} for tool in tools]


def _tools(s: str, header: str) -> dict[str, Any]:
    @sw.tool(effect="read")
    def read_page(page: str) -> dict[str, object]:
        return {"text": f"{s} result of {page}", s: [s], "n": 3}

    @sw.tool
    def fail(page: str) -> str:
        raise ValueError(f"{s} in an exception about {page}") from KeyError(s)

    @sw.tool
    def fail_with_headers(page: str) -> str:
        sent = {"Authorization": f"Bearer {header}", "X-Acme-Token": header, "Cookie": header}
        sent |= dict.fromkeys(HEADERS, header)
        raise ValueError(f"request failed: headers={sent!r} x-api-key: {header}")

    @sw.tool(error_when=lambda result: True)
    def says_error(page: str) -> str:
        return f"Error: {s} at {page}"

    @sw.tool
    def items(page: str) -> Iterator[str]:
        yield f"{s} item of {page}"
        yield s

    @sw.tool
    def breaks(page: str) -> Iterator[str]:
        yield s
        raise RuntimeError(f"{s} in the middle of {page}")

    @sw.tool
    async def async_items(page: str) -> Any:
        yield f"{s} async item of {page}"

    @sw.tool
    async def waits(page: str) -> str:
        await asyncio.sleep(5)
        return s

    made = [read_page, fail, fail_with_headers, says_error, items, breaks, async_items, waits]
    return {tool.__name__: tool for tool in made}


def _protocol(s: str) -> None:
    class Answer(pydantic.BaseModel):
        value: float

    @sw.step(kind="verify", verdict=lambda answer: s in answer)
    def check(answer: str) -> str:
        return answer

    @sw.step(kind="revise", before="answer", success=lambda answer: s in answer)
    def improve(answer: str) -> str:
        sw.current_step().set(evidence_adequate=True)
        return f"{answer} and {s}"

    @sw.step(kind="solve", output=Answer)
    def solve(question: str) -> str:
        return f"no JSON but {question}"

    @sw.agent
    def helper(question: str) -> str:
        return check(question)

    check(f"{s} in a checked answer")
    improve(s)
    solve(s)
    helper(s)
