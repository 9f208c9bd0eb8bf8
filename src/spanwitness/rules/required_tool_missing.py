"""`required_tool_missing`: a tool that the contract requires was not executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.counting import at_least, count, naming, nothing_to_count, out_of_scope
from spanwitness.rules.rule import HOLDS, clause_rule

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("required_tool_missing", severity="error", fault="reasoning")
def required_tool_missing(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A tool that the contract requires was not executed.

    Claims: Fewer successful executions of the tool (1 unless `at_least` says more) than required.
    Needs: Executions, seen as tool spans, done by the provider, or shown by results in later
        requests. Requests alone do not count, nor do failed executions unless the clause says
        `failed: count`.
    Not assessed when: Spans are missing, calls are not recorded, the execution behind a cached
        result is not known, the order of a call and the submission is not, or the trace cannot
        tell whether the contract is about the run.
    Can be wrong: Work done by other means than the named tool is not seen.
    """
    early = out_of_scope(facts, contract) or nothing_to_count(facts, clause, contract)
    if early is not None:
        return early
    counted = count(facts, clause, contract)
    least = clause.at_least or 1
    return at_least(facts, clause, contract, counted, least=least, what=naming(clause)) or HOLDS
