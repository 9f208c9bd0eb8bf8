"""`argument_invalid`: a call lacks what its tool requires, or gives it in another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.failures import is_success
from spanwitness.rules.offers import ANY, index_of, required_in, types_in
from spanwitness.rules.recovery import was_recovered
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_ARGUMENTS
from spanwitness.rules.subjects import CHATS, OFFERS, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome


@rule(
    "argument_invalid", severity="warning", fault="reasoning",
    needs=CHATS | OFFERS | REQUESTS, signs=ODD_ARGUMENTS,
)  # fmt: skip
def argument_invalid(facts: Facts) -> Outcome:
    """A call lacks an argument that its tool requires, or gives one of another type, and failed.

    Claims: A requested call leaves out a required argument of the offered schema, or gives a value
        whose JSON type the schema does not allow, and the tool refused it or never ran; no later
        call made up for it. A tool that took the call all the same is not reported.
    Needs: Requested arguments, the offered schemas, and what became of the call.
    Not assessed when: Arguments or schemas are not recorded (content off, cut).
    Can be wrong: A call that failed for another reason than its arguments is reported; wrong values
        of the right type are not looked at.
    """
    n_judged = n_calls = 0
    for request in facts.requests:
        call = request.call
        if call.side == "provider":
            continue
        n_calls += 1
        schema = index_of(request.chat.offered).schemas.get(call.name)
        if schema is None or not isinstance(call.arguments, dict):
            n_judged += isinstance(call.arguments, str)
            continue
        n_judged += 1
        missing, mistyped = _missing(call.arguments, schema), _mistyped(call.arguments, schema)
        if (missing or mistyped) and not _was_taken(facts, request):
            return _violated(request, missing, mistyped)
    if n_judged < n_calls or not facts.knows_requests:
        return not_assessed("arguments or schemas of some calls are not recorded")
    return facts.nothing_found if n_calls else facts.no_subject


def _missing(arguments: Mapping[str, object], schema: Mapping[str, object]) -> list[str]:
    return sorted(required_in(schema).difference(arguments))


def _mistyped(arguments: Mapping[str, object], schema: Mapping[str, object]) -> list[str]:
    allowed = types_in(schema)
    return [name for name, value in arguments.items() if type(value) not in allowed.get(name, ANY)]


def _was_taken(facts: Facts, request: Request) -> bool:
    """Say whether the tool took the call, or a later one made up for it."""
    execution = facts.execution_of.get(request.call.call_id or "")
    if execution is None:
        # Without a result it cannot be told, unless the trace shows that nothing ran.
        return not facts.knows_deliveries or request.call.call_id is None
    return is_success(execution) or was_recovered(facts, execution)


def _violated(request: Request, missing: list[str], mistyped: list[str]) -> Outcome:
    said = []
    if missing:
        said.append(f"lacks {', '.join(missing[:5])}, which the tool requires")
    if mistyped:
        said.append(f"gives {', '.join(mistyped[:5])} in another type than declared")
    return violated(
        f"The call of {request.call.name} {' and '.join(said)}, and it failed.",
        span_ids=(request.chat.span_id,),
        evidence={
            "tool": request.call.name,
            "call_id": request.call.call_id,
            "missing": list(missing[:20]),
            "mistyped": list(mistyped[:20]),
        },
    )
