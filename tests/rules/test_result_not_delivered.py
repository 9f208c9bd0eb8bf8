from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    contract,
    incomplete,
    judge,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import Delivery

OFFERS = ["lookup", "submit_answer"]


def story(*, delivered=(), given=None, last=None, name="lookup", gives="72 F in town A", **fields):
    """One call, its result, and another model call that carries what is given."""
    return run(
        chat(calls=[call(name, city="A")], offers=OFFERS),
        tool(name, gives=gives, city="A"),
        chat(
            "It is warm.",
            **({"offers": OFFERS, "delivered": delivered, "given": given} | (last or {})),
        ),
        **fields,
    )


VIOLATED = {
    "the next request lacks it": story(),
    "with content off": without_content(story()),
    "an error result": run(
        chat(calls=[call("lookup")], offers=OFFERS),
        tool("lookup", error="gone"),
        chat("It is warm.", offers=OFFERS, delivered=()),
    ),
    "one of two parallel results": run(
        chat(calls=[call("lookup", id="1"), call("lookup", id="2")], offers=OFFERS),
        tool("lookup", gives="72 F", id="1"),
        tool("lookup", gives="10 C", id="2"),
        chat("Both warm.", offers=OFFERS, delivered=(Delivery(call_id="2"),)),
    ),
}
HOLDS = {
    "delivered": story(delivered=(Delivery(call_id="call_lookup"),)),
    "delivered later": run(
        chat(calls=[call("lookup")], offers=OFFERS),
        tool("lookup", gives="72 F"),
        chat("One moment.", offers=OFFERS, delivered=()),
        chat("72 F.", offers=OFFERS),
    ),
    "no model call came after": run(
        chat(calls=[call("lookup")], offers=OFFERS), tool("lookup", gives="72 F")
    ),
    "handed on as text": story(given=[user("Sum this up: 72 F in town A")]),
    "a model call outside the loop": story(
        given=[user("Grade this answer.")], last={"parent_span_id": "9" * 16}
    ),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "a submission": (story(name="submit_answer"), "not_applicable"),
    "a hand-off": (story(name="transfer_to_billing"), "not_applicable"),
    "not linked to a call": (
        run(chat("x", offers=OFFERS), tool("lookup", gives="72 F", id=None), chat("y")),
        "not_assessed",
    ),
    "delivered results not recorded": (
        story(delivered=None, last={"dialect": "otel_genai"}),
        "not_assessed",
    ),
    "results without ids": (story(delivered=(Delivery(call_id=None),)), "not_assessed"),
    "a declared compaction": (story(compacted=True), "not_assessed"),
    "state kept by the provider": (story(last={"has_server_state": True}), "not_assessed"),
    "a later call without tools, content off": (
        without_content(story(last={"offers": ()})),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(story()), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_result_that_no_request_carries_is_told(of):
    verdict = judge("result_not_delivered", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_results_that_arrived_or_need_not_are_not_told(of):
    assert judge("result_not_delivered", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("result_not_delivered", of).verdict == word


def test_a_contract_declares_that_nobody_waits_for_a_result():
    terminal = contract(tools={"terminal": ["lookup"]})
    assert judge("result_not_delivered", story(), terminal).verdict == "not_applicable"


def test_the_lost_result_is_named_by_its_call():
    of = VIOLATED["one of two parallel results"]
    assert judge("result_not_delivered", of).evidence["call_ids"] == ["1"]
    carried = (*of.chats[1].delivered, Delivery(call_id="1"))
    chats = (of.chats[0], msgspec.structs.replace(of.chats[1], delivered=carried))
    assert (
        judge("result_not_delivered", msgspec.structs.replace(of, chats=chats)).verdict == "holds"
    )
