"""Decorated callables stay what they were."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import logging
import multiprocessing
import pickle
import typing
from concurrent.futures import ProcessPoolExecutor

import pytest
from tests.capture.decorated import Adder, add_three, double
from tests.capture.recording import current_span_name, watching

from spanwitness.capture import spans
from spanwitness.capture.agent import agent
from spanwitness.capture.step import step
from spanwitness.capture.tool import tool
from spanwitness.errors import SettingsError

DECORATORS = {"tool": tool, "step": step, "agent": agent}


def plain(a: int, b: str = "x", *rest: float, flag: bool = False, **more: int) -> dict[str, int]:
    """Say something."""
    return {"a": a}


async def coroutine(a: int, b: str = "x") -> int:
    return a


def generator(a: int) -> typing.Iterator[int]:
    yield a


async def async_generator(a: int) -> typing.AsyncIterator[int]:
    yield a


PREDICATES = (
    inspect.isfunction,
    inspect.iscoroutinefunction,
    asyncio.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    inspect.isroutine,
    callable,
)


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator])
def test_predicates_and_signature_are_as_bare(decorator, function):
    """B54, B55."""
    traced = decorator(function)
    for predicate in PREDICATES:
        assert predicate(traced) == predicate(function), predicate
    assert inspect.signature(traced) == inspect.signature(function)
    assert inspect.signature(traced, follow_wrapped=False) == inspect.signature(function)
    assert inspect.getfullargspec(traced) == inspect.getfullargspec(function)
    assert typing.get_type_hints(traced) == typing.get_type_hints(function)
    assert (traced.__name__, traced.__qualname__, traced.__doc__, traced.__module__) == (
        function.__name__, function.__qualname__, function.__doc__, function.__module__,
    )  # fmt: skip


def test_getcallargs_is_as_bare():
    """B55."""
    traced = tool(plain)
    assert inspect.getcallargs(traced, 1, flag=True) == inspect.getcallargs(plain, 1, flag=True)


class Methods:
    @tool
    def method(self, a: int) -> tuple[object, int]:
        return self, a

    @tool
    @classmethod
    def class_inner(cls, a: int) -> tuple[object, int]:
        return cls, a

    @classmethod
    @tool
    def class_outer(cls, a: int) -> tuple[object, int]:
        return cls, a

    @tool
    @staticmethod
    def static_inner(a: int) -> int:
        return a

    @staticmethod
    @tool
    def static_outer(a: int) -> int:
        return a


def test_methods_of_every_kind_work_in_either_order():
    one = Methods()
    with watching() as seen:
        assert one.method(1) == (one, 1)
        assert Methods.method(one, 1) == (one, 1)
        assert one.class_inner(2) == Methods.class_outer(2) == (Methods, 2)
        assert one.static_inner(3) == Methods.static_outer(3) == 3
    arguments = [span.attributes["gen_ai.tool.call.arguments"] for span in seen.spans]
    assert arguments == ['{"a":1}', '{"a":1}', '{"a":2}', '{"a":2}', '{"a":3}', '{"a":3}']
    assert list(inspect.signature(one.method).parameters) == ["a"]


def test_bound_methods_partials_and_objects_can_be_decorated():
    adder = Adder(2)

    def add(a: int, b: int) -> int:
        return a + b

    bound = tool(name="bound")(adder.__call__)
    part = tool(functools.partial(add, 5))
    thing = tool(Adder(7))
    with watching() as seen:
        assert (bound(1), part(1), thing(1)) == (3, 6, 8)
    assert [span.name for span in seen.spans] == [
        "execute_tool bound", "execute_tool add", "execute_tool Adder",
    ]  # fmt: skip
    assert inspect.ismethod(bound)
    assert bound.__self__ is adder
    assert isinstance(part, functools.partial)
    assert inspect.signature(part) == inspect.signature(functools.partial(add, 5))
    assert thing.step == 7
    assert inspect.signature(thing) == inspect.signature(Adder(7))


async def test_partial_of_a_coroutine_and_an_async_object_stay_async():
    class Later:
        async def __call__(self, n: int) -> int:
            return n

    part = tool(functools.partial(coroutine, 4))
    thing = tool(Later())
    assert inspect.iscoroutinefunction(part)
    assert inspect.iscoroutinefunction(thing.__call__)
    with watching() as seen:
        assert (await part(), await thing(5)) == (4, 5)
    assert len(seen.spans) == 2


def test_a_class_and_a_value_are_refused_at_once():
    with pytest.raises(SettingsError, match="decorate its method"):
        tool(Adder)
    with pytest.raises(SettingsError, match="needs a callable"):
        tool(3)


def test_decorating_twice_gives_one_span():
    with watching() as seen:
        assert tool(name="again")(tool(plain))(1) == {"a": 1}
    assert [span.name for span in seen.spans] == ["execute_tool again"]


def test_copy_deepcopy_and_pickle_work_where_they_did():
    """B52."""
    for copied in (copy.copy(double), copy.deepcopy(double), pickle.loads(pickle.dumps(double))):
        assert copied is double
    method = Adder(1).add
    assert pickle.loads(pickle.dumps(method))(1) == 2
    for copied in (
        copy.copy(add_three), copy.deepcopy(add_three), pickle.loads(pickle.dumps(add_three)),
    ):  # fmt: skip
        assert copied(1) == 4
        assert copied.step == 3


def test_spawned_process_pool_runs_a_decorated_tool():
    """B52."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(double, 21).result(timeout=60) == 42


