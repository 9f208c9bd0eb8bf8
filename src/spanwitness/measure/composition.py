"""`measure composition`: whether the transition rates of adjacent steps may be chained."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.errors import SettingsError
from spanwitness.measure.item_rows import SEPARATE, natural_order
from spanwitness.measure.result import choose_part, frame_of
from spanwitness.measure.table import as_table
from spanwitness.measure.transitions import ItemSequence, StageTransition, transitions_of
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.composition import (
    CompositionGap,
    FinalResidual,
    final_residuals,
    gap_of_sequences,
)
from spanwitness.stats.markov import MarkovTest, markov_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table

__all__ = ["SCHEMA", "CompositionResult", "Gap", "StageTest", "measure_composition"]

SCHEMA: Final = "spanwitness.composition/1"
_STAGE: Final = re.compile(r"e\d+", re.IGNORECASE)
_HALVES: Final = ("half 1", "half 2")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Chained against direct transitions of some items."""

    group: str | None
    """`None` = all items."""
    fold: str | None
    """The fold whose direct transitions were held out; `None` = within the sample."""
    jeffreys: CompositionGap
    """With smoothed rates, as in the study."""
    raw: CompositionGap

    def to_dict(self) -> dict[str, object]:
        """Return it as a row."""
        row: dict[str, object] = {
            "group": self.group, "fold": self.fold, "n_pairs": self.jeffreys.n_items,
        }  # fmt: skip
        for name, found in (("jeffreys", self.jeffreys), ("raw", self.raw)):
            row |= {
                f"mean_{name}": found.mean,
                f"max_{name}": found.max,
                f"support_weighted_{name}": found.support_weighted,
            }
        return row | {"reason": self.raw.reason or self.jeffreys.reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class StageTest:
    """A test of three stages in a row."""

    stages: tuple[str, str, str]
    test: MarkovTest

    def to_dict(self) -> dict[str, object]:
        """Return it as a row; effect sizes come first."""
        found = self.test
        return {
            "first": self.stages[0],
            "between": self.stages[1],
            "last": self.stages[2],
            "effect_if_wrong": found.effect_if_wrong,
            "effect_if_right": found.effect_if_right,
            "n_items": found.n_items,
            "g_squared": found.g_squared,
            "degrees_of_freedom": found.degrees_of_freedom,
            "p_value": found.p_value,
            "method": found.method,
            "words": found.words,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CompositionResult:
    """Gaps within the sample and held out, residuals of the final success, tests of memory."""

    stages: tuple[str, ...]
    n_pairs: int
    n_items: int
    transitions: tuple[StageTransition, ...]
    """Adjacent, chained and direct, over all items, then by group."""
    gaps: tuple[Gap, ...]
    """All items within the sample, then each group, then each fold held out."""
    residuals: tuple[tuple[str, FinalResidual], ...]
    """(fold, residual) of each group of each held-out fold."""
    tests: tuple[StageTest, ...]
    """Of every three stages in a row, over the first run of each item."""
    group_column: str | None
    fold_column: str | None
    """`None` = two halves of the items, drawn by the seed."""
    level: float
    n_resamples: int
    seed: int

    def mean_residual(self, reading: str) -> float | None:
        """Return the mean absolute residual over folds and groups, weighted by items.

        Args:
            reading: `pooled` or `conditioned`.

        Returns:
            The mean, or `None` where one of them is unknown.
        """
        found = [(getattr(each, reading), each.n_items) for _, each in self.residuals]
        if not found or any(value is None for value, _ in found):
            return None
        return float(sum(abs(value) * n for value, n in found) / sum(n for _, n in found))

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.composition/1`."""
        parts = self.parts
        return {
            "schema": SCHEMA,
            "stages": list(self.stages),
            "n_pairs": self.n_pairs,
            "n_items": self.n_items,
            "transitions": [each.to_dict() for each in self.transitions],
            "within": next(row for row in parts["audits"] if row["fold"] is None),
            "groups": [row for row in parts["audits"] if row["group"] is not None],
            "held_out": [row for row in parts["audits"] if row["fold"] is not None],
            "residuals": parts["residuals"],
            "mean_absolute_residual": {
                "pooled": self.mean_residual("pooled"),
                "conditioned": self.mean_residual("conditioned"),
            },
            "tests": parts["tests"],
            "group_column": self.group_column,
            "fold_column": self.fold_column,
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Four tables: `audits` (the gaps), `residuals`, `tests`, `transitions`."""
        return {
            "audits": [gap.to_dict() for gap in self.gaps],
            "residuals": [
                {
                    "fold": fold,
                    "group": each.group,
                    "n_items": each.n_items,
                    "observed": each.observed,
                    "pooled": each.pooled,
                    "conditioned": each.conditioned,
                }
                for fold, each in self.residuals
            ],
            "tests": [test.to_dict() for test in self.tests],
            "transitions": [_flat(each) for each in self.transitions],
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


class _Sequence(NamedTuple):
    item: str
    bits: tuple[bool, ...]
    group: str
    fold: str


def measure_composition(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    stages: Sequence[str] | None = None,
    group: str | None = None,
    fold: str | None = None,
    pool: Collection[str] = (),
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> CompositionResult:
    """Compare chained with direct transitions, from a table of success after each stage.

    Columns: `item_id`, one of bits a stage (by default `e0`, `e1`, `e2`, ...), optionally `run`,
    a group, a fold. Held out, the chain is learned from the other folds and the direct transition
    observed in the fold; an item is in one fold with all its runs.

    Args:
        table: A table, its path, or rows.
        stages: The columns of bits, first stage first, at least three.
        group: A column to compare by; residuals tell pooled beside group-conditioned.
        fold: A column that tells the fold; by default two halves of the items, drawn by the seed.
        pool: Columns that may differ between rows all the same, as in `measure_paired`.
        level: Probability inside the intervals of the transitions.
        n_resamples: Resamples of items, where they repeat.
        seed: Seed of the halves and of the resampling.

    Raises:
        TableError: A bit is missing or none; (item, run) comes twice; an item is in two folds; rows
            are of different steps, operations, inputs, rules or stacks.
        SettingsError: There are fewer than three stages.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    names = tuple(stages) if stages is not None else _stages(source)
    if len(names) < 3:
        raise SettingsError(f"composition needs three stages or more, not {', '.join(names)!r}")
    source.require("item_id", *names, *(name for name in (group, fold) if name is not None))
    rows = _folded(_read(source, names, group, fold, pool), seed, has_folds=fold is not None)
    return CompositionResult(
        stages=names,
        n_pairs=len(rows),
        n_items=len({row.item for row in rows}),
        transitions=tuple(
            each
            for name, chosen in _by_name(rows, has_groups=group is not None)
            for each in transitions_of(
                [ItemSequence(row.item, row.bits) for row in chosen],
                names,
                group=name,
                level=level,
                n_resamples=n_resamples,
                seed=seed,
            )
        ),
        gaps=tuple(_gaps(rows, has_groups=group is not None)),
        residuals=tuple(_residuals(rows)),
        tests=tuple(_tests(rows, names)),
        group_column=group,
        fold_column=fold,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def _stages(table: Table) -> tuple[str, ...]:
    found = [name for name in table.columns if _STAGE.fullmatch(name)]
    return tuple(sorted(found, key=lambda name: int(name[1:])))


def _read(
    table: Table,
    names: Sequence[str],
    group: str | None,
    fold: str | None,
    pool: Collection[str],
) -> list[_Sequence]:
    separate = [name for name in SEPARATE if name in table.columns and name not in pool]
    first: dict[str, str | None] = {}
    seen: dict[tuple[str, str | None], Row] = {}
    folds: dict[str, str] = {}
    rows = []
    for row in table:
        kinds = {name: row.optional_text(name) for name in separate}
        first = first or kinds
        odd = next((name for name in separate if kinds[name] != first[name]), None)
        if odd is not None:
            raise row.refuse(f"{odd!r} is {kinds[odd]!r} where the first has {first[odd]!r}: these"
                             " are never pooled; choose one, or report each by itself")  # fmt: skip
        item, run = row.text("item_id"), row.optional_text("run")
        if (item, run) in seen:
            raise row.refuse(f"item {item!r} was in {seen[item, run].name} already; items that"
                             " repeat need a `run` column")  # fmt: skip
        seen[item, run] = row
        where = row.text(fold) if fold is not None else ""
        if folds.setdefault(item, where) != where:
            raise row.refuse(f"item {item!r} is in fold {where!r} here and {folds[item]!r} before")
        bits = tuple(row.bit(name) for name in names)
        rows.append(_Sequence(item, bits, row.text(group) if group is not None else "all", where))
    return rows


def _folded(rows: list[_Sequence], seed: int, *, has_folds: bool) -> list[_Sequence]:
    if has_folds:
        return rows
    items = sorted({row.item for row in rows})
    random.Random(seed).shuffle(items)  # noqa: S311  a split, not a secret
    first = set(items[: (len(items) + 1) // 2])
    return [row._replace(fold=_HALVES[row.item not in first]) for row in rows]


def _gap(
    learned: Sequence[_Sequence], direct: Sequence[_Sequence] | None, **where: str | None
) -> Gap:
    held_out = None if direct is None else [row.bits for row in direct]
    bits = [row.bits for row in learned]
    return Gap(
        group=where.get("group"),
        fold=where.get("fold"),
        jeffreys=gap_of_sequences(bits, held_out=held_out),
        raw=gap_of_sequences(bits, held_out=held_out, smoothing="raw"),
    )


def _by_name(
    rows: Sequence[_Sequence], *, has_groups: bool
) -> Iterable[tuple[str | None, list[_Sequence]]]:
    """Give all rows, then those of each group."""
    yield None, list(rows)
    for name in sorted({row.group for row in rows}, key=natural_order) if has_groups else ():
        yield name, [row for row in rows if row.group == name]


def _flat(found: StageTransition) -> dict[str, object]:
    row: dict[str, object] = {}
    for key, value in found.to_dict().items():
        if isinstance(value, dict):
            row |= {f"{key}_{name}": inner for name, inner in value.items() if name != "reason"}
        else:
            row[key] = value
    return row


def _gaps(rows: Sequence[_Sequence], *, has_groups: bool) -> Iterable[Gap]:
    for name, chosen in _by_name(rows, has_groups=has_groups):
        yield _gap(chosen, None, group=name)
    for name, (others, own) in _folds(rows).items():
        yield _gap(others, own, fold=name)


def _folds(rows: Sequence[_Sequence]) -> dict[str, tuple[list[_Sequence], list[_Sequence]]]:
    names = sorted({row.fold for row in rows}, key=natural_order)
    if len(names) < 2:
        return {}
    return {
        name: (
            [row for row in rows if row.fold != name],
            [row for row in rows if row.fold == name],
        )
        for name in names
    }


def _residuals(rows: Sequence[_Sequence]) -> Iterable[tuple[str, FinalResidual]]:
    for name, (others, own) in _folds(rows).items():
        for residual in final_residuals(_by_group(others), _by_group(own)):
            yield name, residual


def _by_group(rows: Sequence[_Sequence]) -> dict[str, list[tuple[bool, ...]]]:
    groups: dict[str, list[tuple[bool, ...]]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row.bits)
    return {name: groups[name] for name in sorted(groups, key=natural_order)}


def _tests(rows: Sequence[_Sequence], names: Sequence[str]) -> Iterable[StageTest]:
    once: dict[str, tuple[bool, ...]] = {}
    for row in rows:
        once.setdefault(row.item, row.bits)
    for at in range(len(names) - 2):
        test = markov_test((bits[at], bits[at + 1], bits[at + 2]) for bits in once.values())
        yield StageTest(stages=(names[at], names[at + 1], names[at + 2]), test=test)
