"""Whether tools were due in a run: only then is it a fault not to use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from spanwitness.rules import wording
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.told_records import reports_finding, told_records

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts


class Due(msgspec.Struct, frozen=True, gc=False):
    """Whether tools were due."""

    word: Literal["yes", "no", "unknown"]
    reason: str = ""
    """Why they were due, or why it is not known (a clause that completes a sentence)."""


def due(facts: Facts) -> Due:
    """Say whether a contract, clean runs, the tool choice or the answer itself made tools due.

    An answer does so by citing a page, source or quotation that no input holds, by reporting a
    look-up, or by stating what only the offered tools can tell of "your" order or account: ask only
    where nothing was read.
    """
    run = facts.run
    for contract in facts.contracts_in_force:
        if contract.makes_tools_due:
            return Due("yes", f"the contract {contract.name} asks for them")
        learned = contract.baseline and contract.baseline.of(agent=run.agent, stack=run.stack)
        if learned and learned.makes_tools_due:
            told = f"{learned.n_with_tools} of {learned.n_runs} clean runs of this stack used them"
            return Due("yes", told)
    for chat in facts.offering:
        choice = chat.tool_choice
        if choice is None:
            continue
        if choice.mode == "required" and all(facts.is_evidence(t) for t in chat.offered or ()):
            return Due("yes", "the tool choice required one")
        if choice.mode == "named" and not facts.output_tools.issuperset(choice.names):
            return Due("yes", f"the tool choice named {choice.names[0]}")
    return _due_by_citation(facts)


def _due_by_citation(facts: Facts) -> Due:
    unknown = ""
    for chat in facts.replies:
        said = facts.stated(chat)
        if said.cited:
            return Due("yes", f"the answer cites a {said.cited[0]} that no input holds")
        texts = reply_texts(chat)
        if texts is None or said.cited is None:
            unknown = said.reason or "the reply was not recorded"
        for text in texts or ():
            if wording.reports_look_up(text) or wording.reports_tool_output(text):
                return Due("yes", "the answer reports a look-up that never happened")
            thing = reports_finding(facts, text)
            if thing:
                return Due("yes", f"the answer says that the {thing} was looked up")
    if not unknown:
        thing = told_records(facts)
        if thing:
            return Due("yes", f"the answer tells of the {thing} what only a tool can know")
    return Due("unknown", unknown) if unknown else Due("no")
