"""The fixed JSON form of `check`: `spanwitness.check/1`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spanwitness.findings.receipts import claim_values

if TYPE_CHECKING:
    from spanwitness.model import LedgerRow, Run, Severity, Verdict
    from spanwitness.rules.engine import Evaluation

SCHEMA = "spanwitness.check/1"


def run_report(run: Run, evaluation: Evaluation, *, show_all: bool) -> dict[str, object]:
    """Return one entry of `runs`.

    Args:
        run: The run.
        evaluation: What the rules said of it.
        show_all: Also list verdicts `holds` and `not_applicable`.
    """
    return {
        "run_id": run.run_id,
        "trace_id": run.trace_id,
        "conversation_id": run.conversation_id,
        "agent": run.agent,
        "contract": evaluation.contract,
        "dialects": list(run.dialects),
        "complete": run.is_complete,
        "incomplete_reasons": list(run.incomplete_reasons),
        "ledger": [_row(row) for row in evaluation.ledger],
        "verdicts": [
            _verdict(run, verdict)
            for verdict in evaluation.verdicts
            if show_all or verdict.verdict in {"violated", "not_assessed"}
        ],
        "claims": [claim_values(claim) for claim in evaluation.claims],
    }


def _row(row: LedgerRow) -> dict[str, object]:
    return {
        "tool": row.tool,
        "call_id": row.call_id,
        "side": row.side,
        "configured": row.configured,
        "offered": row.offered,
        "requested": row.requested,
        "executed": row.executed,
        "returned": row.returned,
        "delivered": row.delivered,
        "cited": row.cited,
    }


def _verdict(run: Run, verdict: Verdict) -> dict[str, object]:
    told: dict[str, object] = {
        "rule": verdict.rule,
        "rule_version": verdict.rule_version,
        "verdict": verdict.verdict,
        "severity": verdict.severity,
        "fault": verdict.fault,
        "kind": verdict.kind,
        "explained_by": verdict.explained_by,
        "reason": verdict.reason,
        "span_ids": list(verdict.span_ids),
        "evidence": verdict.evidence,
    }
    if verdict.verdict == "violated":
        from spanwitness.findings.fingerprint import fingerprint

        told["fingerprint"] = fingerprint(run, verdict)
    if verdict.suppressed is not None:
        mark = verdict.suppressed
        told["suppressed"] = {"by": mark.by, "reason": mark.reason, "expires": mark.expires}
    return told


class Summary:
    """Counts over all runs of one `check`, in constant memory."""

    def __init__(self, *, fail_on: Severity) -> None:
        from spanwitness.model.verdict import at_least

        self._at_least = at_least
        self.fail_on: Severity = fail_on
        self.n_runs = 0
        self.n_flagged = 0
        self.n_failing = 0
        self.n_assessed = 0
        self.n_suppressed = 0
        self.by_rule: Counter[str] = Counter()
        self.not_assessed: Counter[str] = Counter()

    def add(self, evaluation: Evaluation) -> None:
        """Count one run."""
        self.n_runs += 1
        self.n_flagged += evaluation.is_flagged
        assessed = failing = False
        for verdict in evaluation.verdicts:
            word = verdict.verdict
            if word == "not_assessed":
                self.not_assessed[verdict.rule] += 1
            elif word == "holds":
                assessed = True
            elif word == "violated":
                # An incomplete trace is no assessment of anything.
                assessed = assessed or verdict.rule != "trace_incomplete"
                self.n_suppressed += verdict.suppressed is not None
                if verdict.is_finding:
                    self.by_rule[verdict.rule] += 1
                    failing = failing or self._at_least(verdict.severity, self.fail_on)
        self.n_assessed += assessed
        self.n_failing += failing

    def exit_code(self, *, n_unusable: int) -> int:
        """Return the exit status of `check`.

        2 when an input was unusable, else 1 when a violation stands at or above the threshold, else
        3 when nothing could be assessed, else 0.
        """
        if n_unusable:
            return 2
        if self.n_failing:
            return 1
        return 0 if self.n_assessed else 3

    def as_dict(self) -> dict[str, object]:
        """Return the `summary` of the JSON form."""
        told: dict[str, object] = {
            "runs": self.n_runs,
            "flagged": self.n_flagged,
            "by_rule": dict(sorted(self.by_rule.items())),
            "not_assessed": dict(sorted(self.not_assessed.items())),
        }
        if self.n_suppressed:
            told["suppressed"] = self.n_suppressed
        return told
