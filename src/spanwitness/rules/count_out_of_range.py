"""`count_out_of_range`: a tool was executed too often or too seldom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.counting import (
    at_least,
    at_most,
    count,
    naming,
    nothing_to_count,
    out_of_scope,
)
from spanwitness.rules.rule import HOLDS, clause_rule

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("count_out_of_range", severity="warning", fault="reasoning")
def count_out_of_range(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A tool was executed more often, or less often, than the contract allows.

    Claims: The number of executions of the tool or group lies outside `at_least` and `at_most`.
    Needs: Executions, seen as tool spans, done by the provider, or shown by results in later
        requests. Requests alone do not count, nor do failed executions unless the clause says
        `failed: count`.
    Not assessed when: More executions than are seen could change the verdict, and spans are
        missing, calls are not recorded, the execution behind a cached result is not known, or the
        order of a call and the submission is not; or the trace cannot tell whether the contract
        is about the run.
    Can be wrong: Parallel and repeated calls count each for itself, whatever they asked.
    """
    early = out_of_scope(facts, contract) or nothing_to_count(facts, clause, contract)
    if early is not None:
        return early
    counted = count(facts, clause, contract)
    what = naming(clause)
    if clause.at_least is not None:
        few = at_least(facts, clause, contract, counted, least=clause.at_least, what=what)
        if few is not None:
            return few
    if clause.at_most is None:
        return HOLDS
    return at_most(facts, clause, counted, most=clause.at_most, what=what)
