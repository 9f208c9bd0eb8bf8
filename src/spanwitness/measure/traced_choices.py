"""From stored traces to the table of choices among candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from spanwitness.measure.selection import STANDARD
from spanwitness.measure.table import Table
from spanwitness.measure.traced_table import (
    OUTCOMES,
    MissingStep,
    Repeated,
    TracedTable,
    group_value,
)
from spanwitness.measure.traces import Features
from spanwitness.model.steps import StepIdentity, identity_of

if TYPE_CHECKING:
    from spanwitness.measure.traces import TracedStep, TraceLog
    from spanwitness.model import Selection

__all__ = ["choices_of"]

_Kept: TypeAlias = (
    "dict[tuple[str, str, StepIdentity], tuple[TracedStep, Selection, tuple[bool, ...]]]"
)
_COLUMNS = ("item_id", "run_id", "order", "position", "candidate", "right", "anchor", "chosen")


def choices_of(
    log: TraceLog,
    *,
    group: str | None = None,
    features: Features | None = None,
    repeated: Repeated = "refuse",
) -> TracedTable:
    """Return a row for each candidate of each recorded choice.

    The candidates were scored by the step's success rule, or are by outcomes recorded later for the
    checkpoints `<step>.candidate.<n>`, n being the position before a shuffle, from 0. Shuffles of
    one seed are the order `shuffled`, of several `shuffled:<seed>`.

    Args:
        log: The traces.
        group: What to group by; a column of that name is made.
        features: Columns by item.
        repeated: What to do when an item was chosen for twice under one order: `refuse`, or take
            the `first` or `last`.

    Raises:
        TableError: That was refused; nothing says what the group of a row is; no step recorded
            candidates.
    """
    features = features or Features()
    if repeated == "each":
        raise log.refuse("items are the units of a selection: choose the first or the last of each")
    seeds = {t.step.selection.seed for t in log.steps if t.step.selection is not None} - {None}
    kept: _Kept = {}
    missing: list[MissingStep] = []
    n_choosing = 0
    for traced in log.steps:
        step, found = traced.step, traced.step.selection
        if found is None and step.kind != "select":
            continue
        n_choosing += 1
        reason = _gap(traced)
        success, rule = (None, None) if found is None else _success(log, traced, found)
        if reason is None and success is None:
            reason = "not_scored"
        if reason is not None or found is None or success is None:
            missing.append(_missing(traced, reason or "not_recorded"))
            continue
        identity = msgspec.structs.replace(identity_of(step, traced.run.run), rule=rule)
        key = (traced.run.item_id, _order(found, len(seeds)), identity)
        before = kept.get(key)
        if before is not None and repeated == "refuse":
            raise log.refuse(
                f"item {key[0]!r} was chosen for under {key[1]!r} in {before[0].label} already:"
                " choose the first or the last (repeated)",
                traced.label,
            )
        if before is None or repeated == "last":
            kept[key] = (traced, found, success)
    if not n_choosing:
        raise log.refuse("no step recorded candidates: sw.shuffled, or step.candidates")
    if not kept:
        reasons = ", ".join(sorted({each.reason for each in missing}))
        raise log.refuse(f"none of {n_choosing} choices can be audited: {reasons}")
    return TracedTable(
        table=_table(log, kept, group, features), missing=tuple(missing), n_retried=0, notes=()
    )


def _table(log: TraceLog, kept: _Kept, group: str | None, features: Features) -> Table:
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    for (item, order, identity), (traced, found, success) in kept.items():
        extra: dict[str, object] = msgspec.structs.asdict(identity)
        if group is not None:
            extra[group] = group_value(log, traced, traced.label, group, features)
        for position, candidate in enumerate(found.candidates):
            rows.append(
                {
                    "item_id": item, "run_id": traced.run.run.run_id, "order": order,
                    "position": position, "candidate": candidate, "right": success[position],
                    "anchor": position == found.anchor, "chosen": position == found.chosen,
                    **extra,
                }
            )  # fmt: skip
            labels.append(traced.label)
    columns = (*_COLUMNS, *StepIdentity.__struct_fields__)
    return Table(
        source=log.source,
        columns=columns if group is None else (*columns, group),
        rows=rows,
        labels=labels,
    )


def _order(found: Selection, n_seeds: int) -> str:
    if found.seed is None:
        return STANDARD
    return "shuffled" if n_seeds == 1 else f"shuffled:{found.seed}"


def _gap(traced: TracedStep) -> str | None:
    step = traced.step
    if step.error_type is not None:
        return f"step_failed:{step.error_type}"
    if step.selection is None:
        return "not_recorded"
    return "no_choice" if step.selection.chosen is None else None


def _success(
    log: TraceLog, traced: TracedStep, found: Selection
) -> tuple[tuple[bool, ...] | None, str | None]:
    if found.success is not None:
        return found.success, traced.step.success_rule
    bits = [
        log.outcome(traced.run, f"{traced.step.name}.candidate.{place}") for place in found.order
    ]
    known = tuple(bit for bit in bits if bit is not None)
    return (known, OUTCOMES) if len(known) == len(bits) else (None, None)


def _missing(traced: TracedStep, reason: str) -> MissingStep:
    return MissingStep(
        run_id=traced.run.run.run_id,
        item_id=traced.run.item_id,
        step=traced.step.name,
        span_id=traced.step.span_id,
        reason=reason,
    )
