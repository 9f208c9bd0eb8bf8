"""`measure evidence`: how reliable the evidence is that a pipeline's stages receive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanwitness.measure.result import choose_part, ends, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.evidence import (
    CellRates,
    Escalation,
    Family,
    MatchedChange,
    RowAccounting,
    RowKey,
    StageRow,
    account,
    cell_rates,
    families,
    matched_changes,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table

__all__ = ["SCHEMA", "EvidenceResult", "measure_evidence"]

SCHEMA: Final = "spanwitness.evidence/1"
_RATES: Final = (
    "parser_validity",
    "stage_success",
    "format_false_assurance",
    "evidence_adequacy",
    "detection",
    "audit_false_assurance",
    "recovery",
    "deferral",
)
_FAMILIES: Final = (
    Family.incomplete,
    Family.parser_failure,
    Family.audit_false_assurance,
    Family.detected_but_unrecovered,
    Family.silent,
    Family.recovered,
    Family.preserved_success,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceResult:
    """Rates by condition and stage, matched changes, families, and what is missing."""

    cells: tuple[CellRates, ...]
    changes: tuple[MatchedChange, ...]
    family_of: Mapping[tuple[str, str], Family]
    """By (case_id, condition)."""
    deferred: frozenset[tuple[str, str]]
    """Sequences among `detected_but_unrecovered` that were deferred: no failures."""
    accounting: RowAccounting
    baseline: str
    optional: tuple[str, ...]
    """Stages without which a sequence is complete."""
    level: float
    n_resamples: int
    seed: int

    def failure_rate(self, condition: str | None = None) -> float | None:
        """Return the share of sequences that are neither successes, recoveries nor deferrals.

        Args:
            condition: The condition; by default all.

        Returns:
            The share, or `None` where there is no sequence.
        """
        chosen = [key for key in self.family_of if condition in (None, key[1])]
        fine = (Family.preserved_success, Family.recovered)
        n_failed = sum(
            self.family_of[key] not in fine and key not in self.deferred for key in chosen
        )
        return n_failed / len(chosen) if chosen else None

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.evidence/1`."""
        counts = Counter(self.family_of.values())
        conditions = list(dict.fromkeys(condition for _, condition in self.family_of))
        return {
            "schema": SCHEMA,
            "baseline": self.baseline,
            "optional_stages": list(self.optional),
            "cells": [_cell_json(cell) for cell in self.cells],
            "paired": [_change_json(change) for change in self.changes],
            "families": {family.value: counts[family] for family in _FAMILIES},
            "families_by_condition": {name: self._families_of(name) for name in conditions},
            "failure_rate": self.failure_rate(),
            "failure_rate_by_condition": {name: self.failure_rate(name) for name in conditions},
            "n_deferred": len(self.deferred),
            "accounting": {
                "planned": self.accounting.planned,
                "attempted": self.accounting.attempted,
                "retained": self.accounting.retained,
                "missing": [
                    {
                        "case_id": key.case_id,
                        "condition": key.condition,
                        "stage": key.stage,
                        "status": status,
                    }
                    for key, status in self.accounting.missing
                ],
                "missing_by_stage": self.accounting.missing_by("stage"),
                "missing_by_condition": self.accounting.missing_by("condition"),
            },
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    def _families_of(self, condition: str) -> dict[str, int]:
        counts = Counter(
            family for (_, name), family in self.family_of.items() if name == condition
        )
        return {family.value: counts[family] for family in _FAMILIES}

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Four tables: `cells`, `paired`, `families`, `missing`."""
        conditions = dict.fromkeys(condition for _, condition in self.family_of)
        return {
            "cells": [_cell_row(cell) for cell in self.cells],
            "paired": [_change_json(change) for change in self.changes],
            "families": [{"condition": name, **self._families_of(name)} for name in conditions],
            "missing": [
                {
                    "case_id": key.case_id,
                    "condition": key.condition,
                    "stage": key.stage,
                    "status": status,
                }
                for key, status in self.accounting.missing
            ],
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default `cells`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_evidence(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    baseline: str = "clean",
    plan: Table | Path | str | Iterable[Mapping[str, object]] | None = None,
    optional: Collection[str] = (),
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> EvidenceResult:
    """Measure the evidence states of a pipeline from a table with a row a stage.

    Columns: `case_id`, `condition`, `stage`, `parser_valid`, `validity_judgment`,
    `evidence_adequate`, `audit_detected_degradation`, `audit_false_assurance`,
    `escalation_recovery` (0, 1, or recovered, deferred, unresolved), optionally `status`. An empty
    cell means not applicable, in every column but `parser_valid`; a stage in which some parsed
    rows have a validity judgement must have one in all.

    Args:
        table: A table, its path, or rows.
        baseline: The condition to compare the others with.
        plan: A table with the `case_id`, `condition`, `stage` that were planned.
        optional: Stages without which a sequence is complete, such as an escalation that only
            detected cases go through.
        level: Probability inside the intervals.
        n_resamples: Resamples of the base cases.
        seed: Seed of the resampling.

    Raises:
        TableError: A key comes twice or is not in the plan; a bit is missing, NaN or no bit.
        CountError: No retained row has the baseline condition.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    source.require("case_id", "condition", "stage", "parser_valid", "validity_judgment")
    planned = None if plan is None else _read_plan(as_table(plan))
    rows = _read(source, None if planned is None else frozenset(planned))
    family_of = families(rows, planned=planned or (), optional=optional)
    return EvidenceResult(
        cells=cell_rates(rows, level=level),
        changes=matched_changes(
            rows, baseline=baseline, level=level, n_resamples=n_resamples, seed=seed
        ),
        family_of=family_of,
        deferred=frozenset(
            (row.key.case_id, row.key.condition)
            for row in rows
            if row.escalation is Escalation.deferred
            and family_of[row.key.case_id, row.key.condition] is Family.detected_but_unrecovered
        ),
        accounting=account(rows, planned),
        baseline=baseline,
        optional=tuple(optional),
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def _read_plan(table: Table) -> list[RowKey]:
    table.require("case_id", "condition", "stage")
    keys: dict[RowKey, str] = {}
    for row in table:
        key = _key(row)
        if key in keys:
            raise row.refuse(f"{_named(key)} is planned in {keys[key]} already")
        keys[key] = row.name
    return list(keys)


def _read(table: Table, planned: frozenset[RowKey] | None) -> list[StageRow]:
    seen: dict[RowKey, str] = {}
    read: list[tuple[Row, StageRow]] = []
    for row in table:
        key = _key(row)
        if key in seen:
            raise row.refuse(f"{_named(key)} was in {seen[key]} already")
        if planned is not None and key not in planned:
            raise row.refuse(f"{_named(key)} is not in the plan")
        seen[key] = row.name
        read.append((row, _stage_row(row, key)))
    judged = {found.key.stage for _, found in read if found.validity is not None}
    for row, found in read:
        is_parsed = found.is_retained and found.parser_valid
        if is_parsed and found.validity is None and found.key.stage in judged:
            raise row.refuse(
                f"'validity_judgment' is missing for a parsed output at stage {found.key.stage!r}, "
                "which has judgements in other rows"
            )
    return [found for _, found in read]


def _stage_row(row: Row, key: RowKey) -> StageRow:
    status = row.optional_text("status") or "retained"
    if status != "retained":
        return StageRow(key=key, parser_valid=row.optional_bit("parser_valid"), status=status)
    return StageRow(
        key=key,
        parser_valid=row.bit("parser_valid"),
        validity=row.optional_bit("validity_judgment"),
        evidence_adequate=row.optional_bit("evidence_adequate"),
        audit_detected=row.optional_bit("audit_detected_degradation"),
        audit_false_assurance=row.optional_bit("audit_false_assurance"),
        escalation=_escalation(row),
        status=status,
    )


def _escalation(row: Row) -> Escalation | None:
    word = row.optional_text("escalation_recovery")
    if word is None:
        return None
    if word in Escalation.__members__:
        return Escalation(word)
    is_recovered = row.bit("escalation_recovery")
    return Escalation.recovered if is_recovered else Escalation.unresolved


def _key(row: Row) -> RowKey:
    return RowKey(
        case_id=row.text("case_id"), condition=row.text("condition"), stage=row.text("stage")
    )


def _named(key: RowKey) -> str:
    return f"case {key.case_id!r} under {key.condition!r} at {key.stage!r}"


def _cell_json(cell: CellRates) -> dict[str, object]:
    rates = {name: getattr(cell, name) for name in _RATES}
    return {
        "condition": cell.condition,
        "stage": cell.stage,
        "n": cell.n,
        **{name: found.raw for name, found in rates.items()},
        "counts": {name: [found.k, found.n] for name, found in rates.items()},
        "intervals": {name: ends(found.interval) for name, found in rates.items()},
    }


def _cell_row(cell: CellRates) -> dict[str, object]:
    row: dict[str, object] = {"condition": cell.condition, "stage": cell.stage, "n": cell.n}
    for name in _RATES:
        found = getattr(cell, name)
        low, high = ends(found.interval) or (None, None)
        row |= {
            name: found.raw,
            f"{name}_k": found.k,
            f"{name}_n": found.n,
            f"{name}_ci_low": low,
            f"{name}_ci_high": high,
        }
    return row


def _change_json(change: MatchedChange) -> dict[str, object]:
    low, high = ends(change.interval) or (None, None)
    return {
        "condition": change.condition,
        "stage": change.stage,
        "measure": change.measure,
        "n": change.n,
        "mean_change": change.mean_change,
        "ci_low": low,
        "ci_high": high,
    }
