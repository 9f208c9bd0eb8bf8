"""Whether something made up for an execution that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.failures import is_success

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts

_SHORTEST = 3
_LONGEST = 80
"""Characters of an identifier."""


def came_later(facts: Facts, first: Execution, second: Execution) -> bool:
    """Say whether the second execution was asked for when the first was over.

    Calls of one reply run side by side: none of them answers another.
    """
    if second.order <= first.order:
        return False
    asked_first, asked_second = facts.chat_before(first), facts.chat_before(second)
    if asked_first >= 0 and asked_second >= 0 and asked_first != asked_second:
        return asked_second > asked_first
    is_one_batch = first.call_id is not None and second.call_id is not None and asked_first >= 0
    return not is_one_batch


def was_recovered(facts: Facts, failed: Execution) -> bool:
    """Say whether a retry or a fallback followed that succeeded.

    A write is made up for only by a write that does the same: the same tool, unless its arguments
    name another thing, or another tool that is given most of the same arguments.
    """
    wanted = tool_names.bare(failed.tool)
    is_write = facts.effect_of(failed) == "write"
    for other in facts.executions:
        if not is_success(other) or not came_later(facts, failed, other):
            continue
        if tool_names.bare(other.tool) == wanted:
            if not is_write or not _is_about_another(failed.arguments, other.arguments):
                return True
            continue
        if other.tool in facts.output_tools:
            continue
        other_effect = facts.effect_of(other)
        if not is_write:
            if other_effect != "write":
                return True
        elif other_effect != "read" and _does_the_same(failed.arguments, other.arguments):
            return True
    return False


def _is_about_another(asked: object, other: object) -> bool:
    """Say whether two calls of one tool surely name different things by their identifiers.

    An identifier that was merely corrected (`W12`, `#W12`) names the same thing.
    """
    if not isinstance(asked, dict) or not isinstance(other, dict):
        return False
    pairs = [
        (_plain(value), _plain(other[key]))
        for key, value in asked.items()
        if key in other and _is_identifier(value) and _is_identifier(other[key])
    ]
    return bool(pairs) and not any(a in b or b in a for a, b in pairs)


def _is_identifier(value: object) -> bool:
    return (
        isinstance(value, str)
        and _SHORTEST <= len(value) <= _LONGEST
        and any(c.isdigit() for c in value)
        and " " not in value.strip()
    )


def _plain(value: object) -> str:
    return "".join(c for c in str(value).casefold() if c.isalnum())


def _does_the_same(asked: object, other: object) -> bool:
    """Say whether two writes are given for the most part the same."""
    wanted, given = set(_leaves(asked)), set(_leaves(other))
    if not wanted or not given:
        return True  # nothing tells the two apart
    return len(wanted & given) * 2 >= max(len(wanted), len(given))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and value != "":
        yield _plain(value)
