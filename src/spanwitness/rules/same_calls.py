"""Whether two executions are of the same call, and gave the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness.model import Execution


def arguments_key(execution: Execution) -> str | None:
    """Return what identifies tool and arguments; `None` when the arguments are not known."""
    call = execution.call
    if call is not None and call.arguments_digest is not None:
        return f"{execution.tool} #{call.arguments_digest}"  # where it stands, the text may be cut
    if execution.arguments is not None:
        return f"{execution.tool} {_canonical(execution.arguments)}"
    return None


def knows_arguments(execution: Execution) -> bool:
    """Say whether the arguments are known, or a digest of them."""
    call = execution.call
    return execution.arguments is not None or (
        call is not None and call.arguments_digest is not None
    )


def has_same_arguments(left: Execution, right: Execution) -> bool:
    """Say whether two executions of one tool are known to have the same arguments."""
    if surely_differ(left.arguments, right.arguments):
        return False
    key = arguments_key(left)
    return key is not None and key == arguments_key(right)


def surely_differ(left: object, right: object) -> bool:
    """Tell most different arguments apart without writing them as JSON, which is dear."""
    if type(left) is not dict or type(right) is not dict or len(left) != len(right):
        return False
    for key, value in left.items():
        other = right.get(key)
        if type(value) is str and type(other) is str and value != other:
            return True
    return False


def knows_result(execution: Execution) -> bool:
    """Say whether the result is known, or a digest of it."""
    call = execution.call
    if execution.call is not None and execution.call.is_truncated:
        return execution.call.result_digest is not None
    return (
        execution.has_result
        or execution.outcome == "empty"
        or (call is not None and call.result_digest is not None)
    )


def result_key(execution: Execution) -> str | None:
    """Return what identifies the result; `None` when it is not known."""
    call = execution.call
    if call is not None and call.result_digest is not None:
        return f"#{call.result_digest}"  # where it stands, the text may be cut
    if execution.has_result:
        is_cut = call is not None and call.is_truncated
        return None if is_cut else _canonical(execution.result)
    return "empty" if execution.outcome == "empty" else None


def _canonical(value: object) -> str:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return json.dumps(value, sort_keys=True, default=str)
