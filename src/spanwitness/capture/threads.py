"""Carry the current run and span into threads.

asyncio tasks, `gather`, `TaskGroup` and `asyncio.to_thread` carry the context by themselves. Bare
threads, `ThreadPoolExecutor` and `loop.run_in_executor` do not: bind the function, or use the
executor below.
"""

from __future__ import annotations

import contextvars
import functools
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ContextThreadPoolExecutor", "bind_context"]

P = ParamSpec("P")
T = TypeVar("T")


def bind_context(function: Callable[P, T], /) -> Callable[P, T]:
    """Return the function bound to the context of this moment, to be called in another thread.

    Every call gets a copy of the context, so one bound function may run in several threads at once.
    """
    context = contextvars.copy_context()

    @functools.wraps(function)
    def bound(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.copy().run(function, *args, **kwargs)

    return bound


class ContextThreadPoolExecutor(ThreadPoolExecutor):
    """A thread pool whose work runs in the context in which it was submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit work as `ThreadPoolExecutor.submit` does."""
        call = functools.partial(contextvars.copy_context().run, fn, *args, **kwargs)
        return super().submit(call)
