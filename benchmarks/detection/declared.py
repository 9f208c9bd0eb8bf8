"""Contracts made of the writes that a data set says are the right ones, and a direct comparison."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.detection.mutants import is_written, writes_of
from spanwitness.contracts import Contract

if TYPE_CHECKING:
    from benchmarks.detection.dialogs import Dialog

__all__ = ["contract_of", "differs", "expects"]


def expects(dialog: Dialog) -> Counter[str]:
    """Return how often each writing tool is expected."""
    return Counter(each.name for each in dialog.expected if is_written(each.name))


def differs(dialog: Dialog) -> bool:
    """Say whether the writes that succeeded are not the expected ones, by name and number."""
    return Counter(call.name for call in writes_of(dialog)) != expects(dialog)


def contract_of(dialog: Dialog) -> Contract:
    """Return the contract that asks for the expected writes, each as often, and no other."""
    wanted = expects(dialog)
    clauses: list[dict[str, object]] = [
        {"rule": "required_tool_missing", "tool": tool, "at_least": n} for tool, n in wanted.items()
    ]
    offered = {tool["name"] for tool in dialog.definitions} | set(wanted)
    clauses += [
        {"rule": "count_out_of_range", "tool": tool, "at_most": wanted[tool]}
        for tool in sorted(filter(is_written, offered))
    ]
    return Contract.model_validate(
        {"contract": "expected-writes", "version": "1", "expect": clauses}
    )
