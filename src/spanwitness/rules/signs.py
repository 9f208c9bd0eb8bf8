"""Signs of trouble in a run, as bits: a rule whose signs do not stand need not look.

They are read in one pass over the model calls, while most rules would go over all of them to find
nothing. A sign may stand without a fault; a fault never stands without its sign, as far as the
rules go that name it. The bits go on where those of `rules.subjects` end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.rules.offers import index_of
from spanwitness.rules.replies import FEW_CHARS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run, ToolRequest
    from spanwitness.rules.offers import Offers

__all__ = [
    "ALL_SIGNS", "NO_OFFERS", "ODD_ARGUMENTS", "ODD_CALLS", "ODD_ENDS", "ODD_OFFERS",
    "OTHER_MODELS", "SERVERS", "SILENCE", "signs_of",
]  # fmt: skip

ODD_ENDS: Final = 1 << 10
"""A reply whose finish reason is not one of the plain good ends, or says another thing than the
reply about calls; that broke off; that may have used up its budget."""
SILENCE: Final = 1 << 11
"""A reply without a call and with hardly any text, or that is not recorded."""
OTHER_MODELS: Final = 1 << 12
"""A reply that names another model than its request, or one of them names none."""
ODD_OFFERS: Final = 1 << 13
"""A list of offered tools that is not recorded, holds a name twice or a schema that is none."""
NO_OFFERS: Final = 1 << 14
"""No request offers a tool."""
ODD_CALLS: Final = 1 << 15
"""A call by a name that its request does not offer, or calls that are not recorded."""
ODD_ARGUMENTS: Final = 1 << 16
"""A call with arguments that are not plainly those which its schema declares."""
SERVERS: Final = 1 << 17
"""Tools that a named server listed or ran."""
ALL_SIGNS: Final = (1 << 18) - (1 << 10)

_ENDS: Final[dict[tuple[str, ...] | None, str]] = {
    ("stop",): "answer", ("STOP",): "answer", ("completed",): "answer",
    ("end_turn",): "end_turn",
    ("tool_calls",): "calls", ("tool_call",): "calls", ("tool_use",): "calls",
}  # fmt: skip
"""Plain good ends, as providers spell them."""


def signs_of(run: Run) -> int:
    """Return the bits of the signs in a run."""
    found = SERVERS if run.discoveries else 0
    for tool in run.tools:
        if tool.server is not None:
            found |= SERVERS
    offered: object = ()
    has_offers = False
    for chat in run.chats:
        found |= _of_reply(chat)
        offers = index_of(chat.offered)
        if chat.offered is not offered:
            offered = chat.offered
            has_offers = has_offers or bool(offered)
            if offered is None or (offered and not offers.is_plain):
                found |= ODD_OFFERS
        requested = chat.requested
        if requested is None:
            found |= ODD_CALLS | ODD_ARGUMENTS
        elif requested:
            found |= _of_calls(requested, offers)
    return found if has_offers else found | NO_OFFERS


def _of_reply(chat: ChatCall) -> int:
    found = 0
    requested = chat.requested
    end = _ENDS.get(chat.finish_reasons)
    if (
        end is None
        or requested is None
        or chat.ending == "error"
        or (not requested if end == "calls" else requested and end == "end_turn")
    ):
        found = ODD_ENDS
    elif (budget := chat.max_tokens) is not None:
        used = chat.usage.output_tokens
        found = ODD_ENDS if used is not None and used >= budget else 0
    if not requested and (chat.text_chars or 0) <= FEW_CHARS:
        found |= SILENCE
    asked = chat.request_model
    if asked is None or asked != chat.response_model:
        found |= OTHER_MODELS
    return found


def _is_mistyped(arguments: dict[str, object], allowed: dict[str, frozenset[type]]) -> bool:
    for name, value in arguments.items():
        types = allowed.get(name)
        if types is not None and type(value) not in types:
            return True
    return False


def _of_calls(requested: tuple[ToolRequest, ...], offers: Offers) -> int:
    found = 0
    for call in requested:
        if call.name not in offers.names:
            found |= ODD_CALLS | ODD_ARGUMENTS
            continue
        declared = offers.declared.get(call.name)
        arguments = call.arguments
        if (
            declared is None
            or type(arguments) is not dict
            or call.source != "structured"
            or call.side == "provider"
            or not declared.issuperset(arguments)
            or dict in map(type, arguments.values())
            or not offers.required[call.name].issubset(arguments)
            or _is_mistyped(arguments, offers.types[call.name])
        ):
            found |= ODD_ARGUMENTS
    return found
