from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    contract,
    incomplete,
    json_schema,
    judge,
    offer,
    run,
    system,
    tool,
    user,
    without_content,
)

from spanwitness.model import MediaPart, OpaquePart, OutputFormat, Usage
from spanwitness.rules.engine import evaluate

TOOLS = [offer("read_pdf", page="integer"), offer("search", query="string")]
INVOICE = json_schema({"type": "object", "properties": {"total": {"type": "number"}}})
LABELS = json_schema(
    {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}, "max": {"const": 100}}}
)
NAVIGATES = contract(
    {"rule": "navigation_bypassed", "group": "navigation", "at_least": 1},
    tools={"navigation": ["read_*", "search"]},
)


def constrained(says, **fields):
    return run(chat(says, **({"offers": TOOLS, "format": INVOICE} | fields)))


VIOLATED = {
    # A01
    "a value from nowhere": constrained({"total": 41.5}),
    # A03: placeholders validate, and so do empty forms
    "placeholder names": constrained(
        {"repositories": [{"name": "my_repo_1"}, {"name": "my_repo_2"}]}
    ),
    "an empty object": constrained("{}"),
    "an empty list": constrained({"repositories": []}),
    "a JSON mode without a schema": constrained(
        {"total": 41.5}, format=OutputFormat(kind="json_object")
    ),
    "a grammar": constrained("total = 41.5", format=OutputFormat(kind="grammar")),
    "only the counts of values are left": without_content(
        constrained({"total": 41.5}, n_values=1, n_values_unseen=1)
    ),
}
ERRORS = {
    "a page that was never read": constrained({"total": 41.5, "page": 2}),
    "an invented quotation": constrained(
        {"total": 41.5, "quote": "The total amount due is 41.5 EUR."}
    ),
}
HOLDS = {
    # A01, the control: the tool was called
    "the tool was called": run(
        chat(calls=[call("read_pdf", page=1)], offers=TOOLS, format=INVOICE),
        tool("read_pdf", gives="total 37.2", page=1),
        chat({"total": 37.2}, offers=TOOLS, format=INVOICE),
    ),
    "the value stands in the question": run(
        chat({"total": 41.5}, offers=TOOLS, format=INVOICE), prompt="Invoice: total 41.50 EUR"
    ),
    "the value stands in the system text": constrained(
        {"total": 41.5}, given=[system("The total is always 41.5."), user("Go.")]
    ),
    "enum labels, booleans and constants": run(
        chat({"mood": "glad", "max": 100, "sure": True}, offers=TOOLS, format=LABELS)
    ),
    "an honest abstention": constrained({"total": None, "note": "not found"}),
    "an empty form drawn from a long input": run(
        chat({"repositories": []}, offers=TOOLS, format=INVOICE), prompt="some text " * 100
    ),
    "an earlier request had no constraint": run(
        chat("It is 41.5.", offers=TOOLS), chat({"total": 41.5}, offers=TOOLS, format=INVOICE)
    ),
}
OTHERWISE = {
    "all values counted and seen, names not": (
        without_content(constrained({"total": 41.5}, n_values=1, n_values_unseen=0)),
        "not_assessed",
    ),
    "no values counted: it may be an empty form": (
        without_content(constrained({}, n_values=0, n_values_unseen=0)),
        "not_assessed",
    ),
    "no schema": (run(chat("41.5", offers=TOOLS)), "not_applicable"),
    "no tools": (run(chat({"total": 41.5}, format=INVOICE)), "not_applicable"),
    "only a submission tool": (
        run(chat({"total": 41.5}, offers=[offer("submit_invoice")], format=INVOICE)),
        "not_applicable",
    ),
    "offered tools not recorded": (constrained({"total": 41.5}, offers=None), "not_assessed"),
    "the format not recorded": (constrained({"total": 41.5}, format=None), "not_assessed"),
    "content off and nothing counted": (
        without_content(constrained({"total": 41.5})),
        "not_assessed",
    ),
    "an image in the input": (
        constrained(
            {"total": 41.5}, given=[user("What is the total?", MediaPart(modality="image"))]
        ),
        "not_assessed",
    ),
    "a file id in the input": (
        constrained({"total": 41.5}, given=[user("Total?", OpaquePart(kind="file_id"))]),
        "not_assessed",
    ),
    "state kept by the provider": (
        constrained({"total": 41.5}, has_server_state=True),
        "not_assessed",
    ),
    "recorded content was cut": (constrained({"total": 41.5}, is_truncated=True), "not_assessed"),
    "a hole in the trace": (incomplete(constrained({"total": 41.5})), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_values_from_nowhere_under_a_constraint_are_told_as_the_harness_fault(of):
    verdict = judge("output_constraint_bypass", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "warning", "harness")
    assert verdict.span_ids == (of.chats[0].span_id,)


@pytest.mark.parametrize("of", ERRORS.values(), ids=ERRORS)
def test_it_is_an_error_where_the_answer_cites_what_was_never_read(of):
    verdict = judge("output_constraint_bypass", of)
    assert (verdict.verdict, verdict.severity) == ("violated", "error")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_healthy_structured_answers_are_not_told(of):
    assert judge("output_constraint_bypass", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("output_constraint_bypass", of).verdict == word


def test_a_contract_makes_it_an_error():
    verdict = judge("output_constraint_bypass", VIOLATED["a value from nowhere"], NAVIGATES)
    assert verdict.severity == "error"


def test_it_is_the_one_finding_of_the_founding_story():
    evaluation = evaluate(
        run(
            chat(
                {"vdd": 3.6, "page": 3, "quote": "Supply voltage 1.7 V to 3.6 V"},
                offers=TOOLS,
                format=msgspec.structs.replace(INVOICE, schema=None),
            ),
            prompt="What is the highest supply voltage of the DPS310?",
        )
    )
    assert [v.rule for v in evaluation.findings] == ["output_constraint_bypass"]
    assert evaluation.is_flagged


def test_a_prompt_smaller_than_the_request_is_told_as_evidence():
    # A06: a gateway removed the tools when JSON was asked for
    of = constrained({"total": 41.5}, request_bytes=20_000, usage=Usage(input_tokens=60))
    assert "prompt_smaller_than_request" in judge("output_constraint_bypass", of).evidence
    of = constrained({"total": 41.5}, request_bytes=20_000, usage=Usage(input_tokens=5_000))
    assert "prompt_smaller_than_request" not in judge("output_constraint_bypass", of).evidence


def test_a_provider_error_is_no_silent_failure():
    # A06, run 1: the provider says 400
    of = run(
        chat(offers=TOOLS, format=INVOICE, error_type="BadRequestError", ending="error"),
        status="error",
        error_type="BadRequestError",
        final_text=None,
    )
    assert not evaluate(of).is_flagged
