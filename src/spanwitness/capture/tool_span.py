"""A decorated tool, and the span of one call of it.

This is the path that every traced tool call takes, so it is written with few Python calls (each
costs a percent of a plain OpenTelemetry span): bind, claim, open, encode; leave, encode, end.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from spanwitness.capture import defaults, spans, tool_wrappers, withheld
from spanwitness.capture.board import SMALL, OpenCall
from spanwitness.capture.content import (
    Encoded,
    digest_content,
    encode,
    encode_large,
    encode_small,
    encode_text,
    exception_text,
)
from spanwitness.capture.context import (
    NO_CLAIM,
    CallClaim,
    claim_anywhere,
    get_current,
)
from spanwitness.capture.error_text import encode_error
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.open_spans import next_id, structural_parent
from spanwitness.capture.phases import PhaseCheck, check_phase
from spanwitness.capture.results import Outcome, hold, is_cancel, is_plain_value
from spanwitness.capture.sdk_insides import attach, get_context
from spanwitness.capture.tool_call import explicit_call
from spanwitness.capture.tool_outcome import ARGUMENTS, RESULT, Classified, classify, put
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

__all__ = ["Effect", "Phase", "ToolOptions", "ToolSpan", "TracedTool"]

Effect: TypeAlias = Literal["read", "write"]
Phase: TypeAlias = Literal["before_submit", "after_submit"]

_ERROR_CHARS: Final = 512
_TOOL_ERROR: Final = "tool_error"
_begin_guard = guard("capture.tool.begin")
_end_guard = guard("capture.tool.end")


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
        self.span_name = f"{gen_ai.EXECUTE_TOOL} {self.name}"
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
            span = ToolSpan(self.span_name, state, self.start)
            span.tool = self
            first = span.open()
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


class ToolSpan(spans.Handle):
    """The span of one tool call."""

    tool: TracedTool
    claim: CallClaim = NO_CLAIM
    policy: ContentPolicy | None = None
    cache_before: Any = None
    is_cached: bool = False
    is_special: bool = False
    """The result must be looked at: a cache or a predicate decides how it reads."""
    marked: tuple[Mark, ...] = ()
    items: list[object] | None = None
    n_items: int = 0

    def resume(self) -> None:
        """Become current again."""
        if self.context is not None:
            self.before = get_context()
            attach(self.context)

    def pause(self) -> None:
        """Stop being current."""
        if self.before is not None and get_context() is self.context:
            attach(self.before)

    def returned(self, value: object) -> None:
        """Stop being current, record the result and end."""
        try:
            before = self.before
            if before is not None and get_context() is self.context:
                attach(before)
            policy = self.policy
            if policy is None:
                last: Attributes = {own.TOOL_OUTCOME: self._classify(value).outcome}
            elif (
                not self.is_special
                and is_plain_value(value)
                and (text := encode_small(value, policy)) is not None
            ):
                last = {own.TOOL_OUTCOME: "value", gen_ai.TOOL_CALL_RESULT: text}
                claim = self.claim
                if type(claim) is OpenCall and len(text) <= SMALL:
                    claim.value = value
                elif claim.call_id is not None:
                    self._hold(Encoded(None, len(text)), value, "value")
            else:
                last = self._result(value, policy)
            if self.marked:
                self.write(marks(self.marked))
            if self.held is not None and self.otel.is_recording():  # type: ignore[union-attr]
                self.held.update(last)
                self.finish()
                return
            self.write(last)
        except Exception:
            with _end_guard:  # entered in this case only
                raise
        self.end()

    def _result(self, value: object, policy: ContentPolicy) -> Attributes:
        outcome, error_text = self._classify(value)
        last: Attributes = {own.TOOL_OUTCOME: outcome}
        # A value that is neither special nor small has been tried as a small one already.
        is_tried = not self.is_special and is_plain_value(value)
        encoded = encode_large(value, policy) if is_tried else encode(value, policy)
        put(self, last, RESULT, encoded)
        self._hold(encoded, value, outcome)
        if error_text is not None:
            last[gen_ai.ERROR_TYPE] = _TOOL_ERROR
            self.mark("error", encode_error(error_text, policy, max_chars=_ERROR_CHARS) or "")
            if error_text:
                last[own.TOOL_ERROR_DIGEST] = digest_content(error_text, policy)
        return last

    def _hold(self, encoded: Encoded, value: object, outcome: Outcome) -> None:
        call_id = self.claim.call_id
        if call_id is not None:
            board = self.claim.board if self.state is None else self.state.board
            hold(board, call_id, self.tool.name, value, encoded, outcome)

    def raised(self, error: BaseException) -> None:
        """Stop being current, record the exception and end."""
        self.pause()
        with _end_guard:
            policy = self.policy or self.tool.policy_for(self.state)
            cancelled = is_cancel(error)
            self.fail(error, policy, is_error=not isinstance(error, GeneratorExit))
            if self.marked:
                self.write(marks(self.marked))
            self.write({own.TOOL_OUTCOME: "cancelled" if cancelled else "error"})
            if not cancelled and self.is_recording:
                text = exception_text(error)
                self.write({own.TOOL_ERROR_DIGEST: digest_content(text, policy)})
                self._hold(encode_text(text, policy), text, "error")
        self.end()

    def yielded(self, item: object) -> None:
        """Keep an item of a generator, up to a bound."""
        self.n_items += 1
        if self.policy is None:
            return
        items = self.items
        if items is None:
            self.items = [item]
        elif len(items) < tool_wrappers.MAX_ITEMS:
            items.append(item)

    def exhausted(self, value: object) -> None:
        """Record what the generator gave: its items, or its return value when it gave none."""
        if self.n_items:
            self._finish_items()
        else:
            self.returned([] if value is None else value)

    def closed(self) -> None:
        """The consumer had enough: what it took was returned; nothing taken is a cancelled call."""
        if self.n_items and not self.is_ended:
            self._finish_items()
            return
        self.pause()
        self.write({own.TOOL_OUTCOME: "cancelled"})
        self.end()

    def _finish_items(self) -> None:
        if self.policy is not None:
            self.returned(self.items)
            return
        self.pause()
        self.write({own.TOOL_OUTCOME: "value"})
        self.end()

    def _classify(self, value: object) -> Classified:
        return classify(self.tool, value, self.cache_before, is_cached=self.is_cached)
