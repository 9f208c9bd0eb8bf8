"""Executions of tools by whatever evidence a run holds, counted once per call.

A tool span is the best evidence; a hosted tool shows in the reply itself; what no span saw shows as
a result in a later request. A request alone is no execution.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.model import (
    Delivery,
    Execution,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolRequest,
    ToolResultPart,
)
from spanwitness.normalize.attributes import decoded
from spanwitness.normalize.delivery import is_empty_text
from spanwitness.normalize.order import positions
from spanwitness.normalize.otel_genai import result_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import ChatCall, Run
    from spanwitness.model.calls import OutcomeWord

__all__ = ["executions", "matched_requests"]

_HOSTED: Final = frozenset({"provider", "mcp"})


def executions(run: Run, places: dict[str, int] | None = None) -> tuple[Execution, ...]:
    """Return the executions of a run in order.

    An execution that only messages show has the position of the model call that asked for it: it
    ran after that reply and before whatever comes next. One that a provider did has the position of
    the model call in which it did it. Positions are those of `normalize.order.positions`.

    Args:
        run: The run.
        places: Its positions, if they are known already.
    """
    if not run.chats and not run.tools:
        return ()
    places = positions(run) if places is None else places
    matched: dict[str, ToolRequest] = {}
    for tool in run.tools:
        if tool.call_id is None or tool.arguments is None:
            matched = matched_requests(run, places)  # the request knows what the span does not
            break
    found = [
        _from_span(tool, matched.get(tool.span_id), places)
        for tool in run.tools
        if not tool.is_refused
    ]
    counted = {e.call_id for e in found if e.call_id is not None}
    counted.update([t.call_id for t in run.tools if t.is_refused and t.call_id is not None])
    loose = _loose_tools(run, matched)
    asked: dict[str, tuple[ChatCall, ToolRequest]] | None = None
    delivered: tuple[Delivery, ...] = ()
    for chat in run.chats:
        for request in chat.requested or ():
            if request.side in _HOSTED:
                _add_hosted(found, chat, counted, places)
                break
        before, delivered = delivered, chat.delivered or ()
        # Histories grow: what the request before held has been looked at.
        n_same = len(before)
        new = delivered[n_same:] if delivered[:n_same] == before else delivered
        fresh = [d for d in new if d.call_id is not None and d.call_id not in counted]
        if fresh:
            asked = _requests(run) if asked is None else asked
            _add_delivered(found, chat, fresh, asked, counted, loose, places)
    found.sort(key=_ORDER)
    is_mixed = asked is not None and run.tools and run.is_complete
    return tuple(_told_from_served(found) if is_mixed else found)


def _told_from_served(found: list[Execution]) -> list[Execution]:
    """Tell results that a cache gave from executions that only messages show.

    Other calls of the tool have spans, this one has none, and an earlier one had the same
    arguments: what was delivered is the earlier result.
    """
    told: list[Execution] = []
    ran: dict[str, list[object]] = {}
    for execution in found:
        if execution.how == "span":
            ran.setdefault(execution.tool, []).append(execution.arguments)
        elif execution.how == "messages" and execution.outcome in _GAVE:
            earlier = ran.get(execution.tool, ())
            if any(_is_part(execution.arguments, arguments) for arguments in earlier):
                execution = msgspec.structs.replace(execution, how="cache", outcome="cached")  # noqa: PLW2901
        told.append(execution)
    return told


_GAVE: Final = ("value", "empty")
"""An error is the word of the harness on a call (refused, invalid), not that of a cache."""
_ORDER: Final = attrgetter("order")


def matched_requests(run: Run, places: dict[str, int] | None = None) -> dict[str, ToolRequest]:
    """Return the request that each tool span serves, by the tool's span id.

    By call id; a span whose id is not known serves the oldest request of its name that no span has
    claimed, one with the same arguments before others, so that it is not counted twice.

    Args:
        run: The run.
        places: Its positions, if they are known already.
    """
    if not run.tools:
        return {}
    by_id: dict[str, ToolRequest] = {}
    open_: dict[str, list[tuple[int, ToolRequest]]] = {}
    places = positions(run) if places is None else places
    for chat in run.chats:
        for request in chat.requested or ():
            if request.source != "structured" or request.side in _HOSTED:
                continue
            if request.call_id is not None:
                if request.call_id in by_id:
                    continue
                by_id[request.call_id] = request
            open_.setdefault(request.name, []).append((places[chat.span_id], request))
    found: dict[str, ToolRequest] = {}
    unlinked: list[ToolCall] = []
    for tool in run.tools:
        if tool.call_id is None:
            unlinked.append(tool)
        elif tool.call_id in by_id:
            found[tool.span_id] = by_id[tool.call_id]
            _take(open_, by_id[tool.call_id])
    for tool in unlinked:
        _match_by_name(tool, places[tool.span_id], open_, found)
    return found


def _match_by_name(
    tool: ToolCall,
    place: int,
    open_: dict[str, list[tuple[int, ToolRequest]]],
    found: dict[str, ToolRequest],
) -> None:
    candidates = [request for at, request in open_.get(tool.name, ()) if at < place]
    if not candidates:
        return
    same = [r for r in candidates if _is_part(r.arguments, tool.arguments)]
    request = (same or candidates)[0]
    found[tool.span_id] = request
    _take(open_, request)


def _take(open_: dict[str, list[tuple[int, ToolRequest]]], request: ToolRequest) -> None:
    left = open_.get(request.name, [])
    open_[request.name] = [pair for pair in left if pair[1] is not request]


def _is_part(asked: object, bound: object) -> bool:
    """Say whether requested arguments are a part of the bound ones (defaults are not requested)."""
    if isinstance(asked, dict) and isinstance(bound, dict):
        return all(key in bound and bound[key] == value for key, value in asked.items())
    return asked is not None and asked == bound


def _requests(run: Run) -> dict[str, tuple[ChatCall, ToolRequest]]:
    found: dict[str, tuple[ChatCall, ToolRequest]] = {}
    for chat in run.chats:
        for request in chat.requested or ():
            if request.call_id is not None and request.source == "structured":
                found.setdefault(request.call_id, (chat, request))
    return found


def _from_span(tool: ToolCall, request: ToolRequest | None, places: dict[str, int]) -> Execution:
    call_id = tool.call_id
    if call_id is None and request is not None:
        call_id = request.call_id
    arguments = tool.arguments
    if arguments is None and request is not None:
        arguments = request.arguments
    return Execution(
        tool=tool.name,
        call_id=call_id,
        side=tool.side,
        how="cache" if tool.outcome == "cached" else "span",
        outcome=tool.outcome,
        effect=tool.effect,
        order=places[tool.span_id],
        span_id=tool.span_id,
        step_span_id=tool.step_span_id,
        arguments=arguments,
        result=tool.result,
        has_result=tool.has_result,
        call=tool,
    )


def _loose_tools(run: Run, matched: dict[str, ToolRequest]) -> dict[str, list[ToolCall]]:
    """Return the tool spans that no request claims: each may be what a message shows."""
    found: dict[str, list[ToolCall]] = {}
    for tool in run.tools:
        if tool.call_id is None and tool.span_id not in matched:
            found.setdefault(tool.name, []).append(tool)
    return found


def _add_hosted(
    found: list[Execution], chat: ChatCall, counted: set[str], places: dict[str, int]
) -> None:
    """Add what the provider ran while it answered."""
    hosted = [r for r in chat.requested or () if r.side in _HOSTED and r.source == "structured"]
    results = _results(chat.output_messages or ())
    for request in hosted:
        if request.call_id is not None:
            if request.call_id in counted:
                continue
            counted.add(request.call_id)
        part = None if request.call_id is None else results.get(request.call_id)
        found.append(
            Execution(
                tool=request.name,
                call_id=request.call_id,
                side=request.side,
                how="provider",
                outcome="unknown" if part is None else _outcome(part),
                order=places[chat.span_id],
                span_id=chat.span_id,
                step_span_id=chat.step_span_id,
                arguments=request.arguments,
                result=None if part is None else _value(part),
                has_result=part is not None,
            )
        )


def _add_delivered(
    found: list[Execution],
    chat: ChatCall,
    fresh: list[Delivery],
    asked: dict[str, tuple[ChatCall, ToolRequest]],
    counted: set[str],
    loose: dict[str, list[ToolCall]],
    places: dict[str, int],
) -> None:
    """Add what only a result in this request shows."""
    names: dict[str, str] | None = None
    for delivery in fresh:
        call_id = delivery.call_id
        if call_id is None or call_id in counted:
            continue
        counted.add(call_id)
        asking, request = asked.get(call_id, (None, None))
        if request is not None and request.side == "output":
            continue
        name = None if request is None else request.name
        if name is None:
            names = _names_in_history(chat) if names is None else names
            name = names.get(call_id)
        if name is None or _claims_loose(loose, name):
            continue
        found.append(_from_message(name, delivery, chat, asking, request, places))


def _claims_loose(loose: dict[str, list[ToolCall]], name: str) -> bool:
    if loose.get(name):
        loose[name].pop(0)
        return True
    return False


def _from_message(
    name: str,
    delivery: Delivery,
    chat: ChatCall,
    asking: ChatCall | None,
    request: ToolRequest | None,
    places: dict[str, int],
) -> Execution:
    part = _results(chat.input_messages or ()).get(delivery.call_id or "")
    source = asking or chat
    return Execution(
        tool=name,
        call_id=delivery.call_id,
        side="client" if request is None else request.side,
        how="messages",
        outcome=_delivered_outcome(delivery, part),
        order=places[source.span_id],
        span_id=chat.span_id,
        step_span_id=source.step_span_id,
        arguments=None if request is None else request.arguments,
        result=None if part is None else _value(part),
        has_result=part is not None,
    )


def _delivered_outcome(delivery: Delivery, part: ToolResultPart | None) -> OutcomeWord:
    if delivery.is_error:
        return "error"
    if delivery.is_empty:
        return "empty"
    if delivery.is_empty is None and delivery.size_bytes is None:
        return "unknown" if part is None else _outcome(part)
    return "value"


def _names_in_history(chat: ChatCall) -> dict[str, str]:
    """Return names of calls that the history of a request holds, by id (the run began before)."""
    found: dict[str, str] = {}
    for message in chat.input_messages or ():
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.call_id is not None:
                found[part.call_id] = part.name
            elif isinstance(part, ToolResultPart) and part.call_id is not None and part.name:
                found.setdefault(part.call_id, part.name)
    return found


def _results(messages: Iterable[object]) -> dict[str, ToolResultPart]:
    found: dict[str, ToolResultPart] = {}
    for message in messages:
        for part in getattr(message, "parts", ()):
            if isinstance(part, ToolResultPart) and part.call_id is not None:
                found[part.call_id] = part
    return found


def _outcome(part: ToolResultPart) -> OutcomeWord:
    if part.is_error:
        return "error"
    if part.value is not None or not all(isinstance(p, TextPart) for p in part.parts):
        return "value"
    return "empty" if is_empty_text(result_text(part)) else "value"


def _value(part: ToolResultPart) -> object:
    if part.value is not None:
        return part.value
    return decoded(result_text(part))
