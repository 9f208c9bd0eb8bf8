"""`below_baseline`: a run did less than clean runs of its own stack do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.contracts.names import matches
from spanwitness.rules.counting import count, out_of_scope
from spanwitness.rules.rule import HOLDS, clause_rule, not_assessed, violated

if TYPE_CHECKING:
    from spanwitness.contracts.baseline import StackBaseline
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@clause_rule("below_baseline", severity="warning", fault="reasoning")
def below_baseline(facts: Facts, clause: Clause, contract: Contract) -> Outcome:
    """A run executed less than clean runs of the same agent on the same stack.

    Claims: A tool that at least 95 % of the clean runs in the contract's baseline executed was not
        executed; or, in a clause that names no tool, the run had fewer successful executions than
        all but 1 % of them.
    Needs: A baseline with at least 20 clean runs of the same agent and stack, the stack of the run,
        and executions: tool spans, work of the provider, or results in later requests.
    Not assessed when: The run's stack is not recorded, or the baseline does not hold it; spans are
        missing, calls are not recorded, or the execution behind a cached result is not known; or
        the trace cannot tell whether the contract is about the run.
    Can be wrong: An easy item may need fewer calls than any before it; up to 5 % of clean runs go
        without a usual tool. Runs that ended in an error or were cancelled are not judged.
    """
    early = out_of_scope(facts, contract)
    if early is not None:
        return early
    if not facts.stands_as_success:
        return facts.no_subject
    entry = _entry(facts, contract)
    if entry is None:
        return not_assessed("the baseline holds no clean runs of this agent on this stack")
    if not entry.is_large_enough:
        return not_assessed(f"the baseline holds only {entry.n_runs} clean runs of this stack")
    return _judge(facts, clause, contract, entry)


def _entry(facts: Facts, contract: Contract) -> StackBaseline | None:
    run = facts.run
    if contract.baseline is None:
        return None
    return contract.baseline.of(agent=run.agent, stack=run.stack)


def _judge(facts: Facts, clause: Clause, contract: Contract, entry: StackBaseline) -> Outcome:
    patterns = clause.patterns(contract)
    usual = [t for t in entry.usual_tools if not patterns or matches(patterns, t)]
    counts = {tool: count(facts, clause, contract, (tool,)) for tool in usual}
    missing = [tool for tool, counted in counts.items() if not counted.sure]
    unknown = next((counts[tool].unknown for tool in missing if counts[tool].unknown), "")
    if missing and not unknown:
        shown = ", ".join(f"{t} ({entry.tools[t]} of {entry.n_runs})" for t in missing[:3])
        return violated(
            _told(f"Not executed, though clean runs of this stack did: {shown}", clause),
            span_ids=(facts.run.root_span_id,),
            evidence={"clause": clause.subject, "tools": missing[:20], "n_runs": entry.n_runs},
        )
    if not patterns:
        every = count(facts, clause, contract, ("*",))
        n = len(every.sure)
        unknown = unknown or (every.unknown if n < entry.fewest else "")
        if n < entry.fewest and not unknown:
            return violated(
                _told(
                    f"{n} executions; clean runs of this stack have at least {entry.fewest}"
                    f" ({entry.n_runs} runs)",
                    clause,
                ),
                span_ids=(facts.run.root_span_id,),
                evidence={"clause": clause.subject, "n_executions": n, "fewest": entry.fewest},
            )
    return not_assessed(unknown) if unknown else HOLDS


def _told(text: str, clause: Clause) -> str:
    return f"{text}." if clause.reason is None else f"{text}. Expected because: {clause.reason}"
