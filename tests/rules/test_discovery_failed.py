from __future__ import annotations

import pytest
from tests.rules.builders import chat, incomplete, judge, listing, run

from spanwitness.model import Discovery

NARRATED = "[Checking records...] The tool returned: 3 open claims."

VIOLATED = {
    # A30: the 401 was rescued to an empty list, and the run went on
    "the list became empty": run(listing(error="401", server="crm"), chat(NARRATED, offers=[])),
    "other tools are left": run(
        listing(error="TimeoutError", server="crm"), chat("Done.", offers=["clock"])
    ),
    "another server answered": run(
        listing("clock", server="time"), listing(error="401", server="crm"), chat("Done.")
    ),
}
HOLDS = {
    "the listing worked": run(
        listing("find_claim", server="crm"), chat("Done.", offers=["find_claim"])
    ),
    "a retry worked": run(
        listing(error="ConnectError", server="crm"),
        listing("find_claim", server="crm"),
        chat("Done.", offers=["find_claim"]),
    ),
    "an earlier list is still there": run(
        listing("find_claim", server="crm"),
        listing(error="ConnectError", server="crm"),
        chat("Done.", offers=["find_claim"]),
    ),
    "the tools were offered from a kept list": run(
        listing(error="ConnectError", server="crm"), chat("Done.", offers=["mcp__crm__find_claim"])
    ),
    "the run ended in that error": run(
        listing(error="401", server="crm"), chat("Hello."), status="error", error_type="McpError"
    ),
    "the model was not called afterwards": run(chat("Hello."), listing(error="401", server="crm")),
    "the server has no tools": run(listing(server="crm"), chat("Hello.")),
}
OTHERWISE = {
    "no listing": (run(chat("Hello.")), "not_applicable"),
    "a listing that shows nothing": (
        run(Discovery(span_id="", tools=None), chat("Hello.")),
        "not_assessed",
    ),
    "a hole in which the retry may lie": (
        incomplete(run(listing(error="401", server="crm"), chat("Done.", offers=["clock"]))),
        "not_assessed",
    ),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_failed_listing_that_the_run_passed_over_is_told(of):
    verdict = judge("discovery_failed", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert of.discoveries[-1].span_id in verdict.span_ids


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_listings_of_healthy_runs_are_not_told(of):
    assert judge("discovery_failed", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("discovery_failed", of).verdict == word


def test_the_failed_listing_is_the_one_cause_of_the_narrated_tool_use():
    from spanwitness.rules.engine import evaluate

    evaluation = evaluate(VIOLATED["the list became empty"])
    assert [v.rule for v in evaluation.findings] == ["discovery_failed"]
    told = {v.rule: v.explained_by for v in evaluation.verdicts if v.verdict == "violated"}
    assert told["fabricated_observation"] == "discovery_failed"
