"""`measure paired`: what a protocol step corrects and corrupts, from a table of outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanwitness.measure.item_rates import rate_json, rate_over_items
from spanwitness.measure.item_rows import SEPARATE, ItemPair, Unequal, natural_order, read_rows
from spanwitness.measure.predictions import DeclaredMixture, HeldOutFold, held_out_halves
from spanwitness.measure.result import choose_part, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.counts import rate
from spanwitness.stats.decision import Decision, decide
from spanwitness.stats.groups import predict_mixture, sensitivity
from spanwitness.stats.paired import BreakEven, PairedCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Table
    from spanwitness.stats.counts import Rate

__all__ = ["SCHEMA", "SEPARATE", "PairedResult", "StepAudit", "measure_paired"]

SCHEMA: Final = "spanwitness.paired/1"
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
            "correction_rate": rate_json(self.correction),
            "corruption_rate": rate_json(self.corruption),
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
                row.setdefault(f"{key}_reason", None)
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
    mixture: DeclaredMixture | None = None
    """What a declared mixture of the groups would give; `None` = none was declared."""
    held_out: tuple[HeldOutFold, ...] = ()
    """How far the rates of one half of the items, pooled and by group, miss the other half."""

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
            "mixture": None if self.mixture is None else self.mixture.to_dict(),
            "held_out": [fold.to_dict() for fold in self.held_out],
            "cost": self.cost,
            "level": self.level,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """`audits`, a row for all (group empty) and one a group; and `held_out`."""
        rows = [self.overall.to_row(None)]
        rows += [audit.to_row(name) for name, audit in self.groups.items()]
        return {"audits": rows, "held_out": [fold.to_dict() for fold in self.held_out]}

    def to_frame(self, part: str | None = None) -> object:
        """Return the audits as a data frame.

        Args:
            part: `audits` (the default) or `held_out`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_paired(  # noqa: PLR0913  one keyword per choice
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    group: str | None = None,
    cost: float = 0.0,
    pool: Collection[str] = (),
    corruption_possible: bool = True,
    unequal: Unequal = "refuse",
    mixture: Mapping[str, float] | None = None,
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
        unequal: What to do where items have unequal runs: `refuse`, or `weigh` each item by its
            runs; intervals resample items either way.
        mixture: Weight by group, summing to 1: what the groups' rates predict for such items,
            beside what pooled rates would.
        level: Probability inside the intervals.
        n_resamples: Resamples of items, where they repeat.
        seed: Seed of the resampling.

    Raises:
        TableError: A bit is missing, NaN or neither 0 nor 1; (item, run) comes twice; items have
            unequal runs; a group is missing; rows are of different steps, operations, inputs,
            rules or stacks; a right answer was revised where that is said to be impossible.
        CountError: The cost or the level cannot be used; the mixture does not sum to 1 or has a
            group of which there are no items.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    source.require("item_id", "before", "after", *([group] if group is not None else []))
    outcomes = read_rows(source, bits=("before", "after"), group=group, pool=pool, unequal=unequal)
    if not corruption_possible:
        _check_no_corruption(outcomes)

    def audit(chosen: Sequence[ItemPair]) -> StepAudit:
        found = _audit(chosen, cost=cost, level=level, n_resamples=n_resamples, seed=seed)
        return found if corruption_possible else _without_corruption(found)

    by_group: dict[str, list[ItemPair]] = {}
    if group is not None:
        for outcome in outcomes:
            by_group.setdefault(outcome.group, []).append(outcome)
    groups = {name: audit(by_group[name]) for name in sorted(by_group, key=natural_order)}
    return PairedResult(
        overall=audit(outcomes),
        groups=groups,
        group_column=group,
        cost=cost,
        level=level,
        seed=seed,
        mixture=None if mixture is None else _declared(groups, mixture),
        held_out=held_out_halves(outcomes, seed=seed) if group is not None else (),
    )


def _declared(groups: Mapping[str, StepAudit], mixture: Mapping[str, float]) -> DeclaredMixture:
    counts = {name: audit.counts for name, audit in groups.items()}
    return DeclaredMixture(weights=mixture, prediction=predict_mixture(counts, mixture))


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


def _check_no_corruption(outcomes: Sequence[ItemPair]) -> None:
    for outcome in outcomes:
        if outcome.before and not outcome.after:
            raise outcome.row.refuse(
                "a right answer was revised: the protocol does not forbid corruption"
            )


def _audit(
    outcomes: Sequence[ItemPair], *, cost: float, level: float, n_resamples: int, seed: int
) -> StepAudit:
    counts = PairedCounts.from_bits((outcome.before, outcome.after) for outcome in outcomes)
    n_items = len({outcome.item for outcome in outcomes})

    def over_items(*, before: bool) -> Rate:
        events = [(o.item, o.after is not before) for o in outcomes if o.before is before]
        return rate_over_items(events, level=level, n_resamples=n_resamples, seed=seed)

    return StepAudit(
        counts=counts,
        n_items=n_items,
        correction=over_items(before=False),
        corruption=over_items(before=True),
        decision=decide(counts, cost=cost, repeats=len(outcomes) / n_items),
        break_even=counts.break_even(),
    )
