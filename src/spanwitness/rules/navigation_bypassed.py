"""`navigation_bypassed`: the run did not look where its contract says it must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.counting import at_least, count, naming, nothing_to_count, out_of_scope
from spanwitness.rules.rule import HOLDS, clause_rule

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("navigation_bypassed", severity="error", fault="reasoning")
def navigation_bypassed(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """The run answered without the navigation that its contract expects.

    Claims: Fewer executions of the clause's group or tool (1 unless `at_least` says more) than
        expected, before the submission where the clause says `before: submit`, else in the whole
        run.
    Needs: Executions, seen as tool spans, done by the provider, or shown by results in later
        requests. Requests alone do not count, nor do failed executions unless the clause says
        `failed: count`.
    Not assessed when: Spans are missing, calls are not recorded, the execution behind a cached
        result is not known, the order of a call and the submission is not, or the trace cannot
        tell whether the contract is about the run.
    Can be wrong: A tool that reads by another name than the contract's, or code that reads
        without a tool, is not counted; an execution counts whatever it read.
    """
    early = out_of_scope(facts, contract) or nothing_to_count(facts, clause, contract)
    if early is not None:
        return early
    counted = count(facts, clause, contract)
    least = clause.at_least or 1
    return at_least(facts, clause, contract, counted, least=least, what=naming(clause)) or HOLDS
