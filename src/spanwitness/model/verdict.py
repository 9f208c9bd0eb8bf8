"""What a rule says about a run."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

VerdictWord: TypeAlias = Literal["holds", "violated", "not_assessed", "not_applicable"]
Fault: TypeAlias = Literal["tool", "reasoning", "harness", "undetermined"]
ReasoningKind: TypeAlias = Literal["selection", "condition_omission", "skipped_verification"]
Severity: TypeAlias = Literal["info", "warning", "error", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error", "critical")
"""From lowest to highest."""


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    """Why a finding is not counted although it stands."""

    by: Literal["suppression", "baseline"]
    """A suppression with a reason, or a baseline of known findings."""
    reason: str
    expires: str | None = None
    """Last day (ISO 8601); `None` = it does not end by itself."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one rule (or one contract clause) on one run."""

    rule: str
    rule_version: int
    verdict: VerdictWord
    severity: Severity
    fault: Fault
    kind: ReasoningKind | None = None
    explained_by: str | None = None
    """Id of the rule whose violation explains this one; such a verdict makes no finding."""
    reason: str = ""
    """One sentence that a reviewer understands, without content when content is off."""
    span_ids: tuple[str, ...] = ()
    evidence: dict[str, object] = msgspec.field(default_factory=dict)
    """JSON values only."""
    contract: str | None = None
    """Name of the contract whose clause this is."""
    suppressed: Suppressed | None = None
    """Set where somebody decided that this violation is not to count; it stays in the output."""

    @property
    def is_finding(self) -> bool:
        """Whether it is an unexplained violation that is not suppressed."""
        return self.verdict == "violated" and self.explained_by is None and self.suppressed is None


def at_least(severity: Severity, threshold: Severity) -> bool:
    """Say whether `severity` stands at or above `threshold`."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)
