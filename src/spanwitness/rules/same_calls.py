"""Whether two executions are of the same call, and gave the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness.model import Execution


def arguments_key(execution: Execution) -> str | None:
    """Return what identifies tool and arguments; `None` when the arguments are not known."""
    if execution.arguments is not None:
        return f"{execution.tool} {_canonical(execution.arguments)}"
    if execution.call is not None and execution.call.arguments_digest is not None:
        return f"{execution.tool} #{execution.call.arguments_digest}"
    return None


def result_key(execution: Execution) -> str | None:
    """Return what identifies the result; `None` when it is not known."""
    if execution.has_result:
        return _canonical(execution.result)
    if execution.outcome == "empty":
        return "empty"
    if execution.call is not None and execution.call.result_digest is not None:
        return f"#{execution.call.result_digest}"
    return None


def _canonical(value: object) -> str:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return json.dumps(value, sort_keys=True, default=str)
