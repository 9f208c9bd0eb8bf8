"""Tools that a contract wants on the wire."""

from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import chat, contract, incomplete, listing, run

from spanwitness.model import ToolDefinition
from spanwitness.rules.engine import evaluate

CLAUSE = {"rule": "tool_not_offered", "group": "wanted"}


def wants(*names: str):
    return contract(CLAUSE, tools={"wanted": list(names)})


def verdict(one, against):
    return next(v for v in evaluate(one, [against]).verdicts if v.rule == "tool_not_offered")


def word(one, against) -> str:
    return verdict(one, against).verdict


@pytest.mark.parametrize(
    ("offers", "wanted", "expected"),
    [
        ((["open", "read"],), ("open", "read"), "holds"),
        ((["open"], ["read"]), ("open", "read"), "holds"),
        ((["open", "more"],), ("open", "read"), "violated"),
        (([],), ("open",), "violated"),
        ((["read_page"],), ("read_*",), "holds"),
        ((["open_page"],), ("read_*",), "violated"),
        ((["mcp__docs__open"],), ("open",), "holds"),
        ((None,), ("open",), "not_assessed"),
        ((None, ["open"]), ("open",), "holds"),
        ((["read"], None), ("open",), "not_assessed"),
    ],
)
def test_every_name_must_stand_in_some_request(offers, wanted, expected):
    one = run(*(chat("ok", offers=offer) for offer in offers))
    assert word(one, wants(*wanted)) == expected


def test_what_the_provider_holds_and_what_is_loaded_later_is_not_assessed():
    held = run(chat("ok", offers=[], has_server_state=True))
    assert word(held, wants("open")) == "not_assessed"
    later = ToolDefinition(name="tool_search", is_deferred=True)
    assert word(run(chat("ok", offers=(later,))), wants("open")) == "not_assessed"


def test_a_hole_in_the_trace_is_not_assessed():
    assert word(incomplete(run(chat("ok", offers=["read"]))), wants("open")) == "not_assessed"


def test_a_run_without_a_reply_or_with_an_error_is_not_judged():
    assert word(run(), wants("open")) == "not_applicable"
    failed = msgspec.structs.replace(run(chat("ok", offers=["read"])), error_type="E")
    assert word(failed, wants("open")) == "not_applicable"


def test_the_reason_names_what_is_missing():
    found = verdict(run(chat("ok", offers=["x"])), wants("open", "read"))
    assert found.reason == "open, read stood in none of the requests."
    assert found.evidence == {"clause": "wanted", "missing": ["open", "read"], "n_offered": 1}
    assert (found.severity, found.fault) == ("error", "harness")


def test_a_failed_discovery_explains_it():
    one = run(listing(error="ConnectionError", server="docs"), chat("42 mA", offers=[]))
    against = contract(
        CLAUSE, {"rule": "navigation_bypassed", "group": "wanted"}, tools={"wanted": ["open"]}
    )
    found = {v.rule: v.explained_by for v in evaluate(one, [against]).verdicts if v.contract}
    assert found == {
        "tool_not_offered": "discovery_failed",
        "navigation_bypassed": "discovery_failed",
    }


def test_it_explains_that_the_tool_was_not_used():
    one = run(chat("42 mA", offers=["other"]))
    against = contract(
        CLAUSE, {"rule": "navigation_bypassed", "group": "wanted"}, tools={"wanted": ["open"]}
    )
    found = {v.rule: v.explained_by for v in evaluate(one, [against]).verdicts if v.contract}
    assert found == {"tool_not_offered": None, "navigation_bypassed": "tool_not_offered"}
