from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    contract,
    incomplete,
    judge,
    offer,
    result,
    run,
    tool,
    user,
    without_content,
)

SEND = offer("send_email", to="string")
CANCEL = offer("cancel_order", order="string")
LOOK = offer("get_order", order="string")
TOOLS = [SEND, CANCEL, LOOK]


def said(says, **fields):
    return run(chat(says, offers=TOOLS, **fields))


def done(says, **fields):
    return run(
        chat(calls=[call("send_email", to="ada")], offers=TOOLS),
        tool("send_email", to="ada", **fields),
        chat(says, offers=TOOLS),
    )


VIOLATED = {
    "first person": said("I have sent the email to Ada."),
    "passive": said("Your order has been cancelled."),
    "passive, with an adverb": said("The order 4711 has now been successfully canceled."),
    "the execution failed": done("I've sent the email to Ada.", error="SMTP 550"),
    "another action was done": done("I cancelled the order for you.", gives="ok"),
}
GENERAL = {
    "successfully": said("The exchange has been successfully processed."),
    "in the other order": said("Your request was processed successfully."),
    "both actions": said("Both actions are completed. You will get an email."),
    "a request of the user": said("Your return request has been submitted."),
    "first person": said("I have submitted your return for order 4711."),
    "a headline": said("All set.\n\n1) Order 4711 cancelled\n2) Email sent"),
    "in a field": said({"message": "The exchange has been successfully processed."}),
    "only a read ran": run(
        chat(calls=[call("get_order", order="1")], offers=TOOLS),
        tool("get_order", gives={"status": "pending"}, order="1"),
        chat("The change has been successfully applied.", offers=TOOLS),
    ),
}
NOTHING_CHANGED = {
    "a summary that is done": said("Done! Here is the summary of the paper."),
    "all set for a question": said("All set? Then tell me the order."),
    "a look-up": said("I have successfully verified your identity."),
    "what will be": said("Once you confirm, the exchange will be successfully processed."),
    "what was before": said("Your exchange was successfully processed last week."),
    "a condition": said("If the update was successfully applied, restart."),
    "a status that was read": run(
        chat(calls=[call("get_order", order="1")], offers=TOOLS),
        tool("get_order", gives={"status": "exchange requested"}, order="1"),
        chat("The exchange has been requested.", offers=TOOLS),
    ),
    "a tool of unknown effect ran": run(
        chat(calls=[call("browser", go="x")], offers=[*TOOLS, "browser"]),
        tool("browser", gives="ok", go="x"),
        chat("The form has been successfully submitted.", offers=TOOLS),
    ),
    "another write ran": done("Your request has been successfully processed.", gives="ok"),
}


@pytest.mark.parametrize("one", GENERAL.values(), ids=GENERAL)
def test_a_change_in_general_words_without_any_write_is_told(one):
    verdict = judge("unperformed_action", one)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("one", NOTHING_CHANGED.values(), ids=NOTHING_CHANGED)
def test_general_words_that_claim_no_change_of_this_run_hold(one):
    assert judge("unperformed_action", one).verdict == "holds"


HOLDS = {
    "it was done": done("I have sent the email to Ada.", gives="ok"),
    "a write that returns nothing": done("I have sent the email to Ada."),
    "done earlier in the conversation": said(
        "I have sent the email to Ada.",
        given=[user("?"), assistant("..."), result("ok", id="0", name="send_email"), user("Sure?")],
    ),
    "done by another agent": run(
        chat(calls=[call("mail_agent")], offers=[*TOOLS, "mail_agent"]),
        tool("mail_agent", gives="sent", fields={"side": "subagent"}),
        chat("I have sent the email to Ada.", offers=TOOLS),
    ),
    "a status that was read": run(
        chat(calls=[call("get_order", order="1")], offers=TOOLS),
        tool("get_order", gives={"status": "cancelled"}, order="1"),
        chat("Your order has been cancelled.", offers=TOOLS),
    ),
    "an offer": said("Would you like me to cancel the order?"),
    "a plan": said("I will send the email once you confirm."),
    "a denial": said("I have not sent the email."),
    "about something else": said("I have sent nothing to anyone."),
}
OTHERWISE = {
    "no write tool": (run(chat("I have sent the email.", offers=[LOOK])), "not_applicable"),
    "offered tools not recorded": (
        run(chat("I have sent the email.", offers=None)),
        "not_assessed",
    ),
    "content off": (without_content(said("I have sent the email.")), "not_assessed"),
    "the outcome is not recorded": (
        done("I have sent the email.", fields={"outcome": "unknown", "has_result": False}),
        "not_assessed",
    ),
    "history kept by the provider": (
        said("I have sent the email.", has_server_state=True),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(said("I have sent the email.")), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_an_action_that_nobody_performed_is_told(of):
    verdict = judge("unperformed_action", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_performed_planned_and_reported_actions_are_not_told(of):
    assert judge("unperformed_action", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("unperformed_action", of).verdict == word


def test_a_contract_declares_the_words_of_an_action():
    terms = contract(actions={"ledger_entry": ["booked it"]}, tools={"write": ["ledger_entry"]})
    of = run(chat("All right, booked it.", offers=["ledger_entry"]))
    assert judge("unperformed_action", of).verdict == "not_applicable"
    assert judge("unperformed_action", of, terms).verdict == "violated"
