from __future__ import annotations

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    choice,
    incomplete,
    judge,
    listing,
    offer,
    run,
    step,
    tool,
)

from spanwitness.model import ToolDefinition

IN_STEP = {"step_span_id": "5" * 16}


def solve(*configured):
    return step("solve", span_id="5" * 16, configured=configured)


VIOLATED = {
    "none of a step's tools is on the wire": run(
        solve("read_pdf", "search"), chat("41.5", **IN_STEP)
    ),
    "one of the run's tools is on no wire": run(
        chat("41.5", offers=["search"]), configured=("read_pdf", "search")
    ),
    # A05: structured output replaced the tools by the schema
    "the schema stands in the place of the tools": run(
        chat(
            calls=[call("Invoice", total=41.5)],
            offers=[offer("Invoice", total="number")],
            choice=choice("named", "Invoice"),
        ),
        configured=("read_pdf",),
    ),
    "a listed server's tools are on no wire": run(
        listing("find_claim", server="crm"), chat("Nothing open.", offers=[])
    ),
}
HOLDS = {
    "all are offered": run(chat("Hello.", offers=["search"]), configured=("search",)),
    "offered in one of several requests": run(
        chat("Plan: search first."), chat("Done.", offers=["search"]), configured=("search",)
    ),
    "offered under the server's prefix": run(
        chat("Done.", offers=["mcp__files__read_page"]), configured=("read_page",)
    ),
    "offered under a joined name": run(
        listing("read_page", server="files"), chat("Done.", offers=["files_read_page"])
    ),
    "tool choice none accounts for it": run(
        chat("Summary.", choice=choice("none")), configured=("search",)
    ),
    "a selector offers other subsets in other requests": run(
        chat("Next.", offers=["search", "open"]),
        chat("Done.", offers=["search", "close"]),
        configured=("search", "open", "close", "print"),
    ),
    "a selector over a large set": run(
        chat("Done.", offers=["t1", "t2"]), configured=tuple(f"t{n}" for n in range(40))
    ),
    "tools are loaded on demand": run(
        chat("Done.", offers=[ToolDefinition(name="tool_search"), ToolDefinition(name="clock")]),
        configured=("clock", "search"),
    ),
    "a definition is deferred": run(
        chat("Done.", offers=[ToolDefinition(name="clock", is_deferred=True)]),
        configured=("clock", "search"),
    ),
    "phases expose tools by their own rule": run(
        chat(calls=[call("search")], offers=["search"]),
        tool("search", gives="3", fields={"phase": "before_submit"}),
        chat("3", offers=["search"]),
        configured=("search", "check_answer"),
    ),
    "a submission tool may be the host's own": run(
        chat("Done.", offers=["search"]), configured=("search", "submit_answer")
    ),
}
OTHERWISE = {
    "nothing is configured": (run(chat("Hello.")), "not_applicable"),
    "the run failed": (
        run(chat("41.5"), configured=("search",), status="error", error_type="ValueError"),
        "not_applicable",
    ),
    "the step made no call": (run(solve("search"), chat("Hello.")), "not_applicable"),
    "the wire is not recorded": (
        run(chat("41.5", offers=None), configured=("search",)),
        "not_assessed",
    ),
    "the provider may hold them": (
        run(chat("41.5", has_server_state=True), configured=("search",)),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(run(chat("41.5"), configured=("search",))), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_configured_tools_on_no_wire_are_told(of):
    verdict = judge("tools_withheld", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert verdict.evidence["missing"]


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_what_accounts_for_a_missing_tool_is_respected(of):
    assert judge("tools_withheld", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("tools_withheld", of).verdict == word


def test_putting_the_tools_on_the_wire_repairs_it():
    broken = VIOLATED["none of a step's tools is on the wire"]
    chats = tuple(
        msgspec.structs.replace(c, offered=(offer("read_pdf"), offer("search")))
        for c in broken.chats
    )
    assert judge("tools_withheld", msgspec.structs.replace(broken, chats=chats)).verdict == "holds"
