from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    contract,
    incomplete,
    judge,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import ToolCallPart

OFFERS = ["search", "find_order", "send_email", "notes"]


def looked(says, *results, name="search", fields=None, chat_fields=None):
    items = []
    for number, gives in enumerate(results):
        items += [
            chat(calls=[call(name, id=str(number))], offers=OFFERS),
            tool(name, gives=gives, id=str(number), fields=fields or {}),
        ]
    return run(*items, chat(says, offers=OFFERS, **(chat_fields or {})))


ERRORS = {
    "a number from nowhere": looked("The limit is 300 mA.", []),
    "all of several reads were empty": looked("It costs 41.5 EUR.", "", None, {}),
    "counted when the call was made": without_content(
        looked("It is 300.", [], chat_fields={"n_values": 1, "n_values_unseen": 1})
    ),
}
WARNINGS = {
    "a claim without a value": looked("Your order has shipped.", [], name="find_order"),
    # A42: an empty report, and a report that only points elsewhere
    "an empty delegation": looked(
        "The contract is sound.", "", name="lawyer", fields={"side": "subagent"}
    ),
    "a report that only points elsewhere": looked(
        "The contract is sound.", "See my report above.", name="lawyer", fields={"side": "subagent"}
    ),
}
EARLIER = [
    user("Is there an order?"),
    assistant(ToolCallPart(name="find_order", call_id="0")),
    result("[]", id="0", name="find_order"),
    assistant("There is none."),
    user("And how long is the warranty?"),
]
HOLDS = {
    "the empty read had its answer in an earlier turn": run(
        chat("The warranty is 24 months.", offers=OFFERS, given=EARLIER)
    ),
    "one read gave something": looked("It is 300 mA.", [], "limit: 300 mA"),
    "could not find it": looked("I could not find it.", []),
    "nothing was found": looked("Nothing was found for this order.", []),
    "an explicit empty list is a look": looked("There are no open orders.", []),
    "asks back": looked("Which order do you mean?", []),
    "a write that returns nothing": looked("The mail is on its way.", None, name="send_email"),
    "the value stands in the question": run(
        chat(calls=[call("search")], offers=OFFERS),
        tool("search", gives=[]),
        chat("I found nothing on order 4711.", offers=OFFERS),
        prompt="Where is order 4711?",
    ),
    "an empty answer": looked("", []),
    "a structured abstention": looked({"total": None}, []),
}
OTHERWISE = {
    "no tool ran": (run(chat("It is 300.")), "not_applicable"),
    "content off": (without_content(looked("Shipped.", [])), "not_assessed"),
    "what it gave is not recorded": (
        without_content(looked("Shipped.", "x", fields={"outcome": "unknown"})),
        "not_assessed",
    ),
    "an undeclared effect": (looked("All is well.", None, name="notes"), "not_assessed"),
    "a hole in the trace": (incomplete(looked("It is 300 mA.", [])), "not_assessed"),
}


@pytest.mark.parametrize("of", ERRORS.values(), ids=ERRORS)
def test_values_stated_after_empty_reads_are_told(of):
    verdict = judge("empty_result_answered", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("of", WARNINGS.values(), ids=WARNINGS)
def test_other_claims_after_empty_reads_are_warned_of(of):
    verdict = judge("empty_result_answered", of)
    assert (verdict.verdict, verdict.severity) == ("violated", "warning")


def test_a_flat_denial_that_rests_on_a_silent_output_is_told_at_info():
    # A59: the script printed nothing
    verdict = judge("empty_result_answered", looked("There is no relevant activity.", ""))
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_answers_that_say_so_are_right(of):
    assert judge("empty_result_answered", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("empty_result_answered", of).verdict == word


def test_a_contract_declares_what_is_a_write():
    of = looked("All is well.", None, name="notes")
    writes = contract(tools={"write": ["notes"]})
    assert judge("empty_result_answered", of, writes).verdict == "holds"


def test_an_answer_that_rests_on_what_the_user_gave_holds():
    given = run(
        chat(calls=[call("search_notes", q="budget")], offers=["search_notes"]),
        tool("search_notes", gives=[], q="budget"),
        chat("Your budget of $417.50 covers the trip on 12 May 2027.", offers=["search_notes"]),
        prompt="My budget is $417.50, the trip on 12 May 2027. Does it fit?",
    )
    assert judge("empty_result_answered", given).verdict == "holds"
    bare = run(
        chat(calls=[call("search_notes", q="budget")], offers=["search_notes"]),
        tool("search_notes", gives=[], q="budget"),
        chat("Your budget covers the trip.", offers=["search_notes"]),
        prompt="My budget is $417.50. Does it fit?",
    )
    assert judge("empty_result_answered", bare).severity == "warning"
