"""What stands around a decorated function or generator function: the road with the fewest steps.

They do what the wrappers in `wrapping` do for every decorator. A call in an unsampled run needs no
object of its own here, a generator's step no call of ours: each would cost as much as the rest.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final

from spanwitness.capture import spans
from spanwitness.capture.context import MAX_RECORDS, NO_CLAIM, get_current
from spanwitness.capture.open_spans import next_id, structural_parent
from spanwitness.capture.results import is_plain_value
from spanwitness.capture.sdk_insides import attach, get_context
from spanwitness.capture.tool_call import explicit_call
from spanwitness.capture.tool_structure import StructuralCall, record_of
from spanwitness.capture.wrapping import close_steps, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from spanwitness.capture.traced_tool import TracedTool

__all__ = ["MAX_ITEMS", "around_function", "around_generator"]

MAX_ITEMS: Final = 10_000
"""Items of a generator that are kept."""


def around_function(tool: TracedTool, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a plain function."""
    begin, name = tool.begin, tool.name
    needs_look = tool.is_special or tool.options.phase is not None

    def wrapper(*args: object, **kwargs: object) -> object:
        if not spans.is_on:
            return function(*args, **kwargs)
        state = get_current()
        if (
            state is None
            or state.is_recording
            or needs_look
            or state.parent is not None
            or state.phases
            or (board := state.board).peeks
            or explicit_call() is not None
        ):
            call = begin(args, kwargs)
            if call is None:
                return function(*args, **kwargs)
            try:
                value = function(*args, **kwargs)
            except BaseException as error:
                call.raised(error)
                raise
            call.returned(value)
            return value
        # Unsampled.
        claim = NO_CLAIM
        if name in board.unclaimed:
            claim = board.claim_only(name) or tool.claim_unsampled(state, args, kwargs)
        seq = next(state.seq_counter)
        span_id = next_id()
        parent_id = structural_parent.get()
        structural_parent.set(span_id)
        start = monotonic_ns()
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            StructuralCall(tool, state, seq, span_id, parent_id, start, claim).raised(error)
            raise
        kind = type(value)
        # `is_plain_value`, written out for what most tools return.
        if not (
            value and "isError" not in value and "is_error" not in value
            if kind is dict
            else value and (kind is str or kind is list)
        ) and not is_plain_value(value):
            StructuralCall(tool, state, seq, span_id, parent_id, start, claim).returned(value)
            return value
        note = (record_of, tool, seq, span_id, parent_id, start, monotonic_ns(), claim)
        structural_parent.set(parent_id)
        next(state.end_counter)
        raw = state.raw_records
        if len(raw) < MAX_RECORDS:
            raw.append(note)
        else:
            state.mark_incomplete("spans_lost")
        return value

    return wrapper


def around_generator(  # noqa: C901  written out, as said above
    tool: TracedTool, function: Callable[..., Any]
) -> Callable[..., Any]:
    """Wrap a generator function."""
    begin = tool.begin

    def wrapper(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
        call: Any = begin(args, kwargs) if spans.is_on else None
        if call is None:
            return (yield from function(*args, **kwargs))
        try:
            generator: Generator[Any, Any, Any] = function(*args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        if getattr(call, "policy", None) is None:
            return (yield from steps(generator, call))
        # As `steps`, with `pause`, `yielded` and `resume` written out.
        context = call.context
        items: list[object] = []
        call.items = items
        send = advance = generator.send
        given: Any = None
        while True:
            try:
                item = advance(given)
            except StopIteration as stop:
                call.exhausted(stop.value)
                return stop.value
            except BaseException as error:
                given = None
                call.raised(error)
                raise
            if get_context() is context:
                attach(call.before)
            call.n_items = 1
            if len(items) < MAX_ITEMS:
                items.append(item)
            try:
                given = yield item
            except GeneratorExit:
                close_steps(generator, call)
                raise
            except BaseException as error:  # noqa: BLE001  handed to the generator, as asked
                advance, given = generator.throw, error
            else:
                advance = send
            call.before = get_context()
            attach(context)

    return wrapper
