"""`unknown_tool`: the model asked for a tool that its request did not offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.offers import index_of
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_CALLS
from spanwitness.rules.subjects import CHATS, REQUESTS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "unknown_tool", severity="warning", fault="reasoning", needs=CHATS | REQUESTS, signs=ODD_CALLS
)
def unknown_tool(facts: Facts) -> Outcome:
    """The model asked for a tool that its request did not offer.

    Claims: The name of a structured client-side call is none of the offered names of the same
        request.
    Needs: Offered names and requested calls of one model call.
    Not assessed when: Either is not recorded or was cut, tools may be held by the provider, or
        tools are loaded on demand.
    Can be wrong: A host that accepts several spellings of a name (beyond a server's prefix) runs
        such a call all the same.
    """
    unknown = ""
    n_judged = 0
    for chat in facts.run.chats:
        if chat.requested is None:
            unknown = "which calls the replies asked for is not recorded"
        if not chat.requested:
            continue
        if chat.offered and index_of(chat.offered).names.issuperset(
            [call.name for call in chat.requested]
        ):
            n_judged += 1
            continue
        calls = [c for c in chat.requested if c.source == "structured" and c.side == "client"]
        if not calls:
            continue
        if (
            chat.offered is None
            or chat.is_truncated
            or (chat.has_server_state and not chat.offered)
        ):
            unknown = "which tools a request offered is not recorded"
            continue
        n_judged += 1
        offers = index_of(chat.offered)
        strange = [c.name for c in calls if tool_names.bare(c.name) not in offers.bare_names]
        if strange and offers.is_open:
            unknown = "tools are loaded on demand"
        elif strange:
            return violated(
                f"The model asked for {strange[0]}, which its request did not offer.",
                span_ids=(chat.span_id,),
                evidence={"tools": list(strange[:20]), "n_offered": len(chat.offered)},
            )
    if unknown:
        return not_assessed(unknown)
    return facts.nothing_found if n_judged else facts.no_subject
