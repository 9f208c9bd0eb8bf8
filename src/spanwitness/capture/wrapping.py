"""Wrap a callable of any kind so that it stays what it was: same predicates, signature, protocol.

Functions, coroutine functions, generator and async generator functions each get a wrapper of their
own kind. Static methods, class methods, bound methods and partials are rebuilt around the wrapped
function; a callable object becomes a proxy. What happens at the points of a call is said by a
`Call`, made by a `begin` function that raises no error of ours but `PhaseError`.

Known limits: a call that does not fit the signature of a coroutine or generator function raises
its `TypeError` when awaited or first advanced, not at once; `traced = tool(f)` cannot be pickled by
name (`@tool` on the definition can).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from spanwitness.capture import spans
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping

__all__ = ["Begin", "Binder", "Call", "Make", "name_of", "wrap"]

T = TypeVar("T")


class Call(Protocol):
    """One traced call; it is current from its beginning on. No method raises."""

    def returned(self, value: object) -> None:
        """The call gave back a value: stop being current, record, end."""

    def raised(self, error: BaseException) -> None:
        """The call raised, or was cancelled: stop being current, record, end."""

    def pause(self) -> None:
        """Stop being current: a generator gives control back."""

    def resume(self) -> None:
        """Become current again: a generator goes on."""

    def yielded(self, item: object) -> None:
        """A generator, paused, gave an item."""

    def exhausted(self, value: object) -> None:
        """A generator ended by itself and returned `value`."""

    def closed(self) -> None:
        """A generator was closed, or collected, before its end."""


class Begin(Protocol):
    """Start of a traced call, which becomes current; `None` = it is not traced."""

    def __call__(self, args: tuple[object, ...], kwargs: dict[str, object], /) -> Call | None:
        """Start the call."""


class Make(Protocol):
    """Maker of `begin` functions. Picklable, or proxies of callable objects are not."""

    def __call__(self, function: Callable[..., object], named: object, /) -> Begin:
        """Make the `begin` of a function; `named` is what may give its name."""
        ...


class Binder:
    """Arguments of a call by parameter name, without the cost of `Signature.bind`.

    Args:
        function: The function; its first parameter is left out when it is `self` or `cls`.
    """

    __slots__ = ("_all", "_keywords", "_var", "defaults", "names", "skip")

    def __init__(self, function: Callable[..., object]) -> None:
        self.names: tuple[str, ...] = ()
        self._all: frozenset[str] = frozenset()
        self.defaults: dict[str, object] = {}
        self._var: str | None = "args"
        self._keywords: str | None = None
        self.skip = 0
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a builtin without a signature
            return
        self._var = None
        positional = [p for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]
        if positional and _is_method(function, positional[0].name):
            self.skip = 1
            positional = positional[1:]
        self.names = tuple(p.name for p in positional)
        self._all = frozenset(p.name for p in parameters)
        for parameter in parameters[self.skip :]:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self._var = parameter.name
            elif parameter.kind is parameter.VAR_KEYWORD:
                self._keywords = parameter.name
            elif parameter.default is not parameter.empty:
                self.defaults[parameter.name] = parameter.default

    def has(self, name: str) -> bool:
        """Say whether an argument may have this name."""
        return name in self._all or self._keywords is not None or self._var == "args"

    def given(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return what the caller passed, by name; a call that does not fit, as far as it goes."""
        if self.skip:
            args = args[1:]
        if not args:
            return dict(kwargs)
        bound = dict(zip(self.names, args, strict=False))
        if len(args) > len(self.names):
            bound[self._var or "*"] = args[len(self.names) :]
        bound.update(kwargs)
        return bound

    def whole(self, given: dict[str, object]) -> dict[str, object]:
        """Add the defaults of parameters that were not passed."""
        return {**self.defaults, **given} if self.defaults else given


def _is_method(function: Callable[..., object], first: str) -> bool:
    if first not in ("self", "cls", "mcs", "mcls"):
        return False
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


def name_of(target: object) -> str:
    """Return a callable's own name, through partials and bound methods; else its class's."""
    while isinstance(target, functools.partial):
        target = target.func
    if isinstance(target, staticmethod | classmethod):
        target = target.__func__
    name = getattr(target, "__name__", None)
    return name if isinstance(name, str) else type(target).__name__


def wrap(target: T, make: Make, *, decorator: str) -> T:
    """Return the traced form of any callable.

    Args:
        target: What is decorated.
        make: Makes the `begin` function for the innermost function; its second argument is what may
            give the name.
        decorator: Name of the decorator, for messages.

    Raises:
        SettingsError: The target cannot be decorated.
    """
    if isinstance(target, staticmethod | classmethod):
        kind = type(target)
        return cast("T", kind(wrap(target.__func__, make, decorator=decorator)))
    if isinstance(target, functools.partial):
        inner = wrap(target.func, make, decorator=decorator)
        rebuilt = type(target)(inner, *target.args, **target.keywords)
        rebuilt.__dict__.update(target.__dict__)
        return cast("T", rebuilt)
    if isinstance(target, types.MethodType):
        function = wrap(target.__func__, make, decorator=decorator)
        return cast("T", types.MethodType(function, target.__self__))
    if isinstance(target, type):
        raise SettingsError(f"@{decorator} stands on class {target!r}: decorate its method instead")
    if not callable(target):
        raise SettingsError(f"@{decorator} needs a callable, not {target!r}")
    if getattr(target, "__spanwitness__", None) == decorator:
        target = target.__wrapped__  # type: ignore[attr-defined]  # decorated anew, not twice
    if inspect.isroutine(target) or hasattr(target, "cache_info"):
        return cast("T", _wrap_function(target, make(target, target), decorator))  # type: ignore[arg-type]
    return cast("T", _wrap_object(target, make, decorator))  # type: ignore[arg-type]


