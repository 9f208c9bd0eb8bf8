"""`restriction_dropped`: the question restricts what is wanted, and the call lifts that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.question import question_of, stands_in
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, REQUESTS
from spanwitness.rules.tool_names import words_of

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome

_LOOSE = re.compile(
    r"\b(?:not|whether|including|include|or not|even|regardless|also|both|either|any|all|besides|"
    r"irrespective|no matter)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


@rule(
    "restriction_dropped", severity="warning", fault="reasoning", kind="selection",
    needs=CHATS | REQUESTS,
)  # fmt: skip
def restriction_dropped(facts: Facts) -> Outcome:
    """The question restricts what is wanted, and the call switches that restriction off.

    Claims: An argument that restricts by its name (`available_only`, `only_active`) is `false`, and
        a sentence of the question asks for just such ones ("the cheapest available kettle"). No
        other call of that tool in the run sets it.
    Needs: Requested arguments and the question.
    Not assessed when: The question or the arguments are not recorded.
    Can be wrong: A caller who restricts the answer afterwards in its own way is reported;
        restrictions that are simply left out, or that stand in another argument, are not seen.
    """
    n_calls = 0
    lifted: list[tuple[Request, str]] = []
    restricted: set[tuple[str, str]] = set()
    for request in facts.requests:
        arguments = request.call.arguments
        n_calls += 1
        if not isinstance(arguments, dict):
            continue
        for key, value in arguments.items():
            if (value is False or value is True) and "only" in words_of(str(key)):
                if value:
                    restricted.add((request.call.name, str(key)))
                else:
                    lifted.append((request, str(key)))
    lifted = [(r, key) for r, key in lifted if (r.call.name, key) not in restricted]
    if lifted:
        return _judge(facts, lifted)
    if not facts.knows_requests or any(r.call.arguments is None for r in facts.requests):
        return not_assessed("the arguments of some calls are not recorded")
    return facts.nothing_found if n_calls else facts.no_subject


def _judge(facts: Facts, lifted: list[tuple[Request, str]]) -> Outcome:
    question = question_of(facts)
    if question is None:
        return not_assessed("the question was not recorded")
    for request, key in lifted:
        wanted = " ".join(word for word in words_of(key) if word != "only")
        if any(
            stands_in(wanted, sentence) and not _LOOSE.search(sentence)
            for sentence in wording.sentences(question)
        ):
            return violated(
                f"The question asks for {wanted} ones, and the call of {request.call.name} switches"
                f" {key} off.",
                span_ids=(request.chat.span_id,),
                evidence={
                    "tool": request.call.name, "argument": key, "call_id": request.call.call_id,
                },
            )  # fmt: skip
    return facts.nothing_found
