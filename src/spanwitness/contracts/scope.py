"""Whether a contract is about a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from spanwitness.contracts.names import matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spanwitness.contracts.model import When
    from spanwitness.model import Run

ScopeWord: TypeAlias = Literal["yes", "no", "unknown"]


def scope_of(when: When, run: Run, *, executed: Collection[str] | None = None) -> ScopeWord:
    """Judge the conditions of a contract on a run: `no` beats `unknown` beats `yes`."""
    word: ScopeWord = "yes"
    for found in _conditions(when, run, executed):
        if found == "no":
            return "no"
        if found == "unknown":
            word = "unknown"
    return word


def _conditions(when: When, run: Run, executed: Collection[str] | None) -> Iterable[ScopeWord]:
    if when.agent is not None:
        own = (run.name, run.service) if run.agent is None else (run.agent,)
        yield _word(_any(when.agent, own), is_known=True)
    if when.workflow is not None:
        yield _word(_any(when.workflow, (run.workflow,)), is_known=True)
    if when.tag is not None:
        yield _word(_any(when.tag, run.tags), is_known=True)
    if when.step is not None:
        names = tuple(word for step in run.steps for word in (step.name, step.kind))
        yield _word(_any(when.step, names), is_known=run.is_complete)
    if when.offered is not None:
        yield _offered(when.offered, run)
    if when.executed is not None:
        yield _executed(when.executed, run, executed)
    if when.input_matches is not None:
        yield _input(when.input_matches, run)


def _any(patterns: tuple[str, ...], names: Iterable[str | None]) -> bool:
    return any(name is not None and matches(patterns, name) for name in names)


def _word(found: bool, *, is_known: bool) -> ScopeWord:  # noqa: FBT001
    if found:
        return "yes"
    return "no" if is_known else "unknown"


def _offered(patterns: tuple[str, ...], run: Run) -> ScopeWord:
    is_known = run.is_complete
    for chat in run.chats:
        if chat.offered is None:
            is_known = False
        elif _any(patterns, (tool.name for tool in chat.offered)):
            return "yes"
    return "no" if is_known else "unknown"


def _executed(patterns: tuple[str, ...], run: Run, names: Collection[str] | None) -> ScopeWord:
    if names is None:
        from spanwitness.normalize.executions import executions

        names = {execution.tool for execution in executions(run)}
    if _any(patterns, names):
        return "yes"
    is_known = run.is_complete and all(chat.requested is not None for chat in run.chats)
    return "no" if is_known else "unknown"


def _input(pattern: str, run: Run) -> ScopeWord:
    if run.input_text is None:
        return "unknown"
    return "yes" if re.search(pattern, run.input_text) is not None else "no"