class E(Exception):
    pass


def conversation():
    received = yield 1
    try:
        yield received
    except E:
        yield "caught"
    return 9


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
def test_send_throw_and_return_value_of_a_generator_pass(decorator):
    """B53."""
    with watching():
        g = decorator(conversation)()
        assert next(g) == 1
        assert g.send("two") == "two"
        assert g.throw(E()) == "caught"
        with pytest.raises(StopIteration) as stop:
            next(g)
        assert stop.value.value == 9
        early = decorator(conversation)()
        next(early)
        early.close()
        with pytest.raises(StopIteration):
            next(early)
    assert spans.open_count() == 0


def test_a_generator_given_as_argument_is_not_consumed():
    """B53, B25."""
    source = (n for n in range(3))
    with watching() as seen:
        assert tool(lambda items: items)(source) is source
    assert list(source) == [0, 1, 2]
    assert seen.spans[0].attributes["gen_ai.tool.call.arguments"] == (
        '{"items":{"$type":"generator"}}'
    )


async def test_asend_athrow_and_aclose_of_an_async_generator_pass():
    """B53."""
    closed = []

    @tool
    async def talk():
        try:
            received = yield 1
            try:
                yield received
            except E:
                yield "caught"
        finally:
            closed.append(True)

    with watching() as seen:
        g = talk()
        assert await g.__anext__() == 1
        assert await g.asend("two") == "two"
        assert await g.athrow(E()) == "caught"
        await g.aclose()
        assert closed == [True]
        with pytest.raises(StopAsyncIteration):
            await g.__anext__()
    assert seen.spans[0].attributes["gen_ai.tool.call.result"] == '[1,"two","caught"]'


async def test_generator_spans_cover_the_whole_consumption():
    """B54."""

    @tool
    async def slowly():
        for n in range(3):
            await asyncio.sleep(0.005)
            yield n

    with watching() as seen:
        assert [n async for n in slowly()] == [0, 1, 2]
    (span,) = seen.spans
    assert span.end_time - span.start_time >= 15_000_000
    assert span.attributes["gen_ai.tool.call.result"] == "[0,1,2]"


def test_context_never_leaks_between_generator_steps():
    inside = []

    @tool
    def items():
        for n in range(2):
            inside.append(current_span_name())
            yield n

    with watching():
        outside = [current_span_name() for _ in items()]
    assert inside == ["execute_tool items"] * 2
    assert outside == ["", ""]


async def test_async_generator_closed_in_another_task_logs_nothing(caplog):
    """B04."""

    @tool
    async def stream():
        for n in range(9):
            yield n

    with watching() as seen, caplog.at_level(logging.WARNING):
        g = stream()
        await g.__anext__()
        await asyncio.create_task(g.aclose())

        async def reader():
            async for _ in stream():
                await asyncio.sleep(10)

        task = asyncio.create_task(reader())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        dropped = stream()
        await dropped.__anext__()
        del dropped
        gc.collect()
        await asyncio.sleep(0.01)
    assert caplog.records == []
    assert len(seen.spans) == 3
    assert spans.open_count() == 0


async def test_coroutine_closed_outside_its_task_logs_nothing(caplog):
    """B04."""

    @tool
    async def wait() -> None:
        await asyncio.sleep(10)

    with watching() as seen, caplog.at_level(logging.WARNING):
        coro = wait()
        coro.send(None)
        await asyncio.to_thread(coro.close)
    assert caplog.records == []
    assert [span.attributes["spanwitness.tool.outcome"] for span in seen.spans] == ["cancelled"]


def test_abandoned_generator_ends_when_it_is_collected():
    @tool
    def items():
        yield 1
        yield 2

    with watching() as seen:
        g = items()
        next(g)
        assert seen.spans == []
        del g
        gc.collect()
        assert seen.spans[0].attributes["gen_ai.tool.call.result"] == "[1]"


def test_generator_never_started_makes_no_span():
    with watching() as seen:
        tool(conversation)().close()
    assert seen.spans == []


def test_switched_off_calls_straight_through():
    with watching() as seen:
        spans.set_enabled(False)
        try:
            assert tool(plain)(1) == {"a": 1}
            assert list(tool(generator)(1)) == [1]
            assert asyncio.run(step(coroutine)(1)) == 1
        finally:
            spans.set_enabled(True)
    assert seen.spans == []


def test_schema_builders_of_frameworks_see_the_bare_function():
    """A framework's decorator above ours builds its schema by `inspect` and type hints."""

    def function_tool(function):
        hints = typing.get_type_hints(function)
        properties = {name: hints[name].__name__ for name in inspect.signature(function).parameters}
        return {"name": function.__name__, "properties": properties, "call": function}

    def search(query: str, limit: int = 5) -> list[str]:
        return [query] * limit

    with watching() as seen:
        registered = function_tool(tool(search))
        assert registered["call"](query="a", limit=1) == ["a"]
    assert {k: v for k, v in registered.items() if k != "call"} == {
        "name": "search", "properties": {"query": "str", "limit": "int"},
    }  # fmt: skip
    assert len(seen.spans) == 1
