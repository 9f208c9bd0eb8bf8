"""The spans of one trace as a tree in one order, whatever order they came in."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanwitness.model import SpanRecord

__all__ = ["SpanTree"]


class SpanTree:
    """The spans of a trace, each once, in order: by sequence number, else by time and parentage.

    Clocks of two hosts may differ, so no span is taken to start before its parent did.
    """

    def __init__(self, spans: Iterable[SpanRecord]) -> None:
        self.by_id: dict[str, SpanRecord] = {}
        late: list[SpanRecord] = []
        for span in spans:
            attributes = span.attributes
            if own.RULE_ID in attributes or own.OUTCOME_SUCCESS in attributes:
                continue  # it speaks about a run and was written after it
            if own.LATE_END_OF in attributes:
                late.append(span)
                continue
            known = self.by_id.get(span.span_id)
            self.by_id[span.span_id] = span if known is None else _fuller(known, span)
        for span in late:
            self._apply_late(span)
        self.depth: dict[str, int] = {}
        self.numbers: dict[str, list[int]] = {}
        """Sequence numbers of the spans of each run of ours, by run id."""
        self._starts: dict[str, int] = {}
        self.outermost_first: list[SpanRecord] = []
        """Every span after its parent."""
        self.spans: list[SpanRecord] = self._ordered()
        """Every span, in the order of the run."""

    def parent(self, span: SpanRecord) -> SpanRecord | None:
        """Return a span's parent; `None` for a root, and when the parent is not in the trace."""
        id_ = span.parent_span_id
        return None if id_ is None else self.by_id.get(id_)

    def ancestors(self, span: SpanRecord) -> Iterator[SpanRecord]:
        """Yield the spans around a span, innermost first."""
        at = self.parent(span)
        while at is not None:
            yield at
            at = self.parent(at)

    def is_orphan(self, span: SpanRecord) -> bool:
        """Say whether a span names a parent that the trace does not hold."""
        return span.parent_span_id is not None and span.parent_span_id not in self.by_id

    def _apply_late(self, late: SpanRecord) -> None:
        """Somebody ended a span of ours early; what it had to say stands on another one."""
        early = self.by_id.get(str(late.attributes[own.LATE_END_OF]))
        if early is None:
            return
        said = {k: v for k, v in late.attributes.items() if k != own.LATE_END_OF}
        self.by_id[early.span_id] = msgspec.structs.replace(
            early,
            attributes={**early.attributes, **said},
            status=late.status if late.status != "unset" else early.status,
            end_ns=max(early.end_ns, late.end_ns),
        )

    def _ordered(self) -> list[SpanRecord]:
        starts, depth = self._starts, self.depth
        for span in list(self.by_id.values()):
            above = span.parent_span_id
            if span.span_id in starts:
                pass
            elif above is None or above not in self.by_id:
                starts[span.span_id], depth[span.span_id] = span.start_ns, 0
            elif above in starts:
                starts[span.span_id] = max(starts[above], span.start_ns)
                depth[span.span_id] = depth[above] + 1
            else:
                self._place(span)
            run_id = span.attributes.get(own.RUN_ID)
            if type(run_id) is str:
                numbers = self.numbers.setdefault(run_id, [])
                seq = span.attributes.get(own.SEQ)
                if type(seq) is int:
                    numbers.append(seq)
        # A stable order of ids first, so that what is equal in all else does not depend on arrival.
        keyed = [
            (starts[span.span_id], depth[span.span_id], span.start_ns, span.span_id)
            for span in self.by_id.values()
        ]
        keyed.sort()
        by_id = self.by_id
        found = [by_id[key[3]] for key in keyed]
        keyed.sort(key=_DEPTH)
        self.outermost_first = [by_id[key[3]] for key in keyed]
        return _by_seq(found) if self.numbers else found

    def _place(self, span: SpanRecord) -> None:
        """Work out start and depth of a span from those of its parents."""
        path: list[SpanRecord] = []
        seen: set[str] = set()
        at: SpanRecord | None = span
        while at is not None and at.span_id not in self._starts:
            if at.span_id in seen:
                self._open_circle(at)
                self._place(self.by_id[span.span_id])
                return
            seen.add(at.span_id)
            path.append(at)
            at = self.parent(at)
        start, depth = 0, -1
        if at is not None:
            start, depth = self._starts[at.span_id], self.depth[at.span_id]
        for each in reversed(path):
            start, depth = max(start, each.start_ns), depth + 1
            self._starts[each.span_id] = start
            self.depth[each.span_id] = depth

    def _open_circle(self, span: SpanRecord) -> None:
        """Make a root of one of the spans that are, in a circle, each other's parents."""
        circle = [span.span_id]
        at = self.parent(span)
        while at is not None and at.span_id != span.span_id:
            circle.append(at.span_id)
            at = self.parent(at)
        first = min(circle)
        self.by_id[first] = msgspec.structs.replace(self.by_id[first], parent_span_id=None)


_DEPTH = itemgetter(1)


def _by_seq(spans: list[SpanRecord]) -> list[SpanRecord]:
    """Put the numbered spans of each run in the order of their numbers, in the places they have."""
    groups: dict[object, list[tuple[int, int]]] = {}
    for place, span in enumerate(spans):
        seq = span.attributes.get(own.SEQ)
        if isinstance(seq, int):
            groups.setdefault(span.attributes.get(own.RUN_ID), []).append((seq, place))
    found = list(spans)
    for group in groups.values():
        places = [place for _, place in group]
        for place, (_, origin) in zip(places, sorted(group), strict=True):
            found[place] = spans[origin]
    return found


def _fuller(left: SpanRecord, right: SpanRecord) -> SpanRecord:
    """Choose between two copies of a span, so that the order in which they came does not matter."""
    if left == right:
        return left
    return max(left, right, key=_fullness)


def _fullness(span: SpanRecord) -> tuple[int, int, str]:
    return (span.end_ns, len(span.attributes), repr(span))
