"""What occurs in a run, as bits: a rule whose subject does not occur costs nothing.

A bit is set when the subject occurs or when the trace cannot tell, so a bit that is not set means
"known not to occur", and the rule is `not_applicable` without being asked. In an incomplete run
every bit is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run

CHATS: Final = 1
"""Model calls."""
OFFERS: Final = 2
"""Tools in a request."""
FORMATS: Final = 4
"""An output format other than text on a request."""
CHOICES: Final = 8
"""A tool choice other than `auto`."""
REQUESTS: Final = 16
"""Calls in a reply, in any form."""
EXECUTIONS: Final = 32
"""Executions of tools, by whatever evidence."""
DISCOVERIES: Final = 64
"""Listings of tools."""
CONFIGURED: Final = 128
"""Tools declared as configured on the run, on a step, or listed by a server."""
STEPS: Final = 256
"""Protocol steps."""
SUBMISSION: Final = 512
"""A frozen answer."""
ALL: Final = 1023


def subjects_of(run: Run) -> int:
    """Return the bits of what occurs in a run, or may."""
    if not run.is_complete:
        return ALL
    return _of_chats(run.chats) | _of_the_rest(run)


def _of_the_rest(run: Run) -> int:
    found = EXECUTIONS if run.tools else 0
    if run.discoveries:
        found |= DISCOVERIES | CONFIGURED
    if run.configured:
        found |= CONFIGURED
    if run.steps:
        found |= STEPS
        for step in run.steps:
            if step.configured:
                found |= CONFIGURED
    if run.submission is not None:
        found |= SUBMISSION
    return found


def _of_chats(chats: tuple[ChatCall, ...]) -> int:
    found = CHATS if chats else 0
    for chat in chats:
        if chat.offered is None or chat.offered:
            found |= OFFERS
        output_format = chat.output_format
        if output_format is None or output_format.kind != "text":
            found |= FORMATS
        tool_choice = chat.tool_choice
        if tool_choice is None or tool_choice.mode != "auto":
            found |= CHOICES
        requested = chat.requested
        if requested is None or requested:
            found |= REQUESTS | EXECUTIONS
        delivered = chat.delivered
        if delivered is None or delivered:
            found |= EXECUTIONS
    return found
