"""Tool definitions, tool choice and output format, as OpenAI and its kin spell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.model import OutputFormat, ToolChoice, ToolDefinition
from spanwitness.model.digest import digest_text
from spanwitness.wire.reading import (
    canonical_json,
    digest_json,
    is_objects,
    items,
    mapping,
    schema,
    text,
)

if TYPE_CHECKING:
    from spanwitness.model.calls import Side

__all__ = [
    "AUTO",
    "PLAIN_TEXT",
    "grammar_format",
    "hosted_name",
    "mcp_definitions",
    "read_definitions",
    "read_format",
    "read_mcp_listing",
    "read_tool_choice",
    "schema_format",
]

AUTO: Final = ToolChoice(mode="auto")
PLAIN_TEXT: Final = OutputFormat(kind="text")
_CLIENT_RUN: Final = frozenset(
    {"computer", "computer_use_preview", "computer_use", "local_shell", "apply_patch"}
)
"""Built-in tools that the caller runs."""


def read_definitions(tools: object) -> tuple[ToolDefinition, ...]:
    """Read a `tools` array."""
    found: list[ToolDefinition] = []
    for tool in items(tools):
        found.extend(_read_definition(tool))
    return tuple(found)


def _read_definition(tool: dict[str, object]) -> tuple[ToolDefinition, ...]:
    kind = text(tool.get("type"))
    # Chat completions nest the definition under its type, Responses does not.
    nested = tool.get("function") if kind is None else tool.get(kind, tool.get("function"))
    inner = nested if isinstance(nested, dict) else tool
    name = text(inner.get("name"))
    is_deferred = tool.get("defer_loading") is True or inner.get("defer_loading") is True
    if kind == "mcp":
        return mcp_definitions(tool, text(tool.get("server_label")), is_deferred=is_deferred)
    if kind == "namespace":
        return read_definitions(tool.get("tools"))
    if name is not None and kind in {None, "function", "custom", "builtin_function"}:
        parameters = schema(inner.get("parameters"))
        return (
            ToolDefinition(
                name=name,
                side="provider" if name.startswith("$") else "client",
                parameters=parameters,
                is_deferred=is_deferred,
            ),
        )
    if kind is None:
        return ()
    return (ToolDefinition(name=hosted_name(kind), side=_hosted_side(kind, tool)),)


def _hosted_side(kind: str, tool: dict[str, object]) -> Side:
    if kind in _CLIENT_RUN:
        return "client"
    if kind == "shell":
        # Run in a container by the provider, or locally by the caller.
        where = text(mapping(tool.get("environment")).get("type"))
        return "client" if where in {None, "local"} else "provider"
    if kind == "tool_search" and tool.get("execution") == "client":
        return "client"
    return "provider"


def hosted_name(kind: str) -> str:
    """Return one name for all dated and preview spellings of a hosted tool."""
    if kind.startswith("web_search"):
        return "web_search"
    if kind.startswith("computer"):
        return "computer"
    return kind


def mcp_definitions(
    tool: dict[str, object], server: str | None, *, is_deferred: bool = False
) -> tuple[ToolDefinition, ...]:
    """Read a remote MCP server: its tools if the request names them, else a row for the server."""
    allowed = tool.get("allowed_tools")
    if isinstance(allowed, dict):
        allowed = allowed.get("tool_names")
    names = [name for name in allowed if isinstance(name, str)] if is_objects(allowed) else []
    return tuple(
        ToolDefinition(name=name, side="mcp", is_deferred=is_deferred)
        for name in names or [f"mcp:{server or 'unnamed'}"]
    )


def read_mcp_listing(
    tools: object, schema_keys: tuple[str, ...] = ("input_schema",)
) -> tuple[ToolDefinition, ...]:
    """Read the tools that a provider found on an MCP server."""
    found: list[ToolDefinition] = []
    for tool in items(tools):
        name = text(tool.get("name"))
        if name is None:
            continue
        parameters = next((schema(tool[key]) for key in schema_keys if key in tool), None)
        found.append(ToolDefinition(name=name, side="mcp", parameters=parameters))
    return tuple(found)


def read_tool_choice(choice: object, legacy: object = None) -> ToolChoice:
    """Read `tool_choice` (and chat completions' older `function_call`); unset is `auto`."""
    if choice is None:
        choice = legacy
    if isinstance(choice, str):
        if choice in {"none", "required", "auto"}:
            return ToolChoice(mode=choice)  # type: ignore[arg-type]  # one of the three words
        return ToolChoice(mode="required") if choice == "any" else AUTO
    if not isinstance(choice, dict):
        return AUTO
    kind = text(choice.get("type"))
    if kind == "allowed_tools":
        allowed = mapping(choice.get("allowed_tools")) or choice
        names = tuple(
            name for tool in items(allowed.get("tools")) if (name := _named(tool)) is not None
        )
        if allowed.get("mode") == "required" and len(names) == 1:
            return ToolChoice(mode="named", names=names)
        return ToolChoice(mode="allowed", names=names)
    if kind in {"auto", "none", "required"}:
        return ToolChoice(mode=kind)  # type: ignore[arg-type]  # one of the three words
    if kind == "any":
        return ToolChoice(mode="required")
    named = _named(choice)
    return AUTO if named is None else ToolChoice(mode="named", names=(named,))


def _named(choice: dict[str, object]) -> str | None:
    kind = text(choice.get("type"))
    inner = mapping(choice.get(kind)) if kind is not None else mapping(choice.get("function"))
    name = text(inner.get("name")) or text(choice.get("name"))
    if name is not None:
        return name
    if kind == "mcp":
        return f"mcp:{text(choice.get('server_label')) or 'unnamed'}"
    return None if kind in {None, "function", "custom"} else hosted_name(str(kind))


def schema_format(value: object, name: str | None = None) -> OutputFormat:
    """Describe an answer that has to follow a JSON Schema."""
    if isinstance(value, str):
        # Some servers take the schema as a string of JSON.
        return OutputFormat(kind="json_schema", name=name, schema_digest=digest_text(value))
    found = schema(value)
    return OutputFormat(
        kind="json_schema",
        name=name,
        schema_digest=None if found is None else digest_json(found),
        schema=found if isinstance(found, dict) else None,
    )


def grammar_format(value: object) -> OutputFormat:
    """Describe an answer that has to follow a grammar, a pattern or a list of choices."""
    plain = value if isinstance(value, str) else canonical_json(value)
    return OutputFormat(kind="grammar", schema_digest=digest_text(plain))


def read_format(form: object) -> OutputFormat:
    """Read `response_format` or `text.format`; unset is `text`."""
    if not isinstance(form, dict):
        return PLAIN_TEXT if form is None else grammar_format(form)
    kind = text(form.get("type"))
    if kind in {None, "text"}:
        return PLAIN_TEXT
    if kind == "json_schema":
        inner = form.get("json_schema")
        holder = (
            inner if isinstance(inner, dict) and ("schema" in inner or "name" in inner) else form
        )
        name = text(holder.get("name"))
        if holder is form and isinstance(inner, dict):
            return schema_format(inner, name)
        return schema_format(holder.get("schema"), name)
    if kind == "json_object":
        return (
            schema_format(form["schema"])
            if form.get("schema")
            else OutputFormat(kind="json_object")
        )
    return grammar_format(form)
