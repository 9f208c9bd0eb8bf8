"""While we judge, or a sink works, nothing of what happens is traced by us or judged again."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SUPPRESS_KEY: Final = "suppress_instrumentation"
"""The key in an OTel context that instrumentations look at, ours among them."""

_is_judging: ContextVar[bool] = ContextVar("spanwitness_judging", default=False)


def is_judging() -> bool:
    """Say whether this code was called by a rule or a sink."""
    return _is_judging.get()


@contextmanager
def judging() -> Iterator[None]:
    """Judge in a fresh OTel context: what is started in it belongs to no run and is not judged."""
    from opentelemetry import context as otel_context
    from opentelemetry.context import Context

    token = _is_judging.set(True)
    outer = otel_context.attach(Context({SUPPRESS_KEY: True}))
    try:
        yield
    finally:
        otel_context.detach(outer)
        _is_judging.reset(token)
