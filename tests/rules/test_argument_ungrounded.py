"""A call with an identifier that the model had from nowhere."""

from __future__ import annotations

import pytest
from tests.rules.builders import assistant, call, chat, judge, run, tool, user, without_content

from spanwitness.model import MediaPart, Message, Run

ASKED = "Please cancel order W-1234 of anna.k@example.com."
REFUND = {"order_id": "W5550123"}


def one_call(
    name: str, arguments: dict[str, object], gives: object = "ok", **fields: object
) -> Run:
    prompt = str(fields.pop("prompt", ASKED))
    return run(
        chat(calls=[call(name, arguments=arguments)], offers=[name], **fields),
        tool(name, gives=gives, arguments=arguments),
        chat("Done.", offers=[name]),
        prompt=prompt,
    )


VIOLATED = {
    "a write with an invented id": one_call("cancel_order", REFUND),
    "a read with an invented id": one_call("get_order", REFUND, {"total": 12}),
    "an invented address": one_call("send_email", {"email": "max.m@example.org"}),
    "in a list": one_call("return_items", {"item_ids": ["1008292230", "9612497925"]}),
    "in a nested object": one_call("update_order", {"payment": {"payment_id": "card_4421486"}}),
    "named only by the model itself": run(
        chat("I see order W5550123.", calls=[call("get_time")]),
        tool("get_time", gives="12:00"),
        chat(calls=[call("cancel_order", arguments=REFUND)]),
        tool("cancel_order", gives="ok", arguments=REFUND),
        chat("Done."),
    ),
    "longer than the one that was given": one_call("get_order", {"order_id": "W12345"}, ["x"]),
}
HOLDS = {
    "given by the user": one_call("cancel_order", {"order_id": "W-1234"}),
    "spelled otherwise": one_call("cancel_order", {"order_id": "#w1234"}),
    "an address of the user": one_call("send_email", {"email": "Anna.K@example.com"}),
    "from a result": run(
        chat(calls=[call("get_user", email="anna.k@example.com")]),
        tool("get_user", gives={"orders": ["W5550123"]}, email="anna.k@example.com"),
        chat(calls=[call("cancel_order", arguments=REFUND)]),
        tool("cancel_order", gives="ok", arguments=REFUND),
        chat("Done."),
        prompt=ASKED,
    ),
    "a call that was refused": run(
        chat(calls=[call("cancel_order", arguments=REFUND)]),
        tool("cancel_order", error="no such order", arguments=REFUND),
        chat("I could not find that order."),
    ),
    "a guess that found nothing": one_call("get_order", REFUND, ""),
    "the id of the thing that is made": one_call("create_ticket", {"ticket_id": "T-20261130-7"}),
    "a key that the caller makes": one_call("charge", {"idempotency_key": "b1946ac92492d2347c62"}),
    "counts and pages": one_call("list_orders", {"page_number": 20261, "max_no": 10000}, ["x"]),
    "a text": one_call("search", {"query": "order W5550123"}, ["x"]),
    "a date": one_call("list_orders", {"date": "2026-11-30"}, ["x"]),
    "a small number": one_call("get_row", {"id": 3}, ["x"]),
    "told by the assistant before the run": run(
        chat(
            calls=[call("cancel_order", arguments=REFUND)],
            given=[user("hi"), assistant("Your order is W5550123."), user("Cancel it.")],
        ),
        tool("cancel_order", gives="ok", arguments=REFUND),
        chat("Done."),
    ),
}
UNKNOWN = {
    "content off": without_content(one_call("cancel_order", REFUND)),
    "an image in the input": one_call(
        "cancel_order", REFUND,
        given=[Message(role="user", parts=(MediaPart(modality="image"),))],
    ),
    "state of the provider": one_call("cancel_order", REFUND, has_server_state=True),
    "a cut request": one_call("cancel_order", REFUND, is_truncated=True),
}  # fmt: skip


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_an_identifier_from_nowhere_is_told(one: Run) -> None:
    verdict = judge("argument_ungrounded", one)
    assert (verdict.verdict, verdict.severity) == ("violated", "warning")
    assert "W5550123" not in verdict.reason


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_what_was_given_made_or_refused_is_not_told(one: Run) -> None:
    assert judge("argument_ungrounded", one).verdict == "holds"


@pytest.mark.parametrize("one", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_seen_is_not_assessed(one: Run) -> None:
    assert judge("argument_ungrounded", one).verdict == "not_assessed"


def test_without_calls_there_is_nothing_to_judge() -> None:
    assert judge("argument_ungrounded", run(chat("Hello!"))).verdict == "not_applicable"
