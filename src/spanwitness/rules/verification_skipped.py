"""`verification_skipped`: the run looked, and did not check what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.contracts.names import matches
from spanwitness.rules.counting import (
    at_least,
    count,
    is_failed,
    naming,
    nothing_to_count,
    out_of_scope,
)
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, clause_rule, not_assessed

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule(
    "verification_skipped", severity="warning", fault="reasoning", kind="skipped_verification"
)
def verification_skipped(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """The run navigated, and the verification that its contract expects did not happen.

    Claims: Something was read, and the clause's group or tool was executed less often than
        expected (1 unless `at_least` says more). A run that did not navigate is another rule's
        matter. Navigation is what the contract's navigation_bypassed clauses count, else its
        group `navigation`, else any other tool.
    Needs: Executions, seen as tool spans, done by the provider, or shown by results in later
        requests. Requests alone do not count, nor do failed executions unless the clause says
        `failed: count`.
    Not assessed when: Spans are missing, calls are not recorded, the execution behind a cached
        result is not known, the order of a call and the submission is not, or the trace cannot
        tell whether the contract is about the run.
    Can be wrong: A tool that stands in both groups verifies by its first use; checking in the
        model's own reasoning is not seen; an execution counts whatever it checked.
    """
    early = out_of_scope(facts, contract) or nothing_to_count(facts, clause, contract)
    if early is not None:
        return early
    counted = count(facts, clause, contract)
    least = clause.at_least or 1
    if len(counted.sure) >= least:
        return HOLDS
    if not _navigated(facts, clause, contract):
        return not_assessed(counted.unknown) if counted.unknown else NOT_APPLICABLE
    found = at_least(facts, clause, contract, counted, least=least, what=naming(clause))
    return found or HOLDS


def _navigated(facts: Facts, clause: Clause, contract: Contract) -> bool:
    patterns = tuple(
        name
        for other in contract.expect
        if other.rule == "navigation_bypassed"
        for name in other.patterns(contract)
    ) or contract.tools.get("navigation", ())
    if patterns:
        return any(matches(patterns, e.tool) and not is_failed(e) for e in facts.executions)
    checks = clause.patterns(contract)
    return any(
        not matches(checks, e.tool)
        and not is_failed(e)
        and e.side != "output"
        and e.tool not in facts.output_tools
        for e in facts.executions
    )
