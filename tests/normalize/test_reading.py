# ruff: noqa: E501
from __future__ import annotations

import json

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

from spanwitness.model import Delivery, TextPart, ToolChoice, ToolRequest
from spanwitness.normalize import build_runs
from spanwitness.normalize.messages import decode_messages
from spanwitness.normalize.stored_messages import History, StoredMessages, decode


def only(*spans):
    (run,) = build_runs([span("root"), *spans])
    return run


def own_run(*spans):
    (run,) = build_runs([own_root(1 + len(spans)), *spans])
    return run


# --- OTel GenAI


def test_an_otel_call_is_read_whole() -> None:
    chat = otel_chat(
        "c1",
        given=parts(("user", says("how much?"))),
        reply=[says("let me see"), asks("look", "k1", page=2)],
        offers=["look", "read"],
        attributes={
            "gen_ai.response.model": "gpt-x-1", "gen_ai.response.id": "r1", "server.address": "h",
            "gen_ai.response.finish_reasons": ["tool_calls"], "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 0, "gen_ai.request.max_tokens": "64",
            "gen_ai.request.stream": True, "gen_ai.output.type": "json",
        },
    )  # fmt: skip
    (found,) = only(chat).chats
    assert [tool.name for tool in found.offered or ()] == ["look", "read"]
    assert found.requested == (ToolRequest(name="look", call_id="k1", arguments={"page": 2}),)
    assert (found.text_chars, found.delivered, found.finish_reasons) == (10, (), ("tool_calls",))
    assert (found.usage.input_tokens, found.usage.output_tokens) == (5, 0)
    assert (found.max_tokens, found.is_streaming, found.ending) == (64, True, "complete")
    assert found.output_format is not None
    assert found.output_format.kind == "json_object"
    assert (found.provider, found.host, found.response_id) == ("openai", "h", "r1")


def test_what_content_off_leaves_out_is_unknown_and_not_none() -> None:
    run = only(otel_chat("c1"))
    (found,) = run.chats
    assert (found.offered, found.requested, found.delivered, found.tool_choice) == (None,) * 4
    assert (found.input_messages, found.output_messages, found.output_format) == (None,) * 3
    assert (run.content, run.final_text, run.has_final) == ("off", None, None)
    assert found.usage.input_tokens is None


def test_older_names_of_attributes_are_read() -> None:
    old = {
        "gen_ai.system": "openai", "gen_ai.usage.prompt_tokens": 7,
        "gen_ai.usage.completion_tokens": 3, "gen_ai.usage.cache_read_input_tokens": 2,
        "gen_ai.openai.request.response_format": "json_schema", "gen_ai.request.tool_choice": "any",
        "gen_ai.response.finish_reasons": '["stop"]',
    }  # fmt: skip
    chat = span("c1", "root", attributes={"gen_ai.operation.name": "chat", **old})
    (found,) = only(chat).chats
    assert (found.provider, found.finish_reasons) == ("openai", ("stop",))
    assert (found.usage.input_tokens, found.usage.cached_input_tokens) == (7, 2)
    assert found.output_format is not None
    assert found.output_format.kind == "json_schema"
    assert found.tool_choice == ToolChoice(mode="required")


def test_system_instructions_stand_before_the_messages() -> None:
    system = json.dumps([says("be exact")])
    chat = otel_chat(
        "c1", given=parts(("user", says("q"))), attributes={"gen_ai.system_instructions": system}
    )
    (found,) = only(chat).chats
    assert found.input_messages is not None
    assert [m.role for m in found.input_messages] == ["system", "user"]


def test_messages_may_be_structured_attributes() -> None:
    chat = otel_chat("c1", attributes={
        "gen_ai.input.messages": parts(("user", says("q"))),
        "gen_ai.output.messages": [{"role": "assistant", "parts": [says("a")]}]})  # fmt: skip
    (found,) = only(chat).chats
    assert found.requested == ()
    assert found.input_messages == decode_messages(json.dumps(parts(("user", says("q")))))


def test_json_cut_by_a_length_limit_is_no_empty_reply() -> None:
    cut = json.dumps([{"role": "assistant", "parts": [asks("look", "k1")]}])[:40]
    (found,) = only(otel_chat("c1", attributes={"gen_ai.output.messages": cut})).chats
    assert (found.requested, found.output_messages, found.is_truncated) == (None, None, True)


