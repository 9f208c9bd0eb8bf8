"""Where runs begin and end in a trace.

A run is what `sw.run` (or an outermost `@agent`) opened; else a root `invoke_agent`; else the root
span. Agents inside another agent, and runs inside a run, are child runs. A span that only wraps one
agent is no run of its own: the two are one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from spanwitness.normalize.dialects import READ_DIALECTS, dialect_of, role_of
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.model import SpanRecord
    from spanwitness.normalize.dialects import Role
    from spanwitness.normalize.tree import SpanTree

__all__ = ["Region", "find_regions"]

_CALLS: Final = frozenset({"chat", "tool"})
_ITEMS: Final = frozenset({"chat", "tool", "step", "discovery", "agent"})


@dataclass(slots=True, eq=False)
class Region:
    """A run and the spans that belong to it directly, not by a child run."""

    key: str
    """The run id of ours, or the id of the root span."""
    root: SpanRecord | None
    is_own: bool = False
    """Opened by `sw.run` or an outermost `@agent`."""
    is_agent: bool = False
    is_orphaned: bool = False
    """Its root, or the parent of some of its spans, is missing."""
    parent: Region | None = None
    children: list[Region] = field(default_factory=list)
    spans: list[SpanRecord] = field(default_factory=list)
    n_calls: int = 0
    """Model calls and executions."""
    n_items: int = 0
    """Spans that say something about the run, those of unread vocabularies included."""

    def all_spans(self) -> list[SpanRecord]:
        """Return its spans and those of its child runs."""
        if not self.children:
            return self.spans
        found: list[SpanRecord] = []
        pending = [self]
        while pending:
            region = pending.pop()
            found += region.spans
            pending += region.children
        return found


@dataclass(slots=True, eq=False)
class Regions:
    """The runs of a trace, outermost first, and what each span is."""

    regions: list[Region]
    roles: dict[str, Role]
    dialects: dict[str, str | None]
    by_role: dict[Role, list[SpanRecord]]

    def of_role(self, role: Role) -> list[SpanRecord]:
        """Return the spans that play a part, in order."""
        return self.by_role.get(role, [])

    def is_own(self, span: SpanRecord) -> bool:
        """Say whether spanwitness wrote a span."""
        return self.dialects[span.span_id] == "spanwitness"


def find_regions(tree: SpanTree) -> Regions:
    """Find the runs of a trace."""
    roles: dict[str, Role] = {}
    dialects: dict[str, str | None] = {}
    by_role: dict[Role, list[SpanRecord]] = {}
    for span in tree.spans:
        dialect = dialects[span.span_id] = dialect_of(span)
        role: Role = role_of(span) if dialect in READ_DIALECTS else "other"
        roles[span.span_id] = role
        if role != "other":
            by_role.setdefault(role, []).append(span)
    only = _only_region(tree, by_role)
    if only is not None:
        return Regions([only], roles, dialects, by_role)
    found = _Finder(tree, roles, dialects)
    found.assign()
    return Regions(_simplified(found.regions), roles, dialects, by_role)


def _only_region(tree: SpanTree, by_role: dict[Role, list[SpanRecord]]) -> Region | None:
    """Return the run of a trace that is plainly one run: what the search finds, found faster."""
    spans = tree.spans
    root = tree.outermost_first[0]
    agents = by_role.get("agent", ())
    if len(spans) > 1 and tree.depth[tree.outermost_first[1].span_id] == 0:
        return None
    if any(agent is not root for agent in agents) or not ("chat" in by_role or "tool" in by_role):
        return None
    run_ids = tree.numbers.keys()
    if not run_ids:
        if root.parent_span_id is not None and not agents:
            return None
        return Region(key=root.span_id, root=root, is_agent=bool(agents), spans=spans, n_items=1)
    run_id = root.attributes.get(own.RUN_ID)
    if len(run_ids) > 1 or not isinstance(run_id, str) or own.CONTENT not in root.attributes:
        return None
    return Region(key=run_id, root=root, is_own=True, spans=spans, n_items=1)


class _Finder:
    def __init__(
        self, tree: SpanTree, roles: dict[str, Role], dialects: dict[str, str | None]
    ) -> None:
        self._tree = tree
        self._roles = roles
        self._dialects = dialects
        self._own: dict[str, Region] = {}
        self._owner: dict[str, Region] = {}
        self._orphans: Region | None = None
        self.regions: list[Region] = []

    def assign(self) -> None:
        """Give every span to a region."""
        self._find_own()
        for span in self._tree.outermost_first:
            self._owner[span.span_id] = self._owner_of(span)
        for span in self._tree.spans:
            self._put(span, self._owner[span.span_id])
        for region in self.regions:
            if region.root is not None and region.parent is None:
                above = self._tree.parent(region.root)
                parent = None if above is None else self._owner[above.span_id]
                if parent is not None and parent is not region:
                    region.parent = parent
                    parent.children.append(region)
        self._settle_orphans()

    def _find_own(self) -> None:
        for span in self._tree.spans:
            run_id = span.attributes.get(own.RUN_ID)
            if not isinstance(run_id, str):
                continue
            region = self._own.get(run_id)
            if region is None:
                region = self._own[run_id] = Region(key=run_id, root=None, is_own=True)
                self.regions.append(region)
            if own.CONTENT in span.attributes or own.SPANS_STARTED in span.attributes:
                region.root = region.root or span
        for region in self._own.values():
            region.is_orphaned = region.root is None

    def _owner_of(self, span: SpanRecord) -> Region:
        run_id = span.attributes.get(own.RUN_ID)
        above = self._tree.parent(span)
        is_agent = self._roles[span.span_id] == "agent"
        if isinstance(run_id, str):
            region = self._own[run_id]
            if not is_agent or region.root is span or above is None:
                inner = self._owner.get(above.span_id) if above is not None else None
                is_inside = inner is not None and _is_within(inner, region)
                return inner if is_inside and inner is not None else region
            inner = self._owner.get(above.span_id, region)
            return self._open(span, inner if _is_within(inner, region) else region)
        if above is not None and above.span_id in self._owner:
            outer = self._owner[above.span_id]
            return self._open(span, outer) if is_agent else outer
        if self._tree.is_orphan(span) and not is_agent:
            if self._orphans is None:
                self._orphans = Region(key=span.span_id, root=None, is_orphaned=True)
                self.regions.append(self._orphans)
            return self._orphans
        return self._open(span, None)

    def _open(self, span: SpanRecord, parent: Region | None) -> Region:
        is_agent = self._roles[span.span_id] == "agent"
        region = Region(key=span.span_id, root=span, is_agent=is_agent, parent=parent)
        if parent is not None:
            parent.children.append(region)
        self.regions.append(region)
        return region

    def _put(self, span: SpanRecord, region: Region) -> None:
        region.spans.append(span)
        role = self._roles[span.span_id]
        dialect = self._dialects[span.span_id]
        if role in _CALLS:
            region.n_calls += 1
        if role in _ITEMS or (dialect is not None and dialect not in READ_DIALECTS):
            region.n_items += 1

    def _settle_orphans(self) -> None:
        """Spans whose parents are missing belong to the only run there is, if there is one."""
        orphans = self._orphans
        if orphans is None:
            return
        tops = [r for r in self.regions if r is not orphans and r.parent is None and r.n_items]
        if len(tops) == 1 and not orphans.children:
            tops[0].spans += orphans.spans
            tops[0].n_calls += orphans.n_calls
            tops[0].n_items += orphans.n_items
            tops[0].is_orphaned = True
            self.regions.remove(orphans)


def _is_within(inner: Region, outer: Region) -> bool:
    at: Region | None = inner
    while at is not None:
        if at is outer:
            return True
        at = at.parent
    return False


def _simplified(regions: list[Region]) -> list[Region]:
    """Drop what is no run: spans around agents that make no calls themselves."""
    found = list(regions)
    for region in list(found):
        if region.n_calls:
            continue
        children = region.children
        if len(children) == 1 and not children[0].is_own and (region.is_own or region.is_agent):
            _merge(region, children[0])
            found.remove(children[0])
        elif not region.is_own and not region.is_agent and (children or not region.n_items):
            for child in children:
                child.parent = region.parent
                if region.parent is not None:
                    region.parent.children.append(child)
            if region.parent is not None:
                region.parent.children.remove(region)
            _give_spans(region, children)
            found.remove(region)
    return [region for region in found if region.n_items or region.is_own]


def _merge(outer: Region, inner: Region) -> None:
    """Make an agent and the run around it one."""
    outer.spans += inner.spans
    outer.n_calls += inner.n_calls
    outer.n_items += inner.n_items
    outer.is_orphaned = outer.is_orphaned or inner.is_orphaned
    outer.children = inner.children
    for child in inner.children:
        child.parent = outer


def _give_spans(region: Region, children: list[Region]) -> None:
    """Leave what a dropped region says about its only run with that run."""
    if len(children) == 1:
        children[0].spans += region.spans
        children[0].n_items += region.n_items
