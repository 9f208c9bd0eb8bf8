"""A contract from clean runs: what all of them did, and how often it alarms on others like them.

The runs are split by independent units. One part is learned from; the other says how often any
clause fires on a clean unit, with a one-sided exact upper bound. Nothing of the held-out part goes
into the contract, so the bound is an honest one for units drawn as these were.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from spanwitness.contracts.baseline import Baseline, StackBaseline
from spanwitness.contracts.candidates import MIN_SUPPORT, Candidate, candidates
from spanwitness.contracts.model import Clause, Contract, When
from spanwitness.contracts.observing import Observed, observe
from spanwitness.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spanwitness.model import Run
    from spanwitness.model.verdict import VerdictWord

__all__ = [
    "MIN_HELD_OUT", "HeldOut", "Judge", "Learned", "LearnedContract", "Support", "UnitKind",
    "learn", "why_left_out",
]  # fmt: skip

UnitKind: TypeAlias = Literal["conversation", "run", "item"]
Judge: TypeAlias = "Callable[[Run, Contract], Sequence[VerdictWord]]"
"""Says what each clause of a contract, in order, says of a run."""
MIN_HELD_OUT: Final = 20
"""Held-out units below which no bound is worth printing."""


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """A clause, and the units behind it."""

    clause: Clause
    n_units: int
    """Units learned from in which the clause could be judged and held."""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """How often a contract fires on clean units that it was not learned from."""

    n_units: int
    """Independent units that were judged."""
    n_fired: int
    """Those in which any clause was violated."""
    bound: float
    """One-sided Clopper-Pearson upper bound of the share of clean units that fire."""
    level: float
    """Least coverage of the bound."""
    n_not_assessed: int
    """Units left out because no clause could be assessed on them."""
    fired_by_rule: dict[str, int]
    """By rule: units in which a clause of it was violated."""


class LearnedContract(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned about one agent."""

    agent: str | None
    contract: Contract
    support: tuple[Support, ...]
    """By clause, in the order of the contract; the clause on the baseline has none."""
    n_units: int
    """Units that it was learned from."""
    n_runs: int
    stacks: tuple[str, ...]
    """Stack identities of all its runs; more than one = it is about a mixture."""
    held_out: HeldOut


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """Contracts, one for each agent, and the baseline of the same runs."""

    unit: UnitKind
    contracts: tuple[LearnedContract, ...]
    baseline: Baseline
    """Of the runs learned from; the held-out ones are not in it."""
    notes: tuple[str, ...]
    """What a reader must know: agents left out, stacks mixed."""


def why_left_out(run: Run, *, is_flagged: bool) -> str | None:
    """Say why a run is not clean enough to be learned from; `None` when it is.

    Args:
        run: The run.
        is_flagged: Whether the rules flag it.
    """
    if not run.is_complete:
        return "incomplete"
    if run.is_cancelled:
        return "cancelled"
    if run.status == "error" or run.error_type is not None:
        return "ended in an error"
    if is_flagged:
        return "flagged"
    return None if run.chats or run.tools else "without a model call or a tool"


