"""`measure selection`: what the order of presentation does to a choice among candidates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanwitness.measure.item_rates import rate_json
from spanwitness.measure.item_rows import SEPARATE, natural_order
from spanwitness.measure.result import choose_part, ends, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.comparison import PairedComparison, compare_on_same_items
from spanwitness.stats.selection import Choice, SelectionAudit, audit_selection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table
    from spanwitness.stats.counts import Rate
    from spanwitness.stats.paired import PairedCounts

__all__ = ["SCHEMA", "OrderChange", "OrderedAudit", "SelectionResult", "measure_selection"]

SCHEMA: Final = "spanwitness.selection/1"
STANDARD: Final = "standard"
_RATES: Final = (
    "first_chosen",
    "anchor_chosen",
    "anchor_chosen_if_right",
    "anchor_chosen_if_wrong",
    "oracle",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderedAudit:
    """The audit of a choice under one order of presentation, over all items or those of a group."""

    order: str
    group: str | None
    """`None` = all items."""
    audit: SelectionAudit
    level: float
    """Probability inside the intervals."""

    def to_dict(self) -> dict[str, object]:
        """Return the audit for the fixed JSON form."""
        audit = self.audit
        return {
            **_counts_json(audit.counts, self.level),
            **{name: _rate_json(getattr(audit, name)) for name in _RATES},
            "headroom": audit.headroom,
            "strata": {
                stratum.value: _counts_json(each.counts, self.level)
                for stratum, each in audit.strata.items()
            },
        }

    def to_row(self) -> dict[str, object]:
        """Return the audit as one flat row; its strata are a table of their own."""
        audit = self.audit
        row: dict[str, object] = {"order": self.order, "group": self.group}
        for key, value in _counts_json(audit.counts, self.level).items():
            if isinstance(value, dict):
                row |= {f"{key}_{name}": inner for name, inner in value.items() if name != "reason"}
            else:
                row[key] = value
        for name in _RATES:
            found: Rate = getattr(audit, name)
            low, high = ends(found.interval) or (None, None)
            row |= {
                name: found.raw, f"{name}_k": found.k, f"{name}_n": found.n,
                f"{name}_ci_low": low, f"{name}_ci_high": high,
            }  # fmt: skip
        return row | {"headroom": audit.headroom}


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderChange:
    """What moved between two orders on the same items."""

    first: str
    second: str
    measure: str
    """`success` of the choice, or `anchor_chosen`."""
    comparison: PairedComparison
    n_unmatched: int
    """Items under one of the two orders only: they are in neither rate here."""

    def to_dict(self) -> dict[str, object]:
        """Return it as a row."""
        found = self.comparison
        low, high = ends(found.interval) or (None, None)
        return {
            "first": self.first,
            "second": self.second,
            "measure": self.measure,
            "n_items": found.table.n_items,
            "n_unmatched": self.n_unmatched,
            "first_rate": found.first.raw,
            "second_rate": found.second.raw,
            "difference": found.difference,
            "ci_low": low,
            "ci_high": high,
            "mcnemar_p_value": found.mcnemar_p_value,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionResult:
    """Audits by order of presentation and group, and what moved between orders."""

    audits: tuple[OrderedAudit, ...]
    """Each order over all items, then by group."""
    changes: tuple[OrderChange, ...]
    group_column: str | None
    level: float
    n_resamples: int
    seed: int

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.selection/1`."""
        groups: dict[str, dict[str, object]] = {}
        for each in self.audits:
            if each.group is not None:
                groups.setdefault(each.group, {})[each.order] = each.to_dict()
        return {
            "schema": SCHEMA,
            "orders": {each.order: each.to_dict() for each in self.audits if each.group is None},
            "groups": groups,
            "group_column": self.group_column,
            "changes": [change.to_dict() for change in self.changes],
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Three tables: `audits`, `strata`, `changes`."""
        return {
            "audits": [each.to_row() for each in self.audits],
            "strata": [
                {
                    "order": each.order,
                    "group": each.group,
                    "stratum": stratum.value,
                    **_flat_counts(found.counts),
                }
                for each in self.audits
                for stratum, found in each.audit.strata.items()
            ],
            "changes": [change.to_dict() for change in self.changes],
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default `audits`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_selection(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    group: str | None = None,
    pool: Collection[str] = (),
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> SelectionResult:
    """Audit a step that chooses among candidates, from a table with a row a candidate.

    Columns: `item_id`, `position` (as presented, from 0), `candidate` (equal answers have equal
    texts or digests), `right`, `anchor`, `chosen` (0 or 1; one anchor and one choice an item),
    optionally `order` (`standard` where there is none; a shuffle by another name), and features.
    The anchor is what would stand without the step. Items are the units: each comes once under an
    order.

    Args:
        table: A table, its path, or rows.
        group: A column to audit by, the same in all rows of an item.
        pool: Columns that may differ between rows all the same, as in `measure_paired`.
        level: Probability inside the intervals.
        n_resamples: Resamples of items, for what moved between two orders.
        seed: Seed of the resampling.

    Raises:
        TableError: A bit is missing or none; the positions of an item are not 0 to K-1; it has not
            one anchor and one choice; rows are of different steps, operations, inputs, rules or
            stacks.
        CountError: The level cannot be used.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    columns = ("item_id", "position", "candidate", "right", "anchor", "chosen")
    source.require(*columns, *([group] if group is not None else []))
    choices, groups = _read(source, group, pool)
    audits = [
        OrderedAudit(
            order=order,
            group=None,
            audit=audit_selection(found.values(), level=level),
            level=level,
        )
        for order, found in choices.items()
    ]
    for name in sorted(set(groups.values()), key=natural_order):
        for order, found in choices.items():
            chosen = [choice for item, choice in found.items() if groups[item] == name]
            if chosen:
                audit = audit_selection(chosen, level=level)
                audits.append(OrderedAudit(order=order, group=name, audit=audit, level=level))
    changes = [
        change
        for first, second in itertools.combinations(choices, 2)
        for change in _changes(first, second, choices, level, n_resamples, seed)
    ]
    return SelectionResult(
        audits=tuple(audits),
        changes=tuple(changes),
        group_column=group,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


_Choices = dict[str, dict[str, Choice]]


def _read(
    table: Table, group: str | None, pool: Collection[str]
) -> tuple[_Choices, dict[str, str]]:
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    groups: dict[str, str] = {}
    first: dict[str, str | None] = {}
    separate = [name for name in SEPARATE if name in table.columns and name not in pool]
    for row in table:
        item, order = row.text("item_id"), row.optional_text("order") or STANDARD
        kinds = {name: row.optional_text(name) for name in separate}
        first = first or kinds
        odd = next((name for name in separate if kinds[name] != first[name]), None)
        if odd is not None:
            raise row.refuse(f"{odd!r} is {kinds[odd]!r} where the first has {first[odd]!r}: these"
                             " are never pooled; choose one, or report each by itself")  # fmt: skip
        position = row.text("position")
        if not position.isdecimal():
            raise row.refuse(f"'position' is {position!r}: it counts from 0")
        known = rows.setdefault((order, item), {})
        if int(position) in known:
            raise row.refuse(f"position {position} of item {item!r} under {order!r} was in"
                             f" {known[int(position)].name} already")  # fmt: skip
        known[int(position)] = row
        if group is not None and groups.setdefault(item, row.text(group)) != row.text(group):
            raise row.refuse(f"{group!r} of item {item!r} differs from the rows before")
    choices: _Choices = {}
    for (order, item), found in rows.items():
        choices.setdefault(order, {})[item] = _choice(item, found)
    return choices, groups


def _choice(item: str, rows: Mapping[int, Row]) -> Choice:
    places = sorted(rows)
    row = rows[places[0]]
    if places != list(range(len(places))):
        raise row.refuse(f"item {item!r} has the positions {places}: they count from 0")
    ordered = [rows[place] for place in places]
    return Choice(
        item_id=item,
        candidates=tuple(each.text("candidate") for each in ordered),
        is_right=tuple(each.bit("right") for each in ordered),
        anchor=_only(item, ordered, "anchor"),
        chosen=_only(item, ordered, "chosen"),
    )


def _only(item: str, rows: Sequence[Row], column: str) -> int:
    at = [place for place, row in enumerate(rows) if row.bit(column)]
    if len(at) != 1:
        raise rows[-1].refuse(f"item {item!r} has {len(at)} rows with {column!r}, not one")
    return at[0]


def _changes(
    first: str, second: str, choices: _Choices, level: float, n_resamples: int, seed: int
) -> Iterable[OrderChange]:
    one, two = choices[first], choices[second]
    items = [item for item in one if item in two]
    if not items:
        return
    for measure, bit in (("success", _is_right), ("anchor_chosen", _keeps_anchor)):
        yield OrderChange(
            first=first,
            second=second,
            measure=measure,
            comparison=compare_on_same_items(
                [bit(one[item]) for item in items],
                [bit(two[item]) for item in items],
                level=level,
                n_resamples=n_resamples,
                seed=seed,
            ),
            n_unmatched=len(one.keys() ^ two.keys()),
        )


def _is_right(choice: Choice) -> bool:
    return choice.is_right[choice.chosen]


def _keeps_anchor(choice: Choice) -> bool:
    return choice.chosen == choice.anchor


def _rate_json(found: Rate) -> dict[str, object]:
    return {"k": found.k, **rate_json(found)}


def _counts_json(counts: PairedCounts, level: float) -> dict[str, object]:
    return {
        **_flat_counts(counts),
        "correction_rate": rate_json(counts.correction_rate(level=level)),
        "corruption_rate": rate_json(counts.corruption_rate(level=level)),
    }


def _flat_counts(counts: PairedCounts) -> dict[str, object]:
    return {
        "n_items": counts.n_pairs,
        "n_corrected": counts.n_corrected,
        "n_corrupted": counts.n_corrupted,
        "n_kept_right": counts.n_kept_right,
        "n_kept_wrong": counts.n_kept_wrong,
        "p_before": counts.p_before,
        "p_after": counts.p_after,
    }
