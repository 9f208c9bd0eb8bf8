"""`argument_not_in_schema`: a call carries an argument that its tool does not declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.offers import declared_in, index_of
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_ARGUMENTS
from spanwitness.rules.subjects import CHATS, OFFERS, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.model import ChatCall, ToolRequest
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "argument_not_in_schema", severity="warning", fault="reasoning",
    needs=CHATS | OFFERS | REQUESTS, signs=ODD_ARGUMENTS,
)  # fmt: skip
def argument_not_in_schema(facts: Facts) -> Outcome:
    """A requested call carries an argument that the offered schema of its tool does not declare.

    Claims: The name of an argument, as requested, is no property of the offered schema (nor, one
        level down, of a nested object that is closed). Many hosts drop such an argument and run
        the tool with its defaults. A call that the tool then refused with an error is not reported.
    Needs: Requested arguments and the offered schemas.
    Not assessed when: Arguments or schemas are not recorded (content off, cut).
    Can be wrong: A tool that takes any argument without declaring so is reported; wrong values of
        declared arguments are not looked at.
    """
    n_judged = n_calls = 0
    for chat in facts.run.chats:
        if not chat.requested:
            continue
        offers = index_of(chat.offered)
        schemas = offers.schemas
        for call in chat.requested:
            if call.source != "structured" or call.side == "provider":
                continue
            n_calls += 1
            schema = schemas.get(call.name)
            if schema is None or not isinstance(call.arguments, dict):
                n_judged += isinstance(call.arguments, str)
                continue
            n_judged += 1
            if _is_plainly_declared(call.arguments, offers.declared.get(call.name)):
                continue
            strange = _undeclared(call.arguments, schema)
            if strange and not _was_refused(facts, call):
                return _violated(chat, call, strange)
    if n_judged < n_calls or not facts.knows_requests:
        return not_assessed("arguments or schemas of some calls are not recorded")
    return facts.nothing_found if n_calls else facts.no_subject


def _is_plainly_declared(arguments: Mapping[str, object], declared: frozenset[str] | None) -> bool:
    """The common case, told apart cheaply: flat arguments, all of them declared."""
    if declared is None or not declared.issuperset(arguments):
        return False
    return dict not in map(type, arguments.values())


def _undeclared(arguments: Mapping[str, object], schema: Mapping[str, object]) -> list[str]:
    properties = schema.get("properties")
    if declared_in(schema) is None or not isinstance(properties, dict):
        return []
    strange: list[str] = []
    for name, value in arguments.items():
        inner = properties.get(name)
        if inner is None and name not in properties:
            strange.append(name)
        elif (
            isinstance(value, dict)
            and isinstance(inner, dict)
            and inner.get("additionalProperties") is False
        ):
            strange += [f"{name}.{part}" for part in _undeclared(value, inner)]
    return strange


def _was_refused(facts: Facts, call: ToolRequest) -> bool:
    return any(e.call_id == call.call_id and e.outcome == "error" for e in facts.executions)


def _violated(chat: ChatCall, call: ToolRequest, strange: list[str]) -> Outcome:
    return violated(
        f"The call of {call.name} carries {', '.join(strange[:5])}, which the tool does not"
        " declare.",
        span_ids=(chat.span_id,),
        evidence={"tool": call.name, "call_id": call.call_id, "arguments": list(strange[:20])},
    )
