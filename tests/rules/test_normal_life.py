"""Look-alikes of healthy agents: whatever a rule may think of them, none is flagged."""

from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    choice,
    json_schema,
    listing,
    offer,
    result,
    run,
    step,
    submission,
    tool,
    user,
    without_content,
)

from spanwitness.model import Delivery, MediaPart, ToolDefinition
from spanwitness.rules.engine import evaluate

SEARCH = offer("search", query="string")
READ = offer("read_page", page="integer")
SEND = offer("send_email", to="string")
STATUS = offer("get_job_status", job="string")
SUBMIT = offer("submit_answer", value="string")
FINAL = offer("final_result", side="output", total="number")
OFFERS = [SEARCH, READ, SEND, STATUS, SUBMIT]


def turn(name, *, call_id=None, gives=None, error=None, fields=None, **arguments):
    call_id = call_id or f"{name}-1"
    return (
        chat(calls=[call(name, id=call_id, **arguments)], offers=OFFERS),
        tool(name, id=call_id, gives=gives, error=error, fields=fields, **arguments),
    )


def told(says, *turns, prompt="Please help.", **fields):
    items = [item for items in turns for item in items]
    return run(*items, chat(says, offers=OFFERS), prompt=prompt, **fields)


LIFE = {
    "optional tools, small talk": told("Hello! How can I help?"),
    "optional tools, general knowledge": told("Paris has about 2.1 million inhabitants."),
    "optional tools, work on the given text": told(
        "The total is 41.5 EUR, as your second paragraph says.", prompt="Total: 41.5 EUR. Sum up."
    ),
    "abstention after a look": told(
        "I could not find the limit in the datasheet.",
        turn("search", gives=[], query="limit"),
        turn("read_page", gives="Table of contents", page=1),
    ),
    "a clarifying question": told("Which of the two datasheets do you mean?"),
    "a tool loop": told(
        "The limit is 250 mA (page 2).",
        turn("search", gives=[{"page": 2}], query="limit"),
        turn("read_page", gives="Maximum output current 250 mA.", page=2),
    ),
    "parallel calls, results out of order": run(
        chat(
            calls=[call("search", id="1", query="A"), call("search", id="2", query="B")],
            offers=OFFERS,
        ),
        tool("search", gives="10 C", id="2", query="B"),
        tool("search", gives="72 F", id="1", query="A"),
        chat("A: 72 F, B: 10 C", offers=OFFERS),
    ),
    "streaming": run(
        chat(calls=[call("search", query="x")], offers=OFFERS, is_streaming=True),
        tool("search", gives="72 F", query="x"),
        chat("72 F", offers=OFFERS, is_streaming=True),
    ),
    "a stream that the user left": run(
        chat("The limit", offers=OFFERS, ending="abandoned", is_streaming=True),
        is_cancelled=True,
    ),
    "a user cancels with calls open": run(
        chat(calls=[call("search", query="x")], offers=OFFERS),
        tool("search", fields={"outcome": "cancelled"}, query="x"),
        is_cancelled=True,
    ),
    "a hand-off": run(
        chat(calls=[call("transfer_to_billing")], offers=[*OFFERS, offer("transfer_to_billing")]),
        chat("Billing here, hello.", offers=[SEARCH], given=[user("My bill?")]),
    ),
    "an output tool ends the run": run(
        chat(calls=[call("search", query="x")], offers=[SEARCH, FINAL], choice=choice("required")),
        tool("search", gives="total 41.5", query="x"),
        chat(
            calls=[call("final_result", total=41.5)],
            offers=[SEARCH, FINAL],
            choice=choice("required"),
        ),
    ),
    "extraction by a forced schema, no tools": run(
        chat(
            calls=[call("Invoice", total=41.5)],
            offers=[offer("Invoice", total="number")],
            choice=choice("named", "Invoice"),
        ),
        prompt="Total: 41.5 EUR",
    ),
    "a pending approval": run(
        chat(calls=[call("send_email", to="ada")], offers=OFFERS),
        termination="awaiting_approval",
        final_text=None,
    ),
    "a failed call and its retry": told(
        "250 mA.",
        turn("read_page", error="timeout", page=2),
        turn("read_page", call_id="again", gives="250 mA", page=2),
    ),
    "a failed call and a fallback": told(
        "250 mA.",
        turn("read_page", error="no such page", page=9),
        turn("search", gives="250 mA", query="x"),
    ),
    "a failed call that is told": told(
        "Unfortunately the search is down, so I have no answer.",
        turn("search", error="503", query="x"),
    ),
    "polling until it changes": told(
        "The job is done.",
        *[
            turn("get_job_status", call_id=str(n), gives=g, job="7")
            for n, g in enumerate(["10", "50", "100"])
        ],
    ),
    "polling an unchanging status": told(
        "The job is still running.",
        *[turn("get_job_status", call_id=str(n), gives="running", job="7") for n in range(5)],
    ),
    "paging": told(
        "All read.",
        *[turn("read_page", call_id=str(n), gives=f"text {n}", page=n) for n in range(1, 5)],
    ),
    "a write that returns nothing": told(
        "I have sent the email to Ada.", turn("send_email", to="ada")
    ),
    "a submission whose result goes nowhere": run(
        *turn("search", gives="250 mA", query="x"),
        chat(calls=[call("submit_answer", value="250 mA")], offers=OFFERS),
        tool("submit_answer", value="250 mA"),
        submission("250 mA"),
    ),
    "a log search that finds errors": told(
        "There were two timeouts at noon.",
        turn("search", gives="ERROR 12:00 db timeout\nERROR 12:01 db timeout", query="noon"),
    ),
    "a declared compaction": run(
        *turn("search", gives="250 mA", query="x"),
        chat(
            "250 mA.",
            offers=OFFERS,
            given=[user("Summary so far: the search says 250 mA.")],
            delivered=(),
        ),
        compacted=True,
    ),
    "a result by reference": run(
        *turn("search", gives="row\n" * 9000, query="x"),
        chat(
            "I stored the rows.",
            offers=OFFERS,
            given=[
                user("All rows?"),
                assistant("..."),
                result("Result saved to artifact rows-1.txt", id="search-1", name="search"),
            ],
            delivered=(
                Delivery(call_id="search-1", state="altered", part_types=("text",), size_bytes=36),
            ),
        ),
    ),
    "a structured answer after the tools": run(
        *turn("search", gives="total 41.5", query="x"),
        chat({"total": 41.5}, offers=OFFERS, format=json_schema()),
    ),
    "a structured answer to a picture": run(
        chat(
            {"total": 41.5},
            offers=OFFERS,
            format=json_schema(),
            given=[user("Total?", MediaPart(modality="image"))],
        )
    ),
    "a classification by enum": run(
        chat(
            {"mood": "glad"},
            offers=OFFERS,
            format=json_schema(
                {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}}
            ),
        )
    ),
    "a hosted search": run(
        chat(
            "It opens at nine.",
            calls=[call("web_search", side="provider")],
            offers=[ToolDefinition(name="web_search", side="provider")],
        )
    ),
    "a listing, a retry of it, and its tools": run(
        listing(error="ConnectError", server="s"),
        listing("search", server="s"),
        chat("Hello.", offers=[SEARCH]),
    ),
    "a conversation that goes on": run(
        chat(
            "As I said, it is 250 mA (page 2).",
            offers=OFFERS,
            given=[
                user("Limit?"),
                assistant("..."),
                result("page 2: 250 mA", id="old", name="read_page"),
                assistant("250 mA"),
                user("Sure?"),
            ],
        )
    ),
    "a step that checks, and one that judges": run(
        step("solve", span_id="5" * 16),
        chat(calls=[call("search", query="x")], offers=OFFERS, step_span_id="5" * 16),
        tool("search", gives="250 mA", query="x", fields={"step_span_id": "5" * 16}),
        chat("250 mA", offers=OFFERS, step_span_id="5" * 16),
        step("check", "verify", span_id="6" * 16, declares_verdict=True, verdict=True),
        chat(
            "yes", given=[user("Is 250 mA right?")], step_span_id="6" * 16, parent_span_id="6" * 16
        ),
    ),
    "one run that failed loudly": run(
        *turn("search", error="boom", query="x"),
        status="error",
        error_type="RuntimeError",
        final_text=None,
    ),
}


@pytest.mark.parametrize("of", LIFE.values(), ids=LIFE)
def test_a_healthy_run_is_not_flagged(of):
    assert [(v.rule, v.reason) for v in evaluate(of).findings if v.severity != "info"] == []


@pytest.mark.parametrize("of", LIFE.values(), ids=LIFE)
def test_a_healthy_run_is_not_flagged_with_content_off(of):
    assert not evaluate(without_content(of)).is_flagged
