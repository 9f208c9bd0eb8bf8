"""B23, B25, B26, B27, B47: any value passes the caller untouched and leaves as valid JSON."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from pathlib import Path
from typing import Any

import pydantic
import pytest
from tests.live.agents import CONTRACT, ask, openai_client

import spanwitness as sw
from spanwitness.archive import read_traces
from spanwitness.contracts import load
from spanwitness.live.evaluate import judge_trace
from spanwitness.testing import ScriptedProvider, call, text
from spanwitness.testing.collector import ScriptedCollector


def strict(content: str) -> Any:
    """Read JSON as a strict reader does: no bare NaN, no Infinity."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    return json.loads(content, parse_constant=refuse)


@sw.tool
def same(value: Any) -> Any:
    return value


class Model(pydantic.BaseModel):
    page: int


@dataclasses.dataclass
class Record:
    page: int


class BadRepr:
    def __repr__(self) -> str:
        raise RuntimeError("repr")

    __str__ = __repr__


class NoStringRepr:
    def __repr__(self) -> Any:
        return 7


class SlowRepr:
    def __repr__(self) -> str:
        time.sleep(2)
        return "slow"


class RaisingProperty:
    @property
    def page(self) -> int:
        raise RuntimeError("property")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]


class AnswersEverything:
    def __getattr__(self, name: str) -> Any:
        return AnswersEverything()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return AnswersEverything()


class NegativeLength:
    n_items = -3

    def __len__(self) -> int:
        return self.n_items


class BadDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise RuntimeError("items")


def circular() -> dict[str, Any]:
    made: dict[str, Any] = {"name": "circle"}
    made["self"] = made
    return made


def nested() -> Any:
    made: Any = "bottom"
    for _ in range(200):
        made = [made]
    return made


def generator() -> Any:
    yield from range(3)


STRANGE: list[Any] = [
    Model(page=3), Record(3), print, threading.Lock(), circular(), nested(), [0] * 1_000_000,
    "x" * 10_000_000, BadRepr(), NoStringRepr(), SlowRepr(), RaisingProperty(),
    AnswersEverything(), NegativeLength(), BadDict(a=1), {BadRepr(): 1}, {(1, 2): {3, 4}}, b"\xff",
    float("nan"), {"x": float("inf"), "y": -float("inf")}, "ok \ud83e end", {"\udc00": ["\ud83e"]},
    10**400, {"a": object()}, type, Exception("\ud83e"), memoryview(b"x"), iter([1]), 1j,
]  # fmt: skip


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_strange_values_pass_untouched_and_leave_as_strict_json(protocol, monkeypatch):
    """B23, B25, B26, B27: arguments and results, as the same object, in bounded time."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with ScriptedCollector() as collector, Path(__file__).open() as file:
        witness = sw.configure("svc", endpoint=collector.url, protocol=protocol)
        values = [*STRANGE, file]
        with sw.run("strange"):
            for value in values:
                before = time.perf_counter()
                assert same(value) is value
                assert time.perf_counter() - before < 1.5
        assert witness.flush(20) is True
        assert witness.losses.total == 0
        spans = [s for s in collector.spans if s.name == "execute_tool same"]
        witness.shutdown()
    assert len(spans) == len(values)
    for span in spans:
        arguments = strict(str(span.attributes["gen_ai.tool.call.arguments"]))
        assert set(arguments) <= {"value", "$cut"}
        strict(str(span.attributes["gen_ai.tool.call.result"]))
    told = [str(span.attributes["gen_ai.tool.call.result"]) for span in spans]
    assert '{"x":{"$float":"Infinity"},"y":{"$float":"-Infinity"}}' in told
    assert '{"$float":"NaN"}' in told
    assert '"ok � end"' in told
    assert any("BadRepr" in found for found in told)
    marked = [s for s in spans if "�" in str(s.attributes["gen_ai.tool.call.result"])]
    assert all(s.attributes.get("spanwitness.replaced") for s in marked)


def test_b25_a_generator_argument_and_self_are_left_alone():
    """B25: nothing is consumed, and the object of a bound method is no argument."""

    class Reader:
        @sw.tool
        def read(self, items: Any) -> list[int]:
            return list(items)

    assert Reader().read(generator()) == [0, 1, 2]


@pytest.mark.parametrize("place", ["span name", "event", "exception", "key", "attribute"])
def test_b23_a_lone_surrogate_anywhere_costs_no_span(place, monkeypatch):
    """B23: as a span's name, an event's, an exception's message, a key, a value of the user's."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    bad = "bad \ud83e end"
    with ScriptedCollector() as collector:
        witness = sw.configure("svc", endpoint=collector.url)
        tracer = witness.provider.get_tracer("app")
        with sw.run("surrogate"):
            same("neighbour")
            name = bad if place == "span name" else "mine"
            with tracer.start_as_current_span(name) as span:
                if place == "event":
                    span.add_event(bad, {"a": bad})
                elif place == "exception":
                    span.record_exception(ValueError(bad))
                elif place == "key":
                    span.set_attribute(bad, 1)
                elif place == "attribute":
                    span.set_attribute("a", [bad, "b"])
        assert witness.flush(10) is True
        assert witness.losses.total == 0
        assert len(collector.spans) == 3
        witness.shutdown()


def test_b47_a_limit_of_the_sdk_leaves_json_and_makes_content_undecidable(tmp_path, monkeypatch):
    """B47: OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=20; the value lies past the cut."""
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "20")
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    contract = load(tmp_path / "contract.yaml")
    witness = sw.configure("svc", state_dir=tmp_path)
    script = [[call("read_page", {"page": 3})], [text("The highest supply voltage is 3.6 V.")]]
    with ScriptedProvider(script) as provider, sw.run("limited") as run:
        client = openai_client(provider)
        run.submit(ask(client))
        same({"long": "x" * 200})
        client.close()
    assert witness.flush(10) is True
    (records,) = read_traces([witness.trace_dir])
    assert all(
        len(value) <= 20 for r in records for value in r.attributes.values()
        if isinstance(value, str) and value.startswith(("{", "["))
    )  # fmt: skip
    cut = next(r for r in records if r.name == "execute_tool same")
    assert cut.attributes["spanwitness.truncated"]
    for key in ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"):
        strict(str(cut.attributes[key]))
    (judged,) = judge_trace(records, [contract])
    assert not [v for v in judged.findings if v.severity != "info"], judged.findings
    assert {v.rule: v.verdict for v in judged.verdicts}["navigation_bypassed"] == "holds"


def test_b47_healthy_without_a_limit_nothing_is_cut(tmp_path):
    """B47, healthy."""
    witness = sw.configure("svc", state_dir=tmp_path)
    same({"long": "x" * 200})
    witness.flush(10)
    (records,) = read_traces([witness.trace_dir])
    assert "spanwitness.truncated" not in records[0].attributes
    assert strict(str(records[0].attributes["gen_ai.tool.call.result"])) == {"long": "x" * 200}
