"""`@step`: one span a protocol step: what it decided, how right it was before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

from spanwitness.capture import defaults
from spanwitness.capture.context import get_current
from spanwitness.capture.judging import Judge, judged
from spanwitness.capture.output_form import OutputForm, output_form
from spanwitness.capture.root import freeze, tool_names
from spanwitness.capture.selection import score
from spanwitness.capture.step_facts import Step
from spanwitness.capture.wrapping import Binder, name_of, wrap
from spanwitness.errors import SettingsError
from spanwitness.guard import guard
from spanwitness.model.digest import digest_text
from spanwitness.model.run import STEP_KINDS, StepKind
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from types import TracebackType

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.capture.spans import Attributes

__all__ = ["StepScope", "step", "step_scope"]

F = TypeVar("F")
Before: TypeAlias = str | Callable[[Mapping[str, Any]], Any]
"""Name of the parameter that holds the answer before, or a function of the arguments by name."""

_MAX_ITEMS: Final = 10_000
_begin_guard = guard("capture.step.begin")
_end_guard = guard("capture.step.end")


@overload
def step(target: F, /) -> F: ...
@overload
def step(
    *,
    kind: StepKind = "solve",
    name: str | None = None,
    verdict: Judge | None = None,
    before: Before | None = None,
    after: Callable[[Any], Any] | None = None,
    success: Judge | None = None,
    success_rule: str | None = None,
    output: object = None,
    tools: Iterable[object] | None = None,
    inputs: str | Callable[[Mapping[str, Any]], str] | None = None,
    operation: str | None = None,
    content: ContentPolicy | ContentMode | None = None,
) -> Callable[[F], F]: ...
def step(  # noqa: PLR0913  keyword arguments of a decorator
    target: Any = None,
    /,
    *,
    kind: StepKind = "solve",
    name: str | None = None,
    verdict: Judge | None = None,
    before: Before | None = None,
    after: Callable[[Any], Any] | None = None,
    success: Judge | None = None,
    success_rule: str | None = None,
    output: object = None,
    tools: Iterable[object] | None = None,
    inputs: str | Callable[[Mapping[str, Any]], str] | None = None,
    operation: str | None = None,
    content: ContentPolicy | ContentMode | None = None,
) -> Any:
    """Record a protocol step on any kind of callable; the callable stays what it was.

    Further facts are stated from inside: `sw.current_step().set(evidence_adequate=True)`.

    Args:
        target: The function when used bare.
        kind: `solve`, `verify`, `audit`, `escalate`, `select`, `revise` or `submit`. A `submit`
            step freezes what it returns as the answer of the run.
        name: The step's name; `None` = the function's.
        verdict: Reads the verdict from the result: `True`, `False`, or `None` when it gave none.
            Anything else, and an exception, counts as no readable verdict, never as a pass.
        before: Where the answer stands that a `revise` step is given.
        after: Reads the answer from the result; `None` = the result is the answer.
        success: Says whether an answer is right; scores both, by one rule.
        success_rule: Name and version of that rule (`exact@2`); `None` = its name and a digest of
            its code.
        output: The form that the result must have: a pydantic model, or a JSON Schema as a dict.
            Says whether it parsed.
        tools: Tools configured for this step: names, callables or definitions.
        inputs: Label of the input configuration, or a function of the arguments that gives it.
        operation: What defines this operation; `None` = a digest of model, instruction, decoding,
            output form and tools of the model calls inside.
        content: Another content policy or mode for this step.

    Returns:
        The traced callable, or a decorator.

    Raises:
        SettingsError: An argument cannot be used, or the target cannot be decorated.
    """
    _check_kind(kind)
    defaults.policy_of(content)
    options = _Options(
        kind=kind, name=name, verdict=verdict, before=before, after=after, success=success,
        success_rule=success_rule or (None if success is None else _rule_name(success)),
        output=None if output is None else output_form(output),
        tools=tuple(tool_names(tools) or ()) if tools is not None else None,
        inputs=inputs, operation=operation, content=content,
    )  # fmt: skip
    if target is None:
        return lambda found: wrap(found, options, decorator="step")
    return wrap(target, options, decorator="step")


def _check_kind(kind: str) -> None:
    if kind not in STEP_KINDS:
        raise SettingsError(f"step kind {kind!r} is not one of {STEP_KINDS!r}")


def _rule_name(success: Judge) -> str:
    """Name a success rule after its function and a digest of its code, so that a change shows."""
    code = getattr(success, "__code__", None)
    name = name_of(success)
    if code is None:
        return name
    version = (
        getattr(success, "__version__", None)
        or digest_text(
            f"{code.co_code.hex()}{code.co_names}"
            f"{[c for c in code.co_consts if isinstance(c, str | int | float | bool)]}"
        )[:8]
    )
    return f"{name}@{version}"


@dataclass(frozen=True, kw_only=True)
class _Options:
    """What the decorator was given; also the maker of `begin`."""

    kind: StepKind
    name: str | None
    verdict: Judge | None
    before: Before | None
    after: Callable[[Any], Any] | None
    success: Judge | None
    success_rule: str | None
    output: OutputForm | None
    tools: tuple[str, ...] | None
    inputs: str | Callable[[Mapping[str, Any]], str] | None
    operation: str | None
    content: ContentPolicy | ContentMode | None

    def __call__(
        self, function: Callable[..., object], named: object
    ) -> Callable[[tuple[object, ...], dict[str, object]], _StepCall | None]:
        """Make the `begin` of one function.

        Raises:
            SettingsError: `before` names no parameter.
        """
        bind = Binder(function)
        if isinstance(self.before, str) and not bind.has(self.before):
            raise SettingsError(f"step: before={self.before!r} is no parameter of {function!r}")
        name = self.name or name_of(named)

        def begin(args: tuple[object, ...], kwargs: dict[str, object]) -> _StepCall | None:
            call: _StepCall | None = None
            with _begin_guard:
                given = bind.whole(bind.given(args, kwargs))
                call = _StepCall(self, name, given)
                call.resume()
            return call

        return begin


class _StepCall:
    """One call of a decorated step."""

    __slots__ = ("_before", "_items", "_n_items", "_options", "_step")

    def __init__(self, options: _Options, name: str, given: Mapping[str, object]) -> None:
        self._options = options
        self._items: list[object] = []
        self._n_items = 0
        self._before: object = None
        attributes = _start_attributes(name, options.kind, options.tools, options.operation)
        inputs = options.inputs
        if callable(inputs):
            with guard("capture.step.inputs"):
                attributes[own.STEP_INPUTS] = str(inputs(given))
        elif inputs is not None:
            attributes[own.STEP_INPUTS] = inputs
        if options.verdict is not None:
            attributes[own.VERDICT_DECLARED] = True
        if options.success_rule is not None:
            attributes[own.SUCCESS_RULE] = options.success_rule
        self._step = Step(name, attributes)
        policy = defaults.policy_of(options.content)
        if policy is not None:
            self._step.use(policy)
        if options.before is not None and options.success is not None:
            with guard("capture.step.before"):
                source = options.before
                answer = given[source] if isinstance(source, str) else source(given)
                self._step.set(success_before=judged(options.success, answer))

    def resume(self) -> None:
        """Become the current step."""
        self._before = self._step.enter()

    def pause(self) -> None:
        """Stop being current."""
        self._step.leave(self._before)

    def returned(self, value: object) -> None:
        """Record result, verdict, success and form, and end."""
        options = self._options
        step = self._step
        with _end_guard:
            self.pause()
            step.output(value)
            if options.verdict is not None:
                step.set(verdict=judged(options.verdict, value))
            if options.output is not None:
                step.set(parser_valid=judged(options.output.accepts, value))
            if options.success is not None:
                answer = value
                with guard("capture.step.after"):
                    answer = value if options.after is None else options.after(value)
                    step.set(success_after=judged(options.success, answer))
                score(step.presented, options.success)
            state = get_current()
            if options.kind == "submit" and state is not None:
                freeze(state, value, None, within=step.handle)
        step.end()

    def raised(self, error: BaseException) -> None:
        """Record the exception and end."""
        with _end_guard:
            self.pause()
            self._step.fail(error)
        self._step.end()

    def yielded(self, item: object) -> None:
        """Keep an item of a generator, up to a bound."""
        self._n_items += 1
        if len(self._items) < _MAX_ITEMS:
            self._items.append(item)

    def exhausted(self, value: object) -> None:
        """The generator's return value is the result; without one, its items are."""
        self.returned(self._items if value is None else value)

    def closed(self) -> None:
        """The consumer had enough."""
        with _end_guard:
            self.pause()
        if self._step.handle.is_ended:
            return
        if not self._n_items:
            self._step.handle.set({own.CANCELLED: True})
            self._step.end()
            return
        self._step.output(self._items)
        self._step.end()


