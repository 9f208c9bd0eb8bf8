from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwitness.capture import spans
from spanwitness.errors import SettingsError
from spanwitness.experiment import repeat
from spanwitness.measure import measure_stability


def test_repeated_runs_are_the_table_that_measure_stability_reads():
    turns = iter(["a", "c", "b", "c", "a", "c"])
    found = list(
        repeat(lambda _: next(turns), {"q1": "?", "q2": "?"}, n_runs=3, configuration="small")
    )
    assert [(each.item_id, each.run) for each in found] == [
        ("q1", 1), ("q2", 1), ("q1", 2), ("q2", 2), ("q1", 3), ("q2", 3),
    ]  # fmt: skip
    result = measure_stability([each.to_row() for each in found])
    (small,) = result.configurations
    assert (small.stability.n_items, small.stability.n_runs, small.stability.n_unstable) == (
        2,
        3,
        1,
    )


def test_an_item_that_raises_counts_as_unparsed_and_the_others_go_on():
    def agent(item: str) -> str:
        if item == "bad":
            raise ValueError("no such document")
        return item

    found = list(repeat(agent, {"x": "good", "y": "bad"}, n_runs=2, configuration="c"))
    assert [type(each.error) for each in found] == [type(None), ValueError] * 2
    result = measure_stability([each.to_row() for each in found])
    assert result.configurations[0].stability.n_unparsed == 2


def test_each_run_stands_in_the_traces_with_item_and_configuration():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans.use_provider(provider)
    try:
        found = list(repeat(str.upper, {"x": "a"}, n_runs=2, configuration="small"))
    finally:
        spans.use_provider(None)
    roots = [s for s in exporter.get_finished_spans() if s.name == "invoke_workflow repeat"]
    assert [s.attributes["spanwitness.item_id"] for s in roots] == ["x", "x"]
    assert [s.attributes["spanwitness.tags"] for s in roots] == [("configuration:small",)] * 2
    assert [s.attributes["spanwitness.run_id"] for s in roots] == [each.run_id for each in found]


@pytest.mark.parametrize(("items", "n_runs"), [({}, 3), ({"x": 1}, 1)])
def test_what_can_show_no_wobble_is_refused(items, n_runs):
    with pytest.raises(SettingsError):
        repeat(str, items, n_runs=n_runs, configuration="c")
