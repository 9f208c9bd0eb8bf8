from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    run,
    tool,
    user,
    without_content,
)


def calls(*executions, name="search", offers=("search",), given=None):
    """One call a turn: (arguments, result) or (arguments, result, fields of the span)."""
    items = []
    for number, (arguments, gives, *rest) in enumerate(executions):
        fields = rest[0] if rest else {}
        own = fields.pop("name", name) if "name" in fields else name
        items += [
            chat(
                calls=[call(own, id=str(number), arguments=arguments)],
                offers=offers,
                given=None if given is None else given[number],
            ),
            tool(own, gives=gives, id=str(number), arguments=arguments, fields=fields),
        ]
    return run(*items, chat("Done.", offers=offers))


SAME = ({"q": "x"}, "nothing new")
WRITE = ({"to": "ada"}, "ok")
VIOLATED = {
    "three times the same": calls(SAME, SAME, SAME),
    "four times the same": calls(SAME, SAME, SAME, SAME),
    "an email sent twice": calls(WRITE, WRITE, name="send_email"),
    "a declared write done twice": calls(
        ({"x": 1}, "ok", {"effect": "write"}), ({"x": 1}, "ok", {"effect": "write"}), name="notes"
    ),
    "digests only": without_content(
        calls(*[({"q": "x"}, "r", {"arguments_digest": "a", "result_digest": "b"})] * 3)
    ),
    "an order placed twice, with other ids": calls(
        ({"item": 7}, {"id": 1}), ({"item": 7}, {"id": 2}), name="place_order"
    ),
    "a write of a batch done again": run(
        chat(
            calls=[
                call("send_email", id="1", arguments={"to": "ada"}),
                call("send_email", id="2", arguments={"to": "bob"}),
            ],
            offers=["send_email"],
        ),
        tool("send_email", gives="ok", id="1", arguments={"to": "ada"}),
        tool("send_email", gives="ok", id="2", arguments={"to": "bob"}),
        *calls(WRITE, name="send_email").chats[:1],
        tool("send_email", gives="ok", id="0", arguments={"to": "ada"}),
        chat("Done.", offers=["send_email"]),
    ),
    "a write repeated after a read": calls(
        ({"to": "ada"}, "ok", {"name": "send_email"}),
        ({"q": "x"}, "r", {"name": "search"}),
        ({"to": "ada"}, "ok", {"name": "send_email"}),
    ),
}
HOLDS = {
    "twice": calls(SAME, SAME),
    "other arguments": calls(SAME, ({"q": "y"}, "nothing new"), SAME),
    "results that change": calls(({}, "10%"), ({}, "50%"), ({}, "100%"), name="get_progress"),
    "other results of the same call": calls(({"q": "x"}, 1), ({"q": "x"}, 2), ({"q": "x"}, 3)),
    "polling a status": calls(*[({"job": 1}, "pending")] * 5, name="get_job_status"),
    "retries after an error": calls(*[({"q": "x"}, None, {"outcome": "error"})] * 4),
    "a write retried after an error": calls(
        ({"to": "ada"}, None, {"outcome": "error"}), WRITE, name="send_email"
    ),
    "a write retried after an error in its text": calls(
        ({"to": "ada"}, "Error: mailbox is locked"), WRITE, name="send_email"
    ),
    "two writes with other arguments": calls(WRITE, ({"to": "bob"}, "ok"), name="send_email"),
    "set back to an earlier value": calls(
        ({"on": True}, "ok"), ({"on": False}, "ok"), ({"on": True}, "ok"), name="set_lamp"
    ),
    "the user asked again": calls(
        WRITE,
        WRITE,
        name="send_email",
        given=[[user("Send it.")], [user("Send it."), assistant("Sent."), user("Once more.")]],
    ),
    "one call": calls(SAME),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "arguments not recorded": (without_content(calls(SAME, SAME, SAME)), "not_assessed"),
    "a hole in the trace": (incomplete(calls(SAME, SAME)), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_call_made_again_to_no_purpose_is_told(of):
    verdict = judge("repeated_call", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == (
        "violated",
        "warning",
        "reasoning",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_retries_polling_and_paging_are_not_told(of):
    assert judge("repeated_call", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("repeated_call", of).verdict == word


def cut(digest, number):
    """A call whose arguments and result begin alike and were cut to a size cap."""
    fields = {"is_truncated": True, "arguments_digest": digest, "result_digest": digest}
    return tool("search", id=str(number), gives="the same beginning", query="q", fields=fields)


@pytest.mark.parametrize(("digests", "word"), [("abc", "holds"), ("aaa", "violated")])
def test_texts_that_were_cut_are_compared_by_their_digests(digests, word):
    items = []
    for number, digest in enumerate(digests):
        items += [chat(calls=[call("search", id=str(number), query="q")]), cut(digest, number)]
    assert judge("repeated_call", run(*items, chat("Found."))).verdict == word


def test_results_that_were_cut_without_a_digest_are_not_compared():
    items = []
    for number in range(3):
        fields = {"is_truncated": True}
        items += [
            chat(calls=[call("search", id=str(number), query="q")]),
            tool("search", id=str(number), gives="the same", query="q", fields=fields),
        ]
    assert judge("repeated_call", run(*items, chat("Found."))).verdict == "not_assessed"