def _wrap_function(
    function: Callable[..., Any],
    begin: Begin,
    decorator: str,
    body: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a wrapper of the function's own kind; `body` is called in its stead."""
    # A tool has wrappers of its own for two kinds.
    owner = getattr(begin, "__self__", None)
    if inspect.isasyncgenfunction(function):
        kind = _async_generator
    elif inspect.iscoroutinefunction(function):
        kind = _coroutine
    elif inspect.isgeneratorfunction(function):
        kind = getattr(owner, "around_generator", _generator)
    else:
        kind = getattr(owner, "around_function", _plain)
    wrapper: Any = kind(body or function, begin)
    functools.update_wrapper(wrapper, function)
    wrapper.__spanwitness__ = decorator
    offered_name = getattr(owner, "name", None)
    if offered_name is not None:
        wrapper.__spanwitness_name__ = offered_name
    # For those who ask without following `__wrapped__`, such as `inspect.getfullargspec`.
    with contextlib.suppress(TypeError, ValueError):
        wrapper.__signature__ = inspect.signature(function)
    for extra in ("cache_info", "cache_clear", "cache_parameters"):  # of `functools.lru_cache`
        if hasattr(function, extra):
            setattr(wrapper, extra, getattr(function, extra))
    return cast("Callable[..., Any]", wrapper)


def _plain(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def wrapper(*args: object, **kwargs: object) -> object:
        if not spans.is_on:
            return function(*args, **kwargs)
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

    return wrapper


def _coroutine(function: Callable[..., Awaitable[Any]], begin: Begin) -> Callable[..., Any]:
    async def wrapper(*args: object, **kwargs: object) -> object:
        if not spans.is_on:
            return await function(*args, **kwargs)
        call = begin(args, kwargs)
        if call is None:
            return await function(*args, **kwargs)
        try:
            value = await function(*args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        call.returned(value)
        return value

    return wrapper


def _generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def wrapper(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
        call = begin(args, kwargs) if spans.is_on else None
        if call is None:
            return (yield from function(*args, **kwargs))
        try:
            generator = function(*args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        return (yield from steps(generator, call))

    return wrapper


def steps(generator: Generator[Any, Any, Any], call: Call) -> Generator[Any, Any, Any]:
    """Do what `yield from` does; the call is current while a step runs, never between."""
    send = advance = generator.send
    given: Any = None
    while True:
        try:
            item = advance(given)
        except StopIteration as stop:
            call.exhausted(stop.value)
            return stop.value
        except BaseException as error:
            given = None  # it may be this very error: no cycle with its traceback
            call.raised(error)
            raise
        call.pause()
        call.yielded(item)
        try:
            given = yield item
        except GeneratorExit:
            close_steps(generator, call)
            raise
        except BaseException as error:  # noqa: BLE001  handed to the generator, as asked
            advance, given = generator.throw, error
        else:
            advance = send
        call.resume()


def close_steps(generator: Generator[Any, Any, Any], call: Call) -> None:
    """Close a generator and end its call."""
    call.resume()
    try:
        generator.close()
    except BaseException as error:
        call.raised(error)
        raise
    call.closed()


def _async_generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def wrapper(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        inner: AsyncGenerator[Any, Any] = function(*args, **kwargs)
        call = (begin(args, kwargs) if spans.is_on else None) or _UNTRACED
        advance: Awaitable[Any] = inner.__anext__()
        while True:
            try:
                item = await advance
            except StopAsyncIteration:
                call.exhausted(None)
                return
            except BaseException as error:
                call.raised(error)
                raise
            call.pause()
            call.yielded(item)
            try:
                sent = yield item
            except GeneratorExit:
                await _close(inner, call)
                raise
            except BaseException as error:  # noqa: BLE001  handed to the generator, as asked
                advance = inner.athrow(error)
            else:
                advance = inner.asend(sent)
            call.resume()

    return wrapper


async def _close(inner: AsyncGenerator[Any, Any], call: Call) -> None:
    call.resume()
    try:
        await inner.aclose()
    except BaseException as error:
        call.raised(error)
        raise
    call.closed()


class _Untraced:
    """A call that nobody watches."""

    def returned(self, value: object) -> None:
        """Do nothing."""

    def raised(self, error: BaseException) -> None:
        """Do nothing."""

    def yielded(self, item: object) -> None:
        """Do nothing."""

    def pause(self) -> None:
        """Do nothing."""

    exhausted = returned
    resume = closed = pause


_UNTRACED = _Untraced()


class CallableProxy:
    """A callable object, traced: calls pass the tracer, everything else passes through."""

    __wrapped__: Callable[..., Any]

    def __getattr__(self, name: str) -> object:
        if name == "__wrapped__":  # not yet set: copying, unpickling
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _wrap_object, (self.__wrapped__, self._make, self._decorator)


def _wrap_object(target: Callable[..., Any], make: Make, decorator: str) -> CallableProxy:
    function = type(target).__call__

    def body(self: CallableProxy, *args: object, **kwargs: object) -> object:
        return function(self.__wrapped__, *args, **kwargs)

    call = _wrap_function(function, make(function, target), decorator, body)
    kind = type(type(target).__name__, (CallableProxy,), {"__call__": call})
    proxy: Any = kind()
    proxy.__wrapped__ = target
    proxy.__spanwitness_name__ = getattr(call, "__spanwitness_name__", None)
    proxy.__dict__.update(_make=make, _decorator=decorator)
    with contextlib.suppress(TypeError, ValueError):
        proxy.__signature__ = inspect.signature(target)
    return cast("CallableProxy", proxy)
