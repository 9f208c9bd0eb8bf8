"""One call seen twice counts once.

An SDK's own span and ours, an instrumentation around a client that is watched, the client side and
the server side of an MCP call: the pair is joined, the fuller record stays, and takes from the
other what it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, SpanRecord, ToolCall
    from spanwitness.normalize.dialects import Role
    from spanwitness.normalize.tree import SpanTree

__all__ = ["Joins", "fill"]

T = TypeVar("T", "ChatCall", "ToolCall")
_RANK: Final = {"spanwitness": 2, "otel_genai": 1}
_STOPS: Final = frozenset({"agent", "workflow", "step"})


class Joins:
    """Which spans are second records of a call; `kept` maps what goes to what stays, by id."""

    def __init__(
        self, tree: SpanTree, roles: dict[str, Role], dialects: dict[str, str | None]
    ) -> None:
        self._tree = tree
        self._roles = roles
        self._dialects = dialects
        self.kept: dict[str, str] = {}

    def find(self, names: dict[str, str], sides: dict[str, str], ids: dict[str, str]) -> None:
        """Find the pairs.

        Args:
            names: Names of executed tools, by span id.
            sides: Their sides.
            ids: Their call ids, where known.
        """
        for span in self._tree.spans:
            role = self._roles[span.span_id]
            if role not in ("chat", "tool", "discovery"):
                continue
            for outer in self._tree.ancestors(span):
                outer_role = self._roles[outer.span_id]
                if outer_role in _STOPS:
                    break
                if outer_role != role:
                    if outer_role == "tool" and role == "discovery":
                        continue
                    if outer_role in ("chat", "tool"):
                        break
                    continue
                if role != "tool" or self._is_same_tool(outer, span, names, sides, ids):
                    self._join(outer, span)
                break
        self._find_by_response()

    def _is_same_tool(
        self,
        outer: SpanRecord,
        inner: SpanRecord,
        names: dict[str, str],
        sides: dict[str, str],
        ids: dict[str, str],
    ) -> bool:
        a, b = outer.span_id, inner.span_id
        if names[a] != names[b]:
            return False
        if a in ids and b in ids and ids[a] != ids[b]:
            return False
        return self._dialects[a] != self._dialects[b] or "mcp" in (sides[a], sides[b])

    def _find_by_response(self) -> None:
        """Two records of one reply by different writers: same response id, at the same time."""
        seen: dict[str, SpanRecord] = {}
        for span in self._tree.spans:
            if self._roles[span.span_id] != "chat" or span.span_id in self.kept:
                continue
            response_id = span.attributes.get("gen_ai.response.id")
            if not isinstance(response_id, str) or not response_id:
                continue
            known = seen.setdefault(response_id, span)
            if known is span or known.scope == span.scope:
                continue
            if known.start_ns <= span.end_ns and span.start_ns <= known.end_ns:
                self._join(known, span)

    def _join(self, left: SpanRecord, right: SpanRecord) -> None:
        a, b = self._final(left.span_id), self._final(right.span_id)
        if a == b:
            return
        if self._rank(b) > self._rank(a):
            a, b = b, a
        self.kept[b] = a

    def _final(self, span_id: str) -> str:
        while span_id in self.kept:
            span_id = self.kept[span_id]
        return span_id

    def stays(self, span_id: str) -> str:
        """Return the id of the span whose record stays."""
        return self._final(span_id)

    def _rank(self, span_id: str) -> int:
        return _RANK.get(self._dialects[span_id] or "", 0)


_NEVER: Final = frozenset({"span_id", "parent_span_id", "seq", "start_ns", "end_ns", "step_span_id",
                           "name", "link", "dialect", "usage", "attempts", "outcome"})  # fmt: skip


def fill(kept: T, other: T) -> T:
    """Take from the second record of a call what the kept one does not know."""
    lacking: dict[str, object] = {}
    for name in kept.__struct_fields__:
        if name not in _NEVER and getattr(kept, name) is None:
            value = getattr(other, name)
            if value is not None:
                lacking[name] = value
    if getattr(kept, "outcome", None) == "unknown":
        lacking["outcome"] = getattr(other, "outcome", "unknown")
    if getattr(kept, "side", None) == "client" and getattr(other, "side", None) == "mcp":
        lacking["side"] = "mcp"
    if getattr(kept, "has_result", True) is False and getattr(other, "has_result", False):
        lacking |= {"result": getattr(other, "result", None), "has_result": True}
    return msgspec.structs.replace(kept, **lacking) if lacking else kept
