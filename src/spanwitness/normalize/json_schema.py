"""Whether a value satisfies a JSON Schema: of a request, or of a step."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["compile_schema", "is_json", "satisfies", "unfenced"]

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL | re.IGNORECASE)


def is_json(text: str) -> bool:
    """Say whether a text is one JSON value, as it stands."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def unfenced(text: str) -> str | None:
    """Return what stands in a Markdown code fence that is the whole text, or `None`."""
    found = _FENCE.match(text)
    return found.group(1) if found is not None else None


def satisfies(text: str, schema: Mapping[str, object]) -> bool | None:
    """Say whether a text is JSON that satisfies a schema.

    Args:
        text: The answer as it stands; a code fence around it is no JSON.
        schema: JSON Schema, or the dialect of Gemini (types in capitals, `nullable`). References to
            other documents are not fetched.

    Returns:
        `None` when the schema itself cannot be used.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    try:
        return _compiled(json.dumps(schema, sort_keys=True))(value)
    except (TypeError, ValueError, RecursionError):
        return None


def compile_schema(schema: Mapping[str, object]) -> Callable[[object], bool | None]:
    """Return what says whether a decoded JSON value satisfies a schema.

    Args:
        schema: As for `satisfies`. It is not kept; without `$schema` it is read as of 2020-12.

    Returns:
        A function that raises nothing; it gives `None` when the schema itself cannot be used.
    """
    import jsonschema
    from jsonschema.exceptions import UnknownType
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    unusable = (
        jsonschema.SchemaError,
        UnknownType,
        Unresolvable,
        re.error,
        RecursionError,
        TypeError,
        ValueError,
        AttributeError,
    )
    try:
        plain = _standard_schema(schema)
        kind = validator_for(plain, default=jsonschema.Draft202012Validator)
        kind.check_schema(plain)
        # Over an empty registry a reference to another document is never fetched.
        validator = kind(plain, registry=Registry())
    except unusable:
        return _cannot_tell

    def holds(value: object) -> bool | None:
        try:
            return bool(validator.is_valid(cast("Any", value)))
        except unusable:
            return None

    return holds


def _cannot_tell(_value: object) -> None:
    return None


@lru_cache(maxsize=64)
def _compiled(schema: str) -> Callable[[object], bool | None]:
    return compile_schema(json.loads(schema))


_CAPITALS = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}


def _standard_schema(node: Mapping[str, object]) -> dict[str, object]:
    found = {key: _standard(value) for key, value in node.items()}
    kind = found.get("type")
    if isinstance(kind, str) and kind in _CAPITALS:
        found["type"] = [kind.lower(), "null"] if node.get("nullable") is True else kind.lower()
        for key in ("minItems", "maxItems", "minLength", "maxLength"):
            limit = found.get(key)
            if isinstance(limit, str) and limit.isdigit():
                found[key] = int(limit)
    return found


def _standard(node: object) -> object:
    """Rewrite the dialect of Gemini to JSON Schema; anything else stays as it is."""
    if isinstance(node, list):
        return [_standard(item) for item in node]
    return _standard_schema(node) if isinstance(node, dict) else node
