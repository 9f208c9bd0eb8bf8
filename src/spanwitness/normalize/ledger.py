"""The dispatch ledger of a run: one row a call, and one for each tool that was never called.

A column that the trace cannot show is `unknown`, never `no`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanwitness.model import Execution, LedgerRow, ToolRequest
from spanwitness.normalize.executions import executions
from spanwitness.normalize.later import LaterCalls
from spanwitness.normalize.order import positions

if TYPE_CHECKING:
    from collections.abc import Collection

    from spanwitness.model import ChatCall, Run
    from spanwitness.model.calls import Side
    from spanwitness.model.ledger import YesNoUnknown

__all__ = ["build_ledger"]

Executed: TypeAlias = Literal["span", "messages", "provider", "cache", "no", "unknown"]
Returned: TypeAlias = Literal[
    "value", "error", "empty", "cached", "cancelled", "unknown", "not_applicable"
]
Delivered: TypeAlias = Literal["whole", "altered", "no", "unknown", "not_applicable"]
_HOSTED: Final = frozenset({"provider", "mcp"})


def build_ledger(
    run: Run,
    found: tuple[Execution, ...] | None = None,
    *,
    failed: Collection[str] = (),
) -> tuple[LedgerRow, ...]:
    """Build the ledger of a run.

    Args:
        run: The run.
        found: Its executions, if they are known already.
        failed: Call ids of results that are known to be errors though nothing marks them so.

    Returns:
        Calls in the order in which they were asked for or ran, then tools that were offered or
        configured and never called.
    """
    return _Ledger(run, executions(run) if found is None else found, failed).rows()


class _Ledger:
    def __init__(
        self, run: Run, found: tuple[Execution, ...], failed: Collection[str] = ()
    ) -> None:
        self._run = run
        self._failed = failed
        self._places = positions(run)
        self._later = LaterCalls(run, self._places)
        self._executions = found
        self._by_id = {e.call_id: e for e in found if e.call_id is not None}
        self._sides = _sides(run)
        self._configured = _configured(run)
        # A run without a model call was perhaps not watched there: it proves no absence.
        self._knows_requests = (
            run.is_complete
            and bool(run.chats)
            and all(chat.requested is not None for chat in run.chats)
        )
        self._span_tools = {tool.name for tool in run.tools}

    def rows(self) -> tuple[LedgerRow, ...]:
        """Return the rows in order."""
        keyed: list[tuple[int, LedgerRow]] = []
        seen: set[str] = set()
        served: set[int] = set()
        for chat in self._run.chats:
            for request in chat.requested or ():
                if request.source != "structured" or request.call_id in seen:
                    continue
                if request.call_id is not None:
                    seen.add(request.call_id)
                execution = self._execution_of(request, served)
                row = self._called(chat, request, execution)
                keyed.append((self._places[chat.span_id], row))
        keyed += [(e.order, self._unasked(e)) for e in self._executions if id(e) not in served]
        keyed.sort(key=lambda pair: pair[0])
        rows = [row for _, row in keyed]
        return (*rows, *self._uncalled({row.tool for row in rows}))

    def _execution_of(self, request: ToolRequest, served: set[int]) -> Execution | None:
        found = None if request.call_id is None else self._by_id.get(request.call_id)
        if found is None and request.call_id is None:
            found = next(
                (
                    e
                    for e in self._executions
                    if e.call_id is None and e.tool == request.name and id(e) not in served
                ),
                None,
            )
        if found is not None:
            served.add(id(found))
        return found

    def _called(
        self, chat: ChatCall, request: ToolRequest, execution: Execution | None
    ) -> LedgerRow:
        side = self._side(request.name, request.side, execution)
        offered = self._offered_in(chat, request.name)
        executed = self._executed(chat, request, side, execution)
        return LedgerRow(
            tool=request.name,
            call_id=request.call_id,
            side=side,
            configured=self._is_configured(request.name, offered),
            offered=offered,
            requested="yes",
            executed=executed,
            returned=self._returned(execution, executed),
            delivered=self._delivered(chat, request.call_id, side, executed),
        )

    def _unasked(self, execution: Execution) -> LedgerRow:
        """A row for an execution whose request no reply shows."""
        offered = self._offered_anywhere(execution.tool)
        side = self._side(execution.tool, execution.side, execution)
        # A result in the history was asked for before the run began, where nobody looked.
        is_known = self._knows_requests and execution.how != "messages"
        delivered: Delivered = "unknown"
        if execution.call_id is None and self._knows_requests:
            delivered = "not_applicable"
        elif execution.call_id is not None:
            delivered = self._delivered(None, execution.call_id, side, execution.how)
        return LedgerRow(
            tool=execution.tool,
            call_id=execution.call_id,
            side=side,
            configured=self._is_configured(execution.tool, offered),
            offered=offered,
            requested="no" if is_known else "unknown",
            executed=execution.how,
            returned=self._returned(execution, execution.how),
            delivered=delivered,
        )

    def _uncalled(self, called: set[str]) -> list[LedgerRow]:
        names: dict[str, None] = {}
        for chat in self._run.chats:
            names.update((tool.name, None) for tool in chat.offered or ())
        names.update(dict.fromkeys(sorted(self._configured or ())))
        rows: list[LedgerRow] = []
        for name in names:
            if name in called:
                continue
            is_known = self._knows_requests
            offered = self._offered_anywhere(name)
            rows.append(
                LedgerRow(
                    tool=name,
                    side=self._side(name, "client", None),
                    configured=self._is_configured(name, offered),
                    offered=offered,
                    requested="no" if is_known else "unknown",
                    executed="no" if is_known else "unknown",
                    returned="not_applicable" if is_known else "unknown",
                    delivered="not_applicable" if is_known else "unknown",
                )
            )
        return rows

    # --- columns

    def _side(self, name: str, side: Side, execution: Execution | None) -> Side:
        if execution is not None and execution.side != "client":
            return execution.side
        return side if side != "client" else self._sides.get(name, "client")

    def _is_configured(self, name: str, offered: YesNoUnknown) -> YesNoUnknown:
        """A tool in a request was configured somewhere; else what was declared counts."""
        if offered == "yes" or (self._configured is not None and name in self._configured):
            return "yes"
        return "unknown" if self._configured is None else "no"

    def _offered_in(self, chat: ChatCall, name: str) -> YesNoUnknown:
        if chat.offered is None:
            return "unknown"
        if any(tool.name == name for tool in chat.offered):
            return "yes"
        if chat.has_server_state or any(tool.side in _HOSTED for tool in chat.offered):
            return "unknown"  # held by the provider, or one of the tools of a hosted MCP server
        return "no"

    def _offered_anywhere(self, name: str) -> YesNoUnknown:
        words = [self._offered_in(chat, name) for chat in self._run.chats]
        if "yes" in words:
            return "yes"
        is_known = bool(words) and "unknown" not in words and self._run.is_complete
        return "no" if is_known else "unknown"

    def _executed(
        self, chat: ChatCall, request: ToolRequest, side: Side, execution: Execution | None
    ) -> Executed:
        if execution is not None:
            return execution.how
        if side == "output":
            return "no"
        if not self._run.is_complete or request.call_id is None:
            return "unknown"
        later = self._later.after(chat)
        if not later.is_empty:
            return "no" if later.shows_all else "unknown"
        # Nothing came after it: only of a tool whose executions show as spans can one say "no".
        return "no" if request.name in self._span_tools else "unknown"

    def _delivered(
        self, asking: ChatCall | None, call_id: str | None, side: Side, executed: Executed
    ) -> Delivered:
        if executed in ("no", "provider") or side == "output":
            return "not_applicable"
        if executed == "unknown" or call_id is None:
            return "unknown"
        states = self._later.states(call_id, asking)
        if states:
            return _worst(states)
        later = self._later.all() if asking is None else self._later.after(asking)
        if later.is_empty and self._run.is_complete:
            return "not_applicable"  # the run ended with this call: no request could carry it
        if later.hides_some:
            return "unknown"
        return "no" if self._run.is_complete else "unknown"

    def _returned(self, execution: Execution | None, executed: Executed) -> Returned:
        if executed == "no":
            return "not_applicable"
        if execution is None:
            return "unknown"
        if execution.how == "cache":
            return "cached"
        if execution.how == "messages" and execution.outcome == "value":
            # A request shows what was delivered, not what the tool gave; an error is one anyhow.
            return "error" if execution.call_id in self._failed else "unknown"
        return execution.outcome


def _worst(states: Collection[str]) -> Delivered:
    if "altered" in states:
        return "altered"
    return "whole" if "whole" in states else "unknown"


def _sides(run: Run) -> dict[str, Side]:
    found: dict[str, Side] = {}
    for discovery in run.discoveries:
        found.update((tool.name, "mcp") for tool in discovery.tools or ())
    for chat in run.chats:
        for tool in chat.offered or ():
            if tool.side != "client":
                found[tool.name] = tool.side
    for call in run.tools:
        if call.side != "client":
            found[call.name] = call.side
    return found


def _configured(run: Run) -> frozenset[str] | None:
    """Return the tools configured on run, steps and MCP servers; `None` = not declared."""
    found: set[str] = set()
    is_declared = False
    for names in (run.configured, *(step.configured for step in run.steps)):
        if names is not None:
            is_declared = True
            found.update(names)
    for discovery in run.discoveries:
        if discovery.tools is not None:
            is_declared = True
            found.update(tool.name for tool in discovery.tools)
    return frozenset(found) if is_declared else None
