"""A decorated tool: what is equal for all its calls, and the start of one.

The road of every traced call, so it takes few Python calls: each costs a percent of a plain
OpenTelemetry span.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from opentelemetry.trace import SpanKind

from spanwitness.capture import defaults, open_spans, spans, tool_wrappers, withheld
from spanwitness.capture.content import clean, encode_large, encode_small
from spanwitness.capture.context import NO_CLAIM, CallClaim, claim_anywhere, get_current
from spanwitness.capture.open_spans import next_id, open_handles, structural_parent
from spanwitness.capture.phases import PhaseCheck, check_phase
from spanwitness.capture.sdk_insides import (
    attach,
    bare_type,
    get_context,
    start_child,
    with_span,
)
from spanwitness.capture.tool_call import explicit_call
from spanwitness.capture.tool_outcome import ARGUMENTS, put
from spanwitness.capture.tool_span import ToolSpan
from spanwitness.capture.tool_structure import StructuralCall
from spanwitness.capture.wrapping import Binder, Call, name_of
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.capture.context import RunState
    from spanwitness.capture.spans import Attributes

__all__ = ["Effect", "Phase", "ToolOptions", "TracedTool"]

Effect: TypeAlias = Literal["read", "write"]
Phase: TypeAlias = Literal["before_submit", "after_submit"]

_INTERNAL: Final = SpanKind.INTERNAL
_new: Final = object.__new__
_begin_guard = guard("capture.tool.begin")


@dataclass(frozen=True)
class ToolOptions:
    """What the decorator was given; also the maker of `begin`, picklable for callable objects."""

    name: str | None
    effect: Effect | None
    evidence: bool | None
    server: str | None
    phase: Phase | None
    content: ContentPolicy | ContentMode | None
    error_when: Callable[[Any], bool] | None
    cached_when: Callable[[Any], bool] | None

    def __call__(
        self, function: Callable[..., object], named: object
    ) -> Callable[[tuple[object, ...], dict[str, object]], Call | None]:
        """Make the `begin` of one function."""
        return TracedTool(self, function, named).begin


_Chosen: TypeAlias = "tuple[ContentPolicy, ContentPolicy] | tuple[None, None]"
"""The policy of a run, and what it means for one tool."""


class TracedTool:
    """A decorated function: what is equal for all its calls."""

    def __init__(
        self, options: ToolOptions, function: Callable[..., object], named: object
    ) -> None:
        self.options = options
        self.name = options.name or name_of(named)
        self.span_name = clean(f"{gen_ai.EXECUTE_TOOL} {self.name}")
        self.cache_info = getattr(function, "cache_info", None)
        self.is_special = (
            options.error_when is not None
            or options.cached_when is not None
            or self.cache_info is not None
        )
        self._bind = bind = Binder(function)
        self._skip = bind.skip
        self._names = bind.names
        self._defaults = bind.defaults
        withheld.declare(self.name, options.content)
        self._chosen: _Chosen = (None, None)
        start: Attributes = {
            gen_ai.OPERATION_NAME: gen_ai.EXECUTE_TOOL,
            gen_ai.TOOL_NAME: self.name,
        }
        if options.effect is not None:
            start[own.TOOL_EFFECT] = options.effect
        if options.evidence is not None:
            start[own.TOOL_EVIDENCE] = options.evidence
        if options.server is not None:
            start[own.TOOL_SERVER] = options.server
        self.start = spans.cleaned(start)

    def around_function(self, function: Callable[..., Any], _: object) -> Callable[..., Any]:
        """Wrap a plain function."""
        return tool_wrappers.around_function(self, function)

    def around_generator(self, function: Callable[..., Any], _: object) -> Callable[..., Any]:
        """Wrap a generator function."""
        return tool_wrappers.around_generator(self, function)

    def begin(  # noqa: C901, PLR0912, PLR0915  the hot path: each call of a function costs a percent
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Call | None:
        """Start one call and make it current; `None` when nothing can be recorded of it.

        Raises:
            PhaseError: The call is out of its phase, and the run refuses such calls.
        """
        state = get_current()
        if state is not None and not state.is_recording:
            return self._begin_structural(state, args, kwargs)
        span: ToolSpan | None = None
        try:
            skip = self._skip
            if len(args) - skip > len(self._names):
                given = self._bind.given(args, kwargs)
            elif args:
                given = dict(zip(self._names, args[skip:] if skip else args))  # noqa: B905
                given.update(kwargs)
            else:
                given = kwargs
            claim = NO_CLAIM
            if state is None or explicit_call() is not None:
                claim = self._claim(state, given)
            elif self.name in state.board.unclaimed or state.board.peeks:
                whole = {**self._defaults, **given} if self._defaults else given
                claim = state.board.claim(self.name, whole)
            tracer = spans.tracer_in_use
            bare = None if tracer is None else bare_type(tracer)
            if tracer is None or bare is None:
                span = ToolSpan(self.span_name, state, self.start)
                span.tool = self
                first = span.open()
            else:  # `Handle.__init__` and `open`, written out
                span = _new(ToolSpan)
                span.tool = self
                span.name = self.span_name
                span.state = state
                span.attributes = self.start
                span.generation = open_spans.generation
                span.start_mono = mono = monotonic_ns()
                open_handles[id(span)] = span
                span.before = parent = get_context()
                if state is None:
                    first = {}
                    span.start_ns = at = time_ns()
                else:
                    first = {own.SEQ: next(state.seq_counter), own.RUN_ID: state.run_id}
                    span.start_ns = at = state.anchor_ns + mono
                span.otel = otel = start_child(tracer, self.span_name, _INTERNAL, parent, at)
                if type(otel) is bare:
                    span.is_recording = True
                    span.context = with_span(parent, otel)
                    span.held = held = otel._attributes._dict  # type: ignore[attr-defined]  # noqa: SLF001
                    held.update(self.start)
                else:
                    span.take_over(otel, parent)
            if claim is not NO_CLAIM:
                span.claim = claim
                first[own.TOOL_LINK] = claim.link
                if claim.call_id is not None:
                    first[gen_ai.TOOL_CALL_ID] = claim.call_id
            if span.is_recording:
                source = defaults.policy() if state is None else state.policy
                known, policy = self._chosen
                if policy is None or source is not known:
                    policy = self._choose_policy(source)
                span.policy = policy
                text = encode_small(given, policy)
                if text is not None:
                    first[gen_ai.TOOL_CALL_ARGUMENTS] = text
                else:
                    put(span, first, ARGUMENTS, encode_large(given, policy))
            if span.held is not None:
                span.held.update(first)
            else:
                if not span.is_recording:
                    span.attributes = self.start.copy()
                span.write(first)
            if self.is_special:
                span.is_special = True
                if self.cache_info is not None:
                    span.cache_before = self.cache_info()
            if span.context is not None:
                attach(span.context)
        except Exception:
            if span is not None:
                span.tell_if_unrecorded()
            with _begin_guard:  # entered in this case only: it costs two calls
                raise
        if state is not None and (state.parent or state.phases or self.options.phase):
            self._keep_phase(span, state)
        return span

    def _begin_structural(
        self, state: RunState, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> StructuralCall:
        before = structural_parent.get()
        seq = next(state.seq_counter)
        call = StructuralCall(self, state, seq, next_id(), before, monotonic_ns())
        structural_parent.set(call.span_id)
        if explicit_call() or state.board.peeks or self.name in state.board.unclaimed:
            call.claim = self.claim_unsampled(state, args, kwargs)
        if self.cache_info is not None:
            with _begin_guard:
                call.cache_before = self.cache_info()
        if state.parent or state.phases or self.options.phase:
            self._keep_phase(call, state)
        return call

    def claim_unsampled(
        self, state: RunState, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> CallClaim:
        """Claim a call; arguments are compared only where there are several, and never written."""
        claim: CallClaim | None = None
        with _begin_guard:
            if explicit_call() is None and not state.board.peeks:
                claim = state.board.claim_only(self.name)
            if claim is None:
                claim = self._claim(state, self._bind.given(args, kwargs))
        return claim or NO_CLAIM

    def _claim(self, state: RunState | None, given: dict[str, object]) -> CallClaim:
        explicit = explicit_call()
        if explicit is not None and not explicit.is_taken:
            explicit.is_taken = True
            if state is not None:
                return state.board.claim_id(explicit.call_id)
            return CallClaim(explicit.call_id, "explicit")
        whole = self._bind.whole(given)
        if state is None:
            return claim_anywhere(self.name, whole)
        return state.board.claim(self.name, whole)

    def _choose_policy(self, source: ContentPolicy) -> ContentPolicy:
        wanted = self.options.content
        if wanted is None:
            policy = source.for_tool(self.name)
        elif isinstance(wanted, str):
            policy = source.with_mode(wanted)
        else:
            policy = wanted.limited_to(spans.attribute_limit())
        self._chosen = (source, policy)
        return policy

    def policy_for(self, state: RunState | None) -> ContentPolicy:
        """Return the content policy of a call."""
        return self._choose_policy(defaults.policy() if state is None else state.policy)

    def _keep_phase(self, span: ToolSpan | StructuralCall | None, state: RunState) -> None:
        """Flag, or refuse, a call out of its phase; an outer run's phases hold inside it, too."""
        found: PhaseCheck | None = None
        with guard("capture.tool.phase"):
            found = check_phase(state, self.name, self.options.phase)
            if found is not None and span is not None:
                span.set(found.attributes)
        if found is not None and found.is_refused:
            error = found.error
            if span is not None:
                span.raised(error)
            raise error
