"""`tool_not_offered`: a tool that the contract wants on the wire stands in no request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.contracts.names import matches
from spanwitness.rules import tool_names
from spanwitness.rules.counting import out_of_scope
from spanwitness.rules.offers import index_of
from spanwitness.rules.rule import HOLDS, clause_rule, not_assessed, violated

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("tool_not_offered", severity="error", fault="harness")
def tool_not_offered(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A tool that the contract wants offered to the model stood in no request of the run.

    Claims: For some name or glob of the clause's group (or its tool), no request of the run offered
        a tool of that name.
    Needs: The tools on the wire of every request.
    Not assessed when: Some request does not show its tools, tools may be held by the provider or
        loaded on demand, the run shows no request, the trace has a hole, or it cannot tell whether
        the contract is about the run.
    Can be wrong: A selector that leaves a tool out because the item does not need it looks the
        same. Runs that ended in an error or were cancelled are not judged.
    """
    early = out_of_scope(facts, contract)
    if early is not None:
        return early
    if not facts.stands_as_success or not facts.replies:
        return facts.no_subject
    names = facts.offered_names
    bare = frozenset(map(tool_names.bare, names))
    wanted = clause.patterns(contract)
    missing = [
        p for p in wanted if p not in bare and not any(matches((p,), name) for name in names | bare)
    ]
    if not missing:
        return HOLDS
    unknown = _unseen(facts)
    if unknown is not None:
        return unknown
    told = f"{', '.join(missing[:5])} stood in none of the requests"
    if len(missing) > 5:
        told = f"{told} ({len(missing)} tools in all)"
    told = f"{told}." if clause.reason is None else f"{told}. Expected because: {clause.reason}"
    return violated(
        told,
        span_ids=tuple(chat.span_id for chat in facts.replies[:3]),
        evidence={"clause": clause.subject, "missing": missing[:20], "n_offered": len(names)},
    )


def _unseen(facts: Facts) -> Outcome | None:
    if not facts.run.is_complete:
        return facts.incomplete
    if not facts.knows_offers or any(chat.is_truncated for chat in facts.replies):
        return not_assessed("some request does not show the tools it offered")
    if any(chat.has_server_state and not chat.offered for chat in facts.replies):
        return not_assessed("tools may be held by the provider")
    if any(index_of(chat.offered).is_open for chat in facts.replies):
        return not_assessed("more tools may be loaded on demand")
    return None
