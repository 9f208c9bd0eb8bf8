"""Findings of outside detectors, brought to the form that the queue takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.findings.judged import Judged
from spanwitness.model import Run, Verdict

if TYPE_CHECKING:
    from spanwitness.serve.api_models import FindingIn, FindingsIn

__all__ = ["judged_of"]


def judged_of(filed: FindingsIn) -> Judged:
    """Return the judged run that a filing describes."""
    tools = {finding.tool for finding in filed.findings if finding.tool is not None}
    run = Run(
        run_id=filed.run_id or filed.root_span_id,
        trace_id=filed.trace_id,
        root_span_id=filed.root_span_id,
        name=filed.agent or filed.service,
        agent=filed.agent,
        service=filed.service,
        item_id=filed.item_id,
        # The detector vouches for these names, so they tell items apart.
        configured=tuple(sorted(tools)) or None,
        is_complete=filed.is_complete,
        incomplete_reasons=() if filed.is_complete else ("told_by_detector",),
    )
    return Judged(run=run, verdicts=tuple(map(_verdict, filed.findings)))


def _verdict(finding: FindingIn) -> Verdict:
    evidence = dict(finding.evidence)
    # The keys by which a fingerprint knows what a finding is about; a caller's own stand apart.
    for key in ("tool", "field", "step"):
        named = getattr(finding, key)
        if named is not None:
            evidence[key] = named
    return Verdict(
        rule=finding.rule,
        rule_version=finding.rule_version,
        verdict="violated",
        severity=finding.severity,
        fault=finding.fault,
        kind=finding.kind,
        reason=finding.reason,
        span_ids=tuple(finding.span_ids),
        evidence=evidence,
    )
