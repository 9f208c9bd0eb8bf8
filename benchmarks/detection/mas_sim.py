"""MAS-SIM: traces of a four-agent workflow with one injected fault each, labels stripped.

The files are near to OTLP and use keys of their own. What is read: model calls of the agents, the
tool call that the researcher prepares, the tool's span. The token counts show that the executor and
the evaluator were given the tool's result, which their recorded input leaves out; so their requests
carry it here. Nothing that names the fault is read: no `fault.*` event, no expected answer, no
target category.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CATEGORY_OF", "Planted", "categories", "load"]

CATEGORY_OF: Final[dict[str, str]] = {
    "tool_failed": "System Failure",
    "tool_error_swallowed": "System Failure",
    "error_as_answer": "System Failure",
    "argument_invalid": "Invalid Invocation",
    "argument_not_in_schema": "Invalid Invocation",
    "unknown_tool": "Invalid Invocation",
    "result_contradicted": "Misinterpretation of Tool Output",
    "wrong_source": "Misinterpretation of Tool Output",
    "condition_omitted": "Misinterpretation of Tool Output",
    "value_ungrounded": "Invention of New Information",
    "quote_not_located": "Invention of New Information",
    "name_ungrounded": "Invention of New Information",
    "fabricated_observation": "Invention of New Information",
    "argument_ungrounded": "Invention of New Information",
    "restriction_dropped": "Instruction/Plan Adherence Failure",
    "out_of_order": "Instruction/Plan Adherence Failure",
    "required_tool_missing": "Instruction/Plan Adherence Failure",
    "forbidden_tool": "Instruction/Plan Adherence Failure",
}
"""Which category of fault the violation of a rule names."""


@dataclass(frozen=True)
class Planted:
    """A trace and the label that stands in another file."""

    run: str
    spans: list[SpanRecord]
    category: str
    trace_id: str


def load(data: Path) -> list[Planted]:
    """Read the traces and their labels."""
    folder = data / "mas_sim_otel"
    found = []
    for path in sorted((folder / "otel").glob("*.otel.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        name = path.name.removesuffix(".otel.json")
        label = json.loads(
            (folder / "ground_truth" / f"{name}.ground_truth.json").read_text(encoding="utf-8")
        )
        spans = [_read(span, document["spans"]) for span in document["spans"]]
        found.append(Planted(name, spans, label["failure_category"], spans[0].trace_id))
    return found


def categories(rules: set[str]) -> set[str]:
    """Return the categories that violated rules name."""
    return {CATEGORY_OF[rule] for rule in rules if rule in CATEGORY_OF}


def _read(span: dict[str, Any], spans: list[dict[str, Any]]) -> SpanRecord:
    given = span["attributes"]
    if span["parent_span_id"] is None:
        attributes = _root(given, spans)
    elif "tool.result_json" in given:
        attributes = _tool(given)
    else:
        attributes = _agent(given, spans)
    is_error = span["status"]["status_code"] == "ERROR"
    return SpanRecord(
        trace_id=span["trace_id"],
        span_id=span["span_id"],
        parent_span_id=span["parent_span_id"],
        name=f"{attributes['gen_ai.operation.name']} {span['name']}",
        start_ns=span["start_time_unix_ns"],
        end_ns=span["end_time_unix_ns"],
        status="error" if is_error else "unset",
        attributes=attributes,
        resource={"service.name": "mas-sim"},
        scope="mas-sim",
    )


def _root(given: dict[str, Any], spans: list[dict[str, Any]]) -> dict[str, Any]:
    answer = next(
        s["attributes"]["agent.output_message"] for s in spans if s["name"] == "agent.executor"
    )
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": given.get("task.domain", "agent"),
        "gen_ai.output.messages": json.dumps([_says("assistant", answer)]),
    }


def _tool(given: dict[str, Any]) -> dict[str, Any]:
    found = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": given["tool.name"],
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": given["tool.args_json"],
        "gen_ai.tool.call.result": given["tool.result_json"],
    }
    if "error.type" in given:
        found["error.type"] = given["error.type"]
    return found


def _agent(given: dict[str, Any], spans: list[dict[str, Any]]) -> dict[str, Any]:
    question = next(s["attributes"]["task.input"] for s in spans if s["parent_span_id"] is None)
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mas-sim",
        "gen_ai.request.model": given["gen_ai.request.model"],
        "gen_ai.response.model": given["gen_ai.request.model"],
        "gen_ai.agent.name": given["gen_ai.agent.name"],
        "gen_ai.usage.input_tokens": given["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": given["gen_ai.usage.output_tokens"],
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.tool.definitions": "[]",
    }
    history = [_says("user", question)]
    reply = _says("assistant", given["agent.output_message"])
    if given["gen_ai.agent.name"] == "Researcher":
        found["gen_ai.tool.definitions"] = json.dumps([_definition(given)])
        found["gen_ai.response.finish_reasons"] = ["tool_calls"]
        history = [_says("user", question), _says("user", given["agent.input_message"])]
        reply["parts"].append(_asks(given))
    elif given["gen_ai.agent.name"] != "Coordinator":
        history += _exchange(spans)
        history.append(_says("user", given["agent.input_message"]))
    found["gen_ai.input.messages"] = json.dumps(history)
    found["gen_ai.output.messages"] = json.dumps([reply])
    return found


def _exchange(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the call and its result as the later agents are given them."""
    tool = next(s["attributes"] for s in spans if "tool.result_json" in s["attributes"])
    result = {
        "type": "tool_call_response",
        "id": "call_1",
        "response": tool["tool.result_json"],
    }
    return [
        {"role": "assistant", "parts": [_asks(tool)]},
        {"role": "tool", "parts": [result]},
    ]


def _asks(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "id": "call_1",
        "name": given["tool.name"],
        "arguments": json.loads(given["tool.args_json"]),
    }


def _definition(given: dict[str, Any]) -> dict[str, Any]:
    """Make the definition that the span declares, which names the required parameters only."""
    declared = json.loads(given["gen_ai.tool.parameters"])
    return {
        "type": "function",
        "name": given["tool.name"],
        "parameters": {
            "type": "object",
            "properties": {key: {"type": each["type"]} for key, each in declared.items()},
            "required": [key for key, each in declared.items() if each.get("required")],
            "additionalProperties": True,
        },
    }


def _says(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
