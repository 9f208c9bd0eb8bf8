"""`out_of_order`: one tool was executed before another that must come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.counting import count, out_of_scope, submitted
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, clause_rule, not_assessed, violated

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_SUBMIT = "submit"


@clause_rule("out_of_order", severity="warning", fault="reasoning")
def out_of_order(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A tool was executed although the one that must come first had not been.

    Claims: When `then` was first executed (or the answer submitted), no execution of `first` had
        ended.
    Needs: Executions with their order: tool spans, or results in later requests.
    Not assessed when: `first` may have run unseen (spans are missing, calls are not recorded),
        both are shown by one later request, so that their order is not, or the trace cannot tell
        whether the contract is about the run.
    Can be wrong: Two tools that run at the same time are out of order, even when the second does
        not depend on the first.
    """
    early = out_of_scope(facts, contract)
    if early is not None:
        return early
    firsts = count(facts, clause, contract, contract.named(clause.first or ""))
    then = clause.then or ""
    if then == _SUBMIT:
        end = submitted(facts, contract)
        if end is None:
            return NOT_APPLICABLE if facts.run.is_complete else facts.incomplete
        at, start_ns, span_id = end.place, 0, end.span_id
    else:
        thens = count(facts, clause, contract, contract.named(then))
        if not thens.sure:
            return not_assessed(thens.unknown) if thens.unknown else NOT_APPLICABLE
        earliest = min(thens.sure, key=lambda one: one.order)
        at, span_id = earliest.order, earliest.span_id
        start_ns = earliest.call.start_ns if earliest.call is not None else 0
    return _judge(clause, firsts.sure, firsts.unknown, at=at, start_ns=start_ns, span_id=span_id)


def _judge(
    clause: Clause,
    firsts: tuple[Execution, ...],
    unknown: str,
    *,
    at: int,
    start_ns: int,
    span_id: str,
) -> Outcome:
    for done in firsts:
        if done.order < at and not _overlaps(done, start_ns):
            return HOLDS
        if done.order == at:
            unknown = unknown or f"The order of {clause.first} and {clause.then} is not recorded."
    if unknown:
        return not_assessed(unknown)
    what = "the answer was submitted" if clause.then == _SUBMIT else f"{clause.then} was executed"
    told = f"When {what}, {clause.first} had not been executed"
    told = f"{told}." if clause.reason is None else f"{told}. Expected because: {clause.reason}"
    later = [done.span_id for done in firsts[:1]]
    return violated(
        told,
        span_ids=tuple(i for i in (span_id, *later) if i),
        evidence={"first": clause.first, "then": clause.then, "n_first": len(firsts)},
    )


def _overlaps(done: Execution, start_ns: int) -> bool:
    """Say whether an execution was still going on when the other began."""
    if done.call is None or not start_ns or not done.call.end_ns:
        return False
    return done.call.end_ns > start_ns
