# ruff: noqa: A002, E501
from __future__ import annotations

import json

import msgspec
import pytest
from tests.normalize.builders import (
    healthy,
    otel_chat,
    otel_tool,
    own,
    own_chat,
    own_root,
    own_tool,
    says,
    sid,
    span,
)

from spanwitness.normalize import build_runs


def agent(id, parent=None, *, at=0, name="worker", **attributes):
    found = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **attributes}
    return span(id, parent, at=at, took=1000, attributes=found)


# --- boundaries


def test_a_run_of_ours_is_one_run_with_what_its_root_says() -> None:
    root = {"item_id": "dps310", "subject": "DPS310", "tags": ["a", "b"], "stack": "openai #1",
            "max_turns": 9, "turns": 3, "termination": "completed", "compacted": True,
            "run__output": '"3.6 V"', "run__has_output": True, "run__input": '{"q": 1}'}  # fmt: skip
    (run,) = build_runs(healthy(**root))
    assert (run.run_id, run.name, run.workflow) == ("run-1", "root", "extract")
    assert (run.item_id, run.subject, run.tags, run.stack) == (
        "dps310",
        "DPS310",
        ("a", "b"),
        "openai #1",
    )
    assert (run.max_turns, run.turns, run.termination, run.compacted) == (9, 3, "completed", True)
    assert (run.final_text, run.has_final, run.input_text) == ("3.6 V", True, '{"q": 1}')
    assert (run.is_complete, run.incomplete_reasons, run.content) == (True, (), "on")
    assert run.dialects == ("spanwitness",)
    assert [chat.seq for chat in run.chats] == [2, 4, 6]
    assert [tool.call_id for tool in run.tools] == ["k1", "k2"]


def test_the_root_span_is_the_run_where_nothing_else_marks_one() -> None:
    (run,) = build_runs(
        [span("root", took=100), otel_chat("c1"), otel_tool("t1", tool="look", at=5)]
    )
    assert (run.run_id, run.root_span_id) == (sid("root"), sid("root"))
    assert (len(run.chats), len(run.tools)) == (1, 1)


def test_the_root_agent_is_the_run_below_a_span_that_makes_no_calls() -> None:
    spans = [span("http", took=5000), agent("a1", "http"), otel_chat("c1", "a1", at=5)]
    (run,) = build_runs(spans)
    assert (run.root_span_id, run.agent, run.parent_run_id) == (sid("a1"), "worker", None)


def test_two_agents_side_by_side_are_two_runs() -> None:
    spans = [
        span("http", took=5000),
        agent("a1", "http", at=1, name="one"),
        otel_chat("c1", "a1", at=2),
        agent("a2", "http", at=10, name="two"),
        otel_chat("c2", "a2", at=12),
    ]
    runs = build_runs(spans)
    assert [run.agent for run in runs] == ["one", "two"]
    assert [len(run.chats) for run in runs] == [1, 1]


def test_a_sub_agent_is_a_child_run_whose_calls_count_for_the_parent() -> None:
    spans = [
        agent("a1", name="boss"),
        otel_chat("c1", "a1", at=2),
        otel_tool("t1", "a1", tool="delegate", at=20),
        agent("a2", "t1", at=30, name="helper"),
        otel_chat("c2", "a2", at=40),
        otel_tool("t2", "a2", tool="look", at=50),
        otel_chat("c3", "a1", at=90),
    ]
    boss, helper = build_runs(spans)
    assert (boss.agent, helper.agent) == ("boss", "helper")
    assert (helper.parent_run_id, boss.child_run_ids) == (boss.run_id, (helper.run_id,))
    assert [chat.span_id for chat in boss.chats] == [sid("c1"), sid("c2"), sid("c3")]
    assert [tool.name for tool in boss.tools] == ["delegate", "look"]
    assert [tool.side for tool in boss.tools] == ["subagent", "client"]
    assert [chat.span_id for chat in helper.chats] == [sid("c2")]


