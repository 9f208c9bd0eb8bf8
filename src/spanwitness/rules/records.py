"""The records of a tool's result, where it is a list of things of one kind or one thing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Record", "leaves_of", "records_of"]

Record = dict[str, object]
_MOST = 2000


def records_of(result: object) -> list[Record] | None:
    """Return the records of a result: of the only list of objects in it, else itself.

    Returns:
        `None` when it is no JSON object or list, or holds several lists of objects; `[]` when its
        only list is empty.
    """
    value = result
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, list):
        return _objects(value)
    if not isinstance(value, dict):
        return None
    lists = [item for item in value.values() if isinstance(item, list)]
    found = [each for each in map(_objects, lists) if each is not None]
    if len(found) == 1:
        return found[0]
    if found:
        return None
    return [value] if value else []


def leaves_of(record: Record) -> Iterator[tuple[str, object]]:
    """Yield names and values of a record's fields, those of inner objects included."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from leaves_of(value)
        elif not isinstance(value, list):
            yield str(key), value


def _objects(items: list[object]) -> list[Record] | None:
    if len(items) > _MOST:
        return None
    found = [item for item in items if isinstance(item, dict)]
    return found if len(found) == len(items) else None
