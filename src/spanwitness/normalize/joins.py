"""One call seen twice counts once.

An SDK's own span and ours, an instrumentation around a client that is watched, the client side and
the server side of an MCP call: the pair is joined, the fuller record stays, and takes from the
other what it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, SpanRecord, ToolCall
    from spanwitness.normalize.boundaries import Regions
    from spanwitness.normalize.surroundings import Surroundings
    from spanwitness.normalize.tree import SpanTree

__all__ = ["Joins", "fill"]

T = TypeVar("T", "ChatCall", "ToolCall")
_RANK: Final = {"spanwitness": 2, "otel_genai": 1}


class Joins:
    """Which spans are second records of a call."""

    def __init__(
        self,
        tree: SpanTree,
        found: Regions,
        surroundings: Surroundings,
        tools: dict[str, ToolCall],
    ) -> None:
        self._tree = tree
        self._found = found
        self._around = surroundings.around
        self._tools = tools
        self._kept: dict[str, str] = {}

    def pairs(self) -> list[tuple[str, str]]:
        """Return pairs of span ids: of the record that goes, and of the one that stays."""
        roles = self._found.roles
        for span in self._found.of_role("chat"):
            outer = self._around[span.span_id]
            if outer is not None and roles[outer] == "chat":
                self._join(outer, span.span_id)
        for span in self._found.of_role("tool"):
            outer = self._around[span.span_id]
            if outer is not None and roles[outer] == "tool":
                self._join_tools(outer, span.span_id)
        for span in self._found.of_role("discovery"):
            outer = self._around[span.span_id]
            if outer is not None and roles[outer] == "discovery":
                self._join(outer, span.span_id)
        self._join_by_response()
        return [(gone, self._final(gone)) for gone in self._kept]

    def _join_tools(self, outer: str, inner: str) -> None:
        a, b = self._tools[outer], self._tools[inner]
        if a.name != b.name:
            return
        if a.call_id is not None and b.call_id is not None and a.call_id != b.call_id:
            return
        dialects = self._found.dialects
        if dialects[outer] != dialects[inner] or "mcp" in (a.side, b.side):
            self._join(outer, inner)

    def _join_by_response(self) -> None:
        """Two records of one reply by different writers: same response id, at the same time."""
        chats = self._found.of_role("chat")
        if len({span.scope for span in chats}) < 2:
            return
        seen: dict[str, SpanRecord] = {}
        for span in chats:
            response_id = span.attributes.get(gen_ai.RESPONSE_ID)
            if not isinstance(response_id, str) or span.span_id in self._kept:
                continue
            known = seen.setdefault(response_id, span)
            if known.scope == span.scope:
                continue
            if known.start_ns <= span.end_ns and span.start_ns <= known.end_ns:
                self._join(known.span_id, span.span_id)

    def _join(self, left: str, right: str) -> None:
        a, b = self._final(left), self._final(right)
        if a == b:
            return
        if self._rank(b) > self._rank(a):
            a, b = b, a
        self._kept[b] = a

    def _final(self, span_id: str) -> str:
        while span_id in self._kept:
            span_id = self._kept[span_id]
        return span_id

    def _rank(self, span_id: str) -> int:
        return _RANK.get(self._found.dialects[span_id] or "", 0)


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