def test_a_run_around_one_agent_is_one_run_with_it() -> None:
    spans = [
        own_root(4),
        own("a1", "root", 2, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "solo",
                              "spanwitness.tools.configured": ["look"]}),
        own_chat("c1", 3, parent="a1"),
        own("s1", "root", 4, {"spanwitness.step.kind": "submit", "spanwitness.step.name": "submit",
                              "spanwitness.submission.digest": "d1"}),
    ]  # fmt: skip
    (run,) = build_runs(spans)
    assert (run.run_id, run.agent, run.configured) == ("run-1", "solo", ("look",))
    assert run.submission is not None
    assert run.is_complete


def test_nested_runs_of_ours_are_parent_and_child() -> None:
    inner = [
        own_root(2, run="run-2", id="inner", fields={"parent": "root", "at": 150}),
        own_chat("c2", 2, run="run-2", parent="inner", at=160),
    ]
    outer = [own_root(3), own_chat("c1", 2, at=120), own_chat("c3", 3, at=300)]
    first, second = build_runs([*outer, *inner])
    assert (first.run_id, first.child_run_ids) == ("run-1", ("run-2",))
    assert (second.run_id, second.parent_run_id) == ("run-2", "run-1")
    assert [chat.span_id for chat in first.chats] == [sid("c1"), sid("c2"), sid("c3")]
    assert first.is_complete
    assert second.is_complete


def test_two_runs_of_ours_below_one_request_are_two_runs() -> None:
    other = [msgspec.structs.replace(s, span_id=s.span_id[:-1] + "f") for s in healthy("run-2")]
    root = other[0].span_id
    other = [
        s if s.parent_span_id is None else msgspec.structs.replace(s, parent_span_id=root)
        for s in other
    ]
    http = span("http", took=9000)
    joined = [
        s
        if s.parent_span_id is not None
        else msgspec.structs.replace(s, parent_span_id=sid("http"))
        for s in [*healthy(), *other]
    ]
    assert [run.run_id for run in build_runs([http, *joined])] == ["run-1", "run-2"]


def test_a_trace_without_models_and_tools_has_no_run() -> None:
    assert build_runs([span("http"), span("db", "http")]) == []
    assert build_runs([]) == []


def test_verdicts_and_outcomes_are_no_part_of_a_run() -> None:
    verdict = own("v1", "root", None, {"spanwitness.rule.id": "tool_bypass"})
    outcome = own("o1", None, None, {"spanwitness.outcome.success": True})
    assert build_runs([*healthy(), verdict]) == build_runs(healthy())
    assert build_runs([outcome]) == []


def test_a_conversation_id_is_found_on_any_span() -> None:
    chat = otel_chat("c1", attributes={"gen_ai.conversation.id": "conv-7"})
    assert build_runs([span("root"), chat])[0].conversation_id == "conv-7"


# --- order


def test_sequence_numbers_order_before_clocks() -> None:
    spans = healthy()
    stepped = [msgspec.structs.replace(s, start_ns=10**9 - s.start_ns, end_ns=0) for s in spans]
    (run,) = build_runs(stepped)
    assert [chat.span_id for chat in run.chats] == [sid("c1"), sid("c2"), sid("c3")]


def test_a_child_on_a_host_whose_clock_is_behind_does_not_start_before_its_parent() -> None:
    spans = [
        span("root", at=1000, took=1000),
        otel_chat("c1", at=1100),
        otel_tool("t1", tool="look", at=1200),
        otel_chat("c2", "t1", at=100),
        otel_chat("c3", at=1300),
    ]
    (run,) = build_runs(spans)
    assert [chat.span_id for chat in run.chats] == [sid("c1"), sid("c2"), sid("c3")]
    assert [chat.seq for chat in run.chats] == sorted(c.seq for c in run.chats)


