"""Judging a run: every rule once, every clause once, one finding for one cause."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from spanwitness.guard import guard
from spanwitness.model.verdict import Verdict, at_least
from spanwitness.rules.builtin import CLAUSE_RULES, RULES
from spanwitness.rules.causes import explain
from spanwitness.rules.facts import Facts
from spanwitness.rules.rule import HOLDS, NOT_APPLICABLE, ClauseRule, Outcome, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.model import AssessedClaim, LedgerRow, Run
    from spanwitness.model.verdict import VerdictWord

__all__ = ["Evaluation", "evaluate", "judge_clauses"]

_INTERNAL_ERROR = Outcome(word="not_assessed", reason="internal error")


class Evaluation:
    """What the rules say about one run.

    Attributes:
        run: The run that was judged.
        contract: Name of the contract that applied; several are joined by commas; `None` = none.
        verdicts: Every verdict: the built-in rules in order of id, then the clauses in their order.
    """

    __slots__ = ("_facts", "contract", "run", "verdicts")

    def __init__(
        self, facts: Facts, verdicts: tuple[Verdict, ...], *, contract: str | None
    ) -> None:
        self.run: Run = facts.run
        self.contract = contract
        self.verdicts = verdicts
        self._facts = facts

    def with_verdicts(self, verdicts: tuple[Verdict, ...]) -> Evaluation:
        """Return the same evaluation with other verdicts, such as some that are suppressed."""
        return Evaluation(self._facts, verdicts, contract=self.contract)

    @property
    def ledger(self) -> tuple[LedgerRow, ...]:
        """The dispatch ledger, built when it is first asked for."""
        return self._facts.ledger

    @property
    def claims(self) -> tuple[AssessedClaim, ...]:
        """The claims of the answer with their receipts, and who is at fault for each.

        A fault of ours while they are worked out is contained and counted; then there are none.
        """
        found: tuple[AssessedClaim, ...] = ()
        with guard("rules.claims"):
            found = self._attributed()
        return found

    def _attributed(self) -> tuple[AssessedClaim, ...]:
        from spanwitness.rules.attribution import attributed
        from spanwitness.rules.omitted import omitted_conditions

        if not self._facts.claims:
            return ()
        broken = {v.rule: v for v in self.verdicts if v.verdict == "violated"}
        source = broken.get("wrong_source")
        omits = "condition_omitted" in broken
        return attributed(
            self._facts,
            elsewhere=source.span_ids if source is not None and source.kind else (),
            without_condition={id(o.claim) for o in omitted_conditions(self._facts)}
            if omits
            else (),
        )

    @property
    def findings(self) -> tuple[Verdict, ...]:
        """The unexplained violations."""
        return tuple(v for v in self.verdicts if v.is_finding)

    @property
    def is_flagged(self) -> bool:
        """Whether an unexplained violation stands at `warning` or above."""
        return any(at_least(v.severity, "warning") for v in self.verdicts if v.is_finding)


def evaluate(run: Run, contracts: Sequence[Contract] = ()) -> Evaluation:
    """Judge a run by every built-in rule and by the clauses of the contracts that are about it.

    A rule that raises is contained and reported as `not_assessed` with the reason "internal error".
    The result depends on the run and the contracts alone.

    Args:
        run: The run.
        contracts: Contracts; those that are not about this run are passed over.
    """
    applied = [c for c in contracts if _applies(c, run)] if contracts else ()
    facts = Facts(run, applied)
    verdicts = _judge(facts)
    for contract in applied:
        verdicts.extend(_judge_clause(facts, clause, contract) for clause in contract.expect)
    names = ", ".join(contract.name for contract in applied)
    return Evaluation(facts, explain(verdicts), contract=names or None)


def judge_clauses(run: Run, contract: Contract) -> tuple[VerdictWord, ...]:
    """Say what each clause of a contract, in order, says of a run, and nothing else.

    Args:
        run: The run.
        contract: The contract; whether it is about the run is for the caller to know.
    """
    facts = Facts(run, (contract,))
    return tuple(_judge_clause(facts, clause, contract).verdict for clause in contract.expect)


class _Plan(msgspec.Struct, frozen=True, gc=False):
    """For one set of subjects: the verdicts that need no asking, and the rules to ask."""

    verdicts: list[Verdict]
    asked: tuple[tuple[int, Rule, Verdict], ...]
    """Place in `verdicts`, the rule, and its shared `holds`."""


@lru_cache(maxsize=1024)
def _plan(subjects: int) -> _Plan:
    verdicts = [_verdict(rule, NOT_APPLICABLE) for rule in RULES]
    asked: list[tuple[int, Rule, Verdict]] = []
    for place, rule in enumerate(RULES):
        if rule.needs & subjects != rule.needs:
            continue
        holds = _verdict(rule, HOLDS)
        if rule.signs and not rule.signs & subjects:
            verdicts[place] = holds
        else:
            asked.append((place, rule, holds))
    return _Plan(verdicts, tuple(asked))


@lru_cache(maxsize=1024)
def _unassessed(place: int, reason: str) -> Verdict:
    return _verdict(RULES[place], Outcome(word="not_assessed", reason=reason))


def _judge(facts: Facts) -> list[Verdict]:
    plan = _plan(facts.subjects)
    verdicts = plan.verdicts.copy()
    pending = iter(plan.asked)
    place, rule = 0, RULES[0]
    is_done = False
    while not is_done:
        # One guard around the loop instead of one a rule: it costs as much as a cheap rule.
        with guard("rules.engine"):
            for place, rule, holds in pending:
                outcome = rule.check(facts)
                if outcome is HOLDS:
                    verdicts[place] = holds
                elif outcome.word == "not_assessed":
                    verdicts[place] = _unassessed(place, outcome.reason)
                elif outcome is not NOT_APPLICABLE:
                    verdicts[place] = _verdict(rule, outcome)
            is_done = True
        if not is_done:
            verdicts[place] = _verdict(rule, _INTERNAL_ERROR)
    return verdicts


def _judge_clause(facts: Facts, clause: Clause, contract: Contract) -> Verdict:
    rule = CLAUSE_RULES[clause.rule]
    outcome = _INTERNAL_ERROR
    with guard("rules.engine"):
        outcome = rule.check(facts, clause, contract)
    verdict = _verdict(rule, outcome)
    return msgspec.structs.replace(
        verdict, severity=clause.severity or verdict.severity, contract=contract.name
    )


def _applies(contract: Contract, run: Run) -> bool:
    applies = True  # a contract that cannot be asked is not passed over in silence
    with guard("rules.engine"):
        applies = contract.applies_to(run)
    return applies


def _verdict(rule: Rule | ClauseRule, outcome: Outcome) -> Verdict:
    is_violated = outcome.word == "violated"
    return Verdict(
        rule=rule.id,
        rule_version=rule.version,
        verdict=outcome.word,
        severity=outcome.severity or rule.severity,
        fault=outcome.fault or rule.fault,
        kind=(outcome.kind or rule.kind) if is_violated else None,
        reason=outcome.reason,
        span_ids=outcome.span_ids,
        evidence=outcome.evidence,
    )