def learn(
    runs: Sequence[Run],
    /,
    *,
    judge: Judge,
    unit: UnitKind | None = None,
    held_out: float = 0.5,
    seed: int = 0,
    level: float = 0.95,
    with_baseline: bool = False,
) -> Learned:
    """Derive a contract for each agent from clean runs, and bound its false alarms.

    Args:
        runs: Clean runs (see `why_left_out`).
        judge: Judges the clauses of a contract on a run.
        unit: What is independent of one another; runs of one unit stay together. `None` = the item
            where every run names one, else the conversation where every run names one, else the
            run.
        held_out: Share of the units that is kept for the bound, above 0 and below 1.
        seed: Seed of the split.
        level: Least coverage of the bound.
        with_baseline: Give the contracts the baseline of the runs learned from, and a clause
            `below_baseline`.

    Raises:
        RuleError: Fewer than 20 held-out units or 10 others for every agent, a unit that some run
            does not name, or `held_out` outside of (0, 1).
        MissingExtraError: SciPy is not installed; it is in the extra `measure`.
    """
    if not 0 < held_out < 1:
        raise RuleError(f"held_out is a share above 0 and below 1, as 0.5, not {held_out!r}")
    kind = unit or _kind_of(runs)
    seen = [observe(run, unit=key) for run, key in zip(runs, _keys(runs, kind), strict=True)]
    kept = _split({one.unit for one in seen}, held_out, seed)
    baseline = _baseline(one for one in seen if one.unit not in kept)
    contracts: list[LearnedContract] = []
    notes: list[str] = []
    for agent in sorted({one.agent for one in seen}, key=lambda name: name or ""):
        own = [one for one in seen if one.agent == agent]
        n_held = len({one.unit for one in own if one.unit in kept})
        n_learned = len({one.unit for one in own} - kept)
        if n_held < MIN_HELD_OUT or n_learned < MIN_SUPPORT:
            notes.append(_too_few(agent, kind, n_learned, n_held))
            continue
        made = _learn_one(own, kept, judge, level, baseline if with_baseline else None)
        contracts.append(made)
        if not made.support:
            notes.append(f"{_called(agent)}: there is nothing that all its clean runs did")
        if len(made.stacks) > 1:
            notes.append(
                f"{_called(agent)}: its runs come from {len(made.stacks)} stacks, so the contract"
                " says only what all of them did; learn each apart for a stricter one"
            )
    if not contracts:
        raise RuleError("; ".join(notes) or "there is no clean run to learn from")
    return Learned(unit=kind, contracts=tuple(contracts), baseline=baseline, notes=tuple(notes))


def _too_few(agent: str | None, kind: UnitKind, n_learned: int, n_held: int) -> str:
    return (
        f"{_called(agent)}: {n_held} held-out units ({kind}) and {n_learned} to learn from; at"
        f" least {MIN_HELD_OUT} and {MIN_SUPPORT} are needed, so give more clean runs"
    )


def _called(agent: str | None) -> str:
    return "runs without an agent's name" if agent is None else f"agent {agent}"


def _kind_of(runs: Sequence[Run]) -> UnitKind:
    if all(run.item_id is not None for run in runs):
        return "item"
    return "conversation" if all(run.conversation_id is not None for run in runs) else "run"


def _keys(runs: Sequence[Run], kind: UnitKind) -> list[str]:
    """Return the unit of each run; a child run is of its parent's unit."""
    by_id = {(run.trace_id, run.run_id): run for run in runs}
    keys: list[str] = []
    for run in runs:
        top, walked = run, {run.run_id}
        while top.parent_run_id is not None and top.parent_run_id not in walked:
            walked.add(top.parent_run_id)
            top = by_id.get((top.trace_id, top.parent_run_id), top)
        own = {"item": top.item_id, "conversation": top.conversation_id}
        key = own.get(kind, f"{top.trace_id}/{top.run_id}")
        if key is None:
            raise RuleError(
                f"run {top.run_id} names no {kind}, so it is no unit of its own; use --unit run if"
                " the runs are independent of one another"
            )
        keys.append(key)
    return keys


def _split(units: Iterable[str], held_out: float, seed: int) -> frozenset[str]:
    ordered = sorted(units)
    random.Random(seed).shuffle(ordered)  # noqa: S311  a split, no secret
    return frozenset(ordered[: round(held_out * len(ordered))])


