"""A tool that the contract forbids was executed."""

from __future__ import annotations

from tests.rules.builders import call, chat, incomplete, run, submission, tool
from tests.rules.clauses import judge

SEARCHED = run(chat(calls=[call("web_search")]), tool("web_search", gives="x"), chat("3"))
ASKED = run(chat(calls=[call("web_search"), call("read")]), tool("read", gives=1), chat("3"))
HOSTED = run(chat("3", calls=[call("web_search", side="provider")]))
FAILED = run(chat(calls=[call("web_search")]), tool("web_search", error="no"), chat("3"))


def test_an_executed_forbidden_tool_is_violated_and_named() -> None:
    outcome = judge(SEARCHED, "forbidden_tool", tool="web_search")
    assert outcome.word == "violated"
    assert outcome.reason == "web_search was executed once; it is forbidden."
    assert outcome.span_ids == (SEARCHED.tools[0].span_id,)
    assert judge(HOSTED, "forbidden_tool", tool="web_*").word == "violated"
    assert judge(incomplete(SEARCHED), "forbidden_tool", tool="web_search").word == "violated"


def test_a_request_that_nobody_executed_holds() -> None:
    assert judge(ASKED, "forbidden_tool", tool="web_search").word == "holds"
    assert judge(SEARCHED, "forbidden_tool", tool="send_mail").word == "holds"


def test_a_failed_execution_counts_where_the_clause_says_so() -> None:
    assert judge(FAILED, "forbidden_tool", tool="web_search").word == "holds"
    counted = judge(FAILED, "forbidden_tool", tool="web_search", failed="count")
    assert counted.word == "violated"


def test_a_phase_may_be_forbidden() -> None:
    before = run(tool("read_page", gives=1), submission("3"))
    after = run(submission("3"), tool("read_page", gives=1))
    keys: dict[str, object] = {"tool": "read_*", "after": "submit"}
    assert judge(before, "forbidden_tool", **keys).word == "holds"
    assert judge(after, "forbidden_tool", **keys).word == "violated"


def test_what_may_be_unseen_is_not_assessed() -> None:
    assert judge(incomplete(ASKED), "forbidden_tool", tool="web_search").word == "not_assessed"
