"""From stored traces to the table of evidence states: a row a stage of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.measure.table import Table

if TYPE_CHECKING:
    from spanwitness.measure.traces import TracedStep, TraceLog
    from spanwitness.model import Step

__all__ = ["escalations_of", "stages_of"]

_FACTS: Final = (
    "parser_valid",
    "validity",
    "evidence_adequate",
    "audit_detected",
    "audit_false_assurance",
    "escalation_outcome",
)
_COLUMNS: Final = (
    "case_id", "condition", "stage", "parser_valid", "validity_judgment", "evidence_adequate",
    "audit_detected_degradation", "audit_false_assurance", "escalation_recovery", "status",
)  # fmt: skip


def stages_of(log: TraceLog) -> Table:
    """Return a row for each step that is a stage: one that states an evidence fact in some run.

    The case is what the step states (`case_id`), else the item of its run; the condition is what it
    states. A stage that failed, or of which it was not recorded whether its output parsed, is a row
    with that status: it is counted as missing and in no rate. Of a stage that failed and was tried
    again in its run only the last execution counts.

    Args:
        log: The traces.

    Raises:
        TableError: No step states such a fact; a stage states no condition, or has no case.
    """
    names = {traced.step.name for traced in log.steps if _states(traced.step)}
    if not names:
        raise log.refuse(
            "no step states an evidence fact: give @sw.step output=, or state parser_valid,"
            " validity, evidence_adequate, ... with sw.current_step().set(...)"
        )
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    for run in log.runs:
        stages = [traced for traced in run.steps if traced.step.name in names]
        for at, traced in enumerate(stages):
            later = [each.step.name for each in stages[at + 1 :]]
            if traced.step.error_type is not None and traced.step.name in later:
                continue
            rows.append(_row(log, traced))
            labels.append(traced.label)
    return Table(source=log.source, columns=_COLUMNS, rows=rows, labels=labels)


def escalations_of(log: TraceLog) -> tuple[str, ...]:
    """Return the names of the steps of kind `escalate`: not every case goes through one.

    Args:
        log: The traces.
    """
    return tuple(sorted({each.step.name for each in log.steps if each.step.kind == "escalate"}))


def _states(step: Step) -> bool:
    return any(getattr(step, name) is not None for name in _FACTS)


def _row(log: TraceLog, traced: TracedStep) -> dict[str, object]:
    step, run = traced.step, traced.run
    if step.condition is None:
        raise log.refuse("this stage states no condition: set(condition='clean')", traced.label)
    case = step.case_id or (run.item_id if run.has_item else None)
    if case is None:
        raise log.refuse("neither case_id of the stage nor item_id of the run is told",
                         traced.label)  # fmt: skip
    status = "retained"
    if step.error_type is not None:
        status = f"step_failed:{step.error_type}"
    elif step.parser_valid is None:
        status = "parser_valid_not_recorded"
    return {
        "case_id": case,
        "condition": step.condition,
        "stage": step.name,
        "parser_valid": step.parser_valid,
        "validity_judgment": step.validity,
        "evidence_adequate": step.evidence_adequate,
        "audit_detected_degradation": step.audit_detected,
        "audit_false_assurance": step.audit_false_assurance,
        "escalation_recovery": step.escalation_outcome,
        "status": status,
    }
