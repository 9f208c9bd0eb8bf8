"""`measure paired`: what a protocol step corrects and corrupts, from a table of outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanwitness.measure.result import choose_part, frame_of
from spanwitness.measure.table import TableError, as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED, ratio_interval
from spanwitness.stats.counts import rate
from spanwitness.stats.decision import Decision, decide
from spanwitness.stats.groups import sensitivity
from spanwitness.stats.intervals import beta_interval
from spanwitness.stats.paired import BreakEven, PairedCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table
    from spanwitness.stats.counts import Rate

__all__ = ["SCHEMA", "SEPARATE", "PairedResult", "StepAudit", "measure_paired"]

SCHEMA: Final = "spanwitness.paired/1"
SEPARATE: Final[tuple[str, ...]] = ("step", "operation", "inputs", "rule", "success_rule", "stack")
"""Columns whose values are never pooled unless asked for: rows that differ there are of different
steps, operations, input configurations, success rules or stacks."""
_SHIFT = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAudit:
    """The audit of a step over all rows, or over those of a group."""

    counts: PairedCounts
    n_items: int
    """Items; fewer than pairs where items repeat over runs."""
    correction: Rate
    """Its interval is Jeffreys', or over items where they repeat."""
    corruption: Rate
    """Not at risk where nothing was right before, or where the protocol forbids corruption."""
    decision: Decision
    break_even: BreakEven

    def to_dict(self) -> dict[str, object]:
        """Return the part of the fixed JSON form for one group."""
        counts, accounting, needed = self.counts, self.counts.accounting(), self.break_even
        return {
            "n_pairs": counts.n_pairs,
            "n_items": self.n_items,
            "n_corrected": counts.n_corrected,
            "n_corrupted": counts.n_corrupted,
            "n_kept_right": counts.n_kept_right,
            "n_kept_wrong": counts.n_kept_wrong,
            "p_before": counts.p_before,
            "p_after": counts.p_after,
            "change": None if accounting is None else accounting.change,
            "correction_rate": _rate_json(self.correction),
            "corruption_rate": _rate_json(self.corruption),
            "break_even_correction_rate": needed.rate,
            "break_even": {
                "multiplier": needed.multiplier,
                "attainable": needed.attainable,
                "reason": needed.reason,
            },
            "decision": self.decision.word,
            "decision_probability": self.decision.probability,
        }

    def to_row(self, group: str | None) -> dict[str, object]:
        """Return the audit as one flat row.

        Args:
            group: The group; `None` for all rows.
        """
        row: dict[str, object] = {"group": group}
        for key, value in self.to_dict().items():
            if isinstance(value, dict):
                row.update({f"{key}_{name}": inner for name, inner in value.items()})
            else:
                row[key] = value
        return row


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedResult:
    """What a step does, over all rows and by group."""

    overall: StepAudit
    groups: Mapping[str, StepAudit]
    """By value of the group column; empty without one."""
    group_column: str | None
    cost: float
    level: float
    seed: int

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.paired/1`."""
        shifted = sensitivity({name: audit.counts for name, audit in self.groups.items()},
                              shift=_SHIFT) if self.groups else ()  # fmt: skip
        return {
            "schema": SCHEMA,
            "overall": self.overall.to_dict(),
            "groups": {name: audit.to_dict() for name, audit in self.groups.items()},
            "group_column": self.group_column,
            "sensitivity": [
                {"group": each.group, "shift": each.shift, "predicted_change": each.change}
                for each in shifted
            ],
            "cost": self.cost,
            "level": self.level,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """One table, `audits`: a row for all (group empty) and one a group."""
        rows = [self.overall.to_row(None)]
        rows += [audit.to_row(name) for name, audit in self.groups.items()]
        return {"audits": rows}

    def to_frame(self, part: str | None = None) -> object:
        """Return the audits as a data frame.

        Args:
            part: `audits`, or `None`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_paired(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    group: str | None = None,
    cost: float = 0.0,
    pool: Collection[str] = (),
    corruption_possible: bool = True,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> PairedResult:
    """Audit a step from a table of outcomes before and after it.

    Columns: `item_id`, `before`, `after` (0 or 1), optionally `run`, and any features. With a
    `run` column items may repeat, all of them over the same runs; intervals then resample items,
    and the decision takes repeats for copies. Where every item tells the same there is no spread
    to resample: then the interval is Jeffreys' on counts divided by the repeats.

    Args:
        table: A table, its path, or rows.
        group: A column to audit by.
        cost: What the gain must exceed, as a share of items (0.02 = two points).
        pool: Columns of `SEPARATE` that may differ between rows all the same.
        corruption_possible: Whether the protocol may revise a right answer. Where it may not, the
            corruption rate was not at risk, and a row that shows a corruption is refused.
        level: Probability inside the intervals.
        n_resamples: Resamples of items, where they repeat.
        seed: Seed of the resampling.

    Raises:
        TableError: A bit is missing, NaN or neither 0 nor 1; (item, run) comes twice; items have
            unequal runs; a group is missing; rows are of different steps, operations, inputs,
            rules or stacks; a right answer was revised where that is said to be impossible.
        CountError: The cost or the level cannot be used.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    source.require("item_id", "before", "after", *([group] if group is not None else []))
    outcomes = _read(source, group=group, pool=pool, corruption_possible=corruption_possible)

    def audit(chosen: Sequence[_Outcome]) -> StepAudit:
        found = _audit(chosen, cost=cost, level=level, n_resamples=n_resamples, seed=seed)
        return found if corruption_possible else _without_corruption(found)

    by_group: dict[str, list[_Outcome]] = {}
    if group is not None:
        for outcome in outcomes:
            by_group.setdefault(outcome.group, []).append(outcome)
    return PairedResult(
        overall=audit(outcomes),
        groups={name: audit(by_group[name]) for name in sorted(by_group, key=natural_order)},
        group_column=group,
        cost=cost,
        level=level,
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    item: str
    before: bool
    after: bool
    group: str


def _without_corruption(audit: StepAudit) -> StepAudit:
    """What a protocol forbids was not at risk: no rate of it is told, and none decides."""
    repeats = audit.counts.n_pairs / audit.n_items
    return replace(
        audit,
        corruption=rate(0, 0),
        break_even=replace(audit.break_even, rate=None, attainable=None, reason="not_at_risk"),
        decision=decide(
            audit.counts, cost=audit.decision.cost, repeats=repeats, corruption_possible=False
        ),
    )


def _read(
    table: Table, *, group: str | None, pool: Collection[str], corruption_possible: bool
) -> list[_Outcome]:
    unknown = [name for name in pool if name not in SEPARATE]
    if unknown:
        raise table.refuse(f"pool names {unknown[0]!r}: only {', '.join(SEPARATE)} can be pooled")
    separate = [name for name in SEPARATE if name in table.columns and name not in pool]
    has_runs = "run" in table.columns
    outcomes = []
    first: dict[str, str | None] = {}
    runs: dict[str, dict[str, int]] = {}
    for row in table:
        kinds = {name: row.optional_text(name) for name in separate}
        first = first or kinds
        _check_same(row, kinds, first)
        item = row.text("item_id")
        run = row.text("run") if has_runs else ""
        _check_new(row, item, run, runs.setdefault(item, {}), has_runs=has_runs)
        before, after = row.bit("before"), row.bit("after")
        if before and not after and not corruption_possible:
            raise row.refuse("a right answer was revised: the protocol does not forbid corruption")
        outcomes.append(_Outcome(item, before, after, row.text(group) if group else ""))
    _check_equal_runs(table, runs)
    return outcomes


def _check_same(row: Row, kinds: Mapping[str, str | None], first: Mapping[str, str | None]) -> None:
    for name, kind in kinds.items():
        if kind != first[name]:
            raise row.refuse(
                f"{name!r} is {kind!r} where row 1 has {first[name]!r}: these are never pooled; "
                f"split the table by {name!r}, or ask for it (pool {name})"
            )


def _check_new(row: Row, item: str, run: str, seen: dict[str, int], *, has_runs: bool) -> None:
    if run in seen:
        what = f"item {item!r}" + (f" in run {run!r}" if has_runs else "")
        remedy = "" if has_runs else "; items that repeat need a `run` column"
        raise row.refuse(f"{what} was in row {seen[run]} already{remedy}")
    seen[run] = row.number


def _check_equal_runs(table: Table, runs: Mapping[str, Mapping[str, int]]) -> None:
    first_item, expected = next(iter(runs.items()))
    for item, found in runs.items():
        if found.keys() != expected.keys():
            odd = min(found.keys() ^ expected.keys(), key=natural_order)
            has, lacks = (item, first_item) if odd in found else (first_item, item)
            raise TableError(
                f"unequal pairing: item {has!r} has run {odd!r} and item {lacks!r} has not; "
                "all items need the same runs",
                source=table.source,
                row=runs[has][odd],
            )


def _audit(
    outcomes: Sequence[_Outcome], *, cost: float, level: float, n_resamples: int, seed: int
) -> StepAudit:
    counts = PairedCounts.from_bits((outcome.before, outcome.after) for outcome in outcomes)
    n_items = len({outcome.item for outcome in outcomes})
    repeats = len(outcomes) / n_items
    correction, corruption = (
        counts.correction_rate(level=level),
        counts.corruption_rate(level=level),
    )
    if repeats > 1:

        def clustered(found: Rate, *, before: bool) -> Rate:
            return _clustered(outcomes, found, before=before, level=level,
                              n_resamples=n_resamples, seed=seed)  # fmt: skip

        correction = clustered(correction, before=False)
        corruption = clustered(corruption, before=True)
    return StepAudit(
        counts=counts,
        n_items=n_items,
        correction=correction,
        corruption=corruption,
        decision=decide(counts, cost=cost, repeats=repeats),
        break_even=counts.break_even(),
    )


def _clustered(
    outcomes: Sequence[_Outcome],
    found: Rate,
    *,
    before: bool,
    level: float,
    n_resamples: int,
    seed: int,
) -> Rate:
    """Return a rate with an interval over items, each drawn with all its runs."""
    if found.n == 0:
        return found
    events: dict[str, int] = {}
    at_risk: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.before is before:
            at_risk[outcome.item] = at_risk.get(outcome.item, 0) + 1
            events[outcome.item] = events.get(outcome.item, 0) + (outcome.after is not before)
    interval = ratio_interval(
        list(events.values()),
        list(at_risk.values()),
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )
    if interval is None:
        repeats = found.n / len(at_risk)
        interval = beta_interval(found.k / repeats, found.n / repeats, level=level)
    return replace(found, interval=interval)


def _rate_json(found: Rate) -> dict[str, object]:
    interval = found.interval
    made: dict[str, object] = {
        "raw": found.raw,
        "jeffreys": found.jeffreys,
        "ci_low": None if interval is None else interval.low,
        "ci_high": None if interval is None else interval.high,
        "n": found.n,
        "interval": None if interval is None else interval.method,
    }
    if found.reason is not None:
        made["reason"] = found.reason
    return made


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
