"""What the span of a tool call says."""

from __future__ import annotations

import asyncio
import functools
import json

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import sampling
from tests.capture.recording import watching

from spanwitness.capture import context
from spanwitness.capture.content import ContentPolicy
from spanwitness.capture.run import run
from spanwitness.capture.tool import mark_cached, tool, tool_call
from spanwitness.errors import PhaseError, SettingsError
from spanwitness.model import ToolRequest

OUTCOME = "spanwitness.tool.outcome"


def attributes_of(seen, index=0):
    return dict(seen.named("execute_tool")[index].attributes)


def request(name, arguments, call_id):
    return ToolRequest(name=name, call_id=call_id, arguments=arguments)


def test_a_call_is_recorded_with_all_that_was_declared():
    @tool(effect="read", evidence=True, server="pages")
    def read_page(page, size=10):
        return {"text": "3.6 V"}

    with watching() as seen:
        seen.state.board.post([request("read_page", {"page": 3}, "call_1")], "x")
        assert read_page(3) == {"text": "3.6 V"}
    (span,) = seen.spans
    assert span.name == "execute_tool read_page"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_page",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": '{"page":3}',
        "gen_ai.tool.call.result": '{"text":"3.6 V"}',
        "spanwitness.tool.link": "exact",
        "spanwitness.tool.outcome": "value",
        "spanwitness.tool.effect": "read",
        "spanwitness.tool.evidence": True,
        "spanwitness.tool.server": "pages",
        "spanwitness.seq": 1,
        "spanwitness.run_id": seen.state.run_id,
    }
    held = seen.state.board.held("call_1")
    assert (held.name, held.value) == ("read_page", {"text": "3.6 V"})


@pytest.mark.parametrize(
    ("value", "outcome", "text"),
    [
        (None, "empty", "null"),
        ({}, "empty", "{}"),
        ([], "empty", "[]"),
        ("", "empty", '""'),
        (0, "value", "0"),
        (False, "value", "false"),
        ("x", "value", '"x"'),
    ],
)
def test_falsy_results_are_kept_apart(value, outcome, text):
    """A60."""
    with watching() as seen:
        assert tool(lambda: value)() is value
    assert attributes_of(seen)[OUTCOME] == outcome
    assert attributes_of(seen)["gen_ai.tool.call.result"] == text


class McpResult:
    def __init__(self):
        self.isError = True
        self.content = [{"type": "text", "text": "no such page"}]


@pytest.mark.parametrize(
    ("value", "error_when"),
    [
        (ValueError("no such page"), None),
        ({"isError": True, "content": [{"type": "text", "text": "no such page"}]}, None),
        (McpResult(), None),
        ("no such page", lambda value: value.startswith("no such")),
    ],
    ids=["exception", "mapping", "object", "predicate"],
)
def test_returned_errors_are_errors(value, error_when):
    """A36, A38."""
    with watching() as seen:
        assert tool(error_when=error_when)(lambda: value)() is value
    (span,) = seen.spans
    assert span.attributes[OUTCOME] == "error"
    assert span.attributes["error.type"] == "tool_error"
    assert span.status.description == "no such page"
    assert len(span.attributes["spanwitness.tool.error.digest"]) == 16


def test_a_result_that_mentions_errors_is_a_value():
    with watching() as seen:
        tool(lambda: {"isError": False, "error": "none"})()
        tool(lambda: "Error codes are listed on page 4")()
    assert [s.attributes[OUTCOME] for s in seen.spans] == ["value", "value"]


