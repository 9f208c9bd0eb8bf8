"""The finish reason says one thing, the reply another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, incomplete, run, tool, without_content

from spanwitness.rules.facts import Facts
from spanwitness.rules.finish_reason_contradiction import finish_reason_contradiction

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run


def ends(
    reason: str, wire: str = "openai_chat", says: str | None = "x", **fields: object
) -> ChatCall:
    return chat(says, finish_reasons=(reason,), wire=wire, **fields)


VIOLATED = {
    "tool_calls, none there": run(ends("tool_calls")),
    "tool_use, none there": run(ends("tool_use", "anthropic_messages")),
    "function_call, none there": run(ends("function_call")),
    "end_turn beside a call": run(
        ends("end_turn", "anthropic_messages", calls=[call("read")]), tool("read"), chat("x")
    ),
    "malformed": run(ends("MALFORMED_FUNCTION_CALL", "gemini")),
    "unexpected": run(ends("UNEXPECTED_TOOL_CALL", "gemini")),
    "unknown word": run(ends("NEW_REASON_X", "gemini")),
    "error as reason": run(ends("error")),
    "responses failed": run(ends("failed", "openai_responses")),
    "promised earlier, asked again": run(ends("tool_calls"), chat("x")),
    "foreign, nothing ran": run(
        ends("tool_calls", "unknown", dialect="otel_genai"), dialects=("otel_genai",)
    ),
    "content off": without_content(run(ends("tool_calls"))),
    "with a hole": incomplete(run(ends("tool_calls"))),
}
HOLDS = {
    "stop": run(ends("stop")),
    "tool_calls with a call": run(
        ends("tool_calls", calls=[call("read")]), tool("read", gives=1), chat("x")
    ),
    "stop beside a call": run(ends("stop", calls=[call("read")]), tool("read", gives=1), chat("x")),
    "STOP beside a call": run(
        ends("STOP", "gemini", calls=[call("read")]), tool("read", gives=1), chat("x")
    ),
    "completed beside a call": run(
        ends("completed", "openai_responses", calls=[call("read")]), tool("read"), chat("x")
    ),
    "tool_use for a hosted tool": run(
        ends("end_turn", "anthropic_messages", calls=[call("web_search", side="provider")])
    ),
    "call came out as text": run(ends("tool_calls", calls=[call("read", source="text")])),
    "pause": run(ends("pause_turn", "anthropic_messages")),
    "refusal": run(ends("refusal", "anthropic_messages")),
    "safety": run(ends("SAFETY", "gemini")),
    "cut is another rule's": run(ends("length")),
    "incomplete": run(chat("x", finish_reasons=("incomplete", "max_output_tokens"))),
    "malformed, then repeated": run(ends("MALFORMED_FUNCTION_CALL", "gemini"), chat("x")),
    "malformed, run failed": run(ends("MALFORMED_FUNCTION_CALL", "gemini"), status="error"),
    "compatible server's word": run(ends("eos")),
    "no reason given": run(chat("x", finish_reasons=())),
    "several choices": run(chat("x", finish_reasons=("stop", "stop"))),
}
NOT_ASSESSED = {
    "no reasons": run(chat("x", finish_reasons=None)),
    "no calls": run(chat("x", requested=None)),
    "hole": incomplete(run(chat("x"))),
    "recorder lost the calls": run(
        ends("tool_calls", "unknown", dialect="otel_genai"),
        tool("read", gives=1),
        chat("x", dialect="otel_genai"),
        dialects=("otel_genai",),
    ),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_reason_against_its_reply_is_violated(one: Run) -> None:
    outcome = finish_reason_contradiction.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", None)
    assert outcome.span_ids[0] == one.chats[0].span_id
    assert finish_reason_contradiction.severity == "warning"


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_known_habits_hold(one: Run) -> None:
    assert finish_reason_contradiction.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_is_not_recorded_is_not_assessed(one: Run) -> None:
    assert finish_reason_contradiction.check(Facts(one)).word == "not_assessed"


@pytest.mark.parametrize("reason", ["tool_calls", "MALFORMED_FUNCTION_CALL"])
def test_an_empty_reply_under_such_a_reason_is_an_error(reason: str) -> None:
    outcome = finish_reason_contradiction.check(Facts(run(ends(reason, says=None))))
    assert (outcome.word, outcome.severity) == ("violated", "error")
