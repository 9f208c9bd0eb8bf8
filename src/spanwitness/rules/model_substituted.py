"""`model_substituted`: another model answered than the one that was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.model_names import compare
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import OTHER_MODELS
from spanwitness.rules.subjects import CHATS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("model_substituted", severity="error", fault="harness", needs=CHATS, signs=OTHER_MODELS)
def model_substituted(facts: Facts) -> Outcome:
    """The reply names a model of another family, generation, tier or size than the request.

    Claims: A server or gateway answered with another model than the one asked for, without an
        error.
    Needs: The model's name on the request and in the reply.
    Not assessed when: A name is missing or of no known family (a deployment's name, a router):
        declare what it stands for under `models` in a contract; or the names differ in a part
        that says nothing about family or size; spans are missing.
    Can be wrong: A server that echoes the asked name hides its model. A documented alias that is
        not known here looks like another model: declare it under `models`.
    """
    other: list[ChatCall] = []
    unknown = ""
    last: tuple[str | None, str | None] | None = None
    is_seen = False
    for chat in facts.run.chats:
        asked, answered = chat.request_model, chat.response_model
        if (asked, answered) == last:
            continue
        last = asked, answered
        if asked is None or answered is None:
            if chat.error_type is None:
                unknown = unknown or "The model named by a request or a reply is not recorded."
            continue
        is_seen = True
        if asked == answered:
            continue
        how = _declared(asked, answered, facts) or compare(asked, answered)
        if how == "other":
            other.append(chat)
        elif how == "unknown":
            unknown = f"Whether {answered!r} is the model {asked!r} is not known here."
    if other:
        first = other[0]
        asked, answered = first.request_model, first.response_model
        return violated(
            f"The request asked for {asked!r}, and {answered!r} answered.",
            span_ids=tuple(chat.span_id for chat in other[:10]),
            evidence={
                "requested": first.request_model,
                "answered": first.response_model,
                "host": first.host,
            },
        )
    if unknown:
        return not_assessed(unknown)
    return facts.nothing_found if is_seen else facts.no_subject


def _declared(asked: str, answered: str, facts: Facts) -> str:
    """Look the pair up in the contracts; an empty word when none speaks of the asked name."""
    if not facts.contracts:
        return ""
    from spanwitness.contracts.names import matches

    word = ""
    for contract in facts.contracts:
        for name, accepted in contract.models.items():
            if matches((name,), asked):
                if matches(accepted, answered):
                    return "same"
                word = "other"
    return "" if word and compare(asked, answered) == "same" else word
