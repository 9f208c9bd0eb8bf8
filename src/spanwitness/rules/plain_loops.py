"""Whether a run is a plain tool loop: each call asked for once, run once, and its result handed on.

Most runs are. In such a run the rules on what becomes of a call have nothing to find, and one look
at the calls tells so without working out executions by every other kind of evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.rules import tool_names
from spanwitness.rules.error_texts import is_error_value
from spanwitness.rules.offers import index_of
from spanwitness.rules.returned import holds_only_text
from spanwitness.rules.same_calls import surely_differ

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Delivery, Run, ToolCall, ToolRequest

__all__ = ["ALL_LOOP_SIGNS", "ODD_LOOP", "ODD_PARTS", "REPEATS", "loop_signs_of"]

ODD_LOOP: Final = 1 << 18
"""Some call was not asked for, run and handed on whole, once each, with a result that is no error;
or it cannot be told; or the run is no tool loop at all."""
ODD_PARTS: Final = 1 << 19
"""Some result holds, or may hold, another part than text."""
REPEATS: Final = 1 << 20
"""Two calls of one tool in a row that may have the same arguments, or more than one write."""
ALL_LOOP_SIGNS: Final = ODD_LOOP | ODD_PARTS | REPEATS

_TEXT: Final = ("text",)


def loop_signs_of(run: Run) -> int:
    """Return the bits of the signs in a run."""
    tools: dict[str, ToolCall] = {}
    for tool in run.tools:
        call_id = tool.call_id
        if call_id is None or call_id in tools or not _is_plain(tool):
            return ALL_LOOP_SIGNS
        tools[call_id] = tool
    if not tools or run.compacted:
        return ALL_LOOP_SIGNS
    asked: set[str] = set()
    carried: set[str] = set()
    has_evidence = False
    found = 0
    before: tuple[Delivery, ...] = ()
    for chat in run.chats:
        delivered, requested = chat.delivered, chat.requested
        if delivered is None or requested is None or not _is_plain_reply(chat):
            return ALL_LOOP_SIGNS
        for call in requested:
            call_id = call.call_id
            if call_id is None or call_id in asked or not _is_run_by(tools.get(call_id), call):
                return ALL_LOOP_SIGNS
            asked.add(call_id)
            has_evidence = has_evidence or _is_evidence(call.name, chat)
        n_same = len(before)
        fresh = delivered[n_same:] if delivered[:n_same] == before else delivered
        before = delivered
        for delivery in fresh:
            call_id = delivery.call_id
            if call_id is None or call_id not in asked or delivery.state != "whole":
                return ALL_LOOP_SIGNS
            carried.add(call_id)
            found |= _of_parts(delivery, tools[call_id])
    if not has_evidence or len(asked) != len(tools) or len(carried) != len(tools):
        return ALL_LOOP_SIGNS
    return found | _of_repeats(run.tools)


def _is_plain(tool: ToolCall) -> bool:
    result = tool.result
    return (
        tool.outcome == "value"
        and tool.side == "client"
        and tool.has_result
        and tool.error_type is None
        and not tool.is_truncated
        and not tool.is_refused
        and result is not None
        and (type(result) is not str or bool(result.strip()))
        and not is_error_value(result)
    )


def _is_plain_reply(chat: ChatCall) -> bool:
    return (
        chat.error_type is None
        and (chat.ending == "complete" or chat.ending == "unknown")  # noqa: PLR1714  half the cost
        and not chat.is_truncated
        and not chat.has_server_state
    )


def _is_run_by(tool: ToolCall | None, call: ToolRequest) -> bool:
    return (
        tool is not None
        and tool.name == call.name
        and call.source == "structured"
        and call.side == "client"
    )


def _is_evidence(name: str, chat: ChatCall) -> bool:
    """Say whether a call is surely neither the form of an answer nor a hand-off."""
    output_format = chat.output_format
    return (
        (output_format is None or output_format.name != name)
        and name not in index_of(chat.offered).output_names
        and not tool_names.is_terminal(name)
        and not tool_names.is_handoff(name)
    )


def _of_parts(delivery: Delivery, tool: ToolCall) -> int:
    returned = delivery.returned_part_types
    if delivery.has_binary_text or (returned is not None and returned != _TEXT):
        return ODD_PARTS
    if returned is None and type(tool.result) is not str and not holds_only_text(tool.result):
        return ODD_PARTS
    return 0


def _of_repeats(tools: tuple[ToolCall, ...]) -> int:
    n_writes = 0
    last: ToolCall | None = None
    for tool in tools:
        if (tool.effect or tool_names.effect_of(tool.name)) == "write":
            n_writes += 1
        if (
            last is not None
            and last.name == tool.name
            and not surely_differ(last.arguments, tool.arguments)
        ):
            return REPEATS
        last = tool
    return REPEATS if n_writes > 1 else 0
