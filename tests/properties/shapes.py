"""Shapes of normal runs beyond one loop of calls: who else may run, wait, stop or carry things."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import strategies as st
from tests.properties.lives import (
    DRESSES,
    NUMBERS,
    OFFERS,
    THINGS,
    UNITS,
    Life,
    Use,
    dressed,
    looked_up,
    turns_of,
)
from tests.rules import builders
from tests.rules.builders import (
    assistant,
    call,
    choice,
    listing,
    offer,
    result,
    submission,
    tool,
    user,
)

from spanwitness.model import Delivery, ToolDefinition

if TYPE_CHECKING:
    from spanwitness.model import Run


def _run(*items: Any, life: Life, dress: Any, **fields: Any) -> Run:
    return builders.run(*items, prompt=life.prompt, dialects=(dress.dialect,), **fields)


@st.composite
def handed_off(draw: st.DrawFn) -> Run:
    """One agent passes the user on to another."""
    life, dress = draw(looked_up()), draw(DRESSES)
    name = draw(st.sampled_from(["transfer_to_billing", "handoff_to_support", "handoff-sales"]))
    offers = (*OFFERS, offer(name))
    items = [dressed(dress, None, calls=[call(name, id="h")], offers=offers)]
    if draw(st.booleans()):
        items.append(tool(name, gives={"assistant": "billing"}, id="h"))
    items.append(dressed(dress, "Billing here, how can I help?", given=[user(life.prompt)]))
    return _run(*items, life=life, dress=dress)


@st.composite
def waiting_for_approval(draw: st.DrawFn) -> Run:
    """The run stops at a call that a person must allow."""
    life, dress = draw(looked_up()), draw(DRESSES)
    word = draw(st.sampled_from(["awaiting_approval", "interrupted", "human_input_required"]))
    items = turns_of(life, dress)
    items.append(dressed(dress, None, calls=[call("send_email", to="Ada")]))
    return _run(*items, life=life, dress=dress, termination=word, final_text=None)


@st.composite
def cancelled(draw: st.DrawFn) -> Run:
    """The user stops the run somewhere."""
    life, dress = draw(looked_up()), draw(DRESSES)
    items = turns_of(life, dress)
    items = items[: draw(st.integers(1, len(items)))]
    return _run(*items, life=life, dress=dress, is_cancelled=True, final_text=None)


@st.composite
def left_stream(draw: st.DrawFn) -> Run:
    """The caller stops reading a stream, because it has seen enough."""
    life, dress = (
        draw(looked_up()),
        replace(draw(DRESSES), is_streaming=True, dialect="spanwitness"),
    )
    said = life.says[: draw(st.integers(0, len(life.says)))]
    last = dressed(dress, said or None, ending="abandoned", finish_reasons=())
    return _run(*turns_of(life, dress), last, life=life, dress=dress)


@st.composite
def ended_by_an_output_tool(draw: st.DrawFn) -> Run:
    """The answer is the arguments of a call that nobody runs, or that only takes it."""
    number, dress = draw(st.integers(1, 9999)), draw(DRESSES)
    life = Life(
        prompt="What is the total?", says="",
        turns=((Use("read_page", {"page": 1}, f"The total is {number} EUR."),),),
    )  # fmt: skip
    name, side = draw(
        st.sampled_from(
            [("final_result", "output"), ("submit_answer", "client"), ("Invoice", "output")]
        )
    )
    offers = (*OFFERS, offer(name, side=side, total="number"))
    wanted = draw(st.sampled_from([choice("required"), choice("auto")]))
    items = turns_of(life, dress, offers=offers, choice=wanted)
    items.append(dressed(dress, None, calls=[call(name, side=side, total=number)], offers=offers,
                         choice=wanted))  # fmt: skip
    if side == "client":
        items.append(tool(name, gives=draw(st.sampled_from(["ok", None])), total=number))
        items.append(submission({"total": number}))
    return _run(*items, life=life, dress=dress)


@st.composite
def schema_as_a_tool_under_auto(draw: st.DrawFn) -> Run:
    """A framework offers the schema as one more tool, and takes its call for the answer."""
    number, dress = draw(st.integers(1, 9999)), draw(DRESSES)
    life = Life(
        prompt="What is the total?", says="",
        turns=((Use("read_page", {"page": 1}, f"The total is {number} EUR."),),),
    )  # fmt: skip
    offers = (*OFFERS, offer("Invoice", total="number"))
    items = turns_of(life, dress, offers=offers)
    items.append(dressed(dress, None, calls=[call("Invoice", total=number)], offers=offers))
    given = {"total": number} | draw(st.sampled_from([{}, {"note": None}, {"items": []}]))
    return _run(*items, submission(given), life=life, dress=dress)


@st.composite
def over_mcp(draw: st.DrawFn) -> Run:
    """Tools of an MCP server, listed first; the listing may need a second try."""
    life, dress = draw(looked_up()), draw(DRESSES)
    names = [tool.name for tool in OFFERS]
    items = [listing(error="ConnectError", server="s")] if draw(st.booleans()) else []
    items.append(listing(*names, server="s"))
    items += turns_of(life, dress)
    items.append(dressed(dress, life.says))
    return _run(*items, life=life, dress=dress)


@st.composite
def hosted(draw: st.DrawFn) -> Run:
    """The provider searches while it answers."""
    number, dress = draw(NUMBERS), draw(DRESSES)
    life = Life(
        prompt="What is the price?", says=f"It costs {number} EUR, see https://shop.example."
    )
    offers = (ToolDefinition(name="web_search", side="provider"), *OFFERS)
    searched = [call("web_search", id=f"s{n}", side="provider", query="price")
                for n in range(draw(st.integers(1, 3)))]  # fmt: skip
    last = dressed(dress, life.says, calls=searched, offers=offers, finish_reasons=(dress.ends,))
    return _run(last, life=life, dress=dress)


@st.composite
def by_reference(draw: st.DrawFn) -> Run:
    """A long result is stored, and a handle stands in its place."""
    dress = draw(DRESSES)
    life = Life(
        prompt="All rows, please.",
        says="",
        turns=((Use("search", {"query": "rows"}, "row\n" * 9000),),),
    )
    handle = draw(
        st.sampled_from(
            [
                "Result saved to artifact rows-1.txt",
                "Output stored at s3://bucket/rows-1 (36000 characters).",
                '{"result_id": "res_81"}',
            ]
        )
    )
    last = dressed(
        dress, "I stored the rows for you.",
        given=[user(life.prompt), assistant("..."), result(handle, id="call_0_0", name="search")],
        delivered=(Delivery(call_id="call_0_0", state="altered", part_types=("text",),
                            size_bytes=len(handle)),),
    )  # fmt: skip
    return _run(*turns_of(life, dress), last, life=life, dress=dress)


@st.composite
def compacted(draw: st.DrawFn) -> Run:
    """The caller says that it has summed the history up."""
    thing, number, unit, dress = draw(THINGS), draw(NUMBERS), draw(UNITS), draw(DRESSES)
    fact = f"{thing} is {number} {unit}"
    life = Life(
        prompt=f"What is {thing}?", says=f"{fact}.", turns=((Use("search", {"query": "x"}, fact),),)
    )
    last = dressed(dress, life.says, given=[user(f"Summary so far: {fact}.")], delivered=())
    return _run(*turns_of(life, dress), last, life=life, dress=dress, compacted=True)


@st.composite
def with_a_sub_agent(draw: st.DrawFn) -> Run:
    """A tool hands its task to an agent with a loop of its own; its calls count for the parent."""
    life, dress = draw(looked_up()), draw(DRESSES)
    inner = replace(life, prompt="Look it up.")
    child = [
        replace_chat(item, parent_span_id="c" * 16)
        for item in [*turns_of(inner, dress), dressed(dress, life.says)]
    ]
    alone = builders.run(*child, prompt=inner.prompt)
    placed = sorted([*alone.chats, *alone.tools], key=lambda item: item.seq or 0)
    placed = [replace_chat(item, seq=None, start_ns=0, end_ns=0, span_id="") for item in placed]
    delegate = offer("ask_researcher", task="string")
    asks = dressed(dress, None, calls=[call("ask_researcher", id="d", task="x")], offers=[delegate])
    did = tool("ask_researcher", gives=life.says, id="d", fields={"side": "subagent"}, task="x")
    answered = dressed(
        dress, life.says, offers=[delegate],
        given=[user(life.prompt), *(asks.output_messages or ()), result(life.says, id="d")],
        delivered=(Delivery(call_id="d", state="whole", part_types=("text",)),),
    )  # fmt: skip
    return _run(asks, did, *placed, answered, life=life, dress=dress, child_run_ids=("run-2",))


def replace_chat(item: Any, **changes: Any) -> Any:
    """Return a value with other fields; those that it does not have are passed over."""
    known = {name: value for name, value in changes.items() if hasattr(item, name)}
    return msgspec.structs.replace(item, **known)


@st.composite
def failed_loudly(draw: st.DrawFn) -> Run:
    """The run ends in an error, for all to see."""
    life, dress = draw(looked_up()), draw(DRESSES)
    items = turns_of(life, dress)
    items = items[: draw(st.integers(1, len(items)))]
    return _run(
        *items, life=life, dress=dress, status="error", error_type="Timeout", final_text=None
    )


SHAPES: dict[str, st.SearchStrategy[Run]] = {
    one.__name__: one()
    for one in (
        handed_off, waiting_for_approval, cancelled, left_stream, ended_by_an_output_tool,
        schema_as_a_tool_under_auto, over_mcp, hosted, by_reference, compacted, with_a_sub_agent,
        failed_loudly,
    )
}  # fmt: skip
