"""Where in the ledger the account of a finding breaks: its columns, its tools, its cells."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.model import LedgerRow

Column: TypeAlias = Literal[
    "configured", "offered", "requested", "executed", "returned", "delivered", "cited"
]
COLUMNS: Final[tuple[Column, ...]] = (
    "configured", "offered", "requested", "executed", "returned", "delivered", "cited",
)  # fmt: skip

_OFFERED_REQUESTED: Final[tuple[Column, ...]] = ("offered", "requested")
_REQUESTED_EXECUTED: Final[tuple[Column, ...]] = ("requested", "executed")
_DELIVERED_CITED: Final[tuple[Column, ...]] = ("delivered", "cited")

_GAPS: Final[Mapping[str, tuple[Column, ...]]] = {
    "discovery_failed": ("configured", "offered"),
    "tools_withheld": ("configured", "offered"),
    "tool_schema_invalid": ("configured", "offered"),
    "tool_not_offered": ("offered",),
    "tool_name_collision": ("configured", "offered"),
    "output_constraint_bypass": _OFFERED_REQUESTED,
    "tool_bypass": _OFFERED_REQUESTED,
    "schema_posing_as_tool": _OFFERED_REQUESTED,
    "tool_choice_ignored": _OFFERED_REQUESTED,
    "navigation_bypassed": ("requested", "executed"),
    "required_tool_missing": ("requested", "executed"),
    "verification_skipped": ("requested", "executed"),
    "below_baseline": ("requested", "executed"),
    "unknown_tool": _OFFERED_REQUESTED,
    "argument_not_in_schema": _OFFERED_REQUESTED,
    "argument_invalid": _OFFERED_REQUESTED,
    "argument_ungrounded": _OFFERED_REQUESTED,
    "call_in_text": _REQUESTED_EXECUTED,
    "call_not_executed": _REQUESTED_EXECUTED,
    "fabricated_observation": _REQUESTED_EXECUTED,
    "unperformed_action": _REQUESTED_EXECUTED,
    "served_from_cache": _REQUESTED_EXECUTED,
    "repeated_call": _REQUESTED_EXECUTED,
    "forbidden_tool": ("executed",),
    "phase_violation": ("executed",),
    "count_out_of_range": ("executed",),
    "out_of_order": ("executed",),
    "tool_error_swallowed": ("returned",),
    "tool_failed": ("returned",),
    "error_as_answer": ("returned",),
    "empty_result_answered": ("returned",),
    "result_not_delivered": ("returned", "delivered"),
    "result_altered": ("returned", "delivered"),
    "content_part_lost": ("returned", "delivered"),
    "evidence_out_of_window": _DELIVERED_CITED,
    "value_ungrounded": _DELIVERED_CITED,
    "name_ungrounded": _DELIVERED_CITED,
    "result_contradicted": _DELIVERED_CITED,
    "quote_not_located": _DELIVERED_CITED,
    "wrong_source": _DELIVERED_CITED,
    "condition_omitted": _DELIVERED_CITED,
    "answer_corrupted": _DELIVERED_CITED,
}
"""By rule: the neighbours between which the difference lies; a rule about replies has none."""

_BROKEN: Final[Mapping[str, frozenset[str]]] = {
    "configured": frozenset({"no"}),
    "offered": frozenset({"no"}),
    "requested": frozenset({"no"}),
    "executed": frozenset({"no", "cache"}),
    "returned": frozenset({"error", "empty", "cancelled"}),
    "delivered": frozenset({"no", "altered"}),
    "cited": frozenset({"no"}),
}
_NOT_THERE: Final = frozenset({"no", "unknown", "not_applicable"})
_RAN: Final = frozenset({"span", "messages", "provider", "cache"})
_TOO_MUCH: Final = frozenset(
    {"forbidden_tool", "phase_violation", "count_out_of_range", "out_of_order", "repeated_call"}
)
"""Rules whose fault is a call that ran."""


class Gap(msgspec.Struct, frozen=True):
    """What one finding says about the ledger."""

    rule: str
    columns: tuple[Column, ...] = ()
    """One point, or two neighbours; `()` = it is not about a point of the ledger."""
    tools: frozenset[str] = frozenset()
    """Tools it names, perhaps as globs; empty = none."""
    call_ids: frozenset[str] = frozenset()

    def touches(self, row: LedgerRow) -> bool:
        """Say whether a row is about what the finding names."""
        if self.call_ids:
            return row.call_id in self.call_ids
        return not self.tools or self.names(row.tool)

    def names(self, tool: str) -> bool:
        """Say whether the finding names this tool."""
        return tool in self.tools or any(fnmatchcase(tool, each) for each in self.tools)

    def breaks_at(self, row: LedgerRow, column: Column) -> bool:
        """Say whether the account of this call breaks at this point."""
        if column not in self.columns or not self.touches(row):
            return False
        word = getattr(row, column)
        if self.rule in _TOO_MUCH:
            return word in _RAN
        if word not in _BROKEN[column]:
            return False
        if len(self.columns) == 1:
            return True
        left, right = self.columns
        # The right of two neighbours breaks where the left one stands; a contract may expect a call
        # that nobody asked for.
        return column == right and (left == "requested" or getattr(row, left) not in _NOT_THERE)


def gap_of(
    rule: str,
    evidence: Mapping[str, object],
    rows: Sequence[LedgerRow],
    *,
    subject: str | None = None,
) -> Gap:
    """Return what a finding says about the ledger.

    Args:
        rule: The rule's id.
        evidence: The finding's evidence.
        rows: The ledger. A contract's clause may name a group; where the finding does not say which
            tools that are, it is about all of them.
        subject: What the finding is about, in words, for one whose evidence is not kept.
    """
    tools: frozenset[str] = frozenset()
    for key in ("tools", "tool", "missing", "clause", "group_tools", "evidence_tools"):
        tools |= _texts(evidence.get(key))
    if not evidence and subject is not None:
        tools = frozenset(subject.split(", "))
    calls = _texts(evidence.get("call_ids")) | _texts(evidence.get("call_id"))
    gap = Gap(rule=rule, columns=_GAPS.get(rule, ()), tools=tools, call_ids=calls)
    if "group_tools" in evidence or any(gap.touches(row) for row in rows):
        return gap
    return Gap(rule=rule, columns=gap.columns)


def _texts(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset({value})
    if isinstance(value, list | tuple):
        return frozenset(each for each in value if isinstance(each, str))
    return frozenset()
