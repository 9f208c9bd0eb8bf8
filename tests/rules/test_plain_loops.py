from __future__ import annotations

import itertools
import random

import msgspec
import pytest
from tests.rules.builders import (
    call,
    chat,
    contract,
    incomplete,
    json_schema,
    offer,
    run,
    submission,
    tool,
)

from spanwitness.model import Delivery
from spanwitness.rules.builtin import RULES
from spanwitness.rules.engine import evaluate
from spanwitness.rules.facts import Facts
from spanwitness.rules.plain_loops import ALL_LOOP_SIGNS, ODD_LOOP

READ, FIND = offer("read_page", page="integer"), offer("find_text", query="string")
LOOP = run(
    chat(calls=[call("find_text", id="c1", query="current")], offers=[READ, FIND]),
    tool("find_text", id="c1", gives="page 2", query="current"),
    chat(calls=[call("read_page", id="c2", page=2)], offers=[READ, FIND]),
    tool("read_page", id="c2", gives="Maximum output current 250 mA.", page=2),
    chat("The maximum output current is 250 mA (page 2).", offers=[READ, FIND]),
)
LOOKING = tuple(rule for rule in RULES if rule.signs & ALL_LOOP_SIGNS)


def of_tools(at, **fields):
    return lambda of: _with(of, "tools", at, fields)


def of_chats(at, **fields):
    return lambda of: _with(of, "chats", at, fields)


def of_run(**fields):
    return lambda of: msgspec.structs.replace(of, **fields)


def _with(of, name, at, fields):
    items = list(getattr(of, name))
    if at >= len(items):
        return of
    items[at] = msgspec.structs.replace(items[at], **fields)
    return msgspec.structs.replace(of, **{name: tuple(items)})


def without(name, at):
    return lambda of: msgspec.structs.replace(
        of, **{name: tuple(x for n, x in enumerate(getattr(of, name)) if n != at)}
    )


def delivering(at, **fields):
    def change(of):
        delivered = of.chats[at].delivered if at < len(of.chats) else None
        if not delivered:
            return of
        last = msgspec.structs.replace(delivered[-1], **fields)
        return _with(of, "chats", at, {"delivered": (*delivered[:-1], last)})

    return change


CHANGES = (
    *(of_tools(1, outcome=word) for word in ("error", "empty", "cached", "cancelled", "unknown")),
    *(of_tools(1, side=side) for side in ("mcp", "subagent", "output", "provider")),
    *(of_tools(1, result=result) for result in (
        None, "", "  ", "Error: not found", {"error": "x"}, {"isError": True}, [],
        [{"type": "image"}], {"content": [{"type": "text", "text": "x"}]}, "page 2",
    )),
    of_tools(1, result=None, has_result=False),
    of_tools(1, is_truncated=True),
    of_tools(1, is_refused=True),
    of_tools(1, error_type="timeout"),
    of_tools(1, call_id=None), of_tools(1, call_id="c1"), of_tools(1, call_id="c9"),
    of_tools(1, name="find_text"), of_tools(1, name="send_email"), of_tools(1, name="get_status"),
    of_tools(1, arguments=None), of_tools(1, arguments={"query": "current"}),
    of_tools(0, name="send_email"), of_tools(0, effect="write"), of_tools(1, effect="write"),
    of_tools(0, name="read_page", arguments={"page": 2}, result="Maximum output current 250 mA."),
    without("tools", 0), without("tools", 1), without("chats", 2), without("chats", 1),
    *(of_chats(1, requested=requested) for requested in (
        None, (), (call("read_page", id="c1", page=2),), (call("submit_answer", id="c2"),),
        (call("transfer_to_human", id="c2"),), (call("read_page", id=None, page=2),),
        (call("read_page", id="c2", side="provider", page=2),),
        (call("read_page", id="c2", source="text", page=2),),
        (call("read_page", id="c2", page=2), call("read_page", id="c3", page=2)),
    )),
    *(of_chats(2, delivered=delivered) for delivered in (
        None, (), (Delivery(call_id="c1", state="whole"),), (Delivery(call_id=None),),
        (Delivery(call_id="c9", state="whole"),),
    )),
    delivering(2, state="altered"), delivering(2, state="unknown"),
    delivering(2, has_binary_text=True), delivering(2, returned_part_types=("text", "image")),
    delivering(2, returned_part_types=("text",)), delivering(1, state="altered"),
    delivering(1, is_error=True),
    of_chats(1, error_type="timeout"), of_chats(1, ending="abandoned"),
    of_chats(2, has_server_state=True), of_chats(2, is_truncated=True),
    of_chats(1, output_format=json_schema(name="read_page")),
    of_run(status="error"), of_run(is_cancelled=True), of_run(compacted=True),
    of_run(content="off"), of_run(has_final=False), of_run(final_text=None),
    of_run(submission=submission("250 mA")),
)  # fmt: skip


def as_asked(of, *contracts):
    """By rule: what it says when it is asked, whatever the signs; and what the engine says."""
    facts = Facts(of, contracts)
    words = {v.rule: v.verdict for v in evaluate(of, contracts).verdicts}
    expected = {
        rule.id: rule.check(facts).word
        for rule in LOOKING
        if rule.needs & facts.subjects == rule.needs
    }
    return {name: words[name] for name in expected}, expected


def test_a_plain_loop_shows_no_sign_and_the_rules_that_look_for_one_hold():
    assert Facts(LOOP).subjects & ALL_LOOP_SIGNS == 0
    words, expected = as_asked(LOOP)
    assert set(words.values()) == {"holds"}
    assert words == expected


def test_a_rule_that_need_not_look_would_have_found_nothing():
    n_plain = 0
    pairs = list(itertools.combinations_with_replacement(CHANGES, 2))
    for first, second in random.Random(5).sample(pairs, 1500):
        of = second(first(LOOP))
        n_plain += Facts(of).subjects & ODD_LOOP == 0
        words, expected = as_asked(of)
        assert words == expected, of
    assert n_plain > 5  # so that the short way was taken


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_alone_is_judged_as_if_every_rule_was_asked(change):
    words, expected = as_asked(change(LOOP))
    assert words == expected


@pytest.mark.parametrize(
    "of", [run(chat("Hello.")), run(tool("read_page", gives="x", page=2)), incomplete(LOOP)]
)
def test_what_is_no_plain_loop_shows_every_sign(of):
    assert Facts(of).subjects & ALL_LOOP_SIGNS == ALL_LOOP_SIGNS


def test_under_a_contract_every_rule_is_asked():
    terms = contract({"rule": "navigation_bypassed", "tool": "read_page", "at_least": 1})
    assert Facts(LOOP, (terms,)).subjects & ALL_LOOP_SIGNS == ALL_LOOP_SIGNS
    words, expected = as_asked(LOOP, terms)
    assert words == expected
