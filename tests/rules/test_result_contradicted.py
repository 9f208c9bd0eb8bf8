from __future__ import annotations

import pytest
from tests.rules.builders import call, chat, incomplete, judge, run, tool, without_content

KETTLES = {
    "count": 3,
    "items": [
        {"id": "K1", "price": 137.17, "available": True, "options": {"color": "silver"}},
        {"id": "K2", "price": 120.5, "available": False, "options": {"color": "white"}},
        {"id": "K3", "price": 164.46, "available": True, "options": {"color": "white"}},
    ],
}
ONE = {"items": [{"id": "V1", "bagged": "yes", "features": "cordless", "price": 655.59}]}


def asked(question, answer, gives, name="search", **arguments):
    return run(
        chat(calls=[call(name, id="1", arguments=arguments)], offers=[name]),
        tool(name, id="1", gives=gives, arguments=arguments),
        chat(answer, offers=[name]),
        prompt=question,
    )


VIOLATED = {
    "the dearest for the cheapest": asked(
        "What is the cheapest available kettle?", "It is K3 at $164.46.", KETTLES
    ),
    "the cheapest for the most expensive": asked(
        "Which is the most expensive kettle?", "K2, for 120.50.", KETTLES
    ),
    "without heed of the colour": asked(
        "Which white kettle has the highest price?", "K2 at 120.5.", KETTLES
    ),
    "no for yes": asked("Does V1 have features=cordless?", "No, it does not.", ONE),
    "yes for no": asked("Is V1 of features: corded?", "Yes, it is.", ONE),
    "none, though the call found one": asked(
        "Which vacuum cleaner costs more than 600?",
        "No items match that filter.",
        ONE,
        type="vacuum cleaner",
        price_min=600,
    ),
}
HOLDS = {
    "the cheapest available one": asked(
        "What is the cheapest available kettle?", "It is K1 at $137.17.", KETTLES
    ),
    "the cheapest of all": asked("What is the cheapest kettle?", "K2 at 120.5.", KETTLES),
    "both are named": asked(
        "What is the cheapest kettle?", "K2 at 120.5; K3 costs 164.46.", KETTLES
    ),
    "the field cannot be told": asked(
        "Which one is the largest?", "The one with 3.", [{"a": 3, "b": 5}, {"a": 4, "b": 1}]
    ),
    "yes for yes": asked("Does V1 have features=cordless?", "Yes.", ONE),
    "no for no": asked("Does V1 have features=corded?", "No.", ONE),
    "another field": asked("Does V1 have colour=red?", "No, it does not.", ONE),
    "the question asks for more than the call": asked(
        "Which vacuum cleaner costs more than 700?",
        "No items match that filter.",
        ONE,
        type="vacuum cleaner",
        price_min=600,
    ),
    "nothing was found": asked(
        "Which vacuum cleaner is there?", "No items match.", {"items": []}, type="vacuum cleaner"
    ),
    "an empty object": asked("Is there one?", "No, there is none.", {}, type="kettle"),
    "a long question": asked("What is the cheapest one? " + "It has to fit. " * 20, "K3", KETTLES),
    "no JSON": asked("What is the cheapest kettle?", "K3 at 164.46.", "K1 137.17, K3 164.46"),
    "a write came last": asked(
        "Book the cheapest kettle.", "K3 at 164.46 is booked.", KETTLES, name="book_item"
    ),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello."), prompt="The cheapest?"), "not_applicable"),
    "content off": (
        without_content(asked("The cheapest kettle?", "K3 at 164.46.", KETTLES)),
        "not_assessed",
    ),
    "a hole in the trace": (
        incomplete(asked("What is the cheapest kettle?", "K3 at 164.46.", KETTLES)),
        "not_assessed",
    ),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_an_answer_against_the_result_is_told(of):
    verdict = judge("result_contradicted", of)
    assert (verdict.verdict, verdict.severity, verdict.kind) == (
        "violated",
        "warning",
        "selection",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_an_answer_that_agrees_or_cannot_be_compared_is_not_told(of):
    assert judge("result_contradicted", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("result_contradicted", of).verdict == word
