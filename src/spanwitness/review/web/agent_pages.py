"""The agents: their runs, what is found in them, and what their revising steps do to answers."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.concurrency import run_in_threadpool

from spanwitness.errors import UnknownItemError
from spanwitness.normalize import build_runs
from spanwitness.review.store.values import ItemFilter
from spanwitness.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.model import Run
    from spanwitness.review.web.site import Site
    from spanwitness.stats.counts import Rate

__all__ = ["AgentPages", "StepLine", "step_lines"]

_MAX_RUNS: Final = 60
_MAX_S: Final = 1.5
"""How long a page reads kept runs at most; it says how many it read."""


class StepLine(msgspec.Struct, frozen=True):
    """What one step does to answers, under one success rule."""

    name: str
    success_rule: str | None
    n_pairs: int
    correction: Rate
    """Wrong before, right after, of those that were wrong."""
    corruption: Rate
    """Right before, wrong after, of those that were right."""


def step_lines(runs: Iterable[Run]) -> list[StepLine]:
    """Count, for each step that scores an answer before and after, what became of it.

    Steps of another operation or success rule are not put together.
    """
    bits: defaultdict[tuple[str, str | None, str | None], list[tuple[bool, bool]]]
    bits = defaultdict(list)
    for run in runs:
        for step in run.steps:
            if step.success_before is not None and step.success_after is not None:
                key = step.name, step.success_rule, step.operation
                bits[key].append((step.success_before, step.success_after))
    return [_line(name, rule, pairs) for (name, rule, _), pairs in bits.items()]


def _line(name: str, rule: str | None, pairs: list[tuple[bool, bool]]) -> StepLine:
    counts = PairedCounts.from_bits(pairs)
    return StepLine(
        name=name,
        success_rule=rule,
        n_pairs=counts.n_pairs,
        correction=counts.correction_rate(),
        corruption=counts.corruption_rate(),
    )


class AgentPages:
    """The list of agents, and a page for each."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        """Answer `GET /agents`."""
        return await run_in_threadpool(self._list, request)

    def _list(self, request: Request) -> Response:
        agents = self._site.queue.agent_stats()
        return self._site.page(request, "agents.html", nav="Agents", agents=agents)

    async def show(self, request: Request) -> Response:
        """Answer `GET /agents/of?agent=…&service=…`."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        queue = self._site.queue
        name = request.query_params.get("agent") or None
        service = request.query_params.get("service") or None
        agent = next(
            (a for a in queue.agent_stats() if (a.agent, a.service) == (name, service)), None
        )
        if agent is None:
            raise UnknownItemError("no judged run is of this agent and service")
        only = ItemFilter(agent=name, service=service) if name else ItemFilter(service=service)
        return self._site.page(
            request,
            "agent.html",
            nav="Agents",
            name=name or "(no name)",
            service=service,
            agent=agent,
            steps=step_lines(self._kept_runs(only)),
            items=queue.items(only, order="newest", limit=10).rows,
        )

    def _kept_runs(self, only: ItemFilter) -> Iterator[Run]:
        """Give out the runs of an agent whose spans are kept, the latest first."""
        queue, give_up = self._site.queue, time.monotonic() + _MAX_S
        seen: set[tuple[str, str]] = set()
        for item in queue.items(only, order="newest", limit=_MAX_RUNS).rows:
            for sample in item.samples:
                key = sample.trace_id, sample.run_id
                if key in seen or not sample.has_snapshot or time.monotonic() > give_up:
                    continue
                seen.add(key)
                snapshot = queue.snapshot(*key)
                for run in build_runs(snapshot.spans) if snapshot is not None else ():
                    if run.run_id == sample.run_id:
                        yield run
