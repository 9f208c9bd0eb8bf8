"""SDK retries: several requests on the wire, one logical call, one chat span.

SDKs retry above the transport, in the caller's own task or thread. So a failed attempt waits in
the caller's context; an equal request that follows there continues it. It is settled as soon as
anything else shows that no retry came: another request, the end of its run, a flush, or time.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

from spanwitness.capture.chat_span import ChatSpan, Target
from spanwitness.capture.context import before_flush
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.capture.context import RunState
    from spanwitness.capture.histories import Histories
    from spanwitness.wire import Codec

__all__ = ["begin", "settle_all"]

MAX_WAIT_S = 70.0
"""Longer than any SDK waits before it retries (a `retry-after` of 60 s and some jitter)."""
_MAX_WAITING = 256

_last: ContextVar[ChatSpan | None] = ContextVar("spanwitness_last_call", default=None)
_waiting: dict[int, ChatSpan] = {}
_sweeper: threading.Timer | None = None


def begin(
    codec: Codec, histories: Histories, target: Target, headers: Mapping[str, str]
) -> ChatSpan | None:
    """Continue the call that waits here for its retry, or start a new one.

    Args:
        codec: Reads the wire format.
        histories: The memory of the client.
        target: What is sent where.
        headers: Of the request; some SDKs count their retries there.

    Returns:
        The call, or `None` when nothing is recorded here.
    """
    before = _last.get()
    if before is not None:
        is_retry = headers.get("x-stainless-retry-count") != "0"
        if is_retry and before.asks_the_same(target) and before.resume():
            _waiting.pop(id(before), None)
            return before
        _settle(before)
        _last.set(None)
    return ChatSpan.start(codec, histories, target, _wait)


def settle_all(state: RunState | None = None) -> None:
    """End the calls that wait for a retry: of one run, or (with `None`) of the whole process."""
    for call in list(_waiting.values()):
        if state is None or call.state is state:
            _settle(call)


def _wait(call: ChatSpan) -> None:
    """Let a failed attempt wait for its retry."""
    _waiting[id(call)] = call
    _last.set(call)
    if call.state is not None and _settle_run not in call.state.before_end:
        call.state.before_end.append(_settle_run)
    while len(_waiting) > _MAX_WAITING:
        _settle(next(iter(_waiting.values())))
    _sweep_later()


def _settle_run(state: RunState) -> None:
    settle_all(state)


def _settle(call: ChatSpan) -> None:
    _waiting.pop(id(call), None)
    call.settle()


def _sweep_later() -> None:
    global _sweeper  # noqa: PLW0603
    if _sweeper is not None and _sweeper.is_alive():
        return
    _sweeper = threading.Timer(MAX_WAIT_S, _sweep)
    _sweeper.daemon = True
    _sweeper.name = "spanwitness-settle-retries"
    _sweeper.start()


def _sweep() -> None:
    global _sweeper  # noqa: PLW0603
    _sweeper = None
    with guard("capture.retries.sweep"):
        long_ago = monotonic() - MAX_WAIT_S
        for call in list(_waiting.values()):
            if call.waits_since_s <= long_ago:
                _settle(call)
    if _waiting:
        _sweep_later()


before_flush.append(settle_all)