def test_spans_that_are_each_other_s_parents_are_still_read() -> None:
    (run,) = build_runs([otel_tool("a", "b", tool="look"), otel_tool("b", "a", tool="read", at=5)])
    assert [tool.name for tool in run.tools] == ["look", "read"]
    agents = [agent("x", "y"), agent("y", "x", at=5), agent("z", "z")]
    assert len(build_runs([*agents, otel_chat("c", "y", at=9)])) == 2


# --- joins


def test_a_span_that_stands_twice_counts_once() -> None:
    spans = healthy()
    assert build_runs([*spans, *spans]) == build_runs(spans)


def test_an_sdk_s_own_span_around_ours_counts_once() -> None:
    native = span("n1", "root", at=150, scope="com.anthropic.sdk.python", attributes={
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x", "gen_ai.response.id": "m1"})  # fmt: skip
    (run,) = build_runs([own_root(2), native, own_chat("c1", 2, parent="n1", at=160)])
    (chat,) = run.chats
    assert (chat.span_id, chat.dialect, chat.response_id) == (sid("c1"), "spanwitness", "m1")


def test_two_instrumentations_side_by_side_join_by_response_id_at_the_same_time() -> None:
    id_ = {"gen_ai.response.id": "r1"}
    one = otel_chat("c1", at=5, took=50, attributes=id_)
    two = otel_chat("c2", at=6, took=50, attributes=id_, scope="other", reply=[says("hi")])
    (run,) = build_runs([span("root"), one, two])
    assert len(run.chats) == 1
    assert run.chats[0].requested == ()
    later = msgspec.structs.replace(two, start_ns=900, end_ns=950)
    assert len(build_runs([span("root"), one, later])[0].chats) == 2


def test_the_mcp_sdk_s_own_span_below_ours_counts_once() -> None:
    ours = own_tool("t1", 2, tool="search", attributes={"spanwitness.tool.side": "mcp"})
    native = span("n1", "t1", at=210, name="MCP send tools/call search", scope="mcp-python-sdk",
                  attributes={"mcp.method.name": "tools/call"})  # fmt: skip
    (run,) = build_runs([own_root(2), ours, native])
    assert [(t.name, t.span_id, t.side) for t in run.tools] == [("search", sid("t1"), "mcp")]


def test_a_decorated_tool_that_calls_its_mcp_namesake_is_one_execution() -> None:
    outer = own_tool("t1", 2, tool="search", call_id="k1")
    attributes = {"spanwitness.tool.side": "mcp", "spanwitness.tool.server": "docs"}
    inner = own_tool("t2", 3, tool="search", parent="t1", attributes=attributes)
    (run,) = build_runs([own_root(3), outer, inner])
    assert [(t.span_id, t.side, t.server) for t in run.tools] == [(sid("t1"), "mcp", "docs")]


def test_a_tool_that_calls_itself_or_another_is_two_executions() -> None:
    spans = [
        own_root(4),
        own_tool("t1", 2, tool="walk"),
        own_tool("t2", 3, tool="walk", parent="t1"),
        own_tool("t3", 4, tool="read", parent="t1"),
    ]
    assert len(build_runs(spans)[0].tools) == 3


def test_what_a_span_says_after_somebody_ended_it_early_is_taken_from_the_late_one() -> None:
    early = own_tool("t1", 2, tool="search", attributes={"spanwitness.tool.outcome": "value"})
    late = own("t9", "t1", None, {
        "spanwitness.late_end_of": sid("t1"), "spanwitness.tool.outcome": "error"}, status="error")  # fmt: skip
    (run,) = build_runs([own_root(2), early, late])
    assert [tool.outcome for tool in run.tools] == ["error"]


# --- completeness


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 5])
def test_a_lost_span_makes_a_run_of_ours_incomplete(lost: int) -> None:
    spans = healthy()
    del spans[lost]
    (run,) = build_runs(spans)
    assert not run.is_complete
    assert run.incomplete_reasons == ("spans_missing",)


