"""The only place where spans are born and end: one clock, one count, one list of what is open.

Every span of ours passes `start` and `Handle.end`, so that sequence numbers, run ids, counts,
durations (monotonic, not wall clock) and the fate of spans that are still open at exit are right
everywhere. In an unsampled run no OTel span is made; a structural `SpanRecord` is kept on the run.
"""

from __future__ import annotations

from time import monotonic_ns, time_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from opentelemetry import trace as otel_trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode

from spanwitness.capture import open_spans, sdk_insides
from spanwitness.capture.content import clean, exception_text
from spanwitness.capture.error_text import encode_error
from spanwitness.capture.open_spans import (
    SCOPE,
    current_handle,
    end_open,
    next_id,
    open_count,
    open_handles,
    structural_parent,
)
from spanwitness.capture.plain import type_name
from spanwitness.capture.process_start import warn_if_not_started
from spanwitness.capture.sdk_insides import attach, bare_type, get_context, start_child, with_span
from spanwitness.capture.span_attributes import (
    cleaned,
    exception_event,
    has_exception,
    record_of,
)
from spanwitness.guard import guard
from spanwitness.model import SpanEvent
from spanwitness.semconv import gen_ai, spanwitness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.context import RunState
    from spanwitness.model.span import AttributeValue, StatusWord

__all__ = [
    "Handle",
    "attribute_limit",
    "cleaned",
    "current_handle",
    "end_open",
    "is_on",
    "next_id",
    "open_count",
    "provider",
    "set_enabled",
    "start",
    "structural_parent",
    "use_provider",
]

_KINDS: Final = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_STATUS: Final = {"unset": StatusCode.UNSET, "ok": StatusCode.OK, "error": StatusCode.ERROR}
_EXCEPTION: Final = "exception"
_CLEAN: Final = frozenset({str, bool, int, float, tuple})
"""Types of values that the SDK would leave as they are."""
Kind: TypeAlias = Literal["internal", "client"]
Attributes: TypeAlias = dict[str, "AttributeValue"]

_start_guard = guard("capture.spans.start")
_end_guard = guard("capture.spans.end")

is_on = True
"""False: the decorators call straight through."""

_provider: TracerProvider | None = None
tracer_in_use: Tracer | None = None


def use_provider(provider: TracerProvider | None) -> None:
    """Make spans with this provider; `None` = with the global one, looked up at the next span."""
    global _provider, tracer_in_use  # noqa: PLW0603
    _provider = provider
    tracer_in_use = None
    sdk_insides.forget()


def provider() -> TracerProvider | None:
    """Return the provider given to `use_provider`; `None` = the global one is used."""
    return _provider


def set_enabled(enabled: bool, /) -> None:  # noqa: FBT001
    """Switch all capture by decorators, steps and runs on or off for this process."""
    global is_on  # noqa: PLW0603
    is_on = enabled


def attribute_limit() -> int | None:
    """Return the provider's own cap on attribute length; it would cut JSON in the middle."""
    limits = getattr(_provider or otel_trace.get_tracer_provider(), "_span_limits", None)
    limit = getattr(limits, "max_span_attribute_length", None)
    return limit if isinstance(limit, int) else None


def _resolve() -> Tracer:
    global tracer_in_use  # noqa: PLW0603
    if _provider is None:
        warn_if_not_started()
        tracer_in_use = otel_trace.get_tracer(SCOPE)
    else:
        tracer_in_use = _provider.get_tracer(SCOPE)
    return tracer_in_use


