"""Signed reasoning of an earlier reply was not sent back."""

from __future__ import annotations

from tests.rules.builders import call, chat, incomplete, run, tool

from spanwitness.rules.facts import Facts
from spanwitness.rules.reasoning_not_replayed import reasoning_not_replayed


def loop(lost: int | None, **fields: object) -> object:
    return run(
        chat(calls=[call("read")], reasoning_lost=0 if lost is not None else None),
        tool("read", gives="x"),
        chat("done", reasoning_lost=lost, **fields),
    )


def test_a_signed_part_missing_inside_a_tool_loop_is_told_at_info() -> None:
    outcome = reasoning_not_replayed.check(Facts(loop(1)))
    assert outcome.word == "violated"
    assert outcome.evidence == {"n_requests": 1, "n_parts": 1}
    assert reasoning_not_replayed.severity == "info"


def test_a_replayed_part_and_a_turn_without_results_hold() -> None:
    assert reasoning_not_replayed.check(Facts(loop(0))).word == "holds"
    turns = run(chat("a", reasoning_lost=0), chat("b", reasoning_lost=2))
    assert reasoning_not_replayed.check(Facts(turns)).word == "holds"


def test_what_was_not_compared_is_not_assessed() -> None:
    foreign = run(
        chat(calls=[call("read")], dialect="otel_genai"),
        tool("read", gives="x"),
        chat("done", dialect="otel_genai"),
    )
    assert reasoning_not_replayed.check(Facts(foreign)).word == "not_assessed"
    assert reasoning_not_replayed.check(Facts(incomplete(loop(0)))).word == "not_assessed"
    held = run(
        chat("a", reasoning_lost=3, has_server_state=True),
        chat("b", reasoning_lost=3, has_server_state=True),
    )
    assert reasoning_not_replayed.check(Facts(held)).word == "not_assessed"


def test_a_single_call_has_no_history_to_lose() -> None:
    assert reasoning_not_replayed.check(Facts(run(chat("a")))).word == "not_applicable"


def test_a_watched_client_that_saw_no_signed_reasoning_has_nothing_to_replay() -> None:
    quiet = run(
        chat(calls=[call("read")], dialect="spanwitness"),
        tool("read", gives="x"),
        chat("done", dialect="spanwitness"),
    )
    assert reasoning_not_replayed.check(Facts(quiet)).word == "not_applicable"
