"""What rules ask of a list of offered tools, worked out once for all requests that share it.

The same list stands in every request of a run, and readers decode equal lists once, so what follows
from it is kept by the identity of the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.rules import tool_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.model import ToolDefinition

_MOST = 512
_kept: dict[int, Offers] = {}


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """A list of offered tools, indexed."""

    tools: tuple[ToolDefinition, ...]
    names: frozenset[str]
    bare_names: frozenset[str]
    """Without a server's prefix; see `tool_names.bare`."""
    reachable_names: frozenset[str]
    """The bare names, and for `server_read` also `read`: some hosts join them so."""
    schemas: dict[str, dict[str, object]]
    """By name: JSON Schema of the arguments, where it was recorded."""
    declared: dict[str, frozenset[str]]
    """By name: all arguments, where the schema names them and leaves no other way open."""
    required: dict[str, frozenset[str]]
    """By name: the arguments that a call has to give."""
    types: dict[str, dict[str, frozenset[type]]]
    """By name and argument: the types of decoded JSON that its declaration allows."""
    output_names: frozenset[str]
    """Those on the `output` side."""
    terminal_names: frozenset[str]
    """Those whose name says that they only give the answer or end the run."""
    write_names: frozenset[str]
    """Those whose name says that they change something."""
    is_plain: bool
    """No name stands twice, and every tool has a schema that is an object."""
    is_open: bool
    """More tools may be loaded on demand."""


def index_of(tools: tuple[ToolDefinition, ...] | None) -> Offers:
    """Return what follows from a list of offered tools; `None` counts as an empty list."""
    if not tools:
        return _NONE
    found = _kept.get(id(tools))
    if found is None or found.tools is not tools:
        found = _index(tools)
        if len(_kept) >= _MOST:
            _kept.clear()
        _kept[id(tools)] = found  # holds the list, so that its id stays its own
    return found


def _index(tools: tuple[ToolDefinition, ...]) -> Offers:
    names = frozenset(tool.name for tool in tools)
    schemas = {t.name: t.parameters for t in tools if isinstance(t.parameters, dict)}
    closed = {name: declared_in(schema) for name, schema in schemas.items()}
    return Offers(
        tools=tools,
        names=names,
        bare_names=frozenset(map(tool_names.bare, names)),
        reachable_names=_reachable(names),
        schemas=schemas,
        declared={name: names for name, names in closed.items() if names is not None},
        required={name: required_in(schema) for name, schema in schemas.items()},
        types={name: types_in(schema) for name, schema in schemas.items()},
        output_names=frozenset(tool.name for tool in tools if tool.side == "output"),
        terminal_names=frozenset(filter(tool_names.is_terminal, names)),
        write_names=frozenset(n for n in names if tool_names.effect_of(n) == "write"),
        is_plain=len(names) == len(tools) and all(is_object(tool.parameters) for tool in tools),
        is_open=any(
            tool.is_deferred or "tool_search" in tool.name or "toolset" in tool.name
            for tool in tools
        ),
    )


def _reachable(names: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        parts = tool_names.bare(name).split("_")
        found.update("_".join(parts[n:]) for n in range(len(parts)))
    return frozenset(found)


_OPEN = frozenset(
    {"anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if", "unevaluatedProperties"}
)
"""Keywords by which properties may be declared elsewhere."""


def declared_in(schema: Mapping[str, object]) -> frozenset[str] | None:
    """Return the properties that a schema declares; `None` when others may be given as well."""
    properties = schema.get("properties")
    extra = schema.get("additionalProperties")
    if not _OPEN.isdisjoint(schema) or extra is True or isinstance(extra, dict):
        return None
    return frozenset(properties) if isinstance(properties, dict) else None


ANY: frozenset[type] = frozenset({str, int, float, bool, list, dict, type(None)})
_SCALARS: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_ALLOWED: dict[str, frozenset[type]] = {
    "string": frozenset({str, type(None)}),
    "object": frozenset({dict, str, type(None)}),
    "array": frozenset({list, str, type(None)}),
    "number": _SCALARS,
    "integer": _SCALARS,
    "boolean": _SCALARS,
}
"""By declared type. A text may spell any other value (`"3"`, `"[1]"`): many models write it so."""


def required_in(schema: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the arguments that a schema requires."""
    required = schema.get("required")
    return frozenset(map(str, required)) if isinstance(required, list) else frozenset()


def types_in(schema: Mapping[str, object]) -> dict[str, frozenset[type]]:
    """Return, by argument, the types of decoded JSON that its declaration allows."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    found: dict[str, frozenset[type]] = {}
    for name, declared in properties.items():
        kind = declared.get("type") if isinstance(declared, dict) else None
        if isinstance(kind, str) and kind.lower() in _ALLOWED:
            found[name] = _ALLOWED[kind.lower()]
    return found


def is_object(parameters: dict[str, object] | bool | None) -> bool:  # noqa: FBT001
    """Say whether the root of a parameter schema is an object, as every server wants it."""
    if parameters is None or isinstance(parameters, bool):
        return False
    kind = parameters.get("type", "object")
    if isinstance(kind, list):
        kind = "object" if "object" in kind else ""
    if not isinstance(kind, str) or kind.lower() != "object":
        return False
    properties = parameters.get("properties")
    return properties is None or isinstance(properties, dict)


_NONE = _index(())