def _start_attributes(
    name: str, kind: StepKind, tools: Iterable[str] | None, operation: str | None
) -> Attributes:
    attributes: Attributes = {own.STEP_NAME: name, own.STEP_KIND: kind}
    if tools is not None:
        attributes[own.TOOLS_CONFIGURED] = list(tools)
    if operation is not None:
        attributes[own.STEP_OPERATION] = operation
    return attributes


class StepScope:
    """A step as a context manager, made by `run.step`; `with` and `async with` give the `Step`."""

    __slots__ = ("_attributes", "_before", "_name", "_step")

    def __init__(self, name: str, attributes: Attributes) -> None:
        self._name = name
        self._attributes = attributes
        self._step: Step | None = None
        self._before: object = None

    def __enter__(self) -> Step:
        """Start the step."""
        step = Step(self._name, self._attributes)
        self._step = step
        with _begin_guard:
            self._before = step.enter()
        return step

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the step; the exception goes on."""
        step = self._step
        if step is None:
            return
        with _end_guard:
            step.leave(self._before)
            if error is not None:
                step.fail(error)
        step.end()

    async def __aenter__(self) -> Step:
        """Start the step."""
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the step; the exception goes on."""
        self.__exit__(kind, error, trace)


def step_scope(
    name: str,
    *,
    kind: StepKind,
    tools: Iterable[object] | None,
    inputs: str | None,
    operation: str | None,
) -> StepScope:
    """Make the context manager of `run.step`.

    Raises:
        SettingsError: The kind is not known, or a tool has no name.
    """
    _check_kind(kind)
    attributes = _start_attributes(name, kind, tool_names(tools), operation)
    if inputs is not None:
        attributes[own.STEP_INPUTS] = inputs
    return StepScope(name, attributes)
