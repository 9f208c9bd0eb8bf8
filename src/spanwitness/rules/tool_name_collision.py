"""`tool_name_collision`: two tools share one name, so one of them cannot be called."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from spanwitness.rules.rule import NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.signs import NO_OFFERS, ODD_OFFERS, SERVERS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "tool_name_collision",
    severity="warning",
    fault="harness",
    signs=NO_OFFERS | ODD_OFFERS | SERVERS,
)
def tool_name_collision(facts: Facts) -> Outcome:
    """Two servers expose a tool of one name under that bare name, or a request offers it twice.

    Claims: A name that the model may call stands for two different tools; which one runs is
        chance.
    Needs: Listings with their servers, or tool spans with their servers, or the offered names.
    Not assessed when: Two servers expose the name and the offered names are not recorded.
    Can be wrong: Two names of one server (an address and an alias) look like two servers; a
        harness that routes by other means than the name is not known here.
    """
    run = facts.run
    offered: set[str] = set()
    twice: dict[str, str] = {}
    is_recorded = True
    last: object = None
    for chat in run.chats:
        if chat.offered is None:
            is_recorded = False
        elif chat.offered is not last:
            last = chat.offered
            names = [tool.name for tool in chat.offered]
            unique = set(names)
            offered |= unique
            if len(unique) < len(names):
                twice.update((n, chat.span_id) for n in unique if names.count(n) > 1)
    shared = _shared(facts)
    if not twice and not shared:
        if not offered and not run.discoveries:
            return (
                NOT_APPLICABLE if is_recorded else not_assessed("Offered tools are not recorded.")
            )
        return facts.nothing_found
    collided = {name: spans for name, spans in shared.items() if name in offered}
    if not collided and not twice:
        if is_recorded:
            return facts.nothing_found
        return not_assessed(
            "Two servers expose one name; under which it is offered is not recorded."
        )
    names = sorted({*collided, *twice})
    spans = [*twice.values(), *(span for found in collided.values() for span in found)]
    return violated(
        f"{', '.join(names)}: one name stands for more than one tool.",
        span_ids=tuple(dict.fromkeys(spans))[:10],
        evidence={"tools": list(names), "offered_twice": sorted(twice)},
    )


def _shared(facts: Facts) -> dict[str, list[str]]:
    """Return the names that more than one server exposes or ran, with the spans that show it."""
    run = facts.run
    servers: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for discovery in run.discoveries:
        if discovery.server is not None:
            for tool in discovery.tools or ():
                servers[tool.name].setdefault(discovery.server, discovery.span_id)
    for call in run.tools:
        if call.server is not None:
            servers[call.name].setdefault(call.server, call.span_id)
    return {name: list(by.values()) for name, by in servers.items() if len(by) > 1}
