"""`forbidden_tool`: a tool that the contract forbids was executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.counting import at_most, count, naming, nothing_to_count, out_of_scope
from spanwitness.rules.rule import clause_rule

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("forbidden_tool", severity="error", fault="reasoning", kind="selection")
def forbidden_tool(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A tool that the contract forbids was executed.

    Claims: The tool, or one of the group, was executed, in the phase or step that the clause
        names.
    Needs: Executions, seen as tool spans, done by the provider, or shown by results in later
        requests. A request that nobody executed is no execution, and failed executions count only
        where the clause says `failed: count`.
    Not assessed when: None is seen, and spans are missing, calls are not recorded, the order of a
        call and the submission is not, or the trace cannot tell whether the contract is about the
        run.
    Can be wrong: The same work done by a tool of another name is not seen.
    """
    early = out_of_scope(facts, contract) or nothing_to_count(facts, clause, contract)
    if early is not None:
        return early
    counted = count(facts, clause, contract)
    return at_most(facts, clause, counted, most=0, what=naming(clause))
