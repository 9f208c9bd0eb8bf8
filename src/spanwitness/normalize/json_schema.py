"""Whether an answer satisfies the JSON Schema on its request."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonschema import Draft202012Validator

__all__ = ["is_json", "satisfies"]

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
    import jsonschema
    import referencing.exceptions

    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
        return bool(validator.is_valid(value))
    except (
        jsonschema.SchemaError,
        jsonschema.exceptions.UnknownType,
        referencing.exceptions.Unresolvable,
        re.error,
        RecursionError,
        TypeError,
        ValueError,
        AttributeError,
    ):
        return None


@lru_cache(maxsize=64)
def _validator(schema: str) -> Draft202012Validator:
    import referencing
    from jsonschema import Draft202012Validator

    plain = _standard_schema(json.loads(schema))
    Draft202012Validator.check_schema(plain)
    return Draft202012Validator(plain, registry=referencing.Registry())


_CAPITALS = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}


def _standard_schema(node: dict[str, object]) -> dict[str, object]:
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