@pytest.mark.parametrize(
    ("result", "outcome"),
    [('"x"', "value"), ("[]", "empty"), ("", "empty"), (None, "unknown"), ("0", "value")],
)
def test_an_otel_tool_span_tells_its_outcome(result: str | None, outcome: str) -> None:
    attributes = {} if result is None else {"result": result}
    (tool,) = only(otel_tool("t1", tool="look", arguments='{"page": 2}', **attributes)).tools
    assert (tool.name, tool.outcome, tool.arguments) == ("look", outcome, {"page": 2})
    assert tool.has_result is (result is not None)


def test_a_failed_otel_tool_span_is_an_error() -> None:
    (tool,) = only(otel_tool("t1", tool="look", fields={"status": "error"})).tools
    assert (tool.outcome, tool.error_type) == ("error", "error")


@pytest.mark.parametrize(
    ("delivered", "state"),
    [("[1, 2, 30]", "whole"), ("[1, 2]", "altered"), ("{'rows': [1, 2, 30]}", "whole")],
)
def test_what_a_tool_span_returned_is_compared_with_what_the_next_request_holds(
    delivered: str, state: str
) -> None:
    reply = [asks("look", "k1")]
    run = only(
        otel_chat("c1", at=1, given=parts(("user", says("q"))), reply=reply),
        otel_tool("t1", tool="look", at=20, call_id="k1", result="[1, 2, 30]"),
        otel_chat("c2", at=40, reply=[says("x")],
                  given=parts(("user", says("q")), ("assistant", reply[0]), ("tool", gives("k1", delivered)))),
    )  # fmt: skip
    (delivery,) = run.chats[1].delivered or ()
    assert (delivery.call_id, delivery.state, delivery.part_types) == ("k1", state, ("text",))


# --- ours


def test_a_call_of_ours_is_read_whole() -> None:
    attributes = {
        "spanwitness.request.tool_choice": "named:look",
        "spanwitness.request.tools_offered": ["look", "answer"],
        "spanwitness.request.tools_offered.sides": ["client", "output"],
        "spanwitness.request.response_format": "json_schema",
        "spanwitness.request.response_format.name": "Answer",
        "spanwitness.request.response_schema": '{"type": "object"}',
        "spanwitness.request.bytes": 377, "spanwitness.request.server_state": True,
        "spanwitness.request.reasoning_lost": 1, "spanwitness.response.reasoning_chars": 4,
        "spanwitness.response.refusal": True, "spanwitness.response.schema_satisfied": False,
        "spanwitness.response.values": 3, "spanwitness.response.values_unseen": 2,
        "spanwitness.attempts": ["429", "ConnectError", "200"],
    }  # fmt: skip
    (found,) = own_run(own_chat("c1", 2, attributes=attributes)).chats
    assert found.tool_choice == ToolChoice(mode="named", names=("look",))
    assert [(t.name, t.side) for t in found.offered or ()] == [
        ("look", "client"),
        ("answer", "output"),
    ]
    assert found.output_format is not None
    assert (found.output_format.kind, found.output_format.name) == ("json_schema", "Answer")
    assert found.output_format.schema == {"type": "object"}
    assert (found.request_bytes, found.has_server_state, found.reasoning_lost) == (377, True, 1)
    assert (found.has_refusal, found.is_schema_satisfied) == (True, False)
    assert (found.n_values, found.n_values_unseen, found.wire) == (3, 2, "openai_chat")
    assert [a.status_code or a.error for a in found.attempts] == [429, "ConnectError", 200]
    assert (found.requested, found.delivered, found.ending) == ((), (), "complete")


def test_arguments_of_a_call_are_found_in_the_messages() -> None:
    reply = json.dumps([{"role": "assistant", "parts": [asks("look", "k1", page=2)]}])
    chat = own_chat("c1", 2, calls=[("look", "k1")], attributes={"gen_ai.output.messages": reply})
    assert own_run(chat).chats[0].requested == (
        ToolRequest(name="look", call_id="k1", arguments={"page": 2}),
    )


