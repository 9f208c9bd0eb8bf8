"""The cases of a pipeline: what became of each under each condition.

The families and their precedence are those of `stats.evidence`, so that a rule and the measure over
many runs cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.stats.evidence import Escalation, Family, RowKey, StageRow, families

if TYPE_CHECKING:
    from collections.abc import Collection

    from spanwitness.model import Step
    from spanwitness.rules.facts import Facts

__all__ = ["Sequence", "has_stage_facts", "sequences"]

_OPTIONAL: Final = frozenset({"escalate", "revise"})


class Sequence(msgspec.Struct, frozen=True, kw_only=True):
    """One case under one condition."""

    case_id: str
    condition: str
    steps: tuple[Step, ...]
    """The last attempt of each stage, in order."""
    family: Family
    missing: tuple[str, ...] = ()
    """Stages that it lacks, or whose step failed without a word on its output."""

    @property
    def is_settled(self) -> bool:
        """Whether an escalation recovered it, or deferred it to somebody: both are no failure."""
        return any(s.escalation_outcome in ("recovered", "deferred") for s in self.steps)

    @property
    def span_ids(self) -> tuple[str, ...]:
        """The spans of its steps."""
        return tuple(step.span_id for step in self.steps)


def has_stage_facts(step: Step) -> bool:
    """Say whether a step tells anything of its output, its evidence, or an audit."""
    return any(
        value is not None
        for value in (
            step.parser_valid, step.validity, step.evidence_adequate, step.audit_detected,
            step.audit_false_assurance, step.escalation_outcome,
        )
    )  # fmt: skip


def sequences(facts: Facts) -> tuple[Sequence, ...]:
    """Return the sequences of a run: cases that passed, or were to pass, at least two stages.

    A step is a stage where it tells stage facts or carries a case or a condition, or where a
    contract names it. Which stages a case needs is declared by a contract; else those that more
    than half of the run's cases passed, escalations and revisions (which only some cases need)
    aside. A step that ended without an error counts as parsed unless it says otherwise.
    """
    declared = tuple(dict.fromkeys(n for c in facts.contracts_in_force for n in c.stages or ()))
    cases: dict[tuple[str, str], dict[str, Step]] = {}
    for step in facts.run.steps:
        if step.name in declared or _is_stage(step):
            key = (step.case_id or facts.run.item_id or "", step.condition or "")
            cases.setdefault(key, {})[step.name] = step
    needed = declared or _usual(cases.values())
    return tuple(
        _sequence(key, case, needed) for key, case in cases.items() if len({*case, *needed}) > 1
    )


def _is_stage(step: Step) -> bool:
    return has_stage_facts(step) or step.condition is not None or step.case_id is not None


def _usual(cases: Collection[dict[str, Step]]) -> tuple[str, ...]:
    counts = Counter(
        step.name for case in cases for step in case.values() if step.kind not in _OPTIONAL
    )
    return tuple(name for name, n in counts.items() if 2 * n > len(cases) > 1)


def _sequence(key: tuple[str, str], case: dict[str, Step], needed: tuple[str, ...]) -> Sequence:
    stages = tuple(dict.fromkeys((*needed, *case)))
    rows = [_row(key, step) for step in case.values()]
    missing = (*(n for n in needed if n not in case), *(n for n in case if not _is_told(case[n])))
    return Sequence(
        case_id=key[0],
        condition=key[1],
        steps=tuple(case.values()),
        family=families(rows, stages=stages)[key],
        missing=missing,
    )


def _is_told(step: Step) -> bool:
    return step.parser_valid is not None or step.error_type is None


def _row(key: tuple[str, str], step: Step) -> StageRow:
    outcome = step.escalation_outcome
    return StageRow(
        key=RowKey(case_id=key[0], condition=key[1], stage=step.name),
        parser_valid=step.parser_valid is not False,
        validity=step.validity,
        evidence_adequate=step.evidence_adequate,
        audit_detected=step.audit_detected,
        audit_false_assurance=step.audit_false_assurance,
        escalation=None if outcome is None else Escalation(outcome),
        status="retained" if _is_told(step) else "failed",
    )
