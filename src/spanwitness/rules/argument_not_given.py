"""`argument_not_given`: an argument that the contract wants from the input was made up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.contracts.names import matches
from spanwitness.rules.counting import out_of_scope
from spanwitness.rules.failures import is_failure
from spanwitness.rules.given_names import GivenNames
from spanwitness.rules.rule import clause_rule, not_assessed, violated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome

_MIN_CHARS: Final = 3
_MAX_VALUES: Final = 200


@clause_rule("argument_not_given", severity="warning", fault="reasoning", kind="selection")
def argument_not_given(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A call gave an argument a value that stands nowhere in what the model had been given.

    Claims: A text or number of at least 3 characters, given for the clause's argument in a call
        that did not fail, stands in no message, result or schema that the model had before it asked
        for the call, however it is spelled; only the model itself wrote it.
    Needs: Arguments of the calls and the messages of the requests before them.
    Not assessed when: Arguments or messages are not recorded or cut, the input holds parts that
        cannot be read, part of it is held by the provider, spans are missing, or the trace cannot
        tell whether the contract is about the run.
    Can be wrong: A value that the model worked out (a date from "tomorrow", a sum) stands nowhere
        either: name arguments that are copied. A short value may stand somewhere by chance.
    """
    early = out_of_scope(facts, contract)
    if early is not None:
        return early
    wanted = list(_values(facts, clause, contract))
    if not wanted:
        if not facts.knows_requests or _lacks_arguments(facts, clause, contract):
            return not_assessed("the arguments of some calls are not recorded")
        return facts.no_subject
    given = GivenNames(facts)
    invented: list[Request] = []
    unknown = ""
    for request, text in wanted[:_MAX_VALUES]:
        word = given.holds(text, before=request.chat_index)
        if word == "no" and not _failed(facts, request):
            invented.append(request)
        unknown = unknown or (given.reason if word == "unknown" else "")
    if invented:
        return _violated(clause, invented)
    return not_assessed(unknown) if unknown else facts.nothing_found


def _values(facts: Facts, clause: Clause, contract: Contract) -> Iterator[tuple[Request, str]]:
    patterns = clause.patterns(contract)
    for request in facts.requests:
        arguments = request.call.arguments
        if isinstance(arguments, dict) and matches(patterns, request.call.name):
            for text in _texts(arguments.get(clause.argument)):
                yield request, text


def _texts(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            text = str(one).strip()
            if len(text) >= _MIN_CHARS:
                yield text


def _lacks_arguments(facts: Facts, clause: Clause, contract: Contract) -> bool:
    patterns = clause.patterns(contract)
    calls = [r.call for r in facts.requests if matches(patterns, r.call.name)]
    return any(call.arguments is None for call in calls)


def _failed(facts: Facts, request: Request) -> bool:
    done = facts.execution_of.get(request.call.call_id or "")
    return done is not None and is_failure(done)


def _violated(clause: Clause, invented: list[Request]) -> Outcome:
    tools = sorted({request.call.name for request in invented})
    n = len(invented)
    times = "once" if n == 1 else f"{n} times"
    told = (
        f"{clause.argument} of {', '.join(tools[:5])} was {times} given a value that nothing holds"
    )
    reason = f"{told}." if clause.reason is None else f"{told}. Expected because: {clause.reason}"
    return violated(
        reason,
        span_ids=tuple(dict.fromkeys(request.chat.span_id for request in invented))[:10],
        evidence={
            "clause": clause.subject,
            "tools": tools[:20],
            "arguments": [clause.argument],
            "call_ids": [request.call.call_id for request in invented[:20]],
            "n_values": n,
        },
    )
