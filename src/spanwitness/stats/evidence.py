"""The reliability of the evidence that a pipeline's stages receive.

Method: "Evidence-State Reliability Under Controlled Degradation" (arXiv 2608.21559). A base case
passes the stages of a pipeline under several conditions of its evidence; cases are matched across
conditions, so the base case is the unit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spanwitness.stats.bootstrap import N_RESAMPLES, SEED, mean_interval
from spanwitness.stats.counts import CountError, Rate, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from spanwitness.stats.intervals import Interval

__all__ = [
    "CellRates",
    "Escalation",
    "Family",
    "MatchedChange",
    "RowAccounting",
    "RowKey",
    "StageRow",
    "account",
    "cell_rates",
    "families",
    "matched_changes",
]


class Escalation(StrEnum):
    """How an escalation ended. A deferral is no failure and no recovery."""

    recovered = "recovered"
    deferred = "deferred"
    unresolved = "unresolved"


class Family(StrEnum):
    """What became of a case under a condition, in the order in which the first that fits is taken.

    The published precedence, with `silent` for what the study saw none of, and `recovered`.
    """

    incomplete = "incomplete"
    """A stage has no retained row."""
    parser_failure = "parser_failure"
    """A stage's output was not parsed."""
    audit_false_assurance = "audit_false_assurance"
    """An audit gave an assurance that was false."""
    recovered = "recovered"
    """An escalation recovered it."""
    detected_but_unrecovered = "detected_but_unrecovered"
    """An audit told that the evidence is degraded, and nothing recovered it (a deferral did not).
    A false alarm on clean evidence lands here too, as published."""
    preserved_success = "preserved_success"
    """Every stage succeeded."""
    silent = "silent"
    """Complete, parsed, unsuccessful, and nobody told."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class RowKey:
    """One case under one condition at one stage."""

    case_id: str
    condition: str
    stage: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRow:
    """What one stage did with one case under one condition. `None` is not applicable."""

    key: RowKey
    parser_valid: bool | None
    """Whether the output met its parser contract; always given in a retained row."""
    validity: bool | None = None
    """The validity judgement on the output."""
    evidence_adequate: bool | None = None
    audit_detected: bool | None = None
    """Whether an audit told that the evidence is degraded."""
    audit_false_assurance: bool | None = None
    escalation: Escalation | None = None
    status: str = "retained"
    """`retained`, or the name of what kept the row from being analysed."""

    @property
    def is_retained(self) -> bool:
        """Whether the row is analysed."""
        return self.status == "retained"

    @property
    def succeeded(self) -> bool | None:
        """Parser valid and judged valid; `None` where parsed and without a judgement."""
        if not self.parser_valid:
            return False
        return self.validity

    @property
    def is_falsely_assured(self) -> bool | None:
        """Parser valid and not successful: what the format layer lets pass."""
        succeeded = self.succeeded
        return None if succeeded is None else bool(self.parser_valid) and not succeeded


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRates:
    """The rates of one condition and stage."""

    condition: str
    stage: str
    n: int
    """Retained rows."""
    parser_validity: Rate
    stage_success: Rate
    """Over rows with a judgement or without a parse."""
    format_false_assurance: Rate
    """Parser valid and not successful, over the same rows."""
    evidence_adequacy: Rate
    """Over rows that tell."""
    detection: Rate
    """Over parser-valid rows of an audit, on clean evidence too (there it is a false alarm)."""
    audit_false_assurance: Rate
    """Over parser-valid rows of an audit."""
    recovery: Rate
    """Over parser-valid rows with an escalation outcome."""
    deferral: Rate
    """Over the same rows."""


def cell_rates(rows: Iterable[StageRow], *, level: float = 0.95) -> tuple[CellRates, ...]:
    """Return the rates of each condition and stage, in order of appearance.

    Args:
        rows: All rows; those not retained are left out, and a cell may be left with none.
        level: Probability inside the Jeffreys intervals, with rows of a cell as units (a case has
            one row in a cell).
    """
    cells: dict[tuple[str, str], list[StageRow]] = {}
    for row in rows:
        cell = cells.setdefault((row.key.condition, row.key.stage), [])
        if row.is_retained:
            cell.append(row)
    return tuple(_cell(condition, stage, cell, level) for (condition, stage), cell in cells.items())


def _cell(condition: str, stage: str, rows: Sequence[StageRow], level: float) -> CellRates:
    def share(bits: Iterable[bool | None]) -> Rate:
        known = [bit for bit in bits if bit is not None]
        return rate(sum(known), len(known), level=level)

    parsed = [row for row in rows if row.parser_valid]
    outcomes = [row.escalation for row in parsed if row.escalation is not None]
    return CellRates(
        condition=condition,
        stage=stage,
        n=len(rows),
        parser_validity=share(row.parser_valid for row in rows),
        stage_success=share(row.succeeded for row in rows),
        format_false_assurance=share(row.is_falsely_assured for row in rows),
        evidence_adequacy=share(row.evidence_adequate for row in rows),
        detection=share(row.audit_detected for row in parsed),
        audit_false_assurance=share(row.audit_false_assurance for row in parsed),
        recovery=share(outcome is Escalation.recovered for outcome in outcomes),
        deferral=share(outcome is Escalation.deferred for outcome in outcomes),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedChange:
    """The mean change of a measure from the baseline, over matched base cases."""

    condition: str
    stage: str
    measure: str
    """`parser_validity`, `stage_success`, `format_false_assurance`, `evidence_adequacy`, or
    `reliability_layer_divergence`: the change of parser validity minus that of stage success."""
    n: int
    """Base cases with the measure under both conditions."""
    mean_change: float
    interval: Interval | None
    """Percentile bootstrap over base cases; `None` with fewer than two."""


def _divergence(row: StageRow) -> float | None:
    succeeded = row.succeeded
    return None if succeeded is None else float(bool(row.parser_valid)) - float(succeeded)


_MEASURES: Mapping[str, Callable[[StageRow], float | None]] = {
    "parser_validity": lambda row: row.parser_valid,
    "stage_success": lambda row: row.succeeded,
    "format_false_assurance": lambda row: row.is_falsely_assured,
    "evidence_adequacy": lambda row: row.evidence_adequate,
    "reliability_layer_divergence": _divergence,
}


def matched_changes(
    rows: Iterable[StageRow],
    *,
    baseline: str,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> tuple[MatchedChange, ...]:
    """Return the changes from the baseline condition, matched by base case.

    A case counts where it has a retained row under both conditions at that stage.

    Args:
        rows: All rows.
        baseline: The condition to compare with.
        level: Probability inside the intervals.
        n_resamples: Resamples of the base cases.
        seed: Seed of the resampling.

    Raises:
        CountError: No retained row has the baseline condition.
    """
    everything = list(rows)
    retained = {row.key: row for row in everything if row.is_retained}
    if all(key.condition != baseline for key in retained):
        raise CountError(f"no retained row has the baseline condition {baseline!r}")
    conditions = list(dict.fromkeys(row.key.condition for row in everything))
    stages = list(dict.fromkeys(row.key.stage for row in everything))
    found = []
    for condition in conditions:
        if condition == baseline:
            continue
        for stage in stages:
            pairs = _matched(retained, baseline, condition, stage)
            for measure, value_of in _MEASURES.items():
                values = [(value_of(one), value_of(two)) for one, two in pairs]
                changes = [
                    float(two) - float(one)
                    for one, two in values
                    if one is not None and two is not None
                ]
                if not changes:
                    continue
                interval = mean_interval(changes, level=level, n_resamples=n_resamples, seed=seed)
                found.append(
                    MatchedChange(
                        condition=condition,
                        stage=stage,
                        measure=measure,
                        n=len(changes),
                        mean_change=sum(changes) / len(changes),
                        interval=interval,
                    )
                )
    return tuple(found)


def _matched(
    retained: Mapping[RowKey, StageRow], baseline: str, condition: str, stage: str
) -> list[tuple[StageRow, StageRow]]:
    pairs = []
    for key, row in retained.items():
        if key.condition == condition and key.stage == stage:
            base = retained.get(RowKey(case_id=key.case_id, condition=baseline, stage=stage))
            if base is not None:
                pairs.append((base, row))
    return pairs


def families(
    rows: Iterable[StageRow],
    *,
    stages: Sequence[str] | None = None,
    planned: Iterable[RowKey] = (),
    optional: Collection[str] = (),
) -> dict[tuple[str, str], Family]:
    """Return the family of each sequence: a case under a condition.

    Args:
        rows: All rows, also those not retained.
        stages: The stages a complete sequence has; by default all that occur.
        planned: Keys of a plan: a sequence of it without any row is incomplete.
        optional: Stages that a complete sequence may lack, such as an escalation that only what
            was detected goes through; a row of one that was not retained still makes it incomplete.

    Returns:
        Family by (case_id, condition).
    """
    sequences: dict[tuple[str, str], dict[str, StageRow]] = {}
    plan = tuple(planned)
    for key in plan:
        sequences.setdefault((key.case_id, key.condition), {})
    for row in rows:
        sequences.setdefault((row.key.case_id, row.key.condition), {})[row.key.stage] = row
    seen = {stage for sequence in sequences.values() for stage in sequence}
    expected = stages or sorted(seen | {key.stage for key in plan})
    needed = [stage for stage in expected if stage not in optional]
    return {
        key: _family(sequence, needed, [stage for stage in expected if stage in optional])
        for key, sequence in sequences.items()
    }


def _family(
    sequence: Mapping[str, StageRow], needed: Sequence[str], optional: Sequence[str]
) -> Family:
    rows = [sequence[stage] for stage in (*needed, *optional) if stage in sequence]
    is_whole = bool(rows) and all(stage in sequence for stage in needed)
    if not is_whole or not all(row.is_retained for row in rows):
        return Family.incomplete
    if not all(row.parser_valid for row in rows):
        return Family.parser_failure
    if any(row.audit_false_assurance for row in rows):
        return Family.audit_false_assurance
    if any(row.escalation is Escalation.recovered for row in rows):
        return Family.recovered
    if any(row.audit_detected for row in rows):
        return Family.detected_but_unrecovered
    successes = [row.succeeded for row in rows if row.succeeded is not None]
    return Family.preserved_success if successes and all(successes) else Family.silent


@dataclass(frozen=True, kw_only=True, slots=True)
class RowAccounting:
    """What was planned, attempted and retained, with every missing row named."""

    planned: int | None
    """Rows of the plan; `None` without a plan."""
    attempted: int
    """Rows that exist, whatever became of them."""
    retained: int
    missing: tuple[tuple[RowKey, str], ...]
    """Planned or attempted rows that are not retained, each with its status or `not_attempted`."""

    def missing_by(self, part: str) -> dict[str, int]:
        """Count the missing rows by `stage` or by `condition`.

        Args:
            part: A field of `RowKey`.
        """
        return dict(Counter(str(getattr(key, part)) for key, _ in self.missing))


def account(rows: Iterable[StageRow], plan: Iterable[RowKey] | None = None) -> RowAccounting:
    """Account for every planned and every attempted row.

    Args:
        rows: All rows, one a key.
        plan: The keys that were planned; `None` where no plan is known.

    Raises:
        CountError: A row comes twice, or is not in the plan.
    """
    by_key: dict[RowKey, StageRow] = {}
    for row in rows:
        if row.key in by_key:
            raise CountError(f"{_name(row.key)} comes twice")
        by_key[row.key] = row
    planned = None if plan is None else list(dict.fromkeys(plan))
    if planned is not None:
        unplanned = by_key.keys() - set(planned)
        if unplanned:
            raise CountError(f"{_name(min(unplanned))} is not in the plan")
    missing = [(key, row.status) for key, row in by_key.items() if not row.is_retained]
    missing += [(key, "not_attempted") for key in planned or () if key not in by_key]
    return RowAccounting(
        planned=None if planned is None else len(planned),
        attempted=len(by_key),
        retained=sum(row.is_retained for row in by_key.values()),
        missing=tuple(missing),
    )


def _name(key: RowKey) -> str:
    return f"case {key.case_id!r} under {key.condition!r} at {key.stage!r}"
