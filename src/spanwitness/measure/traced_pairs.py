"""From stored traces to the tables of paired audits and of verdicts; what is missing is named."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spanwitness.measure.table import Table
from spanwitness.measure.traced_checkpoints import checkpoint_pairs
from spanwitness.measure.traced_table import (
    OUTCOMES,
    MissingStep,
    Repeated,
    TracedTable,
    group_value,
)
from spanwitness.measure.traces import Features
from spanwitness.model.steps import JUDGING_KINDS, StepIdentity, StepPair, identity_of, pair_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.measure.traces import TracedStep, TraceLog

__all__ = ["pairs_of", "verdicts_of"]


class _Scored(NamedTuple):
    traced: TracedStep
    identity: StepIdentity
    bits: tuple[bool, bool]


def pairs_of(
    log: TraceLog,
    *,
    before: str | None = None,
    after: str | None = None,
    group: str | None = None,
    features: Features | None = None,
    repeated: Repeated = "refuse",
) -> TracedTable:
    """Return a row for each scored step: success before and after it.

    A step scores itself by its `success` rule; one that has none is scored by outcomes recorded
    later for the checkpoints `<step>.before` and `<step>.after`. With `before` and `after` the rows
    are runs, scored at these two checkpoints, whatever their steps say. Steps that give a verdict
    (`verify`, `audit`) have no row.

    Args:
        log: The traces.
        before: Checkpoint of the outcomes before; together with `after`.
        after: Checkpoint of the outcomes after.
        group: What to group by; a column of that name is made.
        features: Columns by item.
        repeated: What to do when a step was scored more than once in a run.

    Raises:
        TableError: Only one checkpoint is given; a step was scored twice in a run and that is
            refused; nothing says what the group of a row is; no step has success bits.
    """
    features = features or Features()
    if (before is None) != (after is None):
        raise log.refuse("checkpoints come in two, before and after the step")
    if before is not None and after is not None:
        return checkpoint_pairs(log, before, after, group=group, features=features)
    names = _scored_names(log)
    scored: list[_Scored] = []
    failed: list[tuple[TracedStep, str]] = []
    n_judging = 0
    for traced in log.steps:
        step = traced.step
        if step.kind in JUDGING_KINDS:
            n_judging += 1
        elif step.name in names:
            found = _pair(log, traced)
            if isinstance(found, str):
                failed.append((traced, found))
            else:
                scored.append(_Scored(traced, found[0], (found[1].before, found[1].after)))
    if not scored and not failed:
        raise log.refuse(
            "no step has success bits: give @sw.step a success= rule, record outcomes for"
            " '<step>.before' and '<step>.after', or name two checkpoints"
            + (f" ({n_judging} steps give verdicts: measure verdicts)" if n_judging else "")
        )
    _check_some(log, scored, failed)
    kept = _one_a_run(log, scored, repeated)
    missing, n_retried = _missing(failed, scored)
    notes = [*_notes(kept)]
    if n_judging:
        notes.append(f"{n_judging} verify and audit steps are left out: see measure verdicts")
    return TracedTable(
        table=_table(log, kept, ("before", "after"), group=group, features=features),
        missing=(*missing, *_unseen(log, names)),
        n_retried=n_retried,
        notes=tuple(notes),
    )


def verdicts_of(
    log: TraceLog,
    *,
    truth: str = "final",
    group: str | None = None,
    features: Features | None = None,
    repeated: Repeated = "refuse",
) -> TracedTable:
    """Return a row for each verdict step: whether what it judged was right, and was accepted.

    What it judged is right as the step itself says (`before=` with a `success` rule), else as the
    outcome of the run at `<step>.before`, else at `truth`.

    Args:
        log: The traces.
        truth: Checkpoint of the outcome that scores what was judged.
        group: As in `pairs_of`.
        features: As in `pairs_of`.
        repeated: As in `pairs_of`.

    Raises:
        TableError: As in `pairs_of`; no step declares a verdict.
    """
    features = features or Features()
    scored: list[_Scored] = []
    failed: list[tuple[TracedStep, str]] = []
    for traced in log.steps:
        step = traced.step
        if step.kind not in JUDGING_KINDS or not (
            step.declares_verdict or step.verdict is not None
        ):
            continue
        found = _verdict(log, traced, truth)
        if isinstance(found, str):
            failed.append((traced, found))
        else:
            scored.append(found)
    if not scored and not failed:
        raise log.refuse("no verify or audit step declares a verdict (verdict= of @sw.step)")
    _check_some(log, scored, failed)
    kept = _one_a_run(log, scored, repeated)
    missing, n_retried = _missing(failed, scored)
    names = {traced.step.name for traced, _ in failed} | {each.identity.step for each in scored}
    return TracedTable(
        table=_table(log, kept, ("right", "accepted"), group=group, features=features),
        missing=(*missing, *_unseen(log, names)),
        n_retried=n_retried,
        notes=tuple(_notes(kept)),
    )


def _check_some(
    log: TraceLog, scored: Sequence[_Scored], failed: Sequence[tuple[TracedStep, str]]
) -> None:
    if not scored:
        reasons = Counter(reason for _, reason in failed)
        told = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(5))
        raise log.refuse(f"none of {len(failed)} executions has both bits: {told}")


def _scored_names(log: TraceLog) -> set[str]:
    """Return the names of steps that some execution or outcome scores, verdict steps left out."""
    awaited = {
        name.removesuffix(end)
        for name in log.outcomes.checkpoints
        for end in (".before", ".after")
        if name.endswith(end)
    }
    return {
        step.name
        for step in (traced.step for traced in log.steps)
        if step.kind not in JUDGING_KINDS
        and (
            step.name in awaited
            or step.success_rule is not None
            or step.success_before is not None
            or step.success_after is not None
        )
    }


def _pair(log: TraceLog, traced: TracedStep) -> tuple[StepIdentity, StepPair] | str:
    """Return the bits of a step, or why there are none."""
    step, run = traced.step, traced.run
    identity = identity_of(step, run.run)
    pair = pair_of(step)
    if pair is not None:
        return identity, pair
    if step.error_type is not None:
        return f"step_failed:{step.error_type}"
    bits = (step.success_before, step.success_after)
    if step.success_rule is not None or any(bit is not None for bit in bits):
        gaps = [name for name, bit in zip(("before", "after"), bits, strict=True) if bit is None]
        return f"not_scored:{'+'.join(gaps)}"
    before = log.outcome(run, f"{step.name}.before")
    after = log.outcome(run, f"{step.name}.after")
    if before is None or after is None:
        return "no_outcome:" + "+".join(
            name for name, bit in (("before", before), ("after", after)) if bit is None
        )
    return msgspec.structs.replace(identity, rule=OUTCOMES), StepPair(before, after)


def _verdict(log: TraceLog, traced: TracedStep, truth: str) -> _Scored | str:
    step = traced.step
    if step.error_type is not None:
        return f"step_failed:{step.error_type}"
    if step.verdict is None:
        return "no_verdict"
    identity = identity_of(step, traced.run.run)
    right = step.success_before
    if right is None:
        for checkpoint in (f"{step.name}.before", truth):
            right = log.outcome(traced.run, checkpoint)
            if right is not None:
                identity = msgspec.structs.replace(identity, rule=f"{OUTCOMES}:{checkpoint}")
                return _Scored(traced, identity, (right, step.verdict))
        return f"no_outcome:{truth}"
    return _Scored(traced, identity, (right, step.verdict))


def _one_a_run(log: TraceLog, scored: Sequence[_Scored], repeated: Repeated) -> list[_Scored]:
    if repeated == "each":
        return list(scored)
    kept: dict[tuple[str, StepIdentity], _Scored] = {}
    for each in scored:
        key = (each.traced.run.run.run_id, each.identity)
        before = kept.get(key)
        if before is None or repeated == "last":
            kept[key] = each
        elif repeated == "refuse":
            raise log.refuse(
                f"this run scored the step in span {before.traced.step.span_id} already: choose"
                " the first, the last or each execution (repeated)",
                each.traced.label,
            )
    return list(kept.values())


def _missing(
    failed: Sequence[tuple[TracedStep, str]], scored: Sequence[_Scored]
) -> tuple[list[MissingStep], int]:
    """Name what gave no row, unless the same run tried again later and that was scored."""
    last: dict[tuple[str, str], int] = {}
    for each in scored:
        key = (each.traced.run.run.run_id, each.traced.step.name)
        last[key] = max(last.get(key, 0), each.traced.step.seq or 0)
    missing: list[MissingStep] = []
    n_retried = 0
    for traced, reason in failed:
        key = (traced.run.run.run_id, traced.step.name)
        if reason.startswith("step_failed") and last.get(key, -1) > (traced.step.seq or 0):
            n_retried += 1
            continue
        missing.append(
            MissingStep(
                run_id=traced.run.run.run_id,
                item_id=traced.run.item_id,
                step=traced.step.name,
                span_id=traced.step.span_id,
                reason=reason,
            )
        )
    return missing, n_retried


def _unseen(log: TraceLog, names: set[str]) -> Iterator[MissingStep]:
    """Name the runs that lack spans and show no such step: it may have run unseen."""
    inner: dict[str, set[str]] = {}
    for run in log.runs:
        seen = {step.name for step in run.run.steps}
        for run_id in run.run_ids:
            inner.setdefault(run_id, set()).update(seen)
    for run in log.runs:
        if run.run.is_complete or len(run.run_ids) > 1:
            continue
        for name in sorted(names - inner[run.run.run_id]):
            yield MissingStep(
                run_id=run.run.run_id,
                item_id=run.item_id,
                step=name,
                span_id=None,
                reason="run_incomplete:" + "+".join(run.run.incomplete_reasons),
            )


def _notes(kept: Sequence[_Scored]) -> Iterator[str]:
    nameless = {each.traced.run.run.run_id for each in kept if not each.traced.run.has_item}
    if nameless:
        yield f"{len(nameless)} runs name no item_id: each counts as an item of its own"
    incomplete = {
        each.traced.run.run.run_id for each in kept if not each.traced.run.run.is_complete
    }
    if incomplete:
        yield f"{len(incomplete)} runs are incomplete; the steps that they scored count"


def _table(
    log: TraceLog,
    kept: Sequence[_Scored],
    bits: tuple[str, str],
    *,
    group: str | None,
    features: Features,
) -> Table:
    rows = []
    for each in kept:
        run = each.traced.run
        row: dict[str, object] = {
            "item_id": run.item_id,
            "run_id": run.run.run_id,
            bits[0]: each.bits[0],
            bits[1]: each.bits[1],
            **msgspec.structs.asdict(each.identity),
        }
        if group is not None:
            row[group] = group_value(log, each.traced, each.traced.label, group, features)
        rows.append(row)
    columns = ("item_id", "run_id", *bits, *StepIdentity.__struct_fields__)
    return Table(
        source=log.source,
        columns=columns if group is None else (*columns, group),
        rows=rows,
        labels=[each.traced.label for each in kept],
    )
