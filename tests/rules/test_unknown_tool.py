from __future__ import annotations

import pytest
from tests.rules.builders import call, chat, incomplete, judge, run, without_content

from spanwitness.model import ToolDefinition

VIOLATED = {
    "a name nobody offered": run(chat(calls=[call("delete_all")], offers=["search"])),
    "nothing was offered": run(chat(calls=[call("search")], offers=[])),
    "with content off": without_content(run(chat(calls=[call("delete_all")], offers=["search"]))),
}
HOLDS = {
    "an offered name": run(chat(calls=[call("search")], offers=["search"])),
    "a server's prefix left out": run(chat(calls=[call("search")], offers=["mcp__docs__search"])),
}
OTHERWISE = {
    "no call": (run(chat("x", offers=["search"])), "not_applicable"),
    "a hosted tool": (
        run(chat("x", calls=[call("web_search", side="provider")])),
        "not_applicable",
    ),
    "a call in text": (
        run(chat("x", calls=[call("search", source="text")], offers=["open"])),
        "not_applicable",
    ),
    "offered tools not recorded": (run(chat(calls=[call("x")], offers=None)), "not_assessed"),
    "calls not recorded": (run(chat("x", requested=None)), "not_assessed"),
    "recorded names were cut": (
        run(chat(calls=[call("x")], offers=["search"], is_truncated=True)),
        "not_assessed",
    ),
    "tools are held by the provider": (
        run(chat(calls=[call("x")], offers=[], has_server_state=True)),
        "not_assessed",
    ),
    "tools are loaded on demand": (
        run(chat(calls=[call("x")], offers=[ToolDefinition(name="y", is_deferred=True)])),
        "not_assessed",
    ),
    "a hole in the trace": (
        incomplete(run(chat(calls=[call("search")], offers=["search"]))),
        "not_assessed",
    ),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_tool_that_was_not_offered_is_told(of):
    verdict = judge("unknown_tool", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == (
        "violated",
        "warning",
        "reasoning",
    )


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_offered_tools_are_not_told(of):
    assert judge("unknown_tool", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("unknown_tool", of).verdict == word
