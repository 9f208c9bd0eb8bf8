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
    without_content,
)

from spanwitness.model import Delivery
from spanwitness.rules.engine import evaluate

OFFERS = ["list_dir", "write_file", "notes"]


def story(*between, last="cached", repaired=False):
    """`list_dir`, something between, `list_dir` again with the same argument."""
    items = [
        chat(calls=[call("list_dir", id="1", path="x")], offers=OFFERS),
        tool("list_dir", gives=[], id="1", path="x"),
    ]
    for number, (name, fields) in enumerate(between):
        items += [
            chat(calls=[call(name, id=f"b{number}", path="x/a")], offers=OFFERS),
            tool(name, gives="ok", id=f"b{number}", path="x/a", fields=fields),
        ]
    served = tool("list_dir", gives=[], id="2", path="x")
    if last == "cached":
        served = msgspec.structs.replace(served, outcome="cached")
    items += [
        chat(calls=[call("list_dir", id="2", path="x")], offers=OFFERS),
        served,
        chat("The directory is empty.", offers=OFFERS),
    ]
    of = run(*items)
    if last == "unseen":  # no dispatch: the result stands in the request, and no span shows it
        of = msgspec.structs.replace(of, tools=tuple(t for t in of.tools if t.call_id != "2"))
    return of


WRITE = ("write_file", {})
VIOLATED = {
    # A43
    "a write lies between, the span says cached": story(WRITE),
    "a write lies between, no span at all": story(WRITE, last="unseen"),
    "a declared write": story(("notes", {"effect": "write"})),
}
HOLDS = {
    "executed again": story(WRITE, last="executed"),
    "nothing lies between": story(),
    "a read lies between": story(("notes", {"effect": "read"})),
    "the write failed": story(("write_file", {"outcome": "error"})),
}
OTHERWISE = {
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "the effect is not declared": (story(("notes", {})), "not_assessed"),
    "arguments not recorded": (without_content(story(WRITE)), "not_assessed"),
    "a hole in which the execution may lie": (
        incomplete(story(WRITE, last="unseen")),
        "not_assessed",
    ),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_stale_result_is_told(of):
    verdict = judge("served_from_cache", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "warning", "harness")


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_fresh_results_are_not_told(of):
    assert judge("served_from_cache", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("served_from_cache", of).verdict == word


@pytest.mark.parametrize("last", ["cached", "unseen"])
def test_the_ledger_says_that_a_cache_gave_it(last):
    evaluation = evaluate(story(WRITE, last=last))
    rows = [(r.call_id, r.executed, r.returned) for r in evaluation.ledger if r.tool == "list_dir"]
    assert rows == [("1", "span", "empty"), ("2", "cache", "cached")]


OTHER = story(last="unseen")
OTHER = msgspec.structs.replace(
    OTHER,
    chats=tuple(
        msgspec.structs.replace(
            c, requested=tuple(msgspec.structs.replace(r, arguments={"path": "other"})
                               if r.call_id == "2" else r for r in c.requested)
        )
        for c in OTHER.chats
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("of", "word"),
    [
        (story(), "holds"),  # a cached result counts, for the execution behind it is known
        (story(last="unseen"), "holds"),
        (OTHER, "not_assessed"),  # nothing ran with these arguments: it may never have run
    ],
)
def test_clauses_count_a_served_result_only_with_its_execution(of, word):
    asked = contract({"rule": "count_out_of_range", "tool": "list_dir", "at_least": 2})
    assert judge("count_out_of_range", of, asked).verdict == word


def test_what_the_harness_says_to_a_call_is_not_served_from_a_cache():
    of = story(last="unseen")
    refused = Delivery(call_id="2", state="unknown", is_error=True)
    chats = (
        *of.chats[:-1],
        msgspec.structs.replace(of.chats[-1], delivered=(of.chats[1].delivered[0], refused)),
    )
    of = msgspec.structs.replace(of, chats=chats)
    assert {r.call_id: r.executed for r in evaluate(of).ledger}["2"] == "messages"
