# ruff: noqa: B023
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.normalize.builders import (
    asks,
    gives,
    healthy,
    otel_chat,
    otel_tool,
    own,
    own_chat,
    own_tool,
    parts,
    says,
    span,
)

from spanwitness.archive import TraceReader
from spanwitness.archive.otlp_json import encode
from spanwitness.normalize import boundaries, build_runs
from spanwitness.normalize.executions import executions
from spanwitness.normalize.ledger import build_ledger

if TYPE_CHECKING:
    import random

    from spanwitness.model import SpanRecord

_FOLDER = tempfile.TemporaryDirectory(prefix="spanwitness-test-")
_TOOLS = ["look", "read", "write"]
_ids = st.sampled_from(["k1", "k2", "k3"])
_parents = st.sampled_from(["root", "gone", "x0", "x1", "x2", "x3", None])


@st.composite
def _spans(draw: st.DrawFn) -> list[SpanRecord]:
    """A trace of anything: both vocabularies, other ones, holes, agents, repeated ids."""
    found: list[SpanRecord] = [span("root", took=1000)] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 7))):
        name, parent = f"x{number}", draw(_parents)
        at = draw(st.integers(0, 6)) * 10
        tool, id_ = draw(st.sampled_from(_TOOLS)), draw(_ids)
        kind = draw(st.integers(0, 7))
        history = parts(
            ("user", says("q")), ("assistant", asks(tool, id_)), ("tool", gives(id_, "1 2 3 4"))
        )
        made = {
            0: lambda: otel_chat(name, parent, at=at, given=history, reply=[asks(tool, id_)]),
            1: lambda: otel_chat(name, parent, at=at, reply=[says("x")], offers=_TOOLS),
            2: lambda: otel_tool(
                name, parent, tool=tool, at=at, call_id=id_, result="[1, 2, 3, 4]"
            ),
            3: lambda: otel_tool(name, parent, tool=tool, at=at),
            4: lambda: span(
                name, parent, at=at, attributes={"gen_ai.operation.name": "invoke_agent"}
            ),
            5: lambda: span(name, parent, at=at, attributes={"openinference.span.kind": "LLM"}),
            6: lambda: own_chat(name, number + 1, parent=parent, at=at, calls=[(tool, id_)]),
            7: lambda: own_tool(name, number + 1, tool=tool, call_id=id_, parent=parent, at=at),
        }[kind]()
        found.append(made)
    return found


@settings(deadline=None)
@given(_spans(), st.randoms(use_true_random=False))
def test_the_order_of_spans_changes_neither_runs_nor_ledgers(
    spans: list[SpanRecord], chance: random.Random
) -> None:
    runs = build_runs(spans)
    shuffled = [*spans, *spans[:2]]
    chance.shuffle(shuffled)
    again = build_runs(shuffled)
    assert again == runs
    assert [build_ledger(run) for run in again] == [build_ledger(run) for run in runs]


@settings(deadline=None)
@given(_spans())
def test_an_execution_is_counted_once_per_call_id_in_any_trace(spans: list[SpanRecord]) -> None:
    for run in build_runs(spans):
        by_message = [e.call_id for e in executions(run) if e.how == "messages"]
        by_span = {e.call_id for e in executions(run) if e.how == "span"}
        assert len(by_message) == len(set(by_message))
        assert by_span.isdisjoint(by_message)


@settings(deadline=None)
@given(_spans())
def test_a_stored_and_reloaded_trace_gives_equal_runs(spans: list[SpanRecord]) -> None:
    path = Path(_FOLDER.name) / "trace.jsonl"
    path.write_bytes(b"\n".join(encode(spans, batch=2)))
    reader = TraceReader([path])
    (again,) = list(reader)
    assert reader.problems == []
    assert build_runs(again) == build_runs(spans)


@settings(deadline=None)
@given(_spans(), st.data())
def test_a_lost_span_never_makes_a_run_of_ours_look_whole(
    spans: list[SpanRecord], data: st.DataObject
) -> None:
    whole = healthy()
    lost = data.draw(st.integers(1, len(whole) - 1))
    rest = [s for n, s in enumerate(whole) if n != lost]
    runs = {run.run_id: run for run in build_runs([*rest, *(s for s in spans if _is_foreign(s))])}
    assert not runs["run-1"].is_complete


@settings(deadline=None)
@given(_spans(), st.booleans())
def test_the_short_way_for_plain_traces_finds_what_the_search_finds(
    spans: list[SpanRecord], is_whole: bool
) -> None:
    spans = healthy() if is_whole else spans
    short = build_runs(spans)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "_only_region", lambda *_: None)
        assert build_runs(spans) == short


def _is_foreign(found: SpanRecord) -> bool:
    return "spanwitness.run_id" not in found.attributes and found.name != "root"


def test_a_run_of_ours_survives_a_round_trip_with_every_fact() -> None:
    spans = [*healthy(), own("s1", "root", None, {"spanwitness.step.kind": "verify"})]
    path = Path(_FOLDER.name) / "own.jsonl"
    path.write_bytes(b"\n".join(encode(spans)))
    assert [build_runs(found) for found in TraceReader([path])] == [build_runs(spans)]
