"""The current run and step survive tasks and, with a helper, threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.capture.recording import watching

from spanwitness.capture.run import run
from spanwitness.capture.threads import ContextThreadPoolExecutor, bind_context
from spanwitness.capture.tool import tool


@tool
def look(n: int) -> int:
    return n


@tool
async def look_later(n: int) -> int:
    await asyncio.sleep(0.001 * (3 - n))
    if n == 1:
        raise ValueError(n)
    return n


def parents(seen):
    return {span.parent.span_id if span.parent else None for span in seen.named("execute_tool")}


def step_id(seen):
    return seen.named("spanwitness.step")[0].context.span_id


def test_thread_pool_with_the_helper_keeps_the_step():
    """B06."""
    with (
        watching(with_run=False) as seen,
        run("r") as r,
        r.step("s"),
        ContextThreadPoolExecutor(3) as pool,
    ):
        assert list(pool.map(look, range(3))) == [0, 1, 2]
        assert pool.submit(look, n=3).result() == 3
    assert parents(seen) == {step_id(seen)}
    assert len(seen.named("execute_tool")) == 4


def test_a_bound_function_runs_in_many_threads_at_once():
    """B06."""
    with watching(with_run=False) as seen, run("r") as r:
        with r.step("s"):
            bound = bind_context(look)
        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(bound, range(50))) == list(range(50))
        thread = threading.Thread(target=bound, args=(7,))
        thread.start()
        thread.join()
    assert parents(seen) == {step_id(seen)}
    numbers = sorted(s.attributes["spanwitness.seq"] for s in seen.spans)
    assert numbers == list(range(1, 54))


async def test_to_thread_and_run_in_executor_with_the_helper():
    """B06."""
    loop = asyncio.get_running_loop()
    with watching(with_run=False) as seen:
        async with run("r") as r, r.step("s"):
            await asyncio.to_thread(look, 1)
            await loop.run_in_executor(None, bind_context(look), 2)
    assert parents(seen) == {step_id(seen)}


async def test_parallel_tools_are_siblings_and_only_the_failing_one_has_an_error():
    """B08."""
    with watching(with_run=False) as seen:
        async with run("r") as r:
            with r.step("s"):
                await asyncio.gather(*(look_later(n) for n in range(3)), return_exceptions=True)
                async with asyncio.TaskGroup() as group:
                    group.create_task(look_later(0))
                    group.create_task(look_later(2))
    assert parents(seen) == {step_id(seen)}
    outcomes = [s.attributes["spanwitness.tool.outcome"] for s in seen.named("execute_tool")]
    assert sorted(outcomes) == ["error", "value", "value", "value", "value"]
    root = seen.named("invoke_workflow")[0]
    assert root.attributes["spanwitness.spans.ended"] == 7
    assert root.attributes["spanwitness.complete"] is True


def test_a_pool_without_the_helper_makes_roots_of_its_own():
    """B06: what the helper is for."""
    with watching(with_run=False) as seen, run("r"), ThreadPoolExecutor(1) as pool:
        pool.submit(look, 1).result()
    assert parents(seen) == {None}
