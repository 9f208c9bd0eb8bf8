"""Two tools share one name, so one of them cannot be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import chat, incomplete, listing, run, tool

if TYPE_CHECKING:
    from spanwitness.model import Run

from spanwitness.rules.facts import Facts
from spanwitness.rules.tool_name_collision import tool_name_collision

TWO = (listing("send_email", server="a"), listing("send_email", "read", server="b"))
VIOLATED = {
    "two servers, one bare name": run(*TWO, chat("x", offers=["send_email", "read"])),
    "two servers ran it": run(
        chat("x", offers=["send"]),
        tool("send", gives=1, fields={"server": "a"}),
        tool("send", gives=1, id="2", fields={"server": "b"}),
    ),
    "offered twice": run(chat("x", offers=["send", "read", "send"])),
    "also with a hole": incomplete(run(*TWO, chat("x", offers=["send_email"]))),
}
HOLDS = {
    "one server listed twice": run(
        listing("read", server="a"), listing("read", server="a"), chat("x", offers=["read"])
    ),
    "names told apart by a prefix": run(
        *TWO, chat("x", offers=["mcp__a__send_email", "mcp__b__send_email"])
    ),
    "different names": run(
        listing("one", server="a"), listing("two", server="b"), chat("x", offers=["one", "two"])
    ),
    "servers without a name": run(listing("one"), listing("one"), chat("x", offers=["one"])),
}
NOT_ASSESSED = {
    "offered names not recorded": run(*TWO, chat("x", offers=None)),
    "nothing recorded": run(chat("x", offers=None)),
    "hole": incomplete(run(chat("x", offers=["one"]))),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_one_name_for_two_tools_is_violated(one: Run) -> None:
    outcome = tool_name_collision.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.span_ids


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_names_that_tell_tools_apart_hold(one: Run) -> None:
    assert tool_name_collision.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_is_not_recorded_is_not_assessed(one: Run) -> None:
    assert tool_name_collision.check(Facts(one)).word == "not_assessed"


def test_a_run_without_tools_is_not_applicable() -> None:
    assert tool_name_collision.check(Facts(run(chat("x")))).word == "not_applicable"