def test_deliveries_are_carried_from_call_to_call() -> None:
    first = [{"call_id": "k1", "state": "altered", "part_types": ["text"], "size_bytes": 9}]
    run = own_run(
        own_chat("c1", 2, delivered=["k1"], fresh=first),
        own_chat("c2", 3, delivered=["k1", "k2"], fresh=[{"call_id": "k2", "state": "whole"}]),
        own_chat("c3", 4, delivered=["k9"]),
    )
    known = Delivery(call_id="k1", state="altered", part_types=("text",), size_bytes=9)
    assert run.chats[0].delivered == (known,)
    assert run.chats[1].delivered == (known, Delivery(call_id="k2", state="whole"))
    assert run.chats[2].delivered == (Delivery(call_id="k9"),)


def test_a_call_of_ours_without_facts_knows_nothing() -> None:
    chat = own("c1", "root", 2, {"gen_ai.operation.name": "chat"})
    (found,) = own_run(chat).chats
    assert (found.offered, found.requested, found.delivered, found.text_chars) == (None,) * 4
    assert (found.ending, found.wire) == ("unknown", "unknown")


def test_no_tools_offered_is_known_by_its_count_where_the_empty_list_was_lost() -> None:
    chat = own_chat("c1", 2, attributes={"spanwitness.request.tools_offered.count": 0})
    assert own_run(chat).chats[0].offered == ()


def test_a_tool_span_of_ours_is_read_whole() -> None:
    attributes = {
        "gen_ai.tool.call.arguments": '{"page": 2}', "gen_ai.tool.call.result": "null",
        "spanwitness.tool.outcome": "empty", "spanwitness.tool.effect": "write",
        "spanwitness.tool.server": "docs", "spanwitness.phase": "after_submit",
        "spanwitness.phase.violation": True, "spanwitness.phase.refused": True,
        "spanwitness.truncated": ["gen_ai.tool.call.result"], "spanwitness.tool.result.chars": 900,
        "spanwitness.tool.error.digest": "e1", "spanwitness.tool.arguments.digest": "a1",
    }  # fmt: skip
    (tool,) = own_run(own_tool("t1", 2, tool="look", call_id="k1", attributes=attributes)).tools
    assert (tool.call_id, tool.link, tool.outcome, tool.effect) == ("k1", "exact", "empty", "write")
    assert (tool.arguments, tool.result, tool.has_result) == ({"page": 2}, None, True)
    assert (tool.server, tool.phase, tool.is_phase_violation, tool.is_refused) == (
        "docs",
        "after_submit",
        True,
        True,
    )
    assert (tool.is_truncated, tool.result_chars) == (True, 900)
    assert (tool.error_text_digest, tool.arguments_digest) == ("e1", "a1")


def test_steps_and_the_submission_are_read() -> None:
    verify = own("s1", "root", 2, {
        "spanwitness.step.name": "check", "spanwitness.step.kind": "verify",
        "spanwitness.verdict.declared": True, "spanwitness.verdict": False,
        "spanwitness.success.before": True, "spanwitness.evidence.adequate": False,
        "spanwitness.escalation.outcome": "deferred", "spanwitness.step.operation": "op",
        "spanwitness.tools.configured": ["look"], "spanwitness.parser.valid": True,
    })  # fmt: skip
    inside = own_chat("c1", 3, parent="s1")
    submit = own("s2", "root", 4, {
        "spanwitness.step.name": "submit", "spanwitness.step.kind": "submit",
        "spanwitness.submission.digest": "d1", "spanwitness.submission.answer": '{"v": 3}',
        "spanwitness.submission.claims": '[{"value": 3.6, "unit": "V"}]',
    })  # fmt: skip
    (run,) = build_runs([own_root(4, submission__final_digest="d2"), verify, inside, submit])
    step = run.steps[0]
    assert (step.name, step.kind, step.declares_verdict, step.verdict) == (
        "check",
        "verify",
        True,
        False,
    )
    assert (step.success_before, step.success_after, step.evidence_adequate) == (True, None, False)
    assert (step.escalation_outcome, step.configured, step.parser_valid) == (
        "deferred",
        ("look",),
        True,
    )
    assert run.chats[0].step_span_id == step.span_id
    found = run.submission
    assert found is not None
    assert (found.digest, found.final_digest, found.answer, found.seq) == ("d1", "d2", {"v": 3}, 4)
    assert found.claims is not None
    assert (found.claims[0].value, found.claims[0].unit) == (3.6, "V")


