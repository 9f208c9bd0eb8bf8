"""What a rule is: a pure function from the facts of a run to an outcome."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from spanwitness.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.model.verdict import Fault, ReasoningKind, Severity, VerdictWord
    from spanwitness.rules.facts import Facts


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule's function gives back; the engine adds the rule's id, version and defaults."""

    word: VerdictWord
    reason: str = ""
    span_ids: tuple[str, ...] = ()
    evidence: dict[str, object] = {}
    severity: Severity | None = None
    """`None` = the rule's own."""
    fault: Fault | None = None
    kind: ReasoningKind | None = None


HOLDS = Outcome(word="holds")
NOT_APPLICABLE = Outcome(word="not_applicable")


@lru_cache(maxsize=512)
def not_assessed(reason: str, /) -> Outcome:
    """Say that the trace cannot show it, and why (one sentence, or the clause of one)."""
    reason = reason[:1].upper() + reason[1:]
    return Outcome(word="not_assessed", reason=reason if reason.endswith(".") else f"{reason}.")


def violated(
    reason: str,
    /,
    *,
    span_ids: tuple[str, ...] = (),
    evidence: dict[str, object] | None = None,
    severity: Severity | None = None,
    fault: Fault | None = None,
    kind: ReasoningKind | None = None,
) -> Outcome:
    """Say that the account of the run breaks here.

    Args:
        reason: One sentence that a reviewer understands; names of tools and counts, no content.
        span_ids: The spans to look at, most telling first.
        evidence: JSON values that support the reason. No content beyond names, ids and counts.
        severity: Where this case differs from the rule's own severity.
        fault: Where this case differs from the rule's own fault.
        kind: Kind of a reasoning fault.
    """
    return Outcome(
        word="violated",
        reason=reason,
        span_ids=span_ids,
        evidence=evidence or {},
        severity=severity,
        fault=fault,
        kind=kind,
    )


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in rule over a whole run."""

    id: str
    version: int
    severity: Severity
    fault: Fault
    kind: ReasoningKind | None
    check: Callable[[Facts], Outcome]
    needs: int = 0
    """Bits of `rules.subjects` that must occur in a run; else `not_applicable` without asking."""
    signs: int = 0
    """Bits of `rules.signs`: where none stands in a run, it `holds` without asking; 0 = ask it."""

    @property
    def doc(self) -> str:
        """What it claims, needs, when it is not assessed, and how it can be wrong."""
        return self.check.__doc__ or ""


class ClauseRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that judges one contract clause at a time; no clause, no verdict."""

    id: str
    version: int
    severity: Severity
    fault: Fault
    kind: ReasoningKind | None
    check: Callable[[Facts, Clause, Contract], Outcome]

    @property
    def doc(self) -> str:
        """What it claims, needs, when it is not assessed, and how it can be wrong."""
        return self.check.__doc__ or ""


_ID = re.compile(r"[a-z][a-z0-9_]*\Z")


def rule(
    id: str,  # noqa: A002
    /,
    *,
    severity: Severity,
    fault: Fault,
    kind: ReasoningKind | None = None,
    needs: int = 0,
    signs: int = 0,
    version: int = 1,
) -> Callable[[Callable[[Facts], Outcome]], Rule]:
    """Make a rule of a function `Facts -> Outcome`.

    Args:
        id: Stable for ever once released; equal to the file's name.
        severity: Default severity of a violation.
        fault: Default fault of a violation.
        kind: Default kind of a reasoning fault.
        needs: Bits of `rules.subjects`: where one of them does not occur in a run, the rule is
            `not_applicable` without being asked.
        signs: Bits of `rules.signs`: where none of them stands in a whole run, the rule `holds`
            without being asked; 0 = it is always asked.
        version: Raised whenever the same run may get another verdict.

    Raises:
        RuleError: The id is no snake_case word.
    """
    _check_id(id)

    def make(check: Callable[[Facts], Outcome]) -> Rule:
        return Rule(
            id=id, version=version, severity=severity, fault=fault, kind=kind, check=check,
            needs=needs, signs=signs,
        )  # fmt: skip

    return make


def clause_rule(
    id: str,  # noqa: A002
    /,
    *,
    severity: Severity,
    fault: Fault,
    kind: ReasoningKind | None = None,
    version: int = 1,
) -> Callable[[Callable[[Facts, Clause, Contract], Outcome]], ClauseRule]:
    """Make a rule of a function that judges one contract clause; arguments as for `rule`.

    Raises:
        RuleError: The id is no snake_case word.
    """
    _check_id(id)

    def make(check: Callable[[Facts, Clause, Contract], Outcome]) -> ClauseRule:
        return ClauseRule(
            id=id, version=version, severity=severity, fault=fault, kind=kind, check=check
        )

    return make


def _check_id(id_: str) -> None:
    if not _ID.match(id_):
        raise RuleError(f"rule id {id_!r} is not a snake_case word")
