"""`reasoning_not_replayed`: signed reasoning of an earlier reply was not sent back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("reasoning_not_replayed", severity="info", fault="harness", needs=CHATS)
def reasoning_not_replayed(facts: Facts) -> Outcome:
    """Inside a tool loop, signed reasoning of an earlier reply was missing from the history.

    Claims: A request that carries tool results lacks signed or encrypted reasoning parts that
        earlier replies of the run gave. Models may reason worse without them, and no error says
        so.
    Needs: Wrapped clients, which compare each request with the replies before it.
    Not assessed when: No request was compared (foreign spans), or the history is held by the
        provider.
    Can be wrong: Providers drop reasoning of earlier turns by design and some callers compact
        their history; both look the same here.
    """
    chats = facts.run.chats
    if len(chats) < 2:
        return NOT_APPLICABLE
    looked = [c for c in chats if c.reasoning_lost is not None and not c.has_server_state]
    lost = [c for c in looked if c.reasoning_lost and c.delivered]
    if lost:
        n_parts = max(c.reasoning_lost or 0 for c in lost)
        return violated(
            f"{len(lost)} requests lack signed reasoning of earlier replies"
            f" (up to {n_parts} parts).",
            span_ids=tuple(c.span_id for c in lost[:10]),
            evidence={"n_requests": len(lost), "n_parts": n_parts},
        )
    if not looked:
        # A wrapped client compares every request; it says nothing when no reply had such parts.
        if all(c.dialect == "spanwitness" and not c.has_server_state for c in chats):
            return NOT_APPLICABLE
        return not_assessed("No request of this run was compared with the replies before it.")
    return facts.nothing_found
