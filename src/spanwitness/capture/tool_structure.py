"""A tool call in an unsampled run: nothing is serialised, its facts are kept until the run ends."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any, TypeAlias

from spanwitness.capture.content import clean
from spanwitness.capture.context import NO_CLAIM, CallClaim
from spanwitness.capture.open_spans import SCOPE, structural_parent
from spanwitness.capture.plain import type_name
from spanwitness.capture.results import is_cancel, is_plain_value
from spanwitness.capture.tool_outcome import classify
from spanwitness.guard import guard
from spanwitness.model import SpanRecord
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.capture.context import RunState
    from spanwitness.capture.traced_tool import TracedTool
    from spanwitness.model.span import AttributeValue

_guard = guard("capture.tool.structure")
Note: TypeAlias = "tuple[Any, TracedTool, int, int, int, int, int, CallClaim]"
"""`record_of`, tool, sequence number, span id, parent id, start, end, claim."""


class StructuralCall:
    """One call; called with the run's state it becomes its `SpanRecord`."""

    outcome: str = "value"
    cache_before: Any = None
    is_cached: bool = False
    n_items: int = 0
    end_mono: int = 0
    extra: dict[str, AttributeValue] | None = None

    def __init__(
        self,
        tool: TracedTool,
        state: RunState,
        seq: int,
        span_id: int,
        parent_id: int,
        start_mono: int,
        claim: CallClaim = NO_CLAIM,
    ) -> None:
        self.tool = tool
        self.state = state
        self.seq = seq
        self.span_id = span_id
        self.parent_id = parent_id
        self.before_id = parent_id  # what was current when it last became current
        self.start_mono = start_mono
        self.claim = claim

    def returned(self, value: object) -> None:
        """Note the outcome and end."""
        if self.tool.is_special or self.is_cached or not is_plain_value(value):
            self._look_at(value)
        self.end_mono = monotonic_ns()
        structural_parent.set(self.before_id)
        state = self.state
        next(state.end_counter)
        state.keep(self)

    def _look_at(self, value: object) -> None:
        with _guard:
            found = classify(self.tool, value, self.cache_before, is_cached=self.is_cached)
            self.outcome = found.outcome
            if found.outcome == "error":
                self.set({gen_ai.ERROR_TYPE: "tool_error"})

    def raised(self, error: BaseException) -> None:
        """Note the exception's type and end."""
        with _guard:
            self.set({gen_ai.ERROR_TYPE: clean(type_name(error))})
        self._end("cancelled" if is_cancel(error) else "error")

    def resume(self) -> None:
        """Become current again."""
        self.before_id = structural_parent.get()
        structural_parent.set(self.span_id)

    def pause(self) -> None:
        """Stop being current."""
        structural_parent.set(self.before_id)

    def yielded(self, item: object) -> None:  # noqa: ARG002  items are not kept here
        """Count an item."""
        self.n_items += 1

    def exhausted(self, value: object) -> None:
        """The generator ended by itself."""
        self._end("value" if self.n_items or value is not None else "empty")

    def closed(self) -> None:
        """The consumer had enough."""
        self._end("value" if self.n_items else "cancelled")

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add structural attributes."""
        self.extra = {**(self.extra or {}), **attributes}

    def _end(self, outcome: str) -> None:
        self.outcome = outcome
        self.end_mono = monotonic_ns()
        structural_parent.set(self.before_id)
        next(self.state.end_counter)
        self.state.keep(self)

    def __call__(self, state: RunState) -> SpanRecord:
        """Make the record."""
        note = (
            record_of,
            self.tool,
            self.seq,
            self.span_id,
            self.parent_id,
            self.start_mono,
            self.end_mono,
            self.claim,
        )
        return record_of(note, state, self.outcome, self.extra)


def record_of(
    note: Note,
    state: RunState,
    outcome: str = "value",
    extra: Mapping[str, AttributeValue] | None = None,
) -> SpanRecord:
    """Make the record of a call that was noted as a tuple, which costs a fifth of an object."""
    _, tool, seq, span_id, parent_id, start_mono, end_mono, claim = note
    attributes: dict[str, object] = {
        **tool.start,
        own.SEQ: seq,
        own.RUN_ID: state.run_id,
        own.TOOL_OUTCOME: outcome,
        **(extra or {}),
    }
    if claim.link != "none":
        attributes[own.TOOL_LINK] = claim.link
    if claim.call_id is not None:
        attributes[gen_ai.TOOL_CALL_ID] = claim.call_id
    return SpanRecord(
        trace_id=state.trace_id,
        span_id=f"{span_id:016x}",
        parent_span_id=f"{parent_id:016x}" if parent_id else None,
        name=tool.span_name,
        start_ns=state.anchor_ns + start_mono,
        end_ns=state.anchor_ns + end_mono,
        status="error" if outcome in ("error", "cancelled") else "unset",
        attributes=attributes,
        scope=SCOPE,
    )
