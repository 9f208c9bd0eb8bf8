"""The facts of a run that several rules ask for, each worked out when it is first asked for.

Making one costs next to nothing: `check` judges tens of thousands of spans a second, and most rules
of most runs need few facts. A fact is the same for every rule, so that rules cannot disagree on what
an answer, an output tool or an execution is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import msgspec

from spanwitness.rules import tool_names
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, Outcome, not_assessed
from spanwitness.rules.subjects import subjects_of

if TYPE_CHECKING:
    from spanwitness.contracts.model import Contract
    from spanwitness.model import (
        ChatCall,
        Execution,
        LedgerRow,
        Run,
        ToolDefinition,
        ToolRequest,
    )

__all__ = ["Facts", "Request", "fact"]

T = TypeVar("T")


class fact(Generic[T]):  # noqa: N801
    """A property of `Facts` that is worked out once. Cheaper than `functools.cached_property`."""

    def __init__(self, compute: Callable[[Facts], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, facts: None, owner: type[object]) -> fact[T]: ...
    @overload
    def __get__(self, facts: Facts, owner: type[object]) -> T: ...
    def __get__(self, facts: Facts | None, owner: type[object]) -> T | fact[T]:
        """Return the value, and leave it where later reads find it without coming here."""
        if facts is None:
            return self
        value = facts.__dict__[self._name] = self._compute(facts)
        return value


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call in a reply, with the reply it stands in."""

    chat_index: int
    """Position of the reply in `run.chats`."""
    chat: ChatCall
    call: ToolRequest


class Facts:
    """A run and its contracts, as rules look at them.

    Args:
        run: The run.
        contracts: The contracts that are, or may be, about this run.
    """

    def __init__(self, run: Run, contracts: Sequence[Contract] = ()) -> None:
        self.run = run
        self.contracts = contracts

    # --- what may be said at all

    @fact
    def subjects(self) -> int:
        """Bits of what occurs in the run, or may; see `rules.subjects`."""
        return subjects_of(self.run)

    @fact
    def nothing_found(self) -> Outcome:
        """What a rule says that looked for a fault and saw none: only a whole trace shows that."""
        return HOLDS if self.run.is_complete else self.incomplete

    @fact
    def no_subject(self) -> Outcome:
        """What a rule says whose subject does not occur in what the trace shows."""
        return NOT_APPLICABLE if self.run.is_complete else self.incomplete

    @fact
    def incomplete(self) -> Outcome:
        """`not_assessed`, with what is known about the hole."""
        reasons = ", ".join(self.run.incomplete_reasons) or "reason unknown"
        return not_assessed(f"the trace is incomplete ({reasons})")

    # --- contracts

    @fact
    def contracts_in_force(self) -> tuple[Contract, ...]:
        """Those contracts that are known to be about this run."""
        return tuple(c for c in self.contracts if c.scope(self.run) == "yes")

    # --- order

    @fact
    def executions(self) -> tuple[Execution, ...]:
        """Executions by whatever evidence, once per call, in order."""
        from spanwitness.normalize.executions import executions

        return executions(self.run)

    @fact
    def ledger(self) -> tuple[LedgerRow, ...]:
        """The dispatch ledger."""
        from spanwitness.normalize.ledger import build_ledger

        return build_ledger(self.run)

    # --- the model's side

    @fact
    def replies(self) -> tuple[ChatCall, ...]:
        """Model calls that gave a reply; errors, cancelled and abandoned ones gave none."""
        return tuple(chat for chat in self.run.chats if is_reply(chat))

    @fact
    def requests(self) -> tuple[Request, ...]:
        """Every structured call of every reply, in order."""
        return tuple(
            Request(index, chat, call)
            for index, chat in enumerate(self.run.chats)
            for call in chat.requested or ()
            if call.source == "structured"
        )

    @fact
    def output_tools(self) -> frozenset[str]:
        """Names of "tools" that only carry the structured answer, or only end the run."""
        return _output_tools(self)

    def is_evidence(self, tool: ToolDefinition) -> bool:
        """Say whether a call of this tool is a use of tools, and not merely the form of an answer."""
        return tool.side != "output" and tool.name not in self.output_tools

    @fact
    def evidence_requests(self) -> tuple[Request, ...]:
        """The structured calls without those of output tools."""
        return tuple(
            r
            for r in self.requests
            if r.call.side != "output" and r.call.name not in self.output_tools
        )

    @fact
    def offering(self) -> tuple[ChatCall, ...]:
        """Replies whose requests are known to offer at least one evidence tool."""
        return tuple(
            chat for chat in self.replies if any(self.is_evidence(t) for t in chat.offered or ())
        )

    @fact
    def knows_offers(self) -> bool:
        """Whether every reply's request shows which tools it offered."""
        return all(chat.offered is not None for chat in self.replies)

    @fact
    def knows_requests(self) -> bool:
        """Whether every reply shows which calls it asked for."""
        return all(chat.requested is not None for chat in self.replies)

    @fact
    def used_tools(self) -> bool:
        """Whether evidence tools were requested or executed in what the trace shows."""
        return bool(self.evidence_requests) or any(
            e.side != "output" and e.tool not in self.output_tools for e in self.executions
        )


def is_reply(chat: ChatCall) -> bool:
    """Say whether a model call gave a reply that its caller took."""
    return chat.error_type is None and chat.ending in ("complete", "unknown")


def _output_tools(facts: Facts) -> frozenset[str]:
    run = facts.run
    found: set[str] = set()
    executed = {tool.name for tool in run.tools}
    for chat in run.chats:
        for tool in chat.offered or ():
            name = tool.name
            if (
                tool.side == "output"
                or tool_names.is_terminal(name)
                or any(c.is_output(name) or c.is_terminal(name) for c in facts.contracts)
                or (chat.output_format is not None and chat.output_format.name == name)
            ):
                found.add(name)
        for call in chat.requested or ():
            if call.side == "output":
                found.add(call.name)
    last = facts.replies[-1] if facts.replies else None
    if last is not None and last.tool_choice is not None and last.tool_choice.mode == "named":
        # A call forced in the last request and run by nobody is the answer in the form of a call.
        found.update(name for name in last.tool_choice.names if name not in executed)
    return frozenset(found)
