"""`@tool`: one `execute_tool` span a call: what was passed, what came back, who asked for it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import digest_content, encode, encode_text, exception_text
from spanwitness.capture.context import NO_CLAIM, CallClaim, claim_anywhere, current_run
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import Outcome, hold, is_cancel, is_empty, returned_error
from spanwitness.capture.wrapping import Binder, name_of, wrap
from spanwitness.errors import PhaseError, SettingsError
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.content import ContentMode, ContentPolicy, Encoded
    from spanwitness.capture.context import RunState
    from spanwitness.capture.spans import Attributes

__all__ = ["mark_cached", "tool", "tool_call"]

F = TypeVar("F")
Effect: TypeAlias = Literal["read", "write"]
Phase: TypeAlias = Literal["before_submit", "after_submit"]

_MAX_ITEMS: Final = 10_000
_ERROR_CHARS: Final = 512
_TOOL_ERROR: Final = "tool_error"
_begin_guard = guard("capture.tool.begin")
_end_guard = guard("capture.tool.end")


@overload
def tool(target: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect | None = None,
    evidence: bool | None = None,
    server: str | None = None,
    phase: Phase | None = None,
    content: ContentPolicy | ContentMode | None = None,
    error_when: Callable[[Any], bool] | None = None,
    cached_when: Callable[[Any], bool] | None = None,
) -> Callable[[F], F]: ...
def tool(  # noqa: PLR0913  keyword arguments of a decorator
    target: Any = None,
    /,
    *,
    name: str | None = None,
    effect: Effect | None = None,
    evidence: bool | None = None,
    server: str | None = None,
    phase: Phase | None = None,
    content: ContentPolicy | ContentMode | None = None,
    error_when: Callable[[Any], bool] | None = None,
    cached_when: Callable[[Any], bool] | None = None,
) -> Any:
    """Record every call of a tool: `@tool` or `@tool(effect="read")`, on any kind of callable.

    The function stays what it was: same signature, same `inspect` predicates, same values, same
    exceptions, same generator protocol. Generators are recorded from their first to their last item.

    Order with other decorators: put `@sw.tool` **directly above the function, below** those that
    register it with a framework (`@function_tool` of openai-agents, `@tool` of LangChain,
    `@agent.tool` of pydantic-ai, `@mcp.tool()`); they then see the bare signature and call the
    traced function. Above them it would wrap their tool object. `@lru_cache` goes **below**
    `@sw.tool`: hits are then seen and recorded as `cached`; above it, a hit never reaches us.

    Args:
        target: The function when used bare.
        name: The name under which the tool is offered to the model; `None` = the function's own.
        effect: Whether it only reads or also changes something.
        evidence: Whether what it returns is evidence for an answer; `None` = not declared.
        server: The MCP server or toolset that owns it.
        phase: Expose it only before or only after the submission of the run.
        content: Another content policy or mode for this tool.
        error_when: Says whether a returned value is an error (`{"ok": False}`, an error text).
            Exceptions given back as values and results with `isError: true` are errors anyway.
        cached_when: Says whether a returned value came from a cache; see also `mark_cached`.

    Returns:
        The traced callable, or a decorator.

    Raises:
        SettingsError: An argument cannot be used, or the target cannot be decorated.
        PhaseError: On a call out of its phase, where the run was made with `on_violation="refuse"`.
    """
    _check("effect", effect, get_args(Effect))
    _check("phase", phase, get_args(Phase))
    defaults.policy_of(content)
    options = _Options(name, effect, evidence, server, phase, content, error_when, cached_when)
    if target is None:
        return lambda found: wrap(found, options, decorator="tool")
    return wrap(target, options, decorator="tool")


def _check(what: str, value: object, allowed: tuple[object, ...]) -> None:
    if value is not None and value not in allowed:
        raise SettingsError(f"tool: {what} {value!r} is not one of {allowed!r}")


@dataclass(frozen=True)
class _Options:
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

    def __init__(self, options: _Options, function: Callable[..., object], named: object) -> None:
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
        """Start the span of one call; `None` when nothing can be recorded of it."""
        span: ToolSpan | None = None
        state = current_run()
        with _begin_guard:
            given = self._bind.given(args, kwargs)
            claim = self._claim(state, given)
            attributes = self._start.copy()
            span = ToolSpan(self._span_name, state, attributes)
            span.tool = self
            span.claim = claim
            if claim.call_id is not None:
                attributes[gen_ai.TOOL_CALL_ID] = claim.call_id
            if claim.link != "none":
                attributes[own.TOOL_LINK] = claim.link
            span.open()
            if self.cache_info is not None:
                span.cache_before = self.cache_info()
            if span.is_recording:
                span.policy = policy = self.policy_for(state)
                content: Attributes = {}
                _put(span, content, _ARGUMENTS, encode(given, policy))
                span.write(content)
        if state is not None and (state.parent or state.phases or self.options.phase):
            self._keep_phase(span, state)
        return span

    def _claim(self, state: RunState | None, given: dict[str, object]) -> CallClaim:
        explicit = _explicit.get()
        if explicit is not None and not explicit.is_taken:
            explicit.is_taken = True
            board = None if state is None else state.board
            if board is not None:
                return board.claim_id(explicit.call_id)
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


class tool_call:  # noqa: N801  reads as a statement
    """Say which call of the model the next tool serves: `with sw.tool_call(call.id): ...`.

    For hand-written loops whose arguments are changed on the way, or that run a tool under another
    name. The first traced tool in the block takes the id; tools that it calls do not.

    Args:
        call_id: The id of the model's call.
    """

    __slots__ = ("_before", "call_id", "is_taken")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.is_taken = False
        self._before: tool_call | None = None

    def __enter__(self) -> tool_call:
        """Offer the id to the next tool."""
        self._before = _explicit.get()
        _explicit.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Withdraw it."""
        if _explicit.get() is self:
            _explicit.set(self._before)


_explicit: ContextVar[tool_call | None] = ContextVar("spanwitness_tool_call", default=None)


def mark_cached() -> None:
    """Say, from inside a tool, that its result comes from a cache. Outside every tool: no effect."""
    handle = spans.current_handle()
    if isinstance(handle, ToolSpan):
        handle.is_cached = True
