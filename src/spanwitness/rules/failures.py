"""Which executions failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.error_texts import is_error_value

if TYPE_CHECKING:
    from spanwitness.model import Execution

_LOGS = frozenset(
    {"log", "logs", "grep", "trace", "traces", "incident", "incidents", "error", "errors"}
)


def is_failure(execution: Execution) -> bool:
    """Say whether an execution failed: by its outcome, or because its whole result is an error."""
    if execution.outcome == "error":
        return True
    if execution.outcome not in ("value", "unknown") or not execution.has_result:
        return False
    if not is_error_value(execution.result):
        return False
    return _LOGS.isdisjoint(tool_names.words_of(execution.tool))


def is_success(execution: Execution) -> bool:
    """Say whether an execution gave something."""
    return execution.outcome in ("value", "empty", "cached") and not is_failure(execution)