def test_a_listing_of_an_mcp_server_is_read() -> None:
    listing = own("d1", "root", 2, {
        "mcp.method.name": "tools/list", "spanwitness.tool.server": "docs",
        "spanwitness.tools.configured": ["look"]})  # fmt: skip
    failed = own("d2", "root", 3, {"mcp.method.name": "tools/list", "error.type": "HTTP401"})
    ok, bad = own_run(listing, failed).discoveries
    assert (ok.server, [t.name for t in ok.tools or ()], ok.error_type) == ("docs", ["look"], None)
    assert (bad.tools, bad.error_type) == (None, "HTTP401")


# --- messages that are decoded when they are read


def test_stored_messages_equal_the_decoded_ones() -> None:
    text = json.dumps(parts(("user", says("q")), ("assistant", asks("look", "k1", page=2))))
    stored = StoredMessages(text, History())
    assert stored == decode_messages(text)
    assert (len(stored), stored[0].role, bool(stored)) == (2, "user", True)
    assert stored[0].parts == (TextPart(text="q"),)


def test_a_growing_history_gives_the_same_messages_in_any_order() -> None:
    items = [
        ("user", says("q")),
        ("assistant", asks("look", "k1")),
        ("tool", gives("k1", "250 mA")),
    ]
    texts = [json.dumps(parts(*items[:n])) for n in (1, 2, 3)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 0, 2]):
        history = History()
        for index in order:
            assert history.read(texts[index]).messages == decode_messages(texts[index])


@pytest.mark.parametrize(
    "part",
    [
        says("x"), says(""), asks("look", "k1", page=2), asks("look", None), gives("k1", "x"),
        gives("k1", {"a": 1}), gives("k1", [says("x")]), {"type": "reasoning", "content": "hm"},
        {"type": "reasoning", "content": ""}, {"type": "tool_call", "name": "x", "arguments": '{"a": 1}'},
        {"type": "tool_call", "name": "", "id": ""}, {"type": "text"}, {"type": "blob", "content": ""},
        {"type": "refusal", "content": "no"}, {"type": "tool_call_response", "id": "", "response": "x"},
        {"type": "server_tool_call", "name": "web", "id": "s1"},
    ],
)  # fmt: skip
def test_the_fast_way_of_decoding_gives_what_the_general_one_gives(part: dict) -> None:
    for message in (
        {"role": "assistant", "parts": [part], "finish_reason": "stop"},
        {"role": "tool", "parts": [part], "name": None},
        {"role": "", "parts": [part]},
        {"role": "user", "parts": [part], "finish_reason": ""},
    ):
        assert decode(json.dumps([message])) == decode_messages(json.dumps([message]))


def test_a_healthy_run_reads_the_same_with_other_spans_around_it() -> None:
    (run,) = build_runs(healthy())
    (wrapped,) = build_runs([*healthy(), span("db", "t1")])
    assert (wrapped.chats, wrapped.tools) == (run.chats, run.tools)


@pytest.mark.parametrize("is_cut", [False, True])
def test_an_answer_that_was_cut_to_a_size_cap_is_not_taken_for_the_whole_answer(is_cut):
    texts = {"spanwitness.run.output": "It is 250 mA", "spanwitness.run.input": "Limit?"}
    answer = {
        "spanwitness.submission.answer": "250",
        "spanwitness.submission.claims": '[{"value": 250}]',
    }
    submit = {"spanwitness.step.kind": "submit", **answer}
    root = own_root(2)
    root.attributes.update(texts)
    if is_cut:
        root.attributes["spanwitness.truncated"] = tuple(texts)
        submit["spanwitness.truncated"] = tuple(answer)
    (run,) = build_runs([root, own("s1", "root", 2, submit)])
    assert run.is_complete
    submitted = run.submission
    if is_cut:
        assert (run.final_text, run.input_text) == (None, None)
        assert (submitted.has_answer, submitted.answer, submitted.claims) == (False, None, None)
    else:
        assert (run.final_text, run.input_text) == ("It is 250 mA", "Limit?")
        assert (submitted.has_answer, submitted.answer) == (True, 250)
        assert [claim.value for claim in submitted.claims] == [250]
