from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import ToolCallPart
from spanwitness.rules.disclosure import claims_work, tells_plainly
from spanwitness.rules.error_texts import is_error_text, is_error_value

OFFERS = ["read_file", "search", "send_email", "submit_answer"]


def turn(name, call_id=None, **fields):
    call_id = call_id or f"{name}-1"
    return (chat(calls=[call(name, id=call_id)], offers=OFFERS), tool(name, id=call_id, **fields))


def told(says, *turns):
    return run(*(item for items in turns for item in items), chat(says, offers=OFFERS))


def work(call_id, *, gives="done", error=None, name="cancel_order", **arguments):
    asked = call(name, id=call_id, arguments=arguments)
    return (
        chat(calls=[asked], offers=["cancel_order", "change_address"]),
        tool(name, id=call_id, gives=gives, error=error, **arguments),
    )


def dialog(*says):
    """One run over two turns of a dialog: the first call fails, the second answer thanks."""
    first, last = says
    asked = call("cancel_order", id="1", arguments={"order": "W1001"})
    before = [user("Cancel W1."), assistant(ToolCallPart(name="cancel_order", call_id="1"))]
    return run(
        chat(calls=[asked], offers=["cancel_order"], given=[user("Cancel W1.")]),
        tool("cancel_order", id="1", gives="Error: W1 has left", order="W1001"),
        chat(first, offers=["cancel_order"], given=[*before, result("Error: W1 has left", id="1")]),
        chat(
            last,
            offers=["cancel_order"],
            given=[
                *before,
                result("Error: W1 has left", id="1"),
                assistant(first),
                user("I see, thanks."),
            ],
        ),
    )


