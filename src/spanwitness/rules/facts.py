"""The facts of a run that several rules ask for, each worked out when it is first asked for.

Making one costs next to nothing: `check` judges tens of thousands of spans a second, and most rules
of most runs need few facts. A fact is the same for every rule, so that rules cannot disagree on
what an answer, an output tool or an execution is.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, overload

import msgspec

from spanwitness.rules import tool_names
from spanwitness.rules.answers import answer_text
from spanwitness.rules.citations import with_citations
from spanwitness.rules.due import Due, due
from spanwitness.rules.failures import is_failure
from spanwitness.rules.offers import Offers, index_of
from spanwitness.rules.output_tools import schema_tools, terminal_tools
from spanwitness.rules.plain_loops import ALL_LOOP_SIGNS, loop_signs_of
from spanwitness.rules.replies import accepted_replies
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, Outcome, not_assessed
from spanwitness.rules.signs import ALL_SIGNS, signs_of
from spanwitness.rules.stated import Stated, stated
from spanwitness.rules.subjects import ALL, subjects_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.contracts.model import Contract
    from spanwitness.model import (
        AssessedClaim,
        ChatCall,
        Delivery,
        Execution,
        LedgerRow,
        Run,
        ToolDefinition,
        ToolRequest,
    )
    from spanwitness.rules.sequences import Sequence as CaseSequence

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


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A result that stood in a request, with the model call of that request."""

    chat_index: int
    chat: ChatCall
    delivery: Delivery


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
        """Bits of what occurs in the run, or may, and of signs of trouble.

        See `rules.subjects` and `rules.signs`; where the trace has a hole, all of them are set.
        """
        run = self.run
        if not run.is_complete:
            return ALL | ALL_SIGNS | ALL_LOOP_SIGNS
        # A contract may declare what a tool is, and so make a plain loop another thing.
        loop = ALL_LOOP_SIGNS if self.contracts else loop_signs_of(run)
        return subjects_of(run) | signs_of(run) | loop

    @fact
    def nothing_found(self) -> Outcome:
        """What a rule says that looked for a fault and saw none: only a whole trace shows that."""
        return HOLDS if self.run.is_complete else self.incomplete

    @fact
    def no_subject(self) -> Outcome:
        """What a rule says whose subject does not occur in what the trace shows."""
        return NOT_APPLICABLE if self.run.is_complete else self.incomplete

    @fact
    def no_execution(self) -> Outcome:
        """What a rule about executions says where the trace shows none."""
        if self.knows_requests and self.knows_deliveries:
            return self.no_subject
        return not_assessed("whether tools were executed is not recorded")

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

        return executions(self.run, self.positions)

    @fact
    def has_executions(self) -> bool:
        """Whether anything was executed in what the trace shows."""
        for tool in self.run.tools:
            if not tool.is_refused:
                return True
        return bool(self.executions)

    @fact
    def execution_of(self) -> dict[str, Execution]:
        """Executions by call id."""
        return {e.call_id: e for e in self.executions if e.call_id is not None}

    @fact
    def positions(self) -> dict[str, int]:
        """Position of every span of the run, by span id, comparable with `Execution.order`."""
        from spanwitness.normalize.order import positions

        return positions(self.run)

    @fact
    def ledger(self) -> tuple[LedgerRow, ...]:
        """The dispatch ledger."""
        from spanwitness.normalize.ledger import build_ledger

        failed = frozenset(e.call_id for e in self.failures if e.call_id is not None)
        rows = build_ledger(self.run, self.executions, failed=failed)
        return with_citations(rows, self.claims)

    @fact
    def sequences(self) -> tuple[CaseSequence, ...]:
        """The cases of a pipeline with the stages that each passed."""
        from spanwitness.rules.sequences import sequences

        return sequences(self)

    def effect_of(self, execution: Execution) -> Literal["read", "write"] | None:
        """Say what an execution does: as a contract or its span declares, else as its name says."""
        for contract in self.contracts:
            if contract.is_write(execution.tool):
                return "write"
        return execution.effect or tool_names.effect_of(execution.tool)

    def chat_before(self, execution: Execution) -> int:
        """Return the position of the reply that asked for an execution; -1 = none before it."""
        if execution.call_id is not None:
            request = self.request_of.get(execution.call_id)
            if request is not None:
                return request.chat_index
        return bisect_right(self._chat_places, execution.order) - 1

    @fact
    def _chat_places(self) -> list[int]:
        return [self.positions[chat.span_id] for chat in self.run.chats]

    @fact
    def failures(self) -> tuple[Execution, ...]:
        """Executions that failed: by their outcome, or because the whole result is an error."""
        return tuple(filter(is_failure, self.executions))

    @fact
    def has_unknown_outcome(self) -> bool:
        """Whether the trace does not show how some execution ended."""
        return any(e.outcome == "unknown" and not e.has_result for e in self.executions)

    # --- the model's side

    @fact
    def replies(self) -> tuple[ChatCall, ...]:
        """Model calls that gave a reply; errors, cancelled and abandoned ones gave none."""
        chats = self.run.chats
        found = tuple([chat for chat in chats if is_reply(chat)])
        return chats if len(found) == len(chats) else found

    @fact
    def requests(self) -> tuple[Request, ...]:
        """Every structured call of every reply, in order."""
        return tuple(
            [
                Request(index, chat, call)
                for index, chat in enumerate(self.run.chats)
                for call in chat.requested or ()
                if call.source == "structured"
            ]
        )

    @fact
    def schema_tools(self) -> frozenset[str]:
        """Names of "tools" that only carry the structured answer."""
        return schema_tools(self)

    @fact
    def output_tools(self) -> frozenset[str]:
        """The schema tools, and the tools that only submit the answer or end the run."""
        return self.schema_tools | terminal_tools(self)

    def is_evidence(self, tool: ToolDefinition) -> bool:
        """Say whether calling this tool is a use of tools, not merely the form of an answer."""
        return tool.side != "output" and tool.name not in self.output_tools

    @fact
    def evidence_requests(self) -> tuple[Request, ...]:
        """The structured calls without those of output tools."""
        output = self.output_tools
        if not output:
            return self.requests
        return tuple(r for r in self.requests if r.call.name not in output)

    @fact
    def offering(self) -> tuple[ChatCall, ...]:
        """Replies whose requests are known to offer at least one evidence tool for use."""
        output = self.output_tools
        useful = {id(offers.tools) for offers in self.offers if not offers.names <= output}
        return tuple(
            chat
            for chat in self.replies
            if id(chat.offered) in useful
            and (chat.tool_choice is None or chat.tool_choice.mode != "none")
        )

    @fact
    def offers(self) -> tuple[Offers, ...]:
        """The different lists of tools that requests of the run are known to offer."""
        lists = {id(chat.offered): chat.offered for chat in self.run.chats if chat.offered}
        return tuple(map(index_of, lists.values()))

    @fact
    def offered_names(self) -> frozenset[str]:
        """Names of all tools that any request is known to offer."""
        return frozenset().union(*(offers.names for offers in self.offers))

    @fact
    def accepted(self) -> tuple[ChatCall, ...]:
        """Replies that stood as the output of the run or of a step; see `accepted_replies`."""
        return accepted_replies(self.run)

    @fact
    def request_of(self) -> dict[str, Request]:
        """By call id: the structured call of the reply that first asked for it."""
        found: dict[str, Request] = {}
        for request in self.requests:
            if request.call.call_id is not None:
                found.setdefault(request.call.call_id, request)
        return found

    @fact
    def deliveries(self) -> dict[str, list[Arrival]]:
        """By call id: the requests in which its result stood for the first time, or changed."""
        found: dict[str, list[Arrival]] = {}
        before: tuple[Delivery, ...] = ()
        for index, chat in enumerate(self.run.chats):
            delivered = chat.delivered
            if not delivered:
                continue
            # Histories grow: what the request before held needs no second look.
            n_same = len(before)
            fresh = delivered[n_same:] if delivered[:n_same] == before else delivered
            before = delivered
            for delivery in fresh:
                if delivery.call_id is None:
                    continue
                arrivals = found.setdefault(delivery.call_id, [])
                if not arrivals or arrivals[-1].delivery != delivery:
                    arrivals.append(Arrival(index, chat, delivery))
        return found

    @fact
    def knows_deliveries(self) -> bool:
        """Whether every request shows which results it carries."""
        return all([chat.delivered is not None for chat in self.run.chats])  # noqa: C419

    @fact
    def knows_offers(self) -> bool:
        """Whether every reply's request shows which tools it offered."""
        return all([chat.offered is not None for chat in self.replies])  # noqa: C419

    @fact
    def knows_requests(self) -> bool:
        """Whether every reply shows which calls it asked for."""
        return all([chat.requested is not None for chat in self.replies])  # noqa: C419

    @fact
    def used_evidence(self) -> bool:
        """Whether evidence tools were requested or executed in what the trace shows."""
        return bool(self.evidence_requests) or any(
            e.side != "output" and e.tool not in self.output_tools for e in self.executions
        )

    # --- the answer

    @fact
    def answer_text(self) -> str | None:
        """The answer: what was submitted, else given back, else the last reply's text."""
        return answer_text(self)

    @fact
    def claims(self) -> tuple[AssessedClaim, ...]:
        """The claims of the answer, each with what it rests on."""
        from spanwitness.grounding import assess

        return assess(self.run, answer=self.answer_text, executions=self.executions)

    @fact
    def stands_as_success(self) -> bool:
        """Whether the run ended without an error or a cancellation, so that its answer counts."""
        run = self.run
        return run.status != "error" and run.error_type is None and not run.is_cancelled

    def stated(self, chat: ChatCall) -> Stated:
        """Return what a reply states beyond its input, worked out once a reply."""
        found = self._stated.get(chat.span_id)
        if found is None:
            found = self._stated[chat.span_id] = stated(chat)
        return found

    @fact
    def _stated(self) -> dict[str, Stated]:
        return {}

    @fact
    def due(self) -> Due:
        """Whether tools were due in this run, and why."""
        return due(self)


def is_reply(chat: ChatCall) -> bool:
    """Say whether a model call gave a reply that its caller took."""
    return chat.error_type is None and chat.ending in ("complete", "unknown")
