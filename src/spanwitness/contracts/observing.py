"""What learning looks at in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import Run  # noqa: TC001  msgspec reads the annotation
from spanwitness.normalize.executions import executions
from spanwitness.normalize.order import positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.model import ChatCall, Execution

__all__ = ["Observed", "observe"]


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A clean run, reduced to what a contract can ask for."""

    run: Run
    unit: str
    """The independent unit that it belongs to."""
    agent: str | None
    """Its agent's name, else its service's, by which a contract can find it again."""
    executed: tuple[str, ...]
    """Names of the tools that were executed with success, in order; output tools are no use."""
    n_before: int
    """How many of them were executed before the submission, or before the end without one."""
    has_submission: bool
    offered: frozenset[str] | None
    """Names that any request offered; `None` = not recorded, or no request at all."""
    arguments: frozenset[tuple[str, str]]
    """Tool and argument of every structured call that gave one."""


def observe(run: Run, /, *, unit: str) -> Observed:
    """Look at a run."""
    places = positions(run)
    done = [one for one in executions(run, places) if _counts(one)]
    ends = [] if run.submission is None else [run.submission.span_id]
    ends.extend(s.span_id for s in run.steps if s.kind == "submit" and s.error_type is None)
    end = min((places.get(span_id, 0) for span_id in ends), default=None)
    replies = [c for c in run.chats if c.error_type is None]
    offers = [chat.offered for chat in replies]
    known = [offer for offer in offers if offer is not None]
    return Observed(
        run=run,
        unit=unit,
        agent=run.agent or run.service or None,
        executed=tuple(one.tool for one in done),
        n_before=len(done) if end is None else sum(one.order < end for one in done),
        has_submission=end is not None,
        offered=frozenset(tool.name for offer in known for tool in offer if tool.name)
        if known and len(known) == len(offers)
        else None,
        arguments=frozenset(_arguments(replies)),
    )


def _arguments(replies: Sequence[ChatCall]) -> Iterator[tuple[str, str]]:
    for chat in replies:
        for call in chat.requested or ():
            if call.source == "structured" and isinstance(call.arguments, dict):
                yield from ((call.name, str(key)) for key in call.arguments if call.name and key)


def _counts(done: Execution) -> bool:
    is_done = done.outcome not in ("error", "cancelled")
    return is_done and done.side != "output" and bool(done.tool)
