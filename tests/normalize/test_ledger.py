from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.normalize.builders import (
    asks,
    gives,
    healthy,
    otel_chat,
    otel_tool,
    own,
    own_chat,
    own_root,
    own_tool,
    parts,
    says,
    span,
)

from spanwitness.model import ChatCall, Delivery, Run, ToolCall, ToolRequest
from spanwitness.normalize import build_runs
from spanwitness.normalize.executions import executions
from spanwitness.normalize.ledger import build_ledger
from spanwitness.normalize.order import positions

if TYPE_CHECKING:
    from spanwitness.model import LedgerRow


def run_of(*spans):
    return build_runs([span("root"), *spans])[0]


def own_run(*spans):
    return build_runs([own_root(1 + len(spans)), *spans])[0]


def columns(row: LedgerRow) -> tuple[str, ...]:
    return (row.configured, row.offered, row.requested, row.executed, row.returned, row.delivered)


def told(run):
    return [(e.tool, e.call_id, e.how, e.outcome) for e in executions(run)]


# --- executions


def test_an_execution_counts_once_by_its_call_id() -> None:
    (run,) = build_runs(healthy())
    assert told(run) == [("search", "k1", "span", "value"), ("read", "k2", "span", "value")]
    assert [e.order for e in executions(run)] == [3, 5]


def test_what_no_span_saw_shows_as_a_result_in_a_later_request() -> None:
    history = parts(
        ("user", says("q")),
        ("assistant", asks("look", "k1", page=2)),
        ("tool", gives("k1", "250 mA")),
    )
    run = run_of(
        otel_chat("c1", at=1, given=history[:1], reply=[asks("look", "k1", page=2)]),
        otel_chat("c2", at=20, given=history, reply=[asks("read", "k2")]),
        otel_chat(
            "c3",
            at=40,
            given=[*history, *parts(("assistant", asks("read", "k2")), ("tool", gives("k2", "")))],
            reply=[says("250 mA")],
        ),
    )
    assert told(run) == [("look", "k1", "messages", "value"), ("read", "k2", "messages", "empty")]
    first = executions(run)[0]
    assert (first.arguments, first.result, first.has_result) == ({"page": 2}, "250 mA", True)
    assert first.order == positions(run)[run.chats[0].span_id]


def test_a_request_alone_is_no_execution() -> None:
    assert executions(run_of(otel_chat("c1", reply=[asks("look", "k1")]))) == ()


def test_results_that_were_in_the_history_when_the_run_began_count_by_their_calls_there() -> None:
    given = parts(
        ("assistant", asks("look", "k0")), ("tool", gives("k0", "x y z")), ("user", says("q"))
    )
    assert told(run_of(otel_chat("c1", given=given, reply=[says("a")]))) == [
        ("look", "k0", "messages", "value")
    ]


def test_a_span_without_a_call_id_and_a_message_of_the_same_tool_are_one_execution() -> None:
    ask = [asks("look", "k1", page=2), asks("look", "k2", page=3)]
    given = [
        *parts(("user", says("q"))),
        {"role": "assistant", "parts": ask},
        *parts(("tool", gives("k1", "x")), ("tool", gives("k2", "y"))),
    ]
    run = run_of(
        otel_chat("c1", at=1, given=given[:1], reply=ask),
        otel_tool("t2", tool="look", at=20, arguments='{"page": 3}'),
        otel_tool("t1", tool="look", at=21, arguments='{"page": 2}'),
        otel_chat("c2", at=40, given=given, reply=[says("a")]),
    )
    assert [(e.call_id, e.how, e.arguments) for e in executions(run)] == [
        ("k2", "span", {"page": 3}), ("k1", "span", {"page": 2}),
    ]  # fmt: skip


