"""`discovery_failed`: listing the tools failed, and the run went on without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.subjects import DISCOVERIES

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Discovery
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("discovery_failed", severity="error", fault="harness", needs=DISCOVERIES)
def discovery_failed(facts: Facts) -> Outcome:
    """Listing the tools failed, and the run went on without them.

    Claims: A listing of tools ended in an error, no later listing of the same server succeeded, and
        the model was called afterwards without that server's tools.
    Needs: Spans of tool listings (an MCP session, a toolset); the order of listings and model
        calls.
    Not assessed when: The only listing shows neither tools nor an error, or the trace has a hole in
        which a later success may lie.
    Can be wrong: A server that is optional by design is reported too; a list kept from an earlier
        process is not seen, unless its tools are offered under the server's name.
    """
    run = facts.run
    if not run.discoveries:
        return facts.no_subject
    if not facts.stands_as_success:
        return facts.nothing_found  # the failure was not silent
    is_unclear = False
    for at, listing in enumerate(run.discoveries):
        if listing.error_type is None:
            is_unclear |= listing.tools is None
            continue
        if _recovered(run.discoveries, at):
            continue
        later = [chat for chat in run.chats if _comes_after(chat, listing)]
        if not later or any(_offers_from(chat, listing.server) for chat in later):
            continue
        if not run.is_complete:
            return facts.incomplete
        return _violated(listing, later)
    if is_unclear:
        return not_assessed("a listing of tools shows neither tools nor an error")
    return facts.nothing_found if run.chats else NOT_APPLICABLE


def _recovered(listings: tuple[Discovery, ...], at: int) -> bool:
    """A success of the same server before (a list to fall back on) or after (a retry)."""
    failed = listings[at]
    return any(
        other.server == failed.server and other.error_type is None and other.tools is not None
        for other in listings
    )


def _comes_after(chat: ChatCall, listing: Discovery) -> bool:
    if chat.seq is not None and listing.seq is not None:
        return chat.seq > listing.seq
    return chat.start_ns >= listing.start_ns


def _offers_from(chat: ChatCall, server: str | None) -> bool:
    if server is None:
        return False
    marks = tuple(f"{server}{mark}" for mark in ("__", "_", ".", "/", ":"))
    return any(
        tool.name.startswith(marks) or f"mcp__{server}__" in tool.name
        for tool in chat.offered or ()
    )


def _violated(listing: Discovery, later: list[ChatCall]) -> Outcome:
    where = f" of server {listing.server}" if listing.server else ""
    known = [chat.offered for chat in later if chat.offered is not None]
    left = max((len(tools) for tools in known), default=None)
    return violated(
        f"Listing the tools{where} failed ({listing.error_type}), and the model was called without"
        " them.",
        span_ids=(listing.span_id, *(chat.span_id for chat in later[:1])),
        evidence={"error_type": listing.error_type, "server": listing.server, "n_offered": left},
    )