def _learn_one(
    seen: Sequence[Observed],
    kept: frozenset[str],
    judge: Judge,
    level: float,
    baseline: Baseline | None,
) -> LearnedContract:
    learned = [one for one in seen if one.unit not in kept]
    agent = seen[0].agent
    groups, found = candidates(learned)
    first = _contract(agent, groups, [c.clause for c in found])
    support = _confirmed(first, found, learned, judge)
    contract = _contract(agent, groups, [s.clause for s in support], baseline)
    return LearnedContract(
        agent=agent,
        contract=contract,
        support=support,
        n_units=len({one.unit for one in learned}),
        n_runs=len(learned),
        stacks=tuple(sorted({one.run.stack for one in seen if one.run.stack is not None})),
        held_out=_bounded(contract, [one for one in seen if one.unit in kept], judge, level),
    )


def _contract(
    agent: str | None,
    groups: Mapping[str, tuple[str, ...]],
    clauses: Sequence[Clause],
    baseline: Baseline | None = None,
) -> Contract:
    used = {clause.group for clause in clauses}
    expect = list(clauses)
    if baseline is not None:
        expect.append(Clause(rule="below_baseline"))
    return Contract(
        contract=f"learned-{agent}" if agent is not None else "learned",
        version="1",
        when=When(agent=(agent,)) if agent is not None else None,
        tools={name: tools for name, tools in groups.items() if name in used},
        expect=tuple(expect),
        baseline=baseline,
    )


def _confirmed(
    contract: Contract, found: Sequence[Candidate], learned: Sequence[Observed], judge: Judge
) -> tuple[Support, ...]:
    """Keep the clauses that the rules themselves find held, never broken, in enough units."""
    held: list[set[str]] = [set() for _ in found]
    broken: set[int] = set()
    for one in learned:
        for place, word in enumerate(judge(one.run, contract)):
            if word == "violated":
                broken.add(place)
            elif word == "holds":
                held[place].add(one.unit)
    return tuple(
        Support(clause=candidate.clause, n_units=len(units))
        for place, (candidate, units) in enumerate(zip(found, held, strict=True))
        if place not in broken and len(units) >= candidate.least
    )


def _bounded(contract: Contract, kept: Sequence[Observed], judge: Judge, level: float) -> HeldOut:
    from spanwitness.stats.intervals import clopper_pearson

    fired: dict[str, set[str]] = {}
    judged: set[str] = set()
    for one in kept:
        words = judge(one.run, contract)
        if not {"holds", "violated"}.isdisjoint(words) or "not_assessed" not in words:
            judged.add(one.unit)
        for clause, word in zip(contract.expect, words, strict=True):
            if word == "violated":
                fired.setdefault(clause.rule, set()).add(one.unit)
    n_all = len({one.unit for one in kept})
    if len(judged) < MIN_HELD_OUT:
        raise RuleError(
            f"contract {contract.name}: its clauses could be assessed on only {len(judged)} of"
            f" {n_all} held-out units; at least {MIN_HELD_OUT} are needed"
        )
    n_fired = len(set().union(*fired.values()))
    interval = clopper_pearson(n_fired, len(judged), level=level, sides="upper")
    return HeldOut(
        n_units=len(judged),
        n_fired=n_fired,
        bound=interval.high,
        level=level,
        n_not_assessed=n_all - len(judged),
        fired_by_rule={rule: len(units) for rule, units in sorted(fired.items())},
    )


def _baseline(seen: Iterable[Observed]) -> Baseline:
    by_stack: dict[tuple[str | None, str], list[Observed]] = {}
    for one in seen:
        if one.run.stack:
            by_stack.setdefault((one.run.agent or None, one.run.stack), []).append(one)
    return Baseline(
        stacks=tuple(
            StackBaseline(
                agent=agent,
                stack=stack,
                n_runs=len(own),
                n_with_tools=sum(bool(one.executed) for one in own),
                tools=dict(sorted(Counter(t for one in own for t in {*one.executed}).items())),
                executions={
                    str(n): k for n, k in sorted(Counter(len(one.executed) for one in own).items())
                },
            )
            for (agent, stack), own in sorted(by_stack.items(), key=lambda pair: str(pair[0]))
        )
    )
