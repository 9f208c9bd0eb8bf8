"""A table made of stored traces, and what is not in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from spanwitness.measure.table import Table
    from spanwitness.measure.traces import Features, TracedRun, TracedStep, TraceLog

__all__ = ["JOIN", "OUTCOMES", "MissingStep", "Repeated", "TracedTable", "group_value"]

Repeated: TypeAlias = Literal["refuse", "first", "last", "each"]
"""What becomes of a step that was scored more than once in a run."""

JOIN: Final = " > "
"""Stands between the names of steps that are audited together."""

OUTCOMES: Final = "outcomes"
"""The success rule of pairs whose bits arrived after the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingStep:
    """An execution that should have given a row and did not. Nothing is put in its place."""

    run_id: str
    item_id: str
    step: str
    span_id: str | None
    """`None` where no span of the step was seen."""
    reason: str

    def to_row(self) -> dict[str, object]:
        """Return it as a row."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedTable:
    """Rows from traces, and what is not among them."""

    table: Table
    missing: tuple[MissingStep, ...]
    n_retried: int
    """Executions that failed and were tried again in their run with success: no rows, no gaps."""
    notes: tuple[str, ...]
    """What a reader of the figures must know."""


def group_value(
    log: TraceLog, traced: TracedStep | TracedRun, label: str, group: str, features: Features
) -> str:
    """Return the group of a row.

    Args:
        log: The traces.
        traced: The step or run.
        label: How it is called in a refusal.
        group: What to group by.
        features: Columns by item.

    Raises:
        TableError: Nothing says what it is.
    """
    found = features.group(traced, group)
    if found is None:
        raise log.refuse(
            f"nothing says what {group!r} is here: no feature of the item, no fact or tag of step"
            " and run, no attribute of that name"
            + ("" if group.startswith("tag:") else f"; for tags {group}=... say 'tag:{group}'"),
            label,
        )
    return found
