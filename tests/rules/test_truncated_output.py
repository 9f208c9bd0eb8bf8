"""A reply that was cut was taken as a whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, incomplete, run, step, tool, without_content

from spanwitness.model import Usage
from spanwitness.rules.facts import Facts
from spanwitness.rules.truncated_output import truncated_output

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run


def cut(says: str | None = "The total is", reason: str = "length", **fields: object) -> ChatCall:
    return chat(says, finish_reasons=(reason,), **fields)


SPENT = Usage(input_tokens=10, output_tokens=64)
WRITE = call("write", path="a", text="abc")
VIOLATED = {
    "openai": run(cut()),
    "anthropic": run(cut(reason="max_tokens")),
    "gemini": run(cut(reason="MAX_TOKENS")),
    "context window": run(cut(reason="model_context_window_exceeded")),
    "responses": run(chat("The", finish_reasons=("incomplete", "max_output_tokens"))),
    "last of a step": run(step("solve", span_id="s1"), cut(step_span_id="s1"), chat("all good")),
    "stream without its end": run(chat("The total", ending="error", finish_reasons=())),
    "broken stream handed out": run(
        chat("The total", ending="error", error_type="ReadError", finish_reasons=())
    ),
    "cut arguments executed": run(
        cut(None, calls=[WRITE]), tool("write", gives="ok"), chat("Done.")
    ),
    "with a hole": incomplete(run(cut())),
    "content off": without_content(run(cut())),
}
SUSPECTED = {
    "relabelled, call executed": run(
        chat(calls=[WRITE], max_tokens=64, usage=SPENT), tool("write", gives="ok"), chat("Done.")
    ),
    "relabelled, last": run(chat("The total is", max_tokens=64, usage=SPENT)),
}
HOLDS = {
    "whole": run(chat("The total is 3.")),
    "retried with more budget": run(cut(), chat("The total is 3.")),
    "call not executed, asked again": run(cut(None, calls=[WRITE]), chat("Done.")),
    "cut call failed": run(
        cut(None, calls=[WRITE]), tool("write", error="bad arguments"), chat("Sorry.")
    ),
    "run failed loudly": run(cut(), status="error"),
    "cancelled": run(cut(), is_cancelled=True),
    "caller left the stream": run(chat("The", ending="abandoned", finish_reasons=())),
    "refusal": run(cut(has_refusal=True)),
    "filtered": run(cut(reason="content_filter")),
    "pause": run(cut(reason="pause_turn")),
    "one-token label": run(cut("yes", max_tokens=1)),
    "empty is another rule's": run(cut(None)),
    "step's parser refused it": run(
        step("solve", span_id="s1", parser_valid=False), cut(step_span_id="s1")
    ),
    "budget not used up": run(chat("x", max_tokens=65, usage=SPENT)),
    "broken stream replaced": run(
        chat("The total", ending="error", error_type="ReadError", finish_reasons=()),
        final_text="Try again later.",
    ),
}
NOT_ASSESSED = {
    "no finish reason": run(chat("x", finish_reasons=None)),
    "hole": incomplete(run(chat("x"))),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_an_accepted_cut_reply_is_violated(one: Run) -> None:
    outcome = truncated_output.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", None)
    assert outcome.span_ids
    assert truncated_output.severity == "error"
    assert truncated_output.fault == "harness"


@pytest.mark.parametrize("one", SUSPECTED.values(), ids=SUSPECTED)
def test_a_budget_used_up_under_another_reason_is_a_warning(one: Run) -> None:
    outcome = truncated_output.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", "warning")
    assert outcome.evidence["max_tokens"] == outcome.evidence["output_tokens"] == 64


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_a_cut_that_was_noticed_or_meant_holds(one: Run) -> None:
    assert truncated_output.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_is_not_recorded_is_not_assessed(one: Run) -> None:
    assert truncated_output.check(Facts(one)).word == "not_assessed"
