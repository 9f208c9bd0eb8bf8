"""A reply without anything in it was taken as the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import (
    call,
    chat,
    incomplete,
    run,
    step,
    submission,
    tool,
    without_content,
)

from spanwitness.contracts import Contract
from spanwitness.model import Usage
from spanwitness.rules.empty_output import empty_output
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run


def silent(reason: str = "stop", **fields: object) -> ChatCall:
    return chat(None, finish_reasons=(reason,), **fields)


def after(name: str, **fields: object) -> Run:
    return run(chat(calls=[call(name)]), tool(name, gives="x", fields=fields), silent())


VIOLATED = {
    "budget spent on thinking": run(silent("length", usage=Usage(output_tokens=32000))),
    "only thoughts": run(silent("MAX_TOKENS", thinks="hm", wire="gemini")),
    "nothing at all": run(silent()),
    "blank": run(chat("  \n")),
    "malformed call": run(silent("MALFORMED_FUNCTION_CALL", wire="gemini")),
    "after a declared read": after("get", effect="read"),
    "after a read by name": after("read_page"),
    "preamble is no answer": run(
        chat("Let me check.", calls=[call("read_page")]), tool("read_page", gives="x"), silent()
    ),
    "step gave nothing": run(
        step("solve", span_id="s1", output_is_empty=True), silent(step_span_id="s1"), chat("ok")
    ),
    "empty submission": run(silent(), submission("")),
    "content off": without_content(run(silent(), has_final=False)),
    "with a hole": incomplete(run(silent())),
}
HOLDS = {
    "answer": run(chat("3")),
    "call is no silence": run(chat(calls=[call("read_page")])),
    "after a completed write": after("save", effect="write"),
    "after a write by name": after("send_email"),
    "after the submission": run(
        chat(calls=[call("submit_answer")]), tool("submit_answer", gives="ok"), silent()
    ),
    "submitted by the harness": run(silent(), submission({"total": 3})),
    "refusal": run(silent(has_refusal=True)),
    "safety": run(silent("SAFETY", wire="gemini")),
    "pause": run(silent("pause_turn")),
    "caller left": run(silent(ending="abandoned")),
    "run failed": run(silent(), status="error"),
    "call failed": run(silent(error_type="RateLimitError")),
    "retried": run(silent(), chat("3")),
    "harness answered itself": run(silent(), final_text="No result, please try again."),
    "step gave something": run(
        step("solve", span_id="s1", output_is_empty=False), silent(step_span_id="s1"), chat("ok")
    ),
}
NOT_ASSESSED = {
    "lengths not recorded": run(
        chat(None, text_chars=None, output_messages=None, requested=None), final_text=None
    ),
    "a tool of unknown effect": after("frobnicate"),
    "output not recorded": without_content(run(silent(), has_final=True)),
    "hole": incomplete(run(chat("3"))),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_an_accepted_empty_reply_is_violated(one: Run) -> None:
    outcome = empty_output.check(Facts(one))
    assert (outcome.word, outcome.severity) == ("violated", None)
    assert outcome.span_ids


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_silence_that_is_right_holds(one: Run) -> None:
    assert empty_output.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_cannot_be_told_is_not_assessed(one: Run) -> None:
    assert empty_output.check(Facts(one)).word == "not_assessed"


def test_a_contract_declares_writes() -> None:
    one = after("frobnicate")
    contract = Contract(contract="c", version="1", tools={"write": ("frob*",)})
    assert empty_output.check(Facts(one, (contract,))).word == "holds"


def test_the_budget_is_named_when_thinking_used_it_up() -> None:
    outcome = empty_output.check(Facts(VIOLATED["budget spent on thinking"]))
    assert "32000 tokens" in outcome.reason
    assert outcome.evidence["finish_reasons"] == ["length"]