def test_an_ambiguous_span_is_not_counted_beside_its_message() -> None:
    fresh = [{"call_id": "k1", "state": "unknown", "is_empty": False, "size_bytes": 3}]
    run = own_run(
        own_chat("c1", 2, calls=[("look", "k1")]),
        own_tool("t1", 3, tool="look", attributes={"spanwitness.tool.link": "ambiguous"}),
        own_chat("c2", 4, delivered=["k1"], fresh=fresh),
    )
    assert told(run) == [("look", "k1", "span", "value")]


def test_a_cached_result_is_told_apart() -> None:
    cached = own_tool(
        "t1", 3, tool="look", call_id="k1", attributes={"spanwitness.tool.outcome": "cached"}
    )
    run = own_run(own_chat("c1", 2, calls=[("look", "k1")]), cached)
    assert told(run) == [("look", "k1", "cache", "cached")]


def test_a_hosted_tool_shows_in_the_reply_itself() -> None:
    reply = [
        {
            "type": "server_tool_call",
            "id": "s1",
            "name": "web_search",
            "server_tool_call": {"q": 1},
        },
        {
            "type": "server_tool_call_response",
            "id": "s1",
            "server_tool_call_response": [{"url": "u"}],
        },
        says("found"),
    ]
    run = run_of(otel_chat("c1", reply=reply))
    assert told(run) == [("web_search", "s1", "provider", "value")]


def test_a_refused_call_is_no_execution() -> None:
    refused = {"spanwitness.phase.refused": True, "spanwitness.tool.outcome": "error"}
    run = own_run(
        own_chat("c1", 2, calls=[("look", "k1")]),
        own_tool("t1", 3, tool="look", call_id="k1", attributes=refused),
        own_chat("c2", 4, delivered=["k1"], fresh=[{"call_id": "k1", "state": "whole"}]),
    )
    assert executions(run) == ()


# --- the ledger


def test_every_column_but_cited_is_filled_for_a_healthy_run_of_ours() -> None:
    rows = build_ledger(build_runs(healthy())[0])
    assert [(row.tool, row.call_id) for row in rows] == [
        ("search", "k1"),
        ("read", "k2"),
        ("verify", None),
    ]
    assert columns(rows[0]) == columns(rows[1]) == ("yes", "yes", "yes", "span", "value", "whole")
    assert columns(rows[2]) == ("yes", "yes", "no", "no", "not_applicable", "not_applicable")
    assert {row.cited for row in rows} == {"unknown"}


def test_a_hole_in_the_trace_turns_no_into_unknown() -> None:
    spans = healthy()
    del spans[4]
    rows = {row.tool: row for row in build_ledger(build_runs(spans)[0])}
    assert columns(rows["read"]) == ("yes", "yes", "yes", "messages", "unknown", "whole")
    assert columns(rows["verify"]) == ("yes", "yes", "unknown", "unknown", "unknown", "unknown")


def test_content_off_leaves_no_row_that_says_no() -> None:
    run = run_of(otel_chat("c1"), otel_tool("t1", tool="look", at=20), otel_chat("c2", at=40))
    (row,) = build_ledger(run)
    assert columns(row) == ("unknown", "unknown", "unknown", "span", "unknown", "unknown")


def test_a_tool_that_was_configured_and_not_offered_has_a_row() -> None:
    run = build_runs(
        [own_root(2, tools__configured=["look", "read"]), own_chat("c1", 2, offers=["look"])]
    )[0]
    rows = {row.tool: row for row in build_ledger(run)}
    assert columns(rows["read"])[:3] == ("yes", "no", "no")
    assert columns(rows["look"])[:3] == ("yes", "yes", "no")


def test_a_request_that_nobody_ran_says_so_where_a_later_request_shows_it() -> None:
    run = own_run(
        own_chat("c1", 2, calls=[("look", "k1")], offers=["look"]),
        own_chat("c2", 3, offers=["look"]),
    )
    (row,) = build_ledger(run)
    assert columns(row) == ("yes", "yes", "yes", "no", "not_applicable", "not_applicable")


def test_a_last_request_of_an_undecorated_tool_is_unknown() -> None:
    run = own_run(own_chat("c1", 2, calls=[("look", "k1")], offers=["look"]))
    assert columns(build_ledger(run)[0]) == ("yes", "yes", "yes", "unknown", "unknown", "unknown")


