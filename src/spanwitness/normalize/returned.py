"""What tools returned, to be compared with what requests hold where the trace does not say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.normalize.delivery import compare
from spanwitness.normalize.otel_genai import delivery_of, result_text
from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwitness.model import Delivery, SpanRecord, ToolCall, ToolResultPart
    from spanwitness.model.calls import DeliveryState

__all__ = ["ReturnedResults"]


class ReturnedResults:
    """Results of the tool spans of a trace, by call id."""

    __slots__ = ("_texts", "_tools")

    def __init__(self, tools: Iterable[ToolCall], spans: Mapping[str, SpanRecord]) -> None:
        self._tools: dict[str, ToolCall] = {}
        self._texts: dict[str, object] = {}
        for tool in tools:
            if tool.call_id is not None and tool.has_result and not tool.is_truncated:
                self._tools[tool.call_id] = tool
                recorded = spans[tool.span_id].attributes.get(gen_ai.TOOL_CALL_RESULT)
                self._texts[tool.call_id] = recorded

    def judge(self, part: ToolResultPart) -> Delivery:
        """Describe a result in a request; the state is unknown when no span saw what it was."""
        return delivery_of(part, self._state(part))

    def _state(self, part: ToolResultPart) -> DeliveryState:
        tool = None if part.call_id is None else self._tools.get(part.call_id)
        if tool is None or part.call_id is None:
            return "unknown"
        if len(part.parts) == 1 and result_text(part) == self._texts[part.call_id]:
            return "whole"  # as recorded, so there is nothing to decode
        return compare(tool.result, part)
