from __future__ import annotations

import itertools

import msgspec
import pytest
from tests.rules.builders import call, chat, incomplete, listing, offer, run, tool

from spanwitness.model import ToolDefinition, ToolRequest, Usage
from spanwitness.rules.builtin import RULES
from spanwitness.rules.engine import evaluate
from spanwitness.rules.facts import Facts
from spanwitness.rules.rule import HOLDS
from spanwitness.rules.signs import ALL_SIGNS

READ = offer("read_page", page="integer")
OPEN = ToolDefinition(name="read_page", parameters={"type": "object"})
MODEL = {"request_model": "gpt-x", "response_model": "gpt-x"}
HEALTHY = run(
    chat(calls=[call("read_page", page=2)], offers=[READ], **MODEL),
    tool("read_page", gives="Maximum output current 250 mA.", page=2),
    chat("The maximum output current is 250 mA (page 2).", offers=[READ], **MODEL),
    dialects=("spanwitness",),
)
SIGNED = tuple(rule for rule in RULES if rule.signs)
CHANGES: tuple[dict[str, object], ...] = (
    *({"finish_reasons": reasons} for reasons in (
        None, (), ("stop",), ("STOP",), ("completed",), ("end_turn",), ("tool_calls",),
        ("tool_use",), ("length",), ("content_filter",), ("MALFORMED_FUNCTION_CALL",),
        ("stop", "length"), ("incomplete",), ("pause_turn",),
    )),
    *({"ending": ending} for ending in ("unknown", "error", "abandoned", "cancelled")),
    *({"wire": wire} for wire in ("anthropic_messages", "gemini", "unknown")),
    {"error_type": "timeout"},
    {"has_refusal": True},
    {"max_tokens": 50, "usage": Usage(output_tokens=50)},
    {"max_tokens": 50, "usage": Usage(output_tokens=49)},
    {"max_tokens": 50, "usage": Usage()},
    *({"text_chars": n} for n in (None, 0, 3, 16, 17)),
    {"text_chars": 0, "output_messages": ()},
    {"text_chars": None, "output_messages": None},
    {"request_model": "gpt-x", "response_model": "gpt-x-2026-01-01"},
    {"request_model": "gpt-x", "response_model": "claude-9"},
    {"request_model": None}, {"response_model": None},
    *({"offered": offered} for offered in (
        None, (), (READ, READ), (OPEN,), (ToolDefinition(name="read_page"),),
        (ToolDefinition(name="read_page", parameters=True), READ),
        (ToolDefinition(name="read_page", parameters={"type": "array"}),),
        (offer("other", page="integer"),),
    )),
    *({"requested": requested} for requested in (
        None, (), (call("read_page", page=2),), (call("other", page=2),),
        (call("read_page", pages=2),), (call("read_page", page={"a": 1}),),
        (call("read_page", side="provider", page=2),),
        (call("read_page", source="text", page=2),),
        (ToolRequest(name="read_page", call_id="c", arguments='{"page": 2}'),),
        (ToolRequest(name="read_page", call_id="c"),),
    )),
)  # fmt: skip


def changed(*changes: dict[str, object], at: int):
    """The healthy run with one of its replies changed."""
    fields = {name: value for change in changes for name, value in change.items()}
    chats = list(HEALTHY.chats)
    chats[at] = msgspec.structs.replace(chats[at], **fields)
    return msgspec.structs.replace(HEALTHY, chats=tuple(chats))


def words_of(of):
    """By rule: what the engine says without asking a rule whose signs do not stand."""
    return {v.rule: v.verdict for v in evaluate(of).verdicts}


def asked(of):
    """By rule: what it says when it is asked, whatever the signs."""
    facts = Facts(of)
    return {
        rule.id: rule.check(facts).word
        for rule in SIGNED
        if rule.needs & facts.subjects == rule.needs
    }


def test_a_healthy_run_shows_no_sign_and_the_rules_that_look_for_one_hold():
    assert Facts(HEALTHY).subjects & ALL_SIGNS == 0
    assert {rule.check(Facts(HEALTHY)) is HOLDS for rule in SIGNED} == {True}


@pytest.mark.parametrize("at", [0, 1])
def test_a_rule_that_need_not_look_would_have_found_nothing(at):
    for changes in itertools.combinations(CHANGES, 2):
        of = changed(*changes, at=at)
        words, expected = words_of(of), asked(of)
        assert {name: words[name] for name in expected} == expected, changes


@pytest.mark.parametrize(
    "of",
    [
        run(chat("Hello.")),
        run(chat("Hello."), listing("read_page")),
        run(chat("Hello.", offers=[READ]), tool("read_page", gives="x", server="a", page=2),
            tool("read_page", gives="x", server="b", page=2)),
        run(listing("read_page", server="a"), listing("read_page", server="b"),
            chat("Hello.", offers=[READ])),
        run(tool("read_page", gives="x", page=2)),
    ],
)  # fmt: skip
def test_runs_of_other_shapes_are_judged_as_if_every_rule_was_asked(of):
    words, expected = words_of(of), asked(of)
    assert {name: words[name] for name in expected} == expected


def test_where_the_trace_has_a_hole_every_sign_stands():
    assert Facts(incomplete(HEALTHY)).subjects & ALL_SIGNS == ALL_SIGNS
