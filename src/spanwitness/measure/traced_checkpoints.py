"""Pairs of two outcomes that were recorded after the run, whatever its steps say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.measure.table import Table
from spanwitness.measure.traced_table import OUTCOMES, MissingStep, TracedTable, group_value
from spanwitness.model.steps import StepIdentity

if TYPE_CHECKING:
    from spanwitness.measure.traces import Features, TraceLog

__all__ = ["checkpoint_pairs"]


def checkpoint_pairs(
    log: TraceLog, before: str, after: str, *, group: str | None, features: Features
) -> TracedTable:
    """Return a row for each run: the outermost ones, and inner ones that name an item of their own.

    Args:
        log: The traces.
        before: Checkpoint of the outcomes before.
        after: Checkpoint of the outcomes after.
        group: What to group by.
        features: Columns by item.

    Raises:
        TableError: No run has outcomes at both; nothing says what the group of a row is.
    """
    step = f"{before} -> {after}"
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    missing: list[MissingStep] = []
    for run in log.runs:
        if len(run.run_ids) > 1 and run.run.item_id is None:
            continue
        bits = (log.outcome(run, before), log.outcome(run, after))
        gaps = [name for name, bit in zip((before, after), bits, strict=True) if bit is None]
        label = f"run {run.run.run_id}"
        if gaps:
            missing.append(
                MissingStep(
                    run_id=run.run.run_id, item_id=run.item_id, step=step, span_id=None,
                    reason="no_outcome:" + "+".join(gaps),
                )
            )  # fmt: skip
            continue
        identity = StepIdentity(step=step, rule=OUTCOMES, stack=run.run.stack)
        row: dict[str, object] = {"item_id": run.item_id, "run_id": run.run.run_id,
                                  "before": bits[0], "after": bits[1],
                                  **msgspec.structs.asdict(identity)}  # fmt: skip
        if group is not None:
            row[group] = group_value(log, run, label, group, features)
        rows.append(row)
        labels.append(label)
    if not rows:
        there = ", ".join(map(repr, log.outcomes.checkpoints)) or "none"
        raise log.refuse(
            f"no run has outcomes at {before!r} and {after!r}; there are outcomes at {there}"
        )
    columns = ("item_id", "run_id", "before", "after", *StepIdentity.__struct_fields__)
    return TracedTable(
        table=Table(
            source=log.source,
            columns=columns if group is None else (*columns, group),
            rows=rows,
            labels=labels,
        ),
        missing=tuple(missing),
        n_retried=0,
        notes=(f"{log.n_without_item} runs name no item_id: each counts as an item of its own",)
        if log.n_without_item
        else (),
    )