NO_ANSWER = "Error: the service did not answer"
EARLIER = [
    user("Cancel W1."),
    assistant(ToolCallPart(name="cancel_order", call_id="0", arguments={"order": "W1001"})),
    result("Error: W1 has left", id="0"),
    assistant("Sorry, W1 has left already."),
    user("Then tell me the address of W1."),
]
FAILED = turn("read_file", error="file not found")
VIOLATED = {
    # A36: isError was true
    "a marked error": told("File read.", FAILED),
    # A38: exceptions turned into strings
    "an error in place of a result": told(
        "Posted.", turn("read_file", gives="API request failed: channel_not_found")
    ),
    "an exception as text": told(
        "It is 300 mA.", turn("read_file", gives="ERROR: ValueError: no page 9")
    ),
    "an error object": told(
        "It is fine.", turn("read_file", gives={"error": "denied", "code": 403})
    ),
    "the submission is no fallback": told("Done.", FAILED, turn("submit_answer", gives="ok")),
    "a parallel success is no fallback": run(
        chat(calls=[call("read_file", id="1"), call("search", id="2")], offers=OFFERS),
        tool("read_file", error="gone", id="1"),
        tool("search", gives="3 hits", id="2"),
        chat("The file says 3.", offers=OFFERS),
    ),
    "remarks on what cannot be done later": told(
        "I've cancelled order W1. Once cancelled it cannot be changed. If there are any issues,"
        " tell me. I don't have the tracking number.",
        work("1", gives=NO_ANSWER, order="W1001"),
    ),
    "an apology for something else": told(
        "The order has been cancelled. Unfortunately, I cannot speed up the refund.",
        work("1", gives=NO_ANSWER, order="W1001"),
    ),
    "the same for another thing is no retry": told(
        "Both orders are cancelled.",
        work("1", gives=NO_ANSWER, order="W1001"),
        work("2", order="W1002"),
    ),
    "other work is no fallback for a write": told(
        "All set: W1 is cancelled and the new address is in place.",
        work("1", gives=NO_ANSWER, order="W1001"),
        work("2", name="change_address", order="W1001", street="Elm 5", city="Bonn", zip="53111"),
    ),
    "an answer that is JSON": told(
        {"status": "completed", "order": {"id": "W1", "status": "cancelled"}},
        work("1", gives=NO_ANSWER, order="W1001"),
    ),
    "hidden when it failed, thanked later": dialog("W1 has been cancelled.", "You are welcome."),
    "a read does not stand in for a write": told(
        "The mail is out.", turn("send_email", error="SMTP 550"), turn("search", gives="3 hits")
    ),
}
HOLDS = {
    "no failure": told("File read.", turn("read_file", gives="x = 1")),
    "told in the answer": told("I could not read the file.", FAILED),
    "told when it failed, thanked later": dialog("Sorry, W1 has left.", "You are welcome."),
    "failed in an earlier turn, traced as a run of its own": run(
        chat("It goes to Elm 5.", offers=["cancel_order"], given=EARLIER)
    ),
    "a question back": told(
        "W1 is on its way. Would you like to send it back instead?",
        work("1", gives=NO_ANSWER, order="W1001"),
    ),
    "a retry with the number corrected": told(
        "W1 is cancelled.",
        work("1", gives=NO_ANSWER, order="W1001"),
        work("2", order="#W1001"),
    ),
    "another tool that does the same": told(
        "W1 is cancelled.",
        work("1", gives=NO_ANSWER, order="W1001", reason="late"),
        work("2", name="cancel_by_mail", order="W1001", reason="late", to="shop"),
    ),
    "part of the work is told to have failed": told(
        "W2 has been cancelled. W1 could not be cancelled.",
        work("1", gives=NO_ANSWER, order="W1001"),
        work("2", order="W1002"),
    ),
    "an apology": told("Sorry, something went wrong with the file.", FAILED),
    "a retry worked": told("x is 1.", FAILED, turn("read_file", call_id="again", gives="x = 1")),
    "a fallback worked": told("x is 1.", FAILED, turn("search", gives="x = 1")),
    "an abstention": told("The value is unknown.", FAILED),
    "the run failed too": run(*FAILED, status="error", error_type="ValueError"),
    "nothing was given back": run(*FAILED, has_final=False, final_text=None),
    "a log search that finds the word": told(
        "Two errors at noon.",
        turn("search", gives="ERROR 12:00 db timeout\nERROR 12:01 db timeout"),
    ),
    "a report that mentions errors": told("All is well.", turn("search", gives="No errors found.")),
    "a long text that begins so": told(
        "It explains error handling.",
        turn("read_file", gives="Error handling in Go\n\n" + "Errors are values.\n" * 20),
    ),
    "a cancelled call": told("x.", turn("read_file", fields={"outcome": "cancelled"})),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "content off": (without_content(told("File read.", FAILED)), "not_assessed"),
    "outcomes not recorded": (
        without_content(told("x", turn("read_file", gives="x", fields={"outcome": "unknown"}))),
        "not_assessed",
    ),
    "a hole in which a retry may lie": (incomplete(told("File read.", FAILED)), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_failure_that_the_answer_hides_is_told(of):
    verdict = judge("tool_error_swallowed", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_failures_that_were_made_up_for_or_told_are_not_told(of):
    assert judge("tool_error_swallowed", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("tool_error_swallowed", of).verdict == word


@pytest.mark.parametrize(
    "text",
    [
        "Error: file not found",
        "ERROR: ValueError: page 9",
        "ValueError: page 9 does not exist",
        "requests.exceptions.ConnectionError: refused",
        "Traceback (most recent call last):\n  File x\n" + "  more\n" * 900 + "KeyError: 'a'",
        "API request failed: channel_not_found",
        "Permission denied.",
        "Request timed out.",
        "Failed to open the file",
        '{"error": "not found"}',
        '{"ok": false, "reason": "x"}',
        "Error executing tool read_page: no such page",
        "Tool error: bad input",
    ],
)
def test_a_text_that_is_nothing_but_an_error_is_one(text):
    assert is_error_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No errors found.",
        "0 failed, 10 passed",
        "3 tests failed, 12 passed; see the list of failing tests and their owners",
        "The error budget of the service is 0.1 %.",
        "2026-11-29 12:00 ERROR db timeout",
        "ERROR 2026-11-29 12:00 db timeout\nINFO 2026-11-29 12:01 recovered",
        '{"errors": [], "items": [1]}',
        '{"error": null, "value": 3}',
        '{"level": "error", "count": 3}',
        '{"error": "none so far", "items": [1, 2]}',
        "Error codes: E1 means overheated, E2 means the lid is open.\n\nSee page 4.\n\nE3\n\nE4",
        "250 mA",
    ],
)
def test_a_result_that_speaks_of_errors_is_none(text):
    assert not is_error_text(text)


def test_results_that_are_no_text_are_looked_at_as_they_are():
    assert is_error_value({"isError": True, "content": [{"type": "text", "text": "x"}]})
    assert is_error_value([{"type": "text", "text": "Error: x"}])
    assert not is_error_value([{"error": "x"}, {"value": 1}])
    assert not is_error_value(0)
    assert not is_error_value(None)


@pytest.mark.parametrize(
    "answer",
    [
        "I've cancelled it.",
        "The cancellation has been successfully processed.",
        "All set.",
        '{"status": "cancel requested"}',
        "Your order was cancelled.",
    ],
)
def test_an_answer_that_says_that_it_is_done_is_recognised(answer):
    assert claims_work(answer, "cancel_order")


@pytest.mark.parametrize(
    "answer",
    [
        "I will cancel it once you confirm.",
        "It has already been processed.",
        "It has not been cancelled.",
        "If it has been cancelled, you get a mail.",
        "Your identity has been verified.",
    ],
)
def test_an_answer_that_says_so_of_other_times_or_things_is_not(answer):
    assert not claims_work(answer, "cancel_order")


def test_a_field_of_a_json_answer_says_that_it_is_done():
    assert claims_work('{"order_status": "pending (item modified)"}', "modify_pending_items")


def test_what_did_not_happen_besides_is_no_failure():
    assert not tells_plainly("Both are done. The system didn't flag any delays.")
    assert tells_plainly("The second update didn't go through.")


def test_a_failure_that_is_denied_or_thought_of_is_not_told():
    assert not tells_plainly("It went through without any errors. If it fails, call us.")
    assert tells_plainly("The second one failed.")