class Custom(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("v"), "error"),
        (asyncio.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (SystemExit(1), "cancelled"),
        (GeneratorExit(), "cancelled"),
        (Custom(), "cancelled"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_exception_passes_as_the_same_object_and_ends_the_span(error, outcome):
    """B39, B61."""

    @tool
    def fail():
        raise error

    with watching() as seen:
        with pytest.raises(type(error)) as caught:
            fail()
        assert caught.value is error
    (span,) = seen.spans
    assert span.attributes[OUTCOME] == outcome
    assert span.attributes["error.type"].rpartition(".")[2] == type(error).__name__
    assert [event.name for event in span.events] == ["exception"]


async def test_a_timeout_is_recorded_as_cancelled():
    """B39."""

    @tool
    async def slow():
        await asyncio.sleep(10)

    with watching() as seen, pytest.raises(TimeoutError):
        await asyncio.wait_for(slow(), 0.01)
    assert attributes_of(seen)[OUTCOME] == "cancelled"


def test_an_exception_recorded_by_hand_is_not_recorded_again():
    """B61."""

    @tool
    def fail():
        error = ValueError("once")
        trace.get_current_span().record_exception(error)
        raise error

    with watching() as seen, pytest.raises(ValueError, match="once"):
        fail()
    assert len(seen.spans[0].events) == 1


def test_arguments_changed_by_the_tool_are_recorded_as_passed():
    with watching() as seen:
        tool(lambda items: items.clear())(items=[1, 2])
    assert attributes_of(seen)["gen_ai.tool.call.arguments"] == '{"items":[1,2]}'


def test_a_call_that_does_not_fit_raises_the_same_type_error():
    @tool
    def one(a):
        return a

    with watching() as seen:
        with pytest.raises(TypeError, match="positional argument"):
            one(1, 2)
        with pytest.raises(TypeError, match="unexpected keyword"):
            one(a=1, b=2)
    assert [s.attributes[OUTCOME] for s in seen.spans] == ["error", "error"]
    assert seen.spans[1].attributes["gen_ai.tool.call.arguments"] == '{"a":1,"b":2}'


@pytest.mark.parametrize(
    ("open_calls", "link", "call_id"),
    [
        ([], None, None),
        ([("t", {"a": 1}, "c1")], "exact", "c1"),
        ([("t", {"a": 9}, "c1"), ("t", {"a": 1}, "c2")], "exact", "c2"),
        ([("t", {"a": 1, "b": 5}, "c1")], "exact", "c1"),
        ([("t", {"a": 1}, "c1"), ("t", {"a": 1}, "c2")], "identical", "c1"),
        ([("t", {"a": "1"}, "c1")], "name", "c1"),
        ([("t", {"a": "1"}, "c1"), ("t", {"a": "2"}, "c2")], "ambiguous", None),
        ([("other", {"a": 1}, "c1")], None, None),
    ],
)
def test_the_call_that_asked_for_a_tool_is_found(open_calls, link, call_id):
    @tool(name="t")
    def called(a, b=5):
        return a

    with watching() as seen:
        seen.state.board.post([request(*call) for call in open_calls], "x")
        called(1)
    assert attributes_of(seen).get("spanwitness.tool.link") == link
    assert attributes_of(seen).get("gen_ai.tool.call.id") == call_id


def test_a_call_is_claimed_once():
    called = tool(name="t")(lambda a: a)
    with watching() as seen:
        seen.state.board.post([request("t", {"a": 1}, "c1")], "x")
        called(1)
        called(1)
    assert [s.attributes.get("gen_ai.tool.call.id") for s in seen.spans] == ["c1", None]


def test_tool_call_names_the_call_for_the_first_tool_only():
    inner = tool(name="inner")(lambda: 1)
    outer = tool(name="outer")(lambda: [inner()][0])
    with watching() as seen, tool_call("call_9"):
        outer()
    found = {s.name: s.attributes.get("gen_ai.tool.call.id") for s in seen.spans}
    assert found == {"execute_tool inner": None, "execute_tool outer": "call_9"}
    assert seen.state.board.held("call_9").value == 1


def test_a_tool_outside_every_context_finds_the_one_board_that_asked():
    called = tool(name="lonely")(lambda a: a)
    board = context.Board()
    with watching(with_run=False) as seen:
        board.post([request("lonely", {"a": 1}, "c7")], "x")
        called(1)
    assert attributes_of(seen)["gen_ai.tool.call.id"] == "c7"
    assert attributes_of(seen)["spanwitness.tool.link"] == "process"
    assert board.held("c7").value == 1


def test_a_huge_result_is_held_in_bounds():
    with watching() as seen, tool_call("c"):
        tool(lambda: "x" * 10_000_000)()
    held = seen.state.board.held("c")
    assert held.is_cut
    assert len(held.value) == 65_536


def test_a_cached_function_below_the_decorator_shows_its_hits():
    """A43."""

    @tool
    @functools.lru_cache
    def look_up(key):
        return [key]

    with watching() as seen:
        assert look_up("a") is look_up("a")
        look_up.cache_clear()
        look_up("a")
        assert look_up.cache_info().hits == 0
    assert [s.attributes[OUTCOME] for s in seen.spans] == ["value", "cached", "value"]


def test_a_cache_above_the_decorator_hides_its_hits():
    """A43: stated in the decorator's documentation."""
    look_up = functools.lru_cache(tool(name="look_up")(lambda key: [key]))
    with watching() as seen:
        look_up("a")
        look_up("a")
    assert len(seen.spans) == 1


def test_caches_of_one_s_own_can_be_declared():
    """A43."""

    @tool(cached_when=lambda value: value["hit"])
    def declared(hit):
        return {"hit": hit}

    @tool
    def marked():
        mark_cached()
        return 1

    mark_cached()
    with watching() as seen:
        declared(True)
        declared(False)
        marked()
    assert [s.attributes[OUTCOME] for s in seen.spans] == ["cached", "value", "cached"]


@pytest.mark.parametrize("arguments", [{"effect": "delete"}, {"phase": "later"}, {"content": "x"}])
def test_unknown_words_are_refused_at_once(arguments):
    with pytest.raises(SettingsError):
        tool(**arguments)


def test_a_call_out_of_its_phase_is_flagged():
    look = tool(name="look")(lambda: 1)
    compare = tool(name="compare", phase="after_submit")(lambda: 1)
    with watching(with_run=False) as seen, run("r", phases={"look": "before_submit"}) as r:
        look()
        compare()
        r.submit(1)
        look()
        compare()
    found = [
        (s.attributes["gen_ai.tool.name"], s.attributes["spanwitness.phase"],
         s.attributes["spanwitness.phase.violation"])
        for s in seen.named("execute_tool")
    ]  # fmt: skip
    assert found == [
        ("look", "before_submit", False),
        ("compare", "before_submit", True),
        ("look", "after_submit", True),
        ("compare", "after_submit", False),
    ]


def test_a_call_out_of_its_phase_is_refused_when_asked_for():
    ran = []
    look = tool(name="look")(lambda: ran.append(1))
    with (
        watching(with_run=False) as seen,
        run("r", phases={"look": "before_submit"}, on_violation="refuse") as r,
    ):
        look()
        r.submit({"answer": 1})
        with pytest.raises(PhaseError, match="'look' is not exposed after submit"):
            look()
        with run("inner"), pytest.raises(PhaseError):
            look()
    assert ran == [1]
    refused = seen.named("execute_tool")[1].attributes
    assert refused["spanwitness.phase.refused"] is True
    assert refused[OUTCOME] == "error"


def test_own_redaction_and_big_results_take_the_careful_road():
    policy = ContentPolicy(redact=str.upper)
    with watching(policy=policy) as seen:
        tool(lambda text: [text])("abc")
    assert json.loads(attributes_of(seen)["gen_ai.tool.call.result"]) == ["ABC"]


def test_a_call_that_was_not_recorded_leaves_nothing_for_the_next():
    called = tool(lambda a: a)
    with watching(sampler=sampling.ALWAYS_OFF):
        called(1)
    with watching() as seen:
        called(2)
    assert attributes_of(seen)["gen_ai.tool.call.arguments"] == '{"a":2}'
    assert attributes_of(seen)["spanwitness.run_id"] == seen.state.run_id
    with watching(with_run=False) as seen:
        called(3)
    assert "spanwitness.run_id" not in attributes_of(seen)


def test_predicates_are_asked_about_results_only():
    """Also in an unsampled run, where nothing else looks at them."""
    asked = []

    @tool(error_when=asked.append)
    def items():
        yield 1

    with watching(with_run=False, sampler=sampling.ALWAYS_OFF), run("r"):
        list(items())
        items().close()
    assert asked == []


def test_an_equal_call_of_an_earlier_reply_does_not_take_the_tool():
    called = tool(name="t")(lambda a: a)
    with watching() as seen:
        seen.state.board.post([request("t", {"a": 1}, "old")], "reply 1")
        seen.state.board.post(
            [request("t", {"a": 1}, "new 1"), request("t", {"a": 1}, "new 2")], "reply 2"
        )
        called(1)
        called(1)
    assert [s.attributes["gen_ai.tool.call.id"] for s in seen.spans] == ["new 1", "new 2"]


def test_a_result_is_held_where_its_call_was_found():
    called = tool(name="lonely")(lambda a: a)
    others = [context.Board() for _ in range(5)]
    board = context.Board()
    for other in others:
        other.post([request("lonely", {"a": 2}, "call_0")], "x")
    board.post([request("lonely", {"a": 1}, "call_0")], "x")
    with watching(with_run=False):
        called(1)
    assert board.held("call_0").value == 1
    assert [other.held("call_0") for other in others] == [None] * 5


def test_small_results_stay_with_their_calls_and_large_ones_are_counted():
    small, large = {"v": "x"}, {"v": "x" * 5000}
    with watching() as seen:
        board = seen.state.board
        board.post([request("a", {}, "c1"), request("b", {}, "c2")], "x")
        tool(name="a")(lambda: small)()
        tool(name="b")(lambda: large)()
        assert board.held("c1").value is small
        assert board.held("c1").name == "a"
        assert board.held("c2").value is large
        assert board.held("c2").size_chars > 5000
        # The id in a later reply is another call: what the earlier one gave is over.
        board.post([request("a", {}, "c1")], "later")
        assert board.held("c1") is None


def test_a_cleared_board_knows_nothing():
    board = context.Board()
    board.post([request("t", {}, "c1")], "x")
    board.hold("c2", context.Returned(name="t", value=1, size_chars=1))
    board.clear()
    assert not board.knows("c1")
    assert board.held("c2") is None
    assert board.is_idle
    assert board.claim("t", {}) is context.NO_CLAIM


def test_an_unsampled_call_is_claimed_and_noted_in_every_outcome():
    def fail():
        raise ValueError("secret")

    with watching(sampler=sampling.ALWAYS_OFF) as seen:
        seen.state.is_recording = False
        seen.state.board.post([request("ok", {"a": 1}, "c1"), request("ok", {"a": 2}, "c2")], "x")
        ok = tool(name="ok")(lambda a: {"found": a})
        ok(2)
        ok(1)
        tool(name="none")(lambda: None)()
        with pytest.raises(ValueError, match="secret"):
            tool(name="bad")(fail)()
        outer = tool(name="outer")(lambda: ok(3))
        outer()
        records = seen.state.records
    by_name = [
        (r.attributes["gen_ai.tool.name"], r.attributes["spanwitness.tool.outcome"])
        for r in records
    ]
    assert by_name == [
        ("ok", "value"), ("ok", "value"), ("none", "empty"), ("bad", "error"),
        ("ok", "value"), ("outer", "value"),
    ]  # fmt: skip
    links = [r.attributes.get("gen_ai.tool.call.id") for r in records]
    assert links[:2] == ["c2", "c1"]
    assert links[2:] == [None] * 4
    inner, outermost = records[-2:]
    assert inner.parent_span_id == outermost.span_id
    assert outermost.attributes["spanwitness.seq"] < inner.attributes["spanwitness.seq"]
    assert seen.state.started == seen.state.ended == 6
