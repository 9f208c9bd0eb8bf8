"""Rows of two bits an item, of one step, operation, input configuration, rule and stack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from spanwitness.measure.table import Row, Table

__all__ = ["SEPARATE", "ItemPair", "Unequal", "natural_order", "read_rows"]

SEPARATE: Final[tuple[str, ...]] = ("step", "operation", "inputs", "rule", "success_rule", "stack")
"""Columns whose values are never pooled unless asked for: rows that differ there are of different
steps, operations, input configurations, success rules or stacks."""

Unequal: TypeAlias = Literal["refuse", "weigh"]
"""What becomes of items that have unequal runs."""


@dataclass(frozen=True, slots=True)
class ItemPair:
    """One row: an item, once or in one of its runs."""

    item: str
    before: bool
    after: bool
    group: str
    """Empty without groups."""
    row: Row


def read_rows(
    table: Table,
    *,
    bits: tuple[str, str],
    group: str | None,
    pool: Collection[str],
    unequal: Unequal,
) -> list[ItemPair]:
    """Read the rows of a table, and refuse it where they cannot be counted together.

    Args:
        table: The table.
        bits: Names of the two columns of bits.
        group: A column to group by.
        pool: Columns of `SEPARATE` that may differ all the same.
        unequal: What to do where items have unequal runs.

    Raises:
        TableError: A bit is missing, NaN or neither 0 nor 1; (item, run) comes twice; items have
            unequal runs; a group is missing; rows differ in a column of `SEPARATE`.
    """
    unknown = [name for name in pool if name not in SEPARATE]
    if unknown:
        raise table.refuse(f"pool names {unknown[0]!r}: only {', '.join(SEPARATE)} can be pooled")
    separate = [name for name in SEPARATE if name in table.columns and name not in pool]
    has_runs = "run" in table.columns
    found = []
    first: dict[str, str | None] = {}
    runs: dict[str, dict[str, Row]] = {}
    for row in table:
        kinds = {name: row.optional_text(name) for name in separate}
        first = first or kinds
        _check_same(row, kinds, first)
        item = row.text("item_id")
        run = row.text("run") if has_runs else ""
        _check_new(row, item, run, runs.setdefault(item, {}), has_runs=has_runs)
        before, after = row.bit(bits[0]), row.bit(bits[1])
        found.append(ItemPair(item, before, after, row.text(group) if group else "", row))
    if unequal == "refuse":
        _check_equal_runs(runs)
    return found


def _check_same(row: Row, kinds: Mapping[str, str | None], first: Mapping[str, str | None]) -> None:
    for name, kind in kinds.items():
        if kind != first[name]:
            raise row.refuse(
                f"{name!r} is {kind!r} where the first has {first[name]!r}: these are never pooled;"
                f" choose one value of {name!r}, report each by itself, or pool {name}"
            )


def _check_new(row: Row, item: str, run: str, seen: dict[str, Row], *, has_runs: bool) -> None:
    if run in seen:
        what = f"item {item!r}" + (f" in run {run!r}" if has_runs else "")
        remedy = "" if has_runs else "; items that repeat need a `run` column"
        raise row.refuse(f"{what} was in {seen[run].name} already{remedy}")
    seen[run] = row


def _check_equal_runs(runs: Mapping[str, Mapping[str, Row]]) -> None:
    first_item, expected = next(iter(runs.items()))
    for item, found in runs.items():
        if found.keys() != expected.keys():
            odd = min(found.keys() ^ expected.keys(), key=natural_order)
            has, lacks = (item, first_item) if odd in found else (first_item, item)
            raise runs[has][odd].refuse(
                f"unequal pairing: item {has!r} has run {odd!r} and item {lacks!r} has not; "
                "all items need the same runs, or it is said to weigh items by their runs"
            )


def natural_order(name: str) -> tuple[int, float, str]:
    """Order names that are numbers as numbers, before the others.

    Args:
        name: A group, a run.
    """
    try:
        number = float(name)
    except ValueError:
        return (1, 0.0, name)
    return (0, number, name) if math.isfinite(number) else (1, 0.0, name)
