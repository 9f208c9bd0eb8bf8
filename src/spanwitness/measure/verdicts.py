"""`measure verdicts`: steps that accept or reject an answer, as classification tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanwitness.measure.item_rates import rate_json, rate_over_items
from spanwitness.measure.item_rows import Unequal, natural_order, read_rows
from spanwitness.measure.result import choose_part, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.verdicts import VerdictCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.item_rows import ItemPair
    from spanwitness.measure.table import Table
    from spanwitness.stats.counts import Rate

__all__ = ["SCHEMA", "VerdictAudit", "VerdictsResult", "measure_verdicts"]

SCHEMA: Final = "spanwitness.verdicts/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictAudit:
    """The classification table of a verdict step over all rows, or over those of a group."""

    counts: VerdictCounts
    """Positive means accepted."""
    n_items: int
    acceptance: Rate
    false_positive: Rate
    """Wrong answers that were accepted, among the wrong ones."""
    false_negative: Rate
    """Right answers that were rejected, among the right ones."""

    def to_dict(self) -> dict[str, object]:
        """Return the part of the fixed JSON form for one group."""
        counts = self.counts
        return {
            "n": counts.n_items,
            "n_items": self.n_items,
            **{name: getattr(counts, name) for name in counts.__slots__},
            "acceptance_rate": rate_json(self.acceptance),
            "false_positive_rate": rate_json(self.false_positive),
            "false_negative_rate": rate_json(self.false_negative),
        }

    def to_row(self, group: str | None) -> dict[str, object]:
        """Return the audit as one flat row.

        Args:
            group: The group; `None` for all rows.
        """
        row: dict[str, object] = {"group": group}
        for key, value in self.to_dict().items():
            if isinstance(value, dict):
                row.update({f"{key}_{name}": inner for name, inner in value.items()
                            if name != "reason"})  # fmt: skip
            else:
                row[key] = value
        return row


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictsResult:
    """What a verdict step accepts, over all rows and by group."""

    overall: VerdictAudit
    groups: Mapping[str, VerdictAudit]
    group_column: str | None
    level: float
    seed: int

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.verdicts/1`."""
        return {
            "schema": SCHEMA,
            "overall": self.overall.to_dict(),
            "groups": {name: audit.to_dict() for name, audit in self.groups.items()},
            "group_column": self.group_column,
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


def measure_verdicts(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    group: str | None = None,
    pool: Collection[str] = (),
    unequal: Unequal = "refuse",
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> VerdictsResult:
    """Tell what a step accepts and rejects, from a table; corrections are another measure.

    Columns: `item_id`, `right` (what was judged), `accepted` (0 or 1), optionally `run`, and any
    features. Items that repeat over runs are resampled as in `measure_paired`.

    Args:
        table: A table, its path, or rows.
        group: A column to group by.
        pool: Columns that may differ between rows all the same, as in `measure_paired`.
        unequal: As in `measure_paired`.
        level: Probability inside the intervals.
        n_resamples: Resamples of items, where they repeat.
        seed: Seed of the resampling.

    Raises:
        TableError: As `measure_paired`.
        CountError: The level cannot be used.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    source.require("item_id", "right", "accepted", *([group] if group is not None else []))
    rows = read_rows(source, bits=("right", "accepted"), group=group, pool=pool, unequal=unequal)

    def audit(chosen: Sequence[ItemPair]) -> VerdictAudit:
        return _audit(chosen, level=level, n_resamples=n_resamples, seed=seed)

    by_group: dict[str, list[ItemPair]] = {}
    if group is not None:
        for row in rows:
            by_group.setdefault(row.group, []).append(row)
    return VerdictsResult(
        overall=audit(rows),
        groups={name: audit(by_group[name]) for name in sorted(by_group, key=natural_order)},
        group_column=group,
        level=level,
        seed=seed,
    )


def _audit(rows: Sequence[ItemPair], *, level: float, n_resamples: int, seed: int) -> VerdictAudit:
    def over_items(events: Iterable[tuple[str, bool]]) -> Rate:
        return rate_over_items(events, level=level, n_resamples=n_resamples, seed=seed)

    return VerdictAudit(
        counts=VerdictCounts.from_bits((row.before, row.after) for row in rows),
        n_items=len({row.item for row in rows}),
        acceptance=over_items((row.item, row.after) for row in rows),
        false_positive=over_items((row.item, row.after) for row in rows if not row.before),
        false_negative=over_items((row.item, not row.after) for row in rows if row.before),
    )
