from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    choice,
    contract,
    incomplete,
    judge,
    offer,
    run,
    tool,
    without_content,
)

from spanwitness.model import Submission
from spanwitness.rules.engine import evaluate

GET = offer("get", city="string")
A, B = call("get", id="1", city="A"), call("get", id="2", city="B")
FOREIGN = {"dialects": ("otel_genai",)}


def only_messages(*items, **fields):
    """A trace of a client instrumentation, which has no tool spans."""
    return msgspec.structs.replace(run(*items, **fields), tools=())


VIOLATED = {
    # A13: two parallel calls, one survives
    "one of two parallel calls": run(
        chat(calls=[A, B], offers=[GET]),
        tool("get", gives="10 C", id="2", city="B"),
        chat("B: 10 C", offers=[GET]),
    ),
    # A15, A16: the loop lost the calls and took the text for the answer
    "the only call of the run": run(chat("Let me check.", calls=[A], offers=[GET])),
    "the last call, where earlier ones have spans": run(
        chat(calls=[A], offers=[GET]),
        tool("get", gives="72 F", id="1", city="A"),
        chat("Now the other.", calls=[B], offers=[GET]),
    ),
    "the loop went on as if it had not asked": run(
        chat(calls=[A], offers=[GET]), chat("It is warm.", offers=[GET])
    ),
    "with content off": without_content(
        run(chat(calls=[A], offers=[GET]), chat("It is warm.", offers=[GET]))
    ),
}
HOLDS = {
    "executed": run(
        chat(calls=[A, B], offers=[GET]),
        tool("get", gives="10 C", id="2", city="B"),
        tool("get", gives="72 F", id="1", city="A"),
        chat("A: 72 F, B: 10 C", offers=[GET]),
    ),
    "executed unseen, its result stands in the next request": only_messages(
        chat(calls=[A], offers=[GET]),
        tool("get", gives="72 F", id="1", city="A"),
        chat("72 F", offers=[GET]),
        **FOREIGN,
    ),
    "executed with an unlinked span": run(
        chat(calls=[A], offers=[GET]),
        tool("get", gives="72 F", id=None, city="A"),
        chat("72 F", offers=[GET]),
    ),
    "executed, and the run ended": run(
        chat(calls=[A], offers=[GET]), tool("get", gives="72 F", id="1", city="A")
    ),
    "asked for again and executed": run(
        chat(calls=[A], offers=[GET]),
        chat(calls=[call("get", id="3", city="A")], offers=[GET]),
        tool("get", gives="72 F", id="3", city="A"),
        chat("72 F", offers=[GET]),
    ),
    "the run ended in an error": run(
        chat(calls=[A], offers=[GET]), status="error", error_type="ValueError"
    ),
    "the user cancelled": run(chat(calls=[A], offers=[GET]), is_cancelled=True),
    "an approval is pending": run(chat(calls=[A], offers=[GET]), termination="approval_required"),
    "an interrupt": run(chat(calls=[A], offers=[GET]), termination="interrupted"),
}
OTHERWISE = {
    "no call": (run(chat("Hello.", offers=[GET])), "not_applicable"),
    "a hosted tool": (
        run(chat("x", calls=[call("web_search", side="provider")])),
        "not_applicable",
    ),
    "an output tool": (
        run(chat(calls=[call("Invoice")], offers=[offer("Invoice", side="output")])),
        "not_applicable",
    ),
    "a submission tool": (
        run(chat(calls=[call("submit_answer")], offers=[offer("submit_answer")])),
        "not_applicable",
    ),
    "a forced call that carries the answer": (
        run(chat(calls=[call("Invoice")], offers=["Invoice"], choice=choice("named", "Invoice"))),
        "not_applicable",
    ),
    "a hand-off": (
        run(chat(calls=[call("transfer_to_billing")], offers=["transfer_to_billing"])),
        "not_applicable",
    ),
    "the caller left the stream": (
        run(chat(calls=[A], offers=[GET], ending="abandoned")),
        "not_applicable",
    ),
    "calls not recorded": (run(chat("x", requested=None)), "not_assessed"),
    "tools without spans, last call": (
        only_messages(chat("Let me check.", calls=[A], offers=[GET]), **FOREIGN),
        "not_assessed",
    ),
    "a model call that is a trace of its own": (
        run(
            chat("Let me check.", calls=[A], offers=[GET], span_id="c" * 16), root_span_id="c" * 16
        ),
        "not_assessed",
    ),
    "delivered results not recorded": (
        run(
            chat(calls=[A], offers=[GET], dialect="otel_genai"),
            chat("warm", offers=[GET], dialect="otel_genai"),
            **FOREIGN,
        ),
        "not_assessed",
    ),
    "a compacted history": (
        run(chat(calls=[A], offers=[GET]), chat("warm", offers=[GET]), compacted=True),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(run(chat(calls=[A], offers=[GET]))), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_call_that_nobody_ran_is_told(of):
    verdict = judge("call_not_executed", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_calls_that_were_run_or_rightly_not_are_not_told(of):
    assert judge("call_not_executed", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("call_not_executed", of).verdict == word


def test_the_lost_call_is_named_by_its_id():
    verdict = judge("call_not_executed", VIOLATED["one of two parallel calls"])
    assert verdict.evidence["call_ids"] == ["1"]
    assert verdict.evidence["n_requested"] == 2


def test_a_contract_may_declare_that_a_tool_ends_the_run():
    of = VIOLATED["the only call of the run"]
    terminal = contract(tools={"terminal": ["get"]})
    assert judge("call_not_executed", of, terminal).verdict == "not_applicable"


def test_of_several_calls_of_one_tool_the_lost_ones_are_named_by_their_ids():
    several = judge("call_not_executed", VIOLATED["one of two parallel calls"]).reason
    assert several == ("The model asked for 2 calls and 1 of them (get 1) was never executed.")
    single = judge("call_not_executed", VIOLATED["the only call of the run"]).reason
    assert single == "The model asked for 1 call and 1 of them (get) was never executed."


INVOICE = offer("Invoice", total="number")
FILLED = call("Invoice", total=41.5)
AGENTIC = [
    chat(calls=[A], offers=[GET, INVOICE]),
    tool("get", gives="total 41.5", id="1", city="A"),
    chat(calls=[FILLED], offers=[GET, INVOICE]),
]


@pytest.mark.parametrize(
    "fields",
    [
        {"final_text": '{"total": 41.5}'},
        {"final_text": '{"total": 41.5, "note": null}'},
        {"submission": Submission(span_id="f" * 16, answer={"total": 41.5}, has_answer=True)},
    ],
)
def test_a_last_call_that_is_the_output_of_the_run_is_the_answer_and_no_lost_call(fields):
    verdicts = evaluate(run(*AGENTIC, **fields)).verdicts
    assert [v.rule for v in verdicts if v.verdict == "violated"] == []


@pytest.mark.parametrize("final", ['{"total": 12}', "Done.", '{"total": 41.5, "x": 2}', "{", None])
def test_a_last_call_that_is_not_the_output_of_the_run_is_lost(final):
    assert judge("call_not_executed", run(*AGENTIC, final_text=final)).verdict == "violated"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"submission": Submission(span_id="f" * 16, digest="d")}, "not_assessed"),
        ({"has_final": True}, "not_assessed"),
        ({"has_final": False}, "violated"),
    ],
)
def test_without_content_a_last_call_may_be_the_output_of_the_run(fields, word):
    assert judge("call_not_executed", without_content(run(*AGENTIC, **fields))).verdict == word
