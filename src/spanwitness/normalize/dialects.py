"""Which vocabulary a span speaks, told by its keys, and what part it plays.

The scope name alone does not tell: it varies by package. A vocabulary that we cannot read yet is
named, so that what it would show stays unknown instead of absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.model import SpanRecord

__all__ = ["READ_DIALECTS", "Role", "dialect_of", "role_of", "unread_role"]

Role: TypeAlias = Literal["chat", "tool", "agent", "workflow", "step", "discovery", "other"]

READ_DIALECTS: Final = frozenset({"spanwitness", "otel_genai", "mcp"})
"""Vocabularies that are read; of the others only the name is known."""

_SIGNS: Final = {
    "openinference.span.kind": "openinference",
    "traceloop.span.kind": "openllmetry",
    "langfuse.observation.type": "langfuse",
    "mlflow.spanType": "mlflow",
    "mlflow.traceRequestId": "mlflow",
    "gcp.vertex.agent.event_id": "google_adk",
    "gcp.vertex.agent.invocation_id": "google_adk",
    "logfire.msg": "logfire",
    "logfire.msg_template": "logfire",
    "model_request_parameters": "pydantic_ai",
    "event_loop.cycle_id": "strands",
}
_SCOPES: Final = (
    ("pydantic-ai", "pydantic_ai"),
    ("strands.", "strands"),
    ("gcp.vertex.agent", "google_adk"),
    ("langfuse", "langfuse"),
    ("logfire", "logfire"),
    ("mlflow", "mlflow"),
    ("openinference.", "openinference"),
    ("opentelemetry.instrumentation.openai.v1", "openllmetry"),
    ("opentelemetry.instrumentation.anthropic", "openllmetry"),
    ("opentelemetry.instrumentation.langchain", "openllmetry"),
    ("opentelemetry.instrumentation.bedrock", "openllmetry"),
    ("opentelemetry.instrumentation.cohere", "openllmetry"),
    ("opentelemetry.instrumentation.mistralai", "openllmetry"),
    ("opentelemetry.instrumentation.ollama", "openllmetry"),
    ("opentelemetry.instrumentation.groq", "openllmetry"),
    ("traceloop", "openllmetry"),
)
_SCOPE_DIALECTS: dict[str, str | None] = {}
_MAX_SCOPES: Final = 4096
_GEN_AI_KEYS: Final = (gen_ai.OPERATION_NAME, gen_ai.PROVIDER_NAME, gen_ai.SYSTEM)

_CONTAINERS: Final = frozenset(
    {"chain", "agent", "workflow", "task", "span", "graph", "crew", "unknown", "event", "guardrail"}
)
_KIND_KEYS: Final = (
    "openinference.span.kind",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "mlflow.spanType",
    gen_ai.OPERATION_NAME,
)


def dialect_of(span: SpanRecord) -> str | None:
    """Return the name of a span's vocabulary; `None` when it tells nothing of models and tools."""
    attributes = span.attributes
    if own.RUN_ID in attributes or own.SEQ in attributes or span.scope == "spanwitness":
        return "spanwitness"
    scope = span.scope
    if scope not in _SCOPE_DIALECTS:
        if len(_SCOPE_DIALECTS) >= _MAX_SCOPES:
            _SCOPE_DIALECTS.clear()
        _SCOPE_DIALECTS[scope] = next((d for sign, d in _SCOPES if scope.startswith(sign)), None)
    named = _SCOPE_DIALECTS[scope]
    if named is not None:
        return named
    if not attributes:
        return None
    if not attributes.keys().isdisjoint(_SIGNS):
        return next(dialect for key, dialect in _SIGNS.items() if key in attributes)
    if not attributes.keys().isdisjoint(_GEN_AI_KEYS):
        return "otel_genai"
    return "mcp" if gen_ai.MCP_METHOD_NAME in attributes else None


_OPERATIONS: Final[dict[object, Role]] = {
    **dict.fromkeys(gen_ai.MODEL_OPERATIONS, "chat"),
    gen_ai.EXECUTE_TOOL: "tool",
    gen_ai.INVOKE_AGENT: "agent",
    gen_ai.INVOKE_WORKFLOW: "workflow",
}
_METHODS: Final[dict[object, Role]] = {"tools/call": "tool", "tools/list": "discovery"}


def role_of(span: SpanRecord) -> Role:
    """Return the part that a span of a read vocabulary plays."""
    attributes = span.attributes
    operation = attributes.get(gen_ai.OPERATION_NAME)
    if operation is not None:
        role = _OPERATIONS.get(operation)
        if role is not None:
            return role
    if own.STEP_KIND in attributes:
        return "step"
    method = attributes.get(gen_ai.MCP_METHOD_NAME)
    return "other" if method is None else _METHODS.get(method, "other")


def unread_role(span: SpanRecord) -> Literal["container", "event"]:
    """Say whether a span of an unread vocabulary only holds others, or is itself a call."""
    for key in _KIND_KEYS:
        kind = span.attributes.get(key)
        if isinstance(kind, str):
            word = kind.strip('"').lower().removeprefix("invoke_").removeprefix("create_")
            return "container" if word in _CONTAINERS else "event"
    return "container"
