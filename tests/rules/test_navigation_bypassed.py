"""The run did not look where its contract says it must; and what counts as an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    incomplete,
    result,
    run,
    step,
    submission,
    tool,
    user,
    without_content,
)
from tests.rules.clauses import judge

from spanwitness.rules.navigation_bypassed import navigation_bypassed

if TYPE_CHECKING:
    from spanwitness.model import Run
    from spanwitness.rules.rule import Outcome

READ = (chat(calls=[call("read_page")]), tool("read_page", gives="x"))
SUBMIT = (
    chat(calls=[call("submit_extraction")]),
    tool("submit_extraction", gives="ok"),
)
ASK = chat(calls=[call("read_page")])


def navigation(one: Run, **keys: object) -> Outcome:
    given: dict[str, object] = {"group": "navigation", "before": "submit"}
    return judge(one, "navigation_bypassed", **(given | keys))


VIOLATED = {
    "nothing executed": run(chat("3"), submission("3")),
    "requested only": run(chat("3", calls=[call("read_page")]), tool("other"), submission("3")),
    "another tool only": run(chat(calls=[call("send")]), tool("send", gives=1), chat("3")),
    "failed only": run(ASK, tool("read_page", error="no"), chat("3"), submission("3")),
    "refused only": run(ASK, tool("read_page", fields={"is_refused": True}), submission("3")),
    "after the submission": run(chat("3"), submission("3"), *READ),
    "after a submit step": run(step("hand in", "submit"), *READ),
    "after a submission tool": run(*SUBMIT, *READ),
    "no submission, nothing executed": run(chat("3")),
    "content off": without_content(run(chat("3"), submission("3"))),
}
HOLDS = {
    "span": run(*READ, chat("3"), submission("3")),
    "no submission, executed": run(*READ, chat("3")),
    "before a submission tool": run(*READ, *SUBMIT),
    "failed submission is none": run(
        tool("submit_extraction", error="bad"), *READ, *SUBMIT, chat("3")
    ),
    "earliest submission counts, after the read": run(
        *READ, step("hand in", "submit"), submission("3"), *SUBMIT
    ),
    "provider ran it": run(chat("3", calls=[call("read_url", side="provider")]), submission("3")),
    "shown by a later request": run(
        ASK, chat("3", given=[user("q"), result("x", id="call_read_page")]), submission("3")
    ),
    "cached, and its execution is known": run(
        tool("read_page", gives="x", id="1", page=2),
        tool("read_page", gives="x", id="2", page=2, fields={"outcome": "cached"}),
        submission("3"),
    ),
    "empty is executed": run(ASK, tool("read_page", gives=""), chat("3"), submission("3")),
    "enough in a trace with a hole": incomplete(run(*READ, submission("3"))),
    "content off": without_content(run(*READ, chat("3"), submission("3"))),
}
NOT_ASSESSED = {
    "asked for in the reply that submits": run(
        chat(calls=[call("read_page"), call("submit_extraction")]),
        chat(
            "3",
            given=[
                user("q"),
                result("x", id="call_read_page"),
                result("ok", id="call_submit_extraction"),
            ],
        ),
    ),
    "hole": incomplete(run(chat("3"), submission("3"))),
    "calls not recorded": run(chat("3", requested=None, delivered=None), submission("3")),
    "cached, execution not known": run(
        ASK, tool("read_page", gives="x", fields={"outcome": "cached"}), submission("3")
    ),
    "last call, and no tool leaves spans": run(chat(calls=[call("read_page")])),
    "neither calls nor tools": run(dialects=("otel_genai",)),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_too_little_navigation_is_violated(one: Run) -> None:
    outcome = navigation(one)
    assert outcome.word == "violated"
    assert outcome.evidence["n_executions"] == 0
    assert outcome.span_ids
    assert navigation_bypassed.severity == "error"
    assert navigation_bypassed.fault == "reasoning"


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_navigation_by_whatever_evidence_holds(one: Run) -> None:
    assert navigation(one).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_executions_that_may_be_unseen_are_not_assessed(one: Run) -> None:
    assert navigation(one).word == "not_assessed"


def test_failed_executions_count_where_the_clause_says_so() -> None:
    one = VIOLATED["failed only"]
    assert navigation(one).evidence["n_failed"] == 1
    assert "1 failed ones do not count" in navigation(one).reason
    assert navigation(one, failed="count").word == "holds"


def test_the_clause_may_ask_for_more_than_one() -> None:
    one = run(*READ, chat("3"), submission("3"))
    outcome = navigation(one, at_least=2, reason="a page and a table must be read.")
    assert outcome.word == "violated"
    assert outcome.reason == (
        "A tool of the group navigation was executed once before the submission; at least 2 is"
        " expected. Expected because: a page and a table must be read."
    )


def test_a_clause_may_look_inside_steps_only() -> None:
    inside = run(
        step("check", "verify", span_id="s"),
        tool("read_page", gives=1, fields={"step_span_id": "s"}),
    )
    assert navigation(inside, step="verify").word == "holds"
    assert navigation(inside, step="che*").word == "holds"
    assert navigation(inside, step="solve").word == "violated"
    nested = run(
        step("check", "verify", span_id="s"),
        step("inner", "solve", span_id="t", parent_span_id="s"),
        tool("read_page", gives=1, fields={"step_span_id": "t"}),
    )
    assert navigation(nested, step="verify").word == "holds"


def test_after_submit_without_a_submission_has_nothing_to_judge() -> None:
    clause: dict[str, object] = {"before": None, "after": "submit"}
    assert navigation(run(*READ), **clause).word == "not_applicable"
    assert navigation(run(*READ, submission("3")), **clause).word == "violated"
    assert navigation(run(submission("3"), *READ), **clause).word == "holds"


def test_the_submission_itself_is_on_neither_side() -> None:
    keys: dict[str, object] = {"group": None, "tool": "submit_*"}
    assert navigation(run(*SUBMIT), **keys).word == "violated"
    assert navigation(run(*SUBMIT), **keys, before=None, after="submit").word == "violated"


def test_spans_without_numbers_are_ordered_by_time() -> None:
    def foreign(*times: int) -> Run:
        given = ((READ[0], times[0]), (READ[1], times[1]), (SUBMIT[1], times[2]))
        items = [
            msgspec.structs.replace(item, seq=None, start_ns=at, end_ns=at) for item, at in given
        ]
        made = run(*items)
        return msgspec.structs.replace(
            made,
            chats=tuple(msgspec.structs.replace(c, seq=None) for c in made.chats),
            tools=tuple(msgspec.structs.replace(t, seq=None) for t in made.tools),
        )

    assert navigation(foreign(1, 2, 3)).word == "holds"
    assert navigation(foreign(2, 3, 1)).word == "violated"


def test_a_contract_that_may_not_be_about_the_run_is_not_assessed() -> None:
    when: dict[str, object] = {"when": {"input_matches": "datasheet"}}
    one = run(chat("3"), submission("3"), prompt="the datasheet")
    assert navigation(one, contract=when).word == "violated"
    assert navigation(without_content(one), contract=when).word == "not_assessed"
