"""Rows of runs by outcomes that were recorded later, and of steps by success after alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.measure.table import Table
from spanwitness.measure.traced_table import OUTCOMES, MissingStep, TracedTable, group_value
from spanwitness.measure.traces import Features, TracedRun
from spanwitness.model.steps import JUDGING_KINDS, StepIdentity, identity_of

if TYPE_CHECKING:
    from spanwitness.measure.traces import TracedStep, TraceLog

__all__ = ["checkpoint_pairs", "successes_of"]


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


def successes_of(
    log: TraceLog,
    *,
    checkpoint: str | None = None,
    group: str | None = None,
    features: Features | None = None,
) -> TracedTable:
    """Return a row for each step that was scored after it, or for each run at a checkpoint.

    For comparisons that ask nothing of what went in. Steps that give a verdict have no row.

    Args:
        log: The traces.
        checkpoint: Rows are runs, scored by their outcome there; `None` = rows are steps.
        group: What to group by; a column of that name is made.
        features: Columns by item.

    Raises:
        TableError: Nothing is scored; nothing says what the group of a row is.
    """
    features = features or Features()
    scored: list[tuple[TracedRun | TracedStep, str, bool, StepIdentity]] = []
    missing: list[MissingStep] = []
    if checkpoint is None:
        for step in log.steps:
            success = step.step.success_after
            if step.step.kind not in JUDGING_KINDS and success is not None:
                scored.append((step, step.label, success, identity_of(step.step, step.run.run)))
    else:
        for run in log.runs:
            if len(run.run_ids) > 1 and run.run.item_id is None:
                continue
            outcome = log.outcome(run, checkpoint)
            identity = StepIdentity(step=checkpoint, rule=OUTCOMES, stack=run.run.stack)
            if outcome is None:
                reason = f"no_outcome:{checkpoint}"
                missing.append(
                    MissingStep(run_id=run.run.run_id, item_id=run.item_id, step=checkpoint,
                                span_id=None, reason=reason)
                )  # fmt: skip
            else:
                scored.append((run, f"run {run.run.run_id}", outcome, identity))
    if not scored:
        raise log.refuse("no step has success after it, or no run an outcome at the checkpoint")
    rows = []
    for traced, label, success, identity in scored:
        holder = traced if isinstance(traced, TracedRun) else traced.run
        row: dict[str, object] = {"item_id": holder.item_id, "run_id": holder.run.run_id,
                                  "after": success, **msgspec.structs.asdict(identity)}  # fmt: skip
        if group is not None:
            row[group] = group_value(log, traced, label, group, features)
        rows.append(row)
    return TracedTable(
        table=Table(
            source=log.source,
            columns=tuple(rows[0]),
            rows=rows,
            labels=[label for _, label, _, _ in scored],
        ),
        missing=tuple(missing),
        n_retried=0,
        notes=(),
    )