class Handle:
    """A span of ours, or its structural stand-in in an unsampled run.

    Made by `start`. Every method may be called at any time, and contains faults of the SDK.
    """

    # Class attributes are the defaults: an instance costs only the fields that it sets.
    is_recording: bool = False
    """Content may be serialised for this span."""
    otel: Span | None = None
    """The OTel span; `None` when none was made."""
    context: Context | None = None
    """The OTel context in which this span is current."""
    before: Context | None = None
    """The OTel context in which it was started."""
    parent_id: int = 0
    """Structural id of the parent; 0 = none."""
    structural_id: int = 0
    closer: Callable[[], None] | None = None
    """Called before `end` when the process exits while the span is open."""
    status: StatusWord = "unset"
    is_ended: bool = False
    events: tuple[SpanEvent, ...] = ()
    """Kept in an unsampled run only."""
    late: Mapping[str, AttributeValue] = MappingProxyType({})
    """Attributes that came after somebody else had ended the span."""
    held: dict[str, object] | None = None
    """The attributes of the OTel span, where they may be written at once; see `write`."""

    def __init__(self, name: str, state: RunState | None, attributes: Attributes) -> None:
        self.name = name
        self.state = state
        self.attributes = attributes
        self.generation = open_spans.generation
        self.start_mono = mono = monotonic_ns()
        if state is None:
            self.start_ns = time_ns()
        else:
            self.start_ns = state.anchor_ns + mono

    def open(self, kind: SpanKind = SpanKind.INTERNAL, parent: Context | None = None) -> Attributes:
        """Start the span itself. `start` does it; subclasses call it inside a guard, then `write`.

        Sequence number and run id are no matter of a sampler: they are returned, to be written
        together with others.
        """
        state = self.state
        first: Attributes = {}
        if state is not None:
            first = {spanwitness.SEQ: next(state.seq_counter), spanwitness.RUN_ID: state.run_id}
            if not state.is_recording:
                self.structural_id = next_id()
                self.parent_id = structural_parent.get()
                open_handles[id(self)] = self
                return first
        open_handles[id(self)] = self
        name = self.name
        if not name.isascii():
            self.name = name = clean(name)
        if parent is None:
            parent = get_context()
        try:
            tracer = tracer_in_use or _resolve()
            bare = bare_type(tracer)
            if bare is not None and not _CLEAN.issuperset(map(type, self.attributes.values())):
                bare = None
            early = self.attributes if bare is None else None
            if early is None:
                otel = start_child(tracer, name, kind, parent, self.start_ns)
            else:
                otel = tracer.start_span(name, parent, kind, early, None, self.start_ns)
            self.before = parent
            if type(otel) is bare:
                self.otel = otel
                self.is_recording = True
                self.held = held = otel._attributes._dict  # type: ignore[attr-defined]  # noqa: SLF001
                held.update(self.attributes)
                self.context = with_span(parent, otel)
            else:
                self.take_over(otel, parent, is_bare=early is None)
        finally:
            self.tell_if_unrecorded()
        return first

    def take_over(self, otel: Span, parent: Context, *, is_bare: bool = True) -> None:
        """Take an OTel span that was started; `is_bare`: it still lacks its attributes."""
        self.otel = otel
        if otel.is_recording():
            self.is_recording = True
            if is_bare:
                otel.set_attributes(self.attributes)
            self.held = sdk_insides.held_attributes(otel)
        if self.is_recording or otel.get_span_context().is_valid:
            self.context = with_span(parent, otel)

    def tell_if_unrecorded(self) -> None:
        """Tell the run of a span that nobody records."""
        state = self.state
        if not self.is_recording and state is not None and state.span is not None:
            state.mark_incomplete("spans_lost" if self.otel is None else "unsampled_spans")

    def make_structural(self) -> None:
        """Keep this span, which was not sampled, as a structural record (the root of its run)."""
        context = None if self.otel is None else self.otel.get_span_context()
        self.structural_id = (0 if context is None else context.span_id) or next_id()
        if self.state is not None and self.state.parent is not None:
            self.parent_id = structural_parent.get()

    def write(self, attributes: Attributes) -> None:
        """Set attributes of `str`, `bool`, `int`, `float` or tuples of them, quickly.

        The SDK checks each value and takes two locks, 2 us a call and 0.6 us a value: a third of
        what a traced call may cost. These values need no check, so they go into its dict, unless
        the SDK's insides are not what we know, or the user has set limits (`held_attributes`).
        """
        if not self.is_recording:
            if self.state is not None:
                self.attributes.update(attributes)
        elif self.held is not None and self.otel.is_recording():  # type: ignore[union-attr]
            self.held.update(attributes)
        else:
            self.set(attributes)

    @property
    def span_id(self) -> str:
        """16 hex digits; "" when nothing is recorded at all."""
        if self.structural_id:
            return f"{self.structural_id:016x}"
        if self.otel is None:
            return ""
        context = self.otel.get_span_context()
        return f"{context.span_id:016x}" if context.is_valid else ""

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Set attributes. In an unsampled run pass structural ones only (names, ids, counts)."""
        if self.is_recording:
            with _end_guard:
                if self.otel.is_recording():  # type: ignore[union-attr]
                    self.otel.set_attributes(attributes)  # type: ignore[union-attr]
                else:
                    self.late = {**self.late, **attributes}
        elif self.state is not None:
            self.attributes.update(attributes)

    def now_ns(self) -> int:
        """Return the time, in nanoseconds since the epoch, on this span's own clock."""
        return self.start_ns + monotonic_ns() - self.start_mono

    def event(self, name: str, attributes: Attributes) -> None:
        """Add an event."""
        at = self.now_ns()
        if self.is_recording:
            with _end_guard:
                if self.otel.is_recording():  # type: ignore[union-attr]
                    self.otel.add_event(clean(name), attributes, at)  # type: ignore[union-attr]
        elif self.state is not None:
            self.events = (*self.events, SpanEvent(name=name, time_ns=at, attributes=attributes))  # type: ignore[arg-type]

    def enter(self) -> object:
        """Make this the current span; give what is returned to `leave` in the same step.

        No context manager and no token: a generator or coroutine may be closed from another
        context, and there a token cannot be given back.
        """
        if self.context is None:
            before_id = structural_parent.get()
            structural_parent.set(self.structural_id)
            return before_id
        before = get_context()
        attach(self.context)
        if self.structural_id:
            structural_parent.set(self.structural_id)
        return before

    def leave(self, before: object) -> None:
        """Make current again what was so before `enter`, if this span still is."""
        if self.context is None:
            structural_parent.set(before)  # type: ignore[arg-type]
            return
        if self.structural_id:
            structural_parent.set(self.parent_id)
        if get_context() is self.context:
            attach(before)  # type: ignore[arg-type]

    def fail(self, error: BaseException, policy: ContentPolicy, *, is_error: bool = True) -> None:
        """Record an exception: type, redacted message and, with content on, the stack; once a span.

        Args:
            error: What was raised.
            policy: Decides about the message.
            is_error: Whether the span's status becomes an error.
        """
        with _end_guard:
            kind = clean(type_name(error))
            self.set({gen_ai.ERROR_TYPE: kind})
            message = encode_error(exception_text(error), policy)
            if is_error:
                self.mark("error", message or kind)
            if self.is_recording and not has_exception(self.otel, kind):
                self.event(_EXCEPTION, exception_event(error, kind, message, policy))

    def mark(self, status: StatusWord, description: str = "") -> None:
        """Set the status; the description must have been redacted."""
        self.status = status
        if self.is_recording:
            with _end_guard:
                if not self.otel.is_recording():  # type: ignore[union-attr]
                    return
                text = clean(description) if status == "error" else None
                self.otel.set_status(Status(_STATUS[status], text))  # type: ignore[union-attr]

    def end(self, attributes: Attributes | None = None, *, end_ns: int | None = None) -> None:
        """Set last attributes and end the span. A second call does nothing.

        Args:
            attributes: The last attributes.
            end_ns: When it ended, by `now_ns`; `None` = now.
        """
        if self.is_ended or self.generation != open_spans.generation:
            return
        self.is_ended = True
        open_handles.pop(id(self), None)
        state = self.state
        if state is not None:
            next(state.end_counter)
        if self.is_recording:
            otel = self.otel
            with _end_guard:
                if not otel.is_recording():  # type: ignore[union-attr]
                    self._end_late(attributes or {})
                    return
                if attributes:
                    otel.set_attributes(attributes)  # type: ignore[union-attr]
                if end_ns is None:
                    end_ns = self.start_ns + monotonic_ns() - self.start_mono
                otel.end(end_ns)  # type: ignore[union-attr]
        elif state is not None and not state.is_recording:
            if attributes:
                self.attributes.update(attributes)
            state.keep(record_of(self, state, self.now_ns() if end_ns is None else end_ns))

    def _end_late(self, attributes: Attributes) -> None:
        """Somebody else ended the span early: say beside it how its work really ended."""
        if self.state is not None:
            self.state.mark_incomplete("span_ended_early")
        link = Link(self.otel.get_span_context())  # type: ignore[union-attr]
        name, tracer = f"{self.name} (late end)", tracer_in_use or _resolve()
        late = tracer.start_span(name, self.context, links=[link])
        late.set_attributes({**self.late, **attributes, spanwitness.LATE_END_OF: self.span_id})
        if self.status == "error":
            late.set_status(Status(StatusCode.ERROR))
        late.end()


def start(
    name: str,
    *,
    attributes: Attributes,
    state: RunState | None,
    kind: Kind = "internal",
    parent: Context | None = None,
) -> Handle:
    """Start a span. Never raises; it does not become current (see `Handle.enter`).

    Args:
        name: The span's name.
        attributes: What is known now; the dict is taken over. No content: a sampler sees it.
        state: The run that it belongs to, usually `current_run()`; `None` = none.
        kind: OTel span kind.
        parent: OTel context of the parent; `None` = the current one.
    """
    if not is_on:
        return Handle(name, None, attributes)
    handle = Handle(name, state, attributes)
    with _start_guard:
        handle.write(handle.open(_KINDS[kind], parent))
    return handle
