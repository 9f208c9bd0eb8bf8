"""What lies around each span of a trace: the protocol step, and the nearest call or agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanwitness.normalize.dialects import Role
    from spanwitness.normalize.tree import SpanTree

__all__ = ["Surroundings"]

_MARKS: Final = frozenset({"chat", "tool", "agent", "workflow", "step", "discovery"})
_RUNS: Final = frozenset({"agent", "workflow"})


class Surroundings:
    """By span id: the innermost step around a span, and the innermost span that plays a part."""

    def __init__(self, tree: SpanTree, roles: dict[str, Role]) -> None:
        self.step: dict[str, str | None] = {}
        self.around: dict[str, str | None] = {}
        step, around, by_id = self.step, self.around, tree.by_id
        agents: list[str] = []
        for span in tree.outermost_first:
            id_, above = span.span_id, span.parent_span_id
            if above is None or above not in step or above not in by_id:
                step[id_] = around[id_] = None
            else:
                role = roles[above]
                step[id_] = above if role == "step" else step[above]
                around[id_] = above if role in _MARKS else around[above]
            if roles[id_] in _RUNS:
                agents.append(id_)
        self.handing_over: frozenset[str] = frozenset(self._tools_around(agents, roles))
        """Tool spans that hand their work to another agent, or to a run of its own."""

    def _tools_around(self, agents: list[str], roles: dict[str, Role]) -> list[str]:
        found: list[str] = []
        for agent in agents:
            at = self.around[agent]
            while at is not None and roles[at] not in ("tool", "agent"):
                at = self.around[at]
            if at is not None and roles[at] == "tool":
                found.append(at)
        return found
