"""`tools_withheld`: configured for a step or a run, and on the wire in none of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import tool_names
from spanwitness.rules.facts import is_reply
from spanwitness.rules.offers import index_of
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, CONFIGURED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_LARGE = 20
"""Configured tools from which on a request with few of them is taken for a selection."""


@rule("tools_withheld", severity="error", fault="harness", needs=CONFIGURED | CHATS)
def tools_withheld(facts: Facts) -> Outcome:
    """Tools that are configured stand in none of the requests of their step or run.

    Claims: A tool declared on a step, an agent or a run was offered to the model in no request of
        it, and nothing in the trace accounts for that: no phase, no selector that offers other
        subsets in other requests, no deferred loading, no `tool_choice: none`.
    Needs: The configured names (declared, or given by the framework) and the tools on the wire of
        every request.
    Not assessed when: Some request does not show its tools, tools may be held by the provider, the
        calls of the step are not in the trace, or the trace has a hole.
    Can be wrong: A selector that picks the same few tools in every request of a run looks like a
        loss; a tool that is offered under a quite different name does too.
    """
    run = facts.run
    if not facts.stands_as_success:
        return facts.no_subject
    outcome: Outcome | None = None
    for where, configured, chats in _scopes(facts):
        found = _judge(facts, where, configured, chats)
        if found.word == "violated":
            return found if run.is_complete else facts.incomplete
        if found.word != "not_applicable" and (outcome is None or outcome.word == "holds"):
            outcome = found
    if outcome is None:
        return facts.no_subject
    return outcome if outcome.word == "not_assessed" else facts.nothing_found


def _scopes(facts: Facts) -> Iterator[tuple[str, frozenset[str], list[ChatCall]]]:
    run = facts.run
    for step in run.steps:
        if step.configured:
            chats = [chat for chat in run.chats if chat.step_span_id == step.span_id]
            if step.error_type is None and (chats or not _has_nested(facts, step.span_id)):
                yield f"step {step.name}", frozenset(step.configured), chats
    if run.configured:
        yield "this run", frozenset(run.configured), list(run.chats)
    for listing in run.discoveries:
        if listing.tools and not run.configured:
            names = frozenset(tool.name for tool in listing.tools)
            later = [c for c in run.chats if _order(c) > _order(listing)]
            yield f"server {listing.server or 'unnamed'}", names, later


def _order(item: object) -> tuple[int, int]:
    seq = getattr(item, "seq", None)
    return (seq, 0) if seq is not None else (0, getattr(item, "start_ns", 0))


def _has_nested(facts: Facts, span_id: str) -> bool:
    return any(step.parent_span_id == span_id for step in facts.run.steps)


def _judge(facts: Facts, where: str, configured: frozenset[str], chats: list[ChatCall]) -> Outcome:
    chats = [chat for chat in chats if is_reply(chat)]
    if not chats:
        return NOT_APPLICABLE
    if any(chat.offered is None or chat.is_truncated for chat in chats):
        return not_assessed(f"some request of {where} does not show the tools it offered")
    if any(chat.has_server_state and not chat.offered for chat in chats):
        return not_assessed("tools may be held by the provider")
    sets = [index_of(chat.offered).reachable_names for chat in chats]
    offered = sets[0] if len(set(map(id, sets))) == 1 else frozenset().union(*sets)
    missing = sorted(
        name
        for name in configured
        if tool_names.bare(name) not in offered and not tool_names.is_terminal(name)
    )
    if not missing or _is_accounted_for(facts, configured, chats, sets):
        return HOLDS
    some = "none of the" if len(missing) == len(configured) else f"{len(missing)} of the"
    return violated(
        f"{some.capitalize()} {len(configured)} tools configured for {where} stood in its requests;"
        f" missing: {', '.join(missing[:5])}.",
        span_ids=tuple(chat.span_id for chat in chats[:3]),
        evidence={"missing": list(missing[:20]), "n_configured": len(configured)},
    )


def _is_accounted_for(
    facts: Facts, configured: frozenset[str], chats: list[ChatCall], sets: list[frozenset[str]]
) -> bool:
    if any(chat.tool_choice is not None and chat.tool_choice.mode == "none" for chat in chats):
        return True
    if any(index_of(chat.offered).is_open for chat in chats):
        return True
    has_some = any(tool_names.bare(name) in found for name in configured for found in sets)
    if not has_some:
        return False
    if any(tool.phase is not None for tool in facts.run.tools):
        return True  # phases expose tools by their own rule
    return len(set(sets)) > 1 or len(configured) > _LARGE
