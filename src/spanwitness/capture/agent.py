"""`@agent`: an `invoke_agent` span a call; outside every run it is a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import encode
from spanwitness.capture.context import get_current
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import is_cancel
from spanwitness.capture.root import Root, tool_names
from spanwitness.capture.wrapping import Binder, name_of, wrap
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.capture.spans import Attributes, Handle

__all__ = ["agent"]

F = TypeVar("F")
_MAX_ITEMS: Final = 10_000
_begin_guard = guard("capture.agent.begin")
_end_guard = guard("capture.agent.end")


@overload
def agent(target: F, /) -> F: ...
@overload
def agent(
    *,
    name: str | None = None,
    tools: Iterable[object] | None = None,
    max_turns: int | None = None,
    content: ContentPolicy | ContentMode | None = None,
) -> Callable[[F], F]: ...
def agent(
    target: Any = None,
    /,
    *,
    name: str | None = None,
    tools: Iterable[object] | None = None,
    max_turns: int | None = None,
    content: ContentPolicy | ContentMode | None = None,
) -> Any:
    """Record an agent on any kind of callable; the callable stays what it was.

    Outside every run the call is a run of its own. Inside one it is a sub-agent, whose calls count
    for the run.

    Args:
        target: The function when used bare.
        name: The agent's name; `None` = the function's.
        tools: Tools configured for the agent: names, callables or definitions.
        max_turns: The cap on turns that its loop enforces.
        content: Another content policy or mode for the run that it opens.

    Returns:
        The traced callable, or a decorator.

    Raises:
        SettingsError: An argument cannot be used, or the target cannot be decorated.
    """
    defaults.policy_of(content)
    configured = tool_names(tools)
    options = _Options(name, None if configured is None else tuple(configured), max_turns, content)
    if target is None:
        return lambda found: wrap(found, options, decorator="agent")
    return wrap(target, options, decorator="agent")


@dataclass(frozen=True)
class _Options:
    """What the decorator was given; also the maker of `begin`."""

    name: str | None
    tools: tuple[str, ...] | None
    max_turns: int | None
    content: ContentPolicy | ContentMode | None

    def __call__(
        self, function: Callable[..., object], named: object
    ) -> Callable[[tuple[object, ...], dict[str, object]], _AgentCall | None]:
        """Make the `begin` of one function."""
        bind = Binder(function)
        name = self.name or name_of(named)

        def begin(args: tuple[object, ...], kwargs: dict[str, object]) -> _AgentCall | None:
            call: _AgentCall | None = None
            with _begin_guard:
                attributes: Attributes = {
                    gen_ai.OPERATION_NAME: gen_ai.INVOKE_AGENT,
                    gen_ai.AGENT_NAME: name,
                }
                if self.tools is not None:
                    attributes[own.TOOLS_CONFIGURED] = list(self.tools)
                if self.max_turns is not None:
                    attributes[own.MAX_TURNS] = self.max_turns
                call = _AgentCall(self, name, spans.cleaned(attributes))
                call.put(own.RUN_INPUT, bind.given(args, kwargs))
                call.resume()
            return call

        return begin


class _AgentCall:
    """One call of a decorated agent: the root of a run, or a span inside one."""

    __slots__ = ("_before", "_handle", "_items", "_marked", "_n_items", "_policy", "_root")

    def __init__(self, options: _Options, name: str, attributes: Attributes) -> None:
        span_name = f"{gen_ai.INVOKE_AGENT} {name}"
        state = get_current()
        self._items: list[object] = []
        self._n_items = 0
        self._before: object = None
        self._marked: list[Mark] = []
        self._root: Root | None = None
        self._handle: Handle | None
        if state is None:
            self._root = root = Root(name, options.content)
            root.state.configured = list(options.tools or ())
            root.open(span_name, attributes)
            self._handle = root.handle
            self._policy = root.state.policy
        else:
            self._handle = spans.start(span_name, attributes=attributes, state=state)
            self._policy = defaults.policy_of(options.content) or state.policy

    def put(self, key: str, value: object) -> None:
        """Set an attribute that holds content."""
        handle = self._handle
        if handle is None or not handle.is_recording:
            return
        encoded = encode(value, self._policy)
        if encoded.text is not None:
            handle.set({key: encoded.text})
            self._marked.append(Mark(key, encoded))

    def resume(self) -> None:
        """Become current."""
        if self._root is not None:
            self._root.enter()
        elif self._handle is not None:
            self._before = self._handle.enter()

    def pause(self) -> None:
        """Stop being current."""
        if self._root is not None:
            self._root.leave()
        elif self._handle is not None:
            self._handle.leave(self._before)

    def returned(self, value: object) -> None:
        """Record what the agent gave back, and end."""
        with _end_guard:
            if self._handle is not None:
                self._handle.set({own.HAS_OUTPUT: value is not None})
                self.put(own.RUN_OUTPUT, value)
        self._end(None)

    def raised(self, error: BaseException) -> None:
        """Record the exception and end."""
        self._end(error)

    def yielded(self, item: object) -> None:
        """Keep an item of a generator, up to a bound."""
        self._n_items += 1
        if len(self._items) < _MAX_ITEMS:
            self._items.append(item)

    def exhausted(self, value: object) -> None:
        """The items are the output, or the return value of a generator that gave none."""
        self.returned(self._items if self._n_items else value)

    def closed(self) -> None:
        """The consumer had enough; without a single item the call counts as cancelled."""
        handle = self._handle
        if handle is None or handle.is_ended:
            return
        if self._n_items:
            self.returned(self._items)
            return
        handle.set({own.CANCELLED: True})
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        handle = self._handle
        with _end_guard:
            self.pause()
            if handle is not None and self._marked:
                handle.set(marks(self._marked))
            if self._root is None and handle is not None and error is not None:
                if is_cancel(error):
                    handle.set({own.CANCELLED: True})
                handle.fail(error, self._policy, is_error=not isinstance(error, GeneratorExit))
        if self._root is not None:
            self._root.close(error)
        elif handle is not None:
            handle.end()
