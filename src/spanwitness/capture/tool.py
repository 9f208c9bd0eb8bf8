"""`@tool`: one `execute_tool` span a call: what was passed, what came back, who asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args, overload

from spanwitness.capture import defaults, spans
from spanwitness.capture.tool_call import tool_call
from spanwitness.capture.tool_span import ToolSpan
from spanwitness.capture.traced_tool import Effect, Phase, ToolOptions
from spanwitness.capture.wrapping import wrap
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.content import ContentMode, ContentPolicy

__all__ = ["mark_cached", "tool", "tool_call"]

F = TypeVar("F")


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
    exceptions, same generator protocol. Generators are recorded from first to last item.

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
    options = ToolOptions(name, effect, evidence, server, phase, content, error_when, cached_when)
    if target is None:
        return lambda found: wrap(found, options, decorator="tool")
    return wrap(target, options, decorator="tool")


def _check(what: str, value: object, allowed: tuple[object, ...]) -> None:
    if value is not None and value not in allowed:
        raise SettingsError(f"tool: {what} {value!r} is not one of {allowed!r}")


def mark_cached() -> None:
    """Say, from inside a tool, that its result comes from a cache; elsewhere no effect."""
    handle = spans.current_handle()
    if isinstance(handle, ToolSpan):
        handle.is_cached = True
        handle.is_special = True