def test_a_lost_root_makes_a_run_incomplete() -> None:
    (run,) = build_runs(healthy()[1:])
    assert (run.run_id, run.is_complete) == ("run-1", False)
    assert "root_missing" in run.incomplete_reasons


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"spans__lost": 2}, "spans_lost"),
        ({"internal_errors": 1}, "internal_error"),
        ({"complete": False, "incomplete_reasons": ["unseen_traffic"]}, "unseen_traffic"),
        ({"complete": False}, "said_incomplete"),
        ({"spans__started": 7, "spans__ended": 6}, "open_spans"),
        ({"spans__started": 8, "spans__ended": 8}, "spans_missing"),
    ],
)
def test_what_the_tracer_says_of_its_own_holes_is_heard(said: dict, reason: str) -> None:
    (run,) = build_runs(healthy(**said))
    assert (run.is_complete, run.incomplete_reasons) == (False, (reason,))


def test_a_hole_of_a_child_run_is_a_hole_of_its_parent() -> None:
    inner = own_root(3, run="run-2", id="inner", fields={"parent": "root", "at": 150})
    first, second = build_runs([own_root(2), own_chat("c1", 2), inner])
    assert (first.incomplete_reasons, second.incomplete_reasons) == (("spans_missing",),) * 2


def test_dropped_attributes_make_a_run_incomplete() -> None:
    spans = [span("root"), otel_chat("c1", dropped_attributes=1)]
    assert build_runs(spans)[0].incomplete_reasons == ("dropped_attributes",)


def test_orphans_make_a_run_whose_root_is_missing() -> None:
    (run,) = build_runs([otel_chat("c1", "gone"), otel_tool("t1", "gone", tool="look", at=5)])
    assert (run.incomplete_reasons, len(run.chats), len(run.tools)) == (("root_missing",), 1, 1)


def test_an_orphan_beside_the_only_run_belongs_to_it() -> None:
    spans = [span("root"), otel_chat("c1"), otel_chat("c2", "gone", at=50)]
    (run,) = build_runs(spans)
    assert (run.incomplete_reasons, len(run.chats)) == (("parent_missing",), 2)


def test_an_agent_called_from_a_service_that_is_not_in_the_trace_is_whole() -> None:
    (run,) = build_runs([agent("a1", "remote"), otel_chat("c1", "a1", at=5)])
    assert run.is_complete


def test_calls_in_a_vocabulary_we_cannot_read_make_a_run_incomplete() -> None:
    llm = span("x1", "root", attributes={"openinference.span.kind": "LLM"})
    (run,) = build_runs([span("root"), llm])
    assert (run.dialects, run.incomplete_reasons) == (("openinference",), ("unread_dialect",))
    (mixed,) = build_runs([span("root"), llm, otel_chat("c1", at=50)])
    assert mixed.incomplete_reasons == ("unread_dialect",)


def test_another_vocabulary_for_calls_that_we_saw_ourselves_does_no_harm() -> None:
    chain = span("x0", "root", at=150, attributes={"openinference.span.kind": "CHAIN"})
    llm = span("x1", "x0", at=151, attributes={"openinference.span.kind": "LLM"})
    (run,) = build_runs([own_root(2), chain, llm, own_chat("c1", 2, parent="x1", at=160)])
    assert run.is_complete
    assert run.dialects == ("openinference", "spanwitness")


def test_what_an_agent_gave_back_is_the_final_text_not_the_last_reply():
    said = json.dumps([{"role": "assistant", "parts": [says("It is 3.6 V.")]}])
    root = span(
        "root",
        at=0,
        took=100,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "reader",
            "gen_ai.output.messages": said,
        },
    )
    spans = [root, otel_chat("a", at=10, reply=[says("Approved.")])]
    assert build_runs(spans)[0].final_text == "It is 3.6 V."


def test_an_agent_whose_output_was_cut_gave_back_the_last_reply():
    root = span(
        "root",
        at=0,
        took=100,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "con',
        },
    )
    spans = [root, otel_chat("a", at=10, reply=[says("Approved.")])]
    assert build_runs(spans)[0].final_text == "Approved."