@pytest.mark.parametrize(
    ("fresh", "delivered"),
    [
        ([{"call_id": "k1", "state": "altered"}], "altered"),
        ([{"call_id": "k1", "state": "unknown"}], "unknown"),
        ([], "no"),
    ],
)
def test_delivered_tells_what_became_of_a_result(fresh: list, delivered: str) -> None:
    ids = [each["call_id"] for each in fresh]
    run = own_run(
        own_chat("c1", 2, calls=[("look", "k1")], offers=["look"]),
        own_tool("t1", 3, tool="look", call_id="k1"),
        own_chat("c2", 4, delivered=ids, fresh=fresh, offers=["look"]),
    )
    assert build_ledger(run)[0].delivered == delivered


def test_a_result_of_the_last_call_could_not_be_delivered() -> None:
    run = own_run(
        own_chat("c1", 2, calls=[("look", "k1")], offers=["look"]),
        own_tool("t1", 3, tool="look", call_id="k1"),
    )
    assert build_ledger(run)[0].delivered == "not_applicable"


def test_state_kept_by_the_provider_is_unknown_and_not_no() -> None:
    held = {"spanwitness.request.server_state": True}
    run = own_run(
        own_chat("c1", 2, calls=[("other", "k1")], offers=["look"], attributes=held),
        own_tool("t1", 3, tool="other", call_id="k1"),
        own_chat("c2", 4, offers=["look"], attributes=held),
    )
    assert columns(build_ledger(run)[0]) == (
        "unknown",
        "unknown",
        "yes",
        "span",
        "value",
        "unknown",
    )


def test_sides_are_told_apart() -> None:
    offers = ["look", "web", "answer"]
    sides = {"spanwitness.request.tools_offered.sides": ["client", "provider", "output"]}
    listing = own(
        "d1", "root", 3, {"mcp.method.name": "tools/list", "spanwitness.tools.configured": ["look"]}
    )
    run = own_run(own_chat("c1", 2, offers=offers, attributes=sides), listing)
    assert {row.tool: row.side for row in build_ledger(run)} == {
        "look": "mcp",
        "web": "provider",
        "answer": "output",
    }


def test_a_call_of_the_answer_s_schema_is_side_output_and_runs_nowhere() -> None:
    calls = json.dumps(
        [{"name": "answer", "call_id": "k1", "side": "output", "source": "structured"}]
    )
    chat = own_chat(
        "c1", 2, offers=["answer"], attributes={"spanwitness.response.tool_calls": calls}
    )
    (row,) = build_ledger(own_run(chat))
    assert (row.side, row.executed, row.delivered) == ("output", "no", "not_applicable")


def test_an_execution_that_nobody_asked_for_has_a_row() -> None:
    run = own_run(own_chat("c1", 2, offers=["look"]), own_tool("t1", 3, tool="look"))
    (row,) = build_ledger(run)
    assert columns(row) == ("yes", "yes", "no", "span", "value", "not_applicable")


def test_a_run_without_a_model_call_cannot_show_what_was_asked_for_or_delivered() -> None:
    (row,) = build_ledger(own_run(own_tool("t1", 2, tool="look")))
    assert columns(row) == ("unknown", "unknown", "unknown", "span", "value", "unknown")


def test_who_asked_for_a_result_of_the_history_is_unknown() -> None:
    given = parts(
        ("assistant", asks("look", "k0")), ("tool", gives("k0", "x y z")), ("user", says("q"))
    )
    (row,) = build_ledger(run_of(otel_chat("c1", given=given, reply=[says("a")])))
    assert (row.call_id, row.requested, row.executed) == ("k0", "unknown", "messages")


