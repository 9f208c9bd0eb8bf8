"""`measure compare`: one event on the same items under two configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanwitness.measure.item_rates import rate_json
from spanwitness.measure.item_rows import SEPARATE
from spanwitness.measure.result import choose_part, ends, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.comparison import PairedComparison, compare_on_same_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table

__all__ = ["SCHEMA", "ComparisonResult", "Event", "measure_comparison"]

SCHEMA: Final = "spanwitness.comparison/1"

Event: TypeAlias = Literal["success", "corrupted", "corrected"]
"""`success` after; `corrupted` of items right before; `corrected` of items wrong before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonResult:
    """Two rates of one event on the same items, and their paired difference."""

    by: str
    """The column that tells the configurations apart."""
    first: str
    second: str
    event: Event
    comparison: PairedComparison
    n_not_at_risk: int
    """Items that the event could not reach under one of the two; they are in neither rate."""
    unmatched: tuple[tuple[str, str], ...]
    """(item, configuration) of items tried under one of the two only; in neither rate."""
    level: float
    n_resamples: int
    seed: int

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.comparison/1`."""
        found = self.comparison
        low, high = ends(found.interval) or (None, None)
        return {
            "schema": SCHEMA,
            "by": self.by,
            "first": self.first,
            "second": self.second,
            "event": self.event,
            "n_items": found.table.n_items,
            "discordant": {
                "n_both": found.table.n_both,
                "n_first_only": found.table.n_first_only,
                "n_second_only": found.table.n_second_only,
                "n_neither": found.table.n_neither,
            },
            "first_rate": rate_json(found.first),
            "second_rate": rate_json(found.second),
            "difference": found.difference,
            "ci_low": low,
            "ci_high": high,
            "mcnemar_p_value": found.mcnemar_p_value,
            "n_not_at_risk": self.n_not_at_risk,
            "unmatched": self.parts["unmatched"],
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Two tables: `comparison` (one row) and `unmatched`."""
        found = self.comparison
        low, high = ends(found.interval) or (None, None)
        return {
            "comparison": [
                {
                    "first": self.first,
                    "second": self.second,
                    "event": self.event,
                    "n_items": found.table.n_items,
                    "n_both": found.table.n_both,
                    "n_first_only": found.table.n_first_only,
                    "n_second_only": found.table.n_second_only,
                    "n_neither": found.table.n_neither,
                    "first_rate": found.first.raw,
                    "second_rate": found.second.raw,
                    "difference": found.difference,
                    "ci_low": low,
                    "ci_high": high,
                    "mcnemar_p_value": found.mcnemar_p_value,
                    "n_not_at_risk": self.n_not_at_risk,
                    "n_unmatched": len(self.unmatched),
                }
            ],
            "unmatched": [
                {"item_id": item, "configuration": name} for item, name in self.unmatched
            ],
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default `comparison`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_comparison(  # noqa: PLR0913  one keyword per choice
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    by: str = "configuration",
    first: str | None = None,
    second: str | None = None,
    event: Event = "success",
    pool: Collection[str] = (),
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> ComparisonResult:
    """Compare an event on the same items under two configurations: a one-sided audit, two models.

    Columns: `item_id`, the configuration, `after` (or `success`), and for `corrupted` and
    `corrected` also `before`. A row an item and configuration. Items are the units: paired
    bootstrap, discordant table, exact McNemar test.

    Args:
        table: A table, its path, or rows.
        by: The column that tells the configurations apart.
        first: The configuration to compare with; needed, as `second`, where there are not two.
        second: The other.
        event: What is counted; see `Event`.
        pool: Columns that may differ within a configuration all the same, as in `measure_paired`.
        level: Probability inside the intervals.
        n_resamples: Resamples of items.
        seed: Seed of the resampling.

    Raises:
        TableError: There are not two configurations; an item comes twice under one; rows of one
            configuration are of different operations, inputs or stacks, or rows of both of
            different rules; a bit is missing.
        CountError: No item is at risk under both.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    success = "success" if "success" in source.columns else "after"
    source.require("item_id", by, success, *(["before"] if event != "success" else []))
    names = _two(source, by, first, second)
    rows = _read(source, by, names, pool)
    one, two = rows[names[0]], rows[names[1]]
    shared = [item for item in one if item in two]
    at_risk = [item for item in shared if _is_at_risk(one[item], two[item], event)]
    return ComparisonResult(
        by=by,
        first=names[0],
        second=names[1],
        event=event,
        comparison=compare_on_same_items(
            [_has_event(one[item], success, event) for item in at_risk],
            [_has_event(two[item], success, event) for item in at_risk],
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        ),
        n_not_at_risk=len(shared) - len(at_risk),
        unmatched=tuple(
            (item, name)
            for name, own, other in ((names[0], one, two), (names[1], two, one))
            for item in own
            if item not in other
        ),
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def _two(table: Table, by: str, first: str | None, second: str | None) -> tuple[str, str]:
    there = list(dict.fromkeys(row.text(by) for row in table))
    chosen = [name for name in (first, second) if name is not None]
    absent = [name for name in chosen if name not in there]
    if absent:
        raise table.refuse(f"no row has {by} {absent[0]!r}; there are {', '.join(there[:20])}")
    rest = [name for name in there if name not in chosen]
    if len(chosen) < 2 and len(rest) != 2 - len(chosen):
        raise table.refuse(
            f"{by!r} has {len(there)} values ({', '.join(there[:20])}): say which two to compare"
        )
    one = first if first is not None else rest.pop(0)
    two = second if second is not None else rest.pop(0)
    if one == two:
        raise table.refuse(f"{one!r} cannot be compared with itself")
    return one, two


def _read(
    table: Table, by: str, names: Sequence[str], pool: Collection[str]
) -> dict[str, dict[str, Row]]:
    rows: dict[str, dict[str, Row]] = {name: {} for name in names}
    across = ("rule", "success_rule", "step")
    separate = [name for name in SEPARATE if name in table.columns and name not in {by, *pool}]
    first: dict[tuple[str, str], str | None] = {}
    for row in table:
        name, item = row.text(by), row.text("item_id")
        if name not in rows:
            continue
        for column in separate:
            key = (column, "" if column in across else name)
            value = row.optional_text(column)
            known = first.setdefault(key, value)
            if known != value:
                where = (
                    "the two configurations" if column in across else f"other rows of {by} {name!r}"
                )
                raise row.refuse(
                    f"{column!r} is {value!r} and {where} have {known!r}: these are never pooled;"
                    f" choose one value of {column!r}, or pool {column}"
                )
        if item in rows[name]:
            raise row.refuse(
                f"item {item!r} under {name!r} was in {rows[name][item].name} already: items are"
                " the units, so choose one run of each"
            )
        rows[name][item] = row
    return rows


def _is_at_risk(one: Row, two: Row, event: Event) -> bool:
    if event == "success":
        return True
    return one.bit("before") is two.bit("before") is (event == "corrupted")


def _has_event(row: Row, success: str, event: Event) -> bool:
    return row.bit(success) is not (event == "corrupted")
