"""A ledger of 720 rows with the counts of arXiv 2608.21559; which case is which is ours."""

from __future__ import annotations

from spanwitness.stats.evidence import Escalation, RowKey, StageRow

CONDITIONS = ("clean", "compressed_lossy", "partial_dropout", "noisy_conflicting")
STAGES = ("decision", "audit", "escalation")
N_CASES = 60

_MISSING = {
    ("clean", 0): ("decision",),
    ("clean", 1): ("audit",),
    ("clean", 2): ("audit",),
    ("noisy_conflicting", 40): ("decision", "audit"),
    ("noisy_conflicting", 50): ("decision",),
    ("noisy_conflicting", 55): ("escalation",),
}
"""The seven rows without data: three of clean groups, four in three noisy ones."""


def plan() -> list[RowKey]:
    return [
        RowKey(case_id=f"case-{case}", condition=condition, stage=stage)
        for condition in CONDITIONS
        for case in range(N_CASES)
        for stage in STAGES
    ]


def ledger() -> list[StageRow]:
    valid = _valid()
    return [_row(key, valid) for key in plan()]


def _valid() -> dict[tuple[str, str], set[int]]:
    """The cases with a valid parse, by condition and stage; 17 + 74 groups are valid throughout."""
    whole = range(3, 20)
    found = {
        ("clean", "decision"): {*whole, *range(20, 33)},
        ("clean", "audit"): {*whole, *range(33, 46)},
        ("clean", "escalation"): {*whole, *range(46, 54)},
    }
    for condition, order, n_whole, counts in (
        ("compressed_lossy", [*range(N_CASES)], 28, (49, 48, 43)),
        ("partial_dropout", [*range(1, N_CASES), 0], 20, (34, 41, 32)),
        (
            "noisy_conflicting",
            [c for c in range(N_CASES) if c not in (40, 50, 55)],
            26,
            (49, 52, 37),
        ),
    ):
        first, rest = order[:n_whole], order[n_whole:]
        n_decision, n_audit, n_escalation = (n - n_whole for n in counts)
        decision, audit = rest[:n_decision], rest[len(rest) - n_audit :]
        both = set(decision) & set(audit)
        escalation = [case for case in rest if case not in both][:n_escalation]
        for stage, cases in zip(STAGES, (decision, audit, escalation), strict=True):
            found[condition, stage] = {*first, *cases}
    return found


_FALSELY_ASSURED = {
    "compressed_lossy": (57, 58, 59),  # parse failures elsewhere in the group
    "partial_dropout": (1, 2),
    "noisy_conflicting": (0,),
}


def _row(key: RowKey, valid: dict[tuple[str, str], set[int]]) -> StageRow:
    case = int(key.case_id.removeprefix("case-"))
    if key.stage in _MISSING.get((key.condition, case), ()):
        return StageRow(key=key, parser_valid=None, status="provider_error")
    is_valid = case in valid[key.condition, key.stage]
    is_clean = key.condition == "clean"
    is_success = is_valid and is_clean and not (key.stage == "decision" and case >= 27)
    is_audit = key.stage == "audit" and is_valid
    return StageRow(
        key=key,
        parser_valid=is_valid,
        validity=is_success if is_valid else None,
        evidence_adequate=is_clean,
        audit_detected=not is_clean if is_audit else None,
        audit_false_assurance=(
            case in _FALSELY_ASSURED.get(key.condition, ()) if is_audit else None
        ),
        escalation=(
            Escalation.unresolved
            if key.stage == "escalation" and is_valid and not is_clean
            else None
        ),
    )
