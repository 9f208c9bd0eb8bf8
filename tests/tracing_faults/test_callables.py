"""B52, B53, B54, B55: a decorated callable is what it was, of whatever kind."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import time
import typing
from typing import Any

import pytest
from tests.capture.witnessing import watching

import spanwitness as sw


def search(query: str, limit: int = 5, *, strict: bool = False) -> list[str]:
    """Search."""
    return [query] * limit


class Shelf:
    """Methods of every kind, bare and traced."""

    def method(self, query: str, limit: int = 5, *, strict: bool = False) -> list[str]:
        return search(query, limit)

    traced_method = sw.tool(method)

    @staticmethod
    def static(query: str, limit: int = 5, *, strict: bool = False) -> list[str]:
        return search(query, limit)

    traced_static = staticmethod(sw.tool(static.__func__))  # type: ignore[attr-defined]

    @classmethod
    def of_class(cls, query: str, limit: int = 5, *, strict: bool = False) -> list[str]:
        return search(query, limit)

    traced_of_class = classmethod(sw.tool(of_class.__func__))  # type: ignore[attr-defined]

    def __call__(self, query: str, limit: int = 5, *, strict: bool = False) -> list[str]:
        return search(query, limit)


def schema_of(function: Any) -> Any:
    """What tool schemas are built from, without following `__wrapped__` either."""
    target = function if inspect.isroutine(function) else function.__call__
    bare = function.func if isinstance(function, functools.partial) else target
    return {
        "signature": str(inspect.signature(function)),
        "own": str(inspect.signature(function, follow_wrapped=False)),
        "spec": str(inspect.getfullargspec(function)),
        "hints": typing.get_type_hints(bare),
    }


shelf = Shelf()
KINDS: dict[str, tuple[Any, Any]] = {
    "function": (search, sw.tool(search)),
    "method": (shelf.method, shelf.traced_method),
    "static method": (Shelf.static, Shelf.traced_static),
    "class method": (Shelf.of_class, Shelf.traced_of_class),
    "bound method": (shelf.method, sw.tool(shelf.method)),
    "callable object": (shelf, sw.tool(shelf)),
    "partial": (functools.partial(search, limit=2), sw.tool(functools.partial(search, limit=2))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_b55_a_schema_built_from_a_decorated_callable_equals_the_bare_ones(kind):
    """B55: signature, full argument specification, type hints, and what a wrong call raises."""
    bare, traced = KINDS[kind]
    if kind in {"callable object", "partial"}:
        assert str(inspect.signature(traced)) == str(inspect.signature(bare))
    else:
        assert schema_of(traced) == schema_of(bare)
        assert inspect.getcallargs(traced, "q").keys() == inspect.getcallargs(bare, "q").keys()
    assert "args" not in str(inspect.signature(traced))
    with watching() as seen:
        assert traced("q") == bare("q")
        assert traced(query="q", strict=True) == bare(query="q", strict=True)
        assert len(seen.named("execute_tool")) == 2
        messages = []
        for function in (bare, traced):
            with pytest.raises(TypeError) as caught:
                function()
            messages.append(str(caught.value))
    assert messages[0] == messages[1]


class Library:
    @sw.tool
    def find(self, query: str, limit: int = 5) -> list[str]:
        return search(query, limit)


@pytest.mark.parametrize(
    "traced", [KINDS["function"][1], Library().find, KINDS["callable object"][1]], ids=range(3)
)
def test_b52_copies_of_a_decorated_callable_still_work_and_trace(traced):
    """B52."""
    with watching() as seen:
        for made in (copy.copy(traced), copy.deepcopy(traced)):
            assert made("q", 1) == ["q"]
        assert len(seen.named("execute_tool")) == 2


def test_b53_a_generator_behaves_as_bare_when_it_is_driven_by_hand():
    """B53: send, throw, close, the return value, and what is left afterwards."""

    def talk() -> Any:
        received = yield 1
        try:
            yield received
        except KeyError:
            yield "caught"
        return 9

    def drive(function: Any) -> list[Any]:
        g = function()
        seen = [next(g), g.send("two"), g.throw(KeyError("x"))]
        try:
            next(g)
        except StopIteration as stop:
            seen.append(stop.value)
        seen.append(inspect.getgeneratorstate(g) if inspect.isgenerator(g) else "closed")
        h = function()
        next(h)
        h.close()
        seen.append(next(h, "over"))
        fresh = function()
        with pytest.raises(TypeError, match="just-started"):
            fresh.send("too early")
        fresh.close()
        return seen[:4] + seen[5:]

    with watching():
        assert drive(sw.tool(talk)) == drive(talk) == [1, "two", "caught", 9, "over"]


def test_b54_a_generators_span_covers_what_happens_between_its_items():
    """B54: 20 ms an item; the span is as long as the consumption, for both kinds."""

    @sw.tool
    def slowly() -> Any:
        for n in range(2):
            time.sleep(0.02)
            yield n

    @sw.tool
    async def slowly_async() -> Any:
        for n in range(2):
            await asyncio.sleep(0.02)
            yield n

    async def use() -> list[int]:
        return [n async for n in slowly_async()]

    assert inspect.isgeneratorfunction(slowly)
    assert inspect.isasyncgenfunction(slowly_async)
    with watching() as seen:
        assert list(slowly()) == asyncio.run(use()) == [0, 1]
        spans = seen.named("execute_tool")
    assert [span.name for span in spans] == ["execute_tool slowly", "execute_tool slowly_async"]
    for span in spans:
        assert span.end_time - span.start_time >= 38_000_000
