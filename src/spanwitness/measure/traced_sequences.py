"""From stored traces to the table of success after each of several steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.measure.table import Table
from spanwitness.measure.traced_table import (
    JOIN,
    OUTCOMES,
    MissingStep,
    Repeated,
    TracedTable,
    group_value,
)
from spanwitness.measure.traces import Features
from spanwitness.model.steps import JUDGING_KINDS, StepIdentity, identity_of, pair_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.measure.traces import TracedRun, TracedStep, TraceLog

__all__ = ["sequences_of"]


def sequences_of(
    log: TraceLog,
    *,
    steps: Sequence[str] | None = None,
    checkpoints: Sequence[str] | None = None,
    group: str | None = None,
    fold: str | None = None,
    features: Features | None = None,
    repeated: Repeated = "refuse",
) -> TracedTable:
    """Return a row for each run: success before its first step and after each, as `e0`, `e1`, ...

    A run that did not score all the steps, in their order, is missing by name. Operation, inputs
    and stack of a row are those of all its steps together; the success rule must be one.

    Args:
        log: The traces.
        steps: Names of at least two steps, in their order; by default all scored ones, as they
            first come.
        checkpoints: Instead of steps: at least three checkpoints of outcomes, in their order.
        group: What to group by; a column of that name is made.
        fold: What tells the fold; another column.
        features: Columns by item.
        repeated: What to do when a run scored a step more than once; `each` cannot be had.

    Raises:
        TableError: That is refused; the answer that went into a step is not the one that came out
            of the step before; rules differ; no run has the whole sequence.
    """
    features = features or Features()
    if repeated == "each":
        raise log.refuse("a sequence has each step once: choose the first or the last execution")
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    missing: list[MissingStep] = []
    names = _names(log, steps) if checkpoints is None else list(checkpoints)
    if len(names) < (2 if checkpoints is None else 3):
        raise log.refuse(
            "composition needs two scored steps or more, or three checkpoints; there are "
            + (", ".join(map(repr, names)) or "none")
        )
    for run in log.runs:
        if checkpoints is None:
            if not any(step.name in names for step in run.run.steps):
                continue
            found = _of_steps(log, run, names, repeated)
        else:
            if len(run.run_ids) > 1 and run.run.item_id is None:
                continue
            found = _of_checkpoints(log, run, names)
        if isinstance(found, MissingStep):
            missing.append(found)
            continue
        bits, identity = found
        label = f"run {run.run.run_id}"
        row: dict[str, object] = {
            "item_id": run.item_id,
            "run_id": run.run.run_id,
            **{f"e{at}": bit for at, bit in enumerate(bits)},
            **msgspec.structs.asdict(identity),
        }
        for name in dict.fromkeys(name for name in (group, fold) if name is not None):
            row[name] = group_value(log, run, label, name, features)
        rows.append(row)
        labels.append(label)
    if not rows:
        raise log.refuse(f"no run has the whole sequence {JOIN.join(names)}")
    return TracedTable(
        table=Table(source=log.source, columns=tuple(rows[0]), rows=rows, labels=labels),
        missing=tuple(missing),
        n_retried=0,
        notes=(),
    )


def _names(log: TraceLog, steps: Sequence[str] | None) -> list[str]:
    if steps is not None:
        return list(steps)
    return list(
        dict.fromkeys(
            traced.step.name
            for traced in log.steps
            if traced.step.kind not in JUDGING_KINDS
            and traced.step.success_before is not None
            and traced.step.success_after is not None
        )
    )


def _of_steps(
    log: TraceLog, run: TracedRun, names: Sequence[str], repeated: Repeated
) -> tuple[list[bool], StepIdentity] | MissingStep:
    chosen: list[TracedStep] = []
    for name in names:
        found = [each for each in run.steps if each.step.name == name and pair_of(each.step)]
        if not found:
            errors = [each.step.error_type for each in run.steps if each.step.name == name]
            failed = next((error for error in errors if error is not None), None)
            return _missing(run, name, f"step_failed:{failed}" if failed else "not_scored")
        if len(found) > 1 and repeated == "refuse":
            raise log.refuse("this run scored the step before: choose the first or the last",
                             found[1].label)  # fmt: skip
        chosen.append(found[-1 if repeated == "last" else 0])
    places = [each.step.seq or 0 for each in chosen]
    if places != sorted(places):
        return _missing(run, names[0], "other_order")
    rules = {each.step.success_rule for each in chosen}
    if len(rules) > 1:
        told = ", ".join(sorted(map(repr, rules)))
        raise log.refuse(f"its steps were scored by different rules ({told})", chosen[-1].label)
    bits: list[bool] = []
    for each in chosen:
        pair = pair_of(each.step)
        assert pair is not None  # noqa: S101  chosen only with one
        if bits and pair.before is not bits[-1]:
            raise log.refuse(
                f"success before it is {pair.before} and after the step before it {bits[-1]}:"
                " another answer went in, so these make no sequence; name the steps (stages)",
                each.label,
            )
        bits += [pair.after] if bits else [pair.before, pair.after]
    identities = [identity_of(each.step, run.run) for each in chosen]
    return bits, StepIdentity(
        step=JOIN.join(names),
        operation=_joined([each.operation for each in identities]),
        inputs=_joined([each.inputs for each in identities]),
        rule=identities[0].rule,
        stack=run.run.stack,
    )


def _of_checkpoints(
    log: TraceLog, run: TracedRun, names: Sequence[str]
) -> tuple[list[bool], StepIdentity] | MissingStep:
    bits = [log.outcome(run, name) for name in names]
    gaps = [name for name, bit in zip(names, bits, strict=True) if bit is None]
    if gaps:
        return _missing(run, JOIN.join(names), "no_outcome:" + "+".join(gaps))
    known = [bit for bit in bits if bit is not None]
    return known, StepIdentity(step=JOIN.join(names), rule=OUTCOMES, stack=run.run.stack)


def _joined(values: Sequence[str | None]) -> str | None:
    return None if all(value is None for value in values) else JOIN.join(v or "?" for v in values)


def _missing(run: TracedRun, step: str, reason: str) -> MissingStep:
    return MissingStep(
        run_id=run.run.run_id, item_id=run.item_id, step=step, span_id=None, reason=reason
    )
