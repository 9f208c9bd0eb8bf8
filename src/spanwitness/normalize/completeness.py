"""Whether absence proves something in a run: every known hole, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.normalize.attributes import flag, integer, texts
from spanwitness.normalize.dialects import READ_DIALECTS, unread_role
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.model import SpanRecord
    from spanwitness.normalize.boundaries import Region
    from spanwitness.normalize.dialects import Role
    from spanwitness.normalize.tree import SpanTree

__all__ = ["incomplete_reasons"]

_SHOWN: Final = frozenset({"chat", "tool"})
_READABLE: Final = READ_DIALECTS | {None}


def incomplete_reasons(
    region: Region, tree: SpanTree, roles: dict[str, Role], dialects: dict[str, str | None]
) -> tuple[str, ...]:
    """Return why absence proves nothing in a run, its child runs included; () = it is whole."""
    reasons: set[str] = set()
    pending = [region]
    spans: list[SpanRecord] = []
    while pending:
        each = pending.pop()
        pending += each.children
        spans += each.spans
        if each.is_orphaned:
            reasons.add("root_missing" if each.root is None else "parent_missing")
        if each.is_own and each.root is not None:
            reasons |= _own_reasons(each.root, each.key, tree)
    by_id = tree.by_id
    for span in spans:
        if own.UNFINISHED in span.attributes:
            reasons.add("open_spans")
        if span.dropped_attributes and roles[span.span_id] != "other":
            reasons.add("dropped_attributes")
        above = span.parent_span_id
        if (
            above is not None
            and above not in by_id
            and span is not region.root
            and own.RUN_ID in span.attributes
        ):
            reasons.add("parent_missing")
    if not _READABLE.issuperset(dialects.values()) and _has_unread(spans, tree, roles, dialects):
        reasons.add("unread_dialect")
    return tuple(sorted(reasons))


def _own_reasons(root: SpanRecord, run_id: str, tree: SpanTree) -> set[str]:
    """Read the tracer's own account: what it started, ended, lost, and failed at."""
    get = root.attributes.get
    reasons = set(texts(get(own.INCOMPLETE_REASONS)) or ())
    if flag(get(own.COMPLETE)) is False and not reasons:
        reasons.add("said_incomplete")
    if integer(get(own.SPANS_LOST)):
        reasons.add("spans_lost")
    if integer(get(own.INTERNAL_ERRORS)):
        reasons.add("internal_error")
    started, ended = integer(get(own.SPANS_STARTED)), integer(get(own.SPANS_ENDED))
    numbers = set(tree.numbers.get(run_id, ()))
    last = max(numbers, default=0)
    if len(numbers) < max(started or 0, last):
        is_open = started is not None and ended is not None and ended < started
        n_missing = max(started or 0, last) - len(numbers)
        if is_open and ended is not None and started is not None:
            reasons.add("open_spans")
            n_missing -= started - ended
        if n_missing > 0:
            reasons.add("spans_missing")
    return reasons


def _has_unread(
    spans: list[SpanRecord],
    tree: SpanTree,
    roles: dict[str, Role],
    dialects: dict[str, str | None],
) -> bool:
    """Say whether calls may be recorded in a vocabulary that we cannot read, and nowhere else."""
    unread = [
        span
        for span in spans
        if dialects[span.span_id] is not None and dialects[span.span_id] not in READ_DIALECTS
    ]
    if not unread:
        return False
    shown = [span for span in spans if roles[span.span_id] in _SHOWN]
    if not any(roles[span.span_id] == "chat" for span in shown):
        return True
    covered = {span.span_id for span in shown}
    for span in shown:
        covered.update(outer.span_id for outer in tree.ancestors(span))
    for span in unread:
        if unread_role(span) == "container" or span.span_id in covered:
            continue
        if not any(outer.span_id in covered and roles[outer.span_id] in _SHOWN
                   for outer in tree.ancestors(span)):  # fmt: skip
            return True
    return False
