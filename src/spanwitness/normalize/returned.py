"""What tools returned, to be compared with what requests hold where the trace does not say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.normalize.delivery import compare
from spanwitness.normalize.otel_genai import delivery_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import Delivery, ToolCall, ToolResultPart
    from spanwitness.model.calls import DeliveryState

__all__ = ["ReturnedResults"]


class ReturnedResults:
    """Results of the tool spans of a trace, by call id."""

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[ToolCall]) -> None:
        self._tools = {
            tool.call_id: tool
            for tool in tools
            if tool.call_id is not None and tool.has_result and not tool.is_truncated
        }

    def judge(self, part: ToolResultPart) -> Delivery:
        """Describe a result in a request; the state is unknown when no span saw what it was."""
        return delivery_of(part, self._state(part))

    def _state(self, part: ToolResultPart) -> DeliveryState:
        tool = None if part.call_id is None else self._tools.get(part.call_id)
        return "unknown" if tool is None else compare(tool.result, part)