def test_calls_that_came_out_as_text_are_no_requests() -> None:
    calls = json.dumps([{"name": "look", "call_id": None, "side": "client", "source": "text"}])
    chat = own_chat("c1", 2, offers=["look"], attributes={"spanwitness.response.tool_calls": calls})
    (row,) = build_ledger(own_run(chat))
    assert (row.call_id, row.requested, row.executed) == (None, "no", "no")


def test_positions_fall_back_on_time_where_a_number_is_missing() -> None:
    (run,) = build_runs(healthy())
    assert positions(run)[run.chats[0].span_id] == 2
    bare = msgspec.structs.replace(
        run, chats=tuple(msgspec.structs.replace(c, seq=None) for c in run.chats)
    )
    found = positions(bare)
    assert sorted(found, key=found.__getitem__) == sorted(
        (x.span_id for x in (*run.chats, *run.tools)), key=positions(run).__getitem__
    )


def test_the_last_result_of_a_child_run_could_not_be_delivered_by_its_parent() -> None:
    child = {"run": "run-2", "parent": "inner"}
    spans = [
        own_root(4),
        own_chat("c1", 2, calls=[("delegate", "d1")], offers=["delegate"]),
        own_tool("t1", 3, tool="delegate", call_id="d1"),
        own_root(4, run="run-2", id="inner", fields={"parent": "t1", "at": 310}),
        own_chat("c2", 2, calls=[("look", "k1")], offers=["look"], at=320, **child),
        own_tool("t2", 3, tool="look", call_id="k1", at=340, **child),
        own_chat(
            "c3", 4, calls=[("look", "k2")], offers=["look"], at=360, delivered=["k1"],
            fresh=[{"call_id": "k1", "state": "whole"}], **child,
        ),
        own_chat(
            "c4", 4, offers=["delegate"], delivered=["d1"],
            fresh=[{"call_id": "d1", "state": "whole"}],
        ),
    ]  # fmt: skip
    parent, inner = build_runs(spans)
    assert (parent.is_complete, inner.parent_run_id) == (True, parent.run_id)
    rows = [
        {r.call_id: (r.executed, r.delivered) for r in build_ledger(x)} for x in (parent, inner)
    ]
    assert rows[0]["k1"] == rows[1]["k1"] == ("span", "whole")
    assert rows[0]["k2"] == rows[1]["k2"] == ("no", "not_applicable")
    ran = [*spans, own_tool("t3", 5, tool="look", call_id="k2", at=380, **child)]
    ran[3] = own_root(5, run="run-2", id="inner", fields={"parent": "t1", "at": 310})
    parent, inner = build_runs(ran)
    rows = [
        {r.call_id: (r.executed, r.delivered) for r in build_ledger(x)} for x in (parent, inner)
    ]
    assert rows[0]["k2"] == rows[1]["k2"] == ("span", "not_applicable")


@pytest.mark.parametrize("children", [(), ("another",)])
def test_a_loop_of_a_thousand_calls_is_told_in_no_time(children):
    chats: list[ChatCall] = []
    tools: list[ToolCall] = []
    delivered: tuple[Delivery, ...] = ()
    for n in range(1000):
        asked = (ToolRequest(name="look", call_id=f"c{n}"),)
        chats.append(
            ChatCall(span_id=f"m{n}", seq=2 * n, requested=asked, offered=(), delivered=delivered)
        )
        tools.append(ToolCall(span_id=f"t{n}", seq=2 * n + 1, name="look", call_id=f"c{n}"))
        state = "altered" if n == 500 else "whole"
        delivered = (*delivered, Delivery(call_id=f"c{n}", state=state))
    run = Run(
        run_id="r", trace_id="1" * 32, root_span_id="0", name="x", chats=tuple(chats),
        tools=tuple(tools), is_complete=True, child_run_ids=children,
    )  # fmt: skip
    found = executions(run)
    start = time.process_time()
    rows = build_ledger(run, found)
    # It took 29 s to look through every later request for every call.
    assert time.process_time() - start < 2
    words = [row.delivered for row in rows]
    assert words == ["whole"] * 500 + ["altered"] + ["whole"] * 498 + ["not_applicable"]
