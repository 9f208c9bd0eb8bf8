from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    judge,
    offer,
    run,
    system,
    tool,
    user,
)

from spanwitness.rules.facts import Facts
from spanwitness.rules.told_records import reports_finding, things_of, told_records

TOOLS = (
    offer("get_order_details", order_id="string"),
    offer("get_reservation", reservation_id="string"),
    offer("find_user_by_email", email="string"),
    offer("search_text", query="string"),
)


def answered(answer, *, given=None, offers=TOOLS):
    messages = [user("Where is my order?")] if given is None else given
    return run(chat(answer, offers=offers, given=messages))


def told(answer, **fields):
    return told_records(Facts(answered(answer, **fields)))


RECORDS = {
    "what stands in an order": "Your order is out for delivery with the courier and leaves Bonn.",
    "a code from nowhere": "The order you mean is #W2378156, I think.",
    "an exact amount": "The total of the order is $342.81.",
    "two amounts": "The order costs $40, shipping $12.",
    "a date of the thing": "The reservation was made on 2024-05-07 in economy.",
    "a thing with its code": "Reservation XEHM4B: a basic economy ticket without any insurance.",
    "in JSON": '{"message": "Your order has arrived at the depot in Cologne yesterday."}',
    "another word for it": "Your account has three saved cards and a silver membership.",
}
NO_RECORDS = {
    "a question back": "What is the number of your order?",
    "an offer": "I can look up your order once you give me its number.",
    "a condition": "If your order has left the warehouse, it cannot be cancelled.",
    "what will be": "Your order will be checked by a colleague of mine tomorrow morning.",
    "a wish": "Your order is important to us.",
    "a request": "Please confirm whether the order has been delivered to the right place.",
    "an example of a code": "Give me the number of the order (e.g. #W0000000).",
    "a code that the user gave": "Is your order W77031 the one?",
    "a rate": "Shipping an order takes 5 days and costs $12.",
    "general knowledge": "Paris has 2,102,650 inhabitants and lies on the Seine.",
    "what was said before": "Your order is out for delivery.",
    "what the request is about": "Returning an order is free of charge within 30 days.",
}


@pytest.mark.parametrize("answer", RECORDS.values(), ids=RECORDS)
def test_an_answer_that_tells_of_records_is_recognised(answer):
    assert told(answer)


@pytest.mark.parametrize("answer", NO_RECORDS.values(), ids=NO_RECORDS)
def test_an_answer_that_asks_offers_or_speaks_in_general_tells_of_none(answer):
    given = [
        user("My order is W77031."),
        assistant("It is out for delivery."),
        user("And now?"),
    ]
    assert not told(answer, given=given)


def test_data_in_the_instructions_counts_as_given():
    given = [
        system("Answer politely.\nCustomer C-4711: order #W2378156, silver membership, in Bonn."),
        user("Where is my order?"),
    ]
    assert not told("Your order #W2378156 is in Bonn, with your silver membership.", given=given)


def test_tools_that_are_about_nothing_in_particular_make_nothing_a_record():
    offers = (offer("search_text", query="string"), offer("read_page", page="integer"))
    assert not told("Your order is out for delivery with the courier in Bonn.", offers=offers)


def test_what_tools_are_about_is_told_by_their_names_and_those_of_their_arguments():
    things = things_of((offer("book_flight", flight_number="string", seat_class="string"),))
    assert "flight" in things
    assert not {"book", "number", "class"} & things


def test_tools_are_due_where_only_they_can_know():
    verdict = judge("tool_bypass", answered("Your order #W2378156 was shipped to Bonn."))
    assert (verdict.verdict, verdict.severity) == ("violated", "error")


def test_values_of_such_an_answer_are_no_general_knowledge():
    answer = "Your order #W2378156 holds 3 lamps; the order number of the spare part is #W9917201."
    verdict = judge("value_ungrounded", answered(answer))
    assert (verdict.verdict, verdict.severity) == ("violated", "error")


@pytest.mark.parametrize(
    "text",
    [
        "I found your order.",
        "I've successfully verified your identity.",
        "I have located the reservation.",
        "I was able to locate your account using your name.",
    ],
)
def test_a_look_up_that_never_happened_is_told_as_fabricated(text):
    verdict = judge("fabricated_observation", answered(text))
    assert (verdict.verdict, verdict.severity) == ("violated", "error")


@pytest.mark.parametrize(
    "text",
    [
        "I could not find your order.",
        "I will find your order.",
        "I need to verify your identity first.",
        "I found a mistake in my reasoning.",
        "Once I have located your account, we go on.",
    ],
)
def test_a_look_up_that_is_denied_or_announced_is_none(text):
    assert judge("fabricated_observation", answered(text)).verdict == "holds"


def test_a_look_up_that_an_earlier_turn_told_of_is_not_told_again():
    given = [
        user("Verify me."),
        assistant("I have verified your identity."),
        user("Did you verify me?"),
    ]
    assert not reports_finding(
        Facts(answered("Yes, I have verified your identity.", given=given)),
        "Yes, I have verified your identity.",
    )


def test_a_look_up_that_happened_is_fine():
    looked = run(
        chat(calls=[call("get_order_details", order_id="W1")], offers=TOOLS),
        tool("get_order_details", gives={"order_id": "W1", "city": "Bonn"}, order_id="W1"),
        chat("I found your order. Your order is on its way to Bonn by courier.", offers=TOOLS),
    )
    assert judge("tool_bypass", looked).verdict == "holds"
    assert judge("fabricated_observation", looked).verdict == "holds"
