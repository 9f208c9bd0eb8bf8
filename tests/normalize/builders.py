# ruff: noqa: A002, E501
"""Spans for tests of normalize, in the two vocabularies that are read."""

from __future__ import annotations

import json
from typing import Any

from spanwitness.model import SpanRecord

TRACE = "ab" * 16


def span(
    id: str, parent: str | None = None, *, at: int = 0, took: int = 10, **given: Any
) -> SpanRecord:
    """A span; ids are padded to 16 digits, times are in nanoseconds."""
    attributes = given.pop("attributes", {})
    given.setdefault("name", id)
    return SpanRecord(
        trace_id=given.pop("trace_id", TRACE),
        span_id=sid(id),
        parent_span_id=None if parent is None else sid(parent),
        start_ns=at,
        end_ns=at + took,
        attributes=attributes,
        **given,
    )


def sid(id: str) -> str:
    """The span id that `span` makes of a short name."""
    return id.encode().hex().rjust(16, "0")[-16:]


def parts(*items: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages: a role and one part each."""
    return [{"role": role, "parts": [part]} for role, part in items]


def asks(name: str, id: str | None, **arguments: Any) -> dict[str, Any]:
    """A call in a message."""
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def gives(id: str, response: Any) -> dict[str, Any]:
    """A result in a message."""
    return {"type": "tool_call_response", "id": id, "response": response}


def says(text: str) -> dict[str, Any]:
    """A text in a message."""
    return {"type": "text", "content": text}


def otel_chat(
    id: str,
    parent: str | None = "root",
    *,
    at: int = 0,
    given: list[dict[str, Any]] | None = None,
    reply: list[dict[str, Any]] | None = None,
    offers: list[str] | None = None,
    attributes: dict[str, Any] | None = None,
    **fields: Any,
) -> SpanRecord:
    """A model call in the vocabulary of OTel GenAI."""
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-x",
    }
    if given is not None:
        found["gen_ai.input.messages"] = json.dumps(given)
    if reply is not None:
        found["gen_ai.output.messages"] = json.dumps(
            [{"role": "assistant", "parts": reply, "finish_reason": "stop"}]
        )
    if offers is not None:
        found["gen_ai.tool.definitions"] = json.dumps(
            [
                {"type": "function", "name": name, "parameters": {"type": "object"}}
                for name in offers
            ]
        )
    fields.setdefault("scope", "opentelemetry.instrumentation.genai.openai")
    return span(id, parent, at=at, attributes={**found, **(attributes or {})}, **fields)


def otel_tool(
    id: str, parent: str | None = "root", *, tool: str, at: int = 0, **attributes: Any
) -> SpanRecord:
    """An execution in the vocabulary of OTel GenAI; keywords are `call_id`, `arguments`, `result`."""
    fields = attributes.pop("fields", {})
    found = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    keys = {"call_id": "id", "arguments": "arguments", "result": "result"}
    found |= {f"gen_ai.tool.call.{keys[name]}": value for name, value in attributes.items()}
    return span(id, parent, at=at, attributes=found, **fields)


def own(
    id: str,
    parent: str | None,
    seq: int | None,
    attributes: dict[str, Any],
    *,
    run: str = "run-1",
    **fields: Any,
) -> SpanRecord:
    """A span of ours."""
    found = {"spanwitness.run_id": run, **attributes}
    if seq is not None:
        found["spanwitness.seq"] = seq
    fields.setdefault("at", (seq or 0) * 100)
    return span(id, parent, attributes=found, scope="spanwitness", **fields)


def own_root(
    n_spans: int, *, run: str = "run-1", id: str = "root", **attributes: Any
) -> SpanRecord:
    """The root of a run of ours; keywords are our own attribute names, dots as double underscores."""
    fields = attributes.pop("fields", {})
    found = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "extract",
        "spanwitness.content": "on",
        "spanwitness.spans.started": n_spans,
        "spanwitness.spans.ended": n_spans,
        "spanwitness.complete": True,
    }
    found |= {f"spanwitness.{name.replace('__', '.')}": v for name, v in attributes.items()}
    parent = fields.pop("parent", None)
    return own(id, parent, 1, found, run=run, **fields)


def own_chat(
    id: str,
    seq: int,
    *,
    calls: list[tuple[str, str]] = (),  # type: ignore[assignment]
    delivered: list[str] | None = None,
    fresh: list[dict[str, Any]] | None = None,
    offers: list[str] | None = None,
    parent: str | None = "root",
    **given: Any,
) -> SpanRecord:
    """A model call as we record it; `calls` are pairs of name and id."""
    outlines = [
        {"name": n, "call_id": i, "side": "client", "source": "structured"} for n, i in calls
    ]
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-x",
        "spanwitness.wire": "openai_chat",
        "spanwitness.response.tool_calls": json.dumps(outlines),
        "spanwitness.response.text_chars": 0 if calls else 20,
        "spanwitness.request.delivered_ids": delivered or [],
        "spanwitness.response.ending": "complete",
    }
    if fresh is not None:
        attributes["spanwitness.request.delivered"] = json.dumps(fresh)
    if offers is not None:
        attributes["spanwitness.request.tools_offered"] = offers
    attributes |= given.pop("attributes", {})
    return own(id, parent, seq, attributes, **given)


def own_tool(
    id: str,
    seq: int,
    *,
    tool: str,
    call_id: str | None = None,
    parent: str | None = "root",
    **given: Any,
) -> SpanRecord:
    """An execution as we record it."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "spanwitness.tool.outcome": "value",
        **given.pop("attributes", {}),
    }
    if call_id is not None:
        attributes |= {"gen_ai.tool.call.id": call_id, "spanwitness.tool.link": "exact"}
    return own(id, parent, seq, attributes, **given)


def healthy(run: str = "run-1", **root: Any) -> list[SpanRecord]:
    """A whole run of ours: two calls, each executed and delivered."""
    tools = ["search", "read", "verify"]
    return [
        own_root(6, run=run, **root),
        own_chat("c1", 2, calls=[("search", "k1")], offers=tools, run=run),
        own_tool("t1", 3, tool="search", call_id="k1", run=run),
        own_chat(
            "c2", 4, calls=[("read", "k2")], offers=tools, run=run,
            delivered=["k1"], fresh=[{"call_id": "k1", "state": "whole", "part_types": ["text"]}],
        ),
        own_tool("t2", 5, tool="read", call_id="k2", run=run),
        own_chat(
            "c3", 6, offers=tools, run=run,
            delivered=["k1", "k2"], fresh=[{"call_id": "k2", "state": "whole", "part_types": ["text"]}],
        ),
    ]  # fmt: skip
