"""A decorated tool, and the span of one call of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import digest_content, encode, encode_text, exception_text
from spanwitness.capture.context import NO_CLAIM, CallClaim, claim_anywhere, get_current
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import Outcome, hold, is_cancel, is_empty, returned_error
from spanwitness.capture.tool_call import explicit_call
from spanwitness.capture.wrapping import Binder, name_of
from spanwitness.errors import PhaseError
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.content import ContentMode, ContentPolicy, Encoded
    from spanwitness.capture.context import RunState
    from spanwitness.capture.spans import Attributes

__all__ = ["Effect", "Phase", "ToolOptions", "ToolSpan"]

Effect: TypeAlias = Literal["read", "write"]
Phase: TypeAlias = Literal["before_submit", "after_submit"]

_MAX_ITEMS: Final = 10_000
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
    ) -> Callable[[tuple[object, ...], dict[str, object]], ToolSpan | None]:
        """Make the `begin` of one function."""
        return _Tool(self, function, named).begin


class _Tool:
    """A decorated function: what is equal for all its calls."""

    __slots__ = ("_bind", "_policy", "_policy_source", "_span_name", "_start",
                 "cache_info", "name", "options")  # fmt: skip

    def __init__(
        self, options: ToolOptions, function: Callable[..., object], named: object
    ) -> None:
        self.options = options
        self.name = options.name or name_of(named)
        self._span_name = f"{gen_ai.EXECUTE_TOOL} {self.name}"
        self._bind = Binder(function)
        self.cache_info = getattr(function, "cache_info", None)
        self._policy_source: object = None
        self._policy: ContentPolicy | None = None
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
        self._start = start

    def begin(self, args: tuple[object, ...], kwargs: dict[str, object]) -> ToolSpan | None:
        """Start the span of one call; `None` when nothing can be recorded of it.

        Raises:
            PhaseError: The call is out of its phase, and the run refuses such calls.
        """
        span: ToolSpan | None = None
        state = get_current()
        with _begin_guard:
            given = self._bind.given(args, kwargs)
            claim = self._claim(state, given)
            span = ToolSpan(self._span_name, state, self._start.copy())
            span.tool = self
            span.open()
            first = span.pending
            if claim is not NO_CLAIM:
                span.claim = claim
                first[own.TOOL_LINK] = claim.link
                if claim.call_id is not None:
                    first[gen_ai.TOOL_CALL_ID] = claim.call_id
            if span.is_recording:
                span.policy = policy = self.policy_for(state)
                _put(span, first, _ARGUMENTS, encode(given, policy))
            span.write(first)
            if self.cache_info is not None:
                span.cache_before = self.cache_info()
        if state is not None and (state.parent or state.phases or self.options.phase):
            self._keep_phase(span, state)
        return span

    def _claim(self, state: RunState | None, given: dict[str, object]) -> CallClaim:
        explicit = explicit_call()
        if explicit is not None and not explicit.is_taken:
            explicit.is_taken = True
            if state is not None:
                return state.board.claim_id(explicit.call_id)
            return CallClaim(explicit.call_id, "explicit")
        if state is None:
            return claim_anywhere(self.name, self._bind.whole(given))
        board = state.board
        if board.is_idle:
            return NO_CLAIM
        return board.claim(self.name, self._bind.whole(given))

    def policy_for(self, state: RunState | None) -> ContentPolicy:
        source = defaults.policy() if state is None else state.policy
        if source is not self._policy_source or self._policy is None:
            wanted = self.options.content
            if wanted is None:
                self._policy = source.for_tool(self.name)
            elif isinstance(wanted, str):
                self._policy = source.with_mode(wanted)
            else:
                self._policy = wanted.limited_to(spans.attribute_limit())
            self._policy_source = source
        return self._policy

    def _keep_phase(self, span: ToolSpan | None, state: RunState) -> None:
        """Flag, or refuse, a call out of its phase; an outer run's phases hold inside it, too."""
        is_refused = False
        now: Phase = "before_submit"
        with guard("capture.tool.phase"):
            at: RunState | None = state
            own_phase: Phase | None = self.options.phase
            while at is not None:
                allowed = at.phases.get(self.name, own_phase)
                own_phase = None
                if allowed is not None:
                    now = "after_submit" if at.is_submitted else "before_submit"
                    is_broken = now != allowed
                    is_refused = is_broken and at.on_violation == "refuse"
                    if span is not None:
                        span.set({own.PHASE: now, own.PHASE_VIOLATION: is_broken,
                                  own.PHASE_REFUSED: is_refused})  # fmt: skip
                    if is_broken:
                        break
                at = at.parent
        if is_refused:
            error = PhaseError(f"tool {self.name!r} is not exposed {now.replace('_', ' ')}")
            if span is not None:
                span.raised(error)
            raise error


class ToolSpan(spans.Handle):
    """The span of one tool call."""

    tool: _Tool
    claim: CallClaim = NO_CLAIM
    policy: ContentPolicy | None = None
    cache_before: Any = None
    is_cached: bool = False
    marked: tuple[Mark, ...] = ()
    items: list[object] | None = None
    n_items: int = 0

    def returned(self, value: object) -> None:
        """Record the result and end."""
        with _end_guard:
            outcome, error_text = self._classify(value)
            last: Attributes = {own.TOOL_OUTCOME: outcome}
            policy = self.policy
            if policy is not None:
                encoded = encode(value, policy)
                _put(self, last, _RESULT, encoded)
                if self.claim.call_id is not None:
                    board = None if self.state is None else self.state.board
                    hold(board, self.claim.call_id, self.tool.name, value, encoded, outcome)
            if error_text is not None:
                self._put_error(last, error_text, policy)
            self.write(last)
            if self.marked:
                self.set(marks(self.marked))
        self.end()

    def raised(self, error: BaseException) -> None:
        """Record the exception and end."""
        with _end_guard:
            policy = self.policy or self.tool.policy_for(self.state)
            cancelled = is_cancel(error)
            self.fail(error, policy, is_error=not isinstance(error, GeneratorExit))
            if self.marked:
                self.set(marks(self.marked))
            self.write({own.TOOL_OUTCOME: "cancelled" if cancelled else "error"})
            if not cancelled and self.is_recording:
                text = exception_text(error)
                self.write({own.TOOL_ERROR_DIGEST: digest_content(text, policy)})
                if self.claim.call_id is not None:
                    board = None if self.state is None else self.state.board
                    encoded = encode_text(text, policy)
                    hold(board, self.claim.call_id, self.tool.name, text, encoded, "error")
        self.end()

    def yielded(self, item: object) -> None:
        """Keep an item of a generator, up to a bound."""
        self.n_items += 1
        if self.policy is None:
            return
        if self.items is None:
            self.items = []
        if len(self.items) < _MAX_ITEMS:
            self.items.append(item)

    def exhausted(self, value: object) -> None:
        """Record what the generator gave: its items, or its return value when it gave none."""
        if not self.n_items and value is not None:
            self.returned(value)
            return
        self._finish_items()

    def closed(self) -> None:
        """The consumer had enough: what it took was returned; nothing taken is a cancelled call."""
        if self.is_ended:
            return
        if self.n_items:
            self._finish_items()
            return
        self.write({own.TOOL_OUTCOME: "cancelled"})
        self.end()

    def _finish_items(self) -> None:
        items = self.items or []
        if self.policy is None:
            self.write({own.TOOL_OUTCOME: "value" if self.n_items else "empty"})
            self.end()
            return
        self.returned(items)

    def _classify(self, value: object) -> _Classified:
        options = self.tool.options
        text = returned_error(value)
        if text is None and options.error_when is not None and _says(options.error_when, value):
            text = value if type(value) is str else ""
        if text is not None:
            return _Classified("error", text)
        is_cached = self.is_cached or (
            options.cached_when is not None and _says(options.cached_when, value)
        )
        if is_cached or (self.cache_before is not None and self._was_hit()):
            return _Classified("cached", None)
        return _Classified("empty" if is_empty(value) else "value", None)

    def _was_hit(self) -> bool:
        info = self.tool.cache_info
        after = info() if info is not None else None
        before = self.cache_before
        return after is not None and after.misses == before.misses and after.hits > before.hits

    def _put_error(self, last: Attributes, text: str, policy: ContentPolicy | None) -> None:
        last[gen_ai.ERROR_TYPE] = _TOOL_ERROR
        if policy is None:
            self.mark("error")
            return
        shown = encode_text(text, policy, max_chars=_ERROR_CHARS)
        self.mark("error", shown.text or "")
        if text:
            last[own.TOOL_ERROR_DIGEST] = digest_content(text, policy)


class _Classified(NamedTuple):
    outcome: Outcome
    error_text: str | None


def _says(predicate: Callable[[Any], bool], value: object) -> bool:
    """Ask the caller's predicate; one that raises says no, and is counted."""
    said = False
    with guard("capture.tool.predicate"):
        said = bool(predicate(value))
    return said


def _put(span: ToolSpan, into: Attributes, keys: _Keys, encoded: Encoded) -> None:
    """Write a text, or its length and digest; remember what was done to it."""
    if encoded.text is None:
        if encoded.digest:
            into[keys.digest] = encoded.digest
        if keys.chars:
            into[keys.chars] = encoded.chars
        return
    into[keys.text] = encoded.text
    if encoded.is_truncated or encoded.is_repaired:
        span.marked = (*span.marked, Mark(keys.text, encoded))
        if keys.chars:
            into[keys.chars] = encoded.chars
        if encoded.digest:
            into[keys.digest] = encoded.digest


class _Keys(NamedTuple):
    text: str
    digest: str
    chars: str


_ARGUMENTS: Final = _Keys(gen_ai.TOOL_CALL_ARGUMENTS, own.TOOL_ARGUMENTS_DIGEST, "")
_RESULT: Final = _Keys(gen_ai.TOOL_CALL_RESULT, own.TOOL_RESULT_DIGEST, own.TOOL_RESULT_CHARS)
