"""Counting executions for contract clauses: how many are sure, and how many more there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.contracts.names import matches
from spanwitness.rules.failures import is_failure
from spanwitness.rules.rule import NOT_APPLICABLE, Outcome, not_assessed, violated

if TYPE_CHECKING:
    from spanwitness.contracts.model import Clause, Contract
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Executions that a clause counts."""

    sure: tuple[Execution, ...]
    n_failed: int = 0
    """Failed ones that were left out."""
    unknown: str = ""
    """Why there may be more; empty when there cannot be."""
    names: tuple[str, ...] = ()
    """Tools and globs that were looked for."""


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """The first submission of a run."""

    place: int
    """Position in the run, comparable with the order of executions."""
    span_id: str
    done: Execution | None = None
    """The execution that is the submission, where a tool is."""


def out_of_scope(facts: Facts, contract: Contract) -> Outcome | None:
    """Return `not_assessed` when the trace cannot tell whether the contract is about the run."""
    if contract.when is None or any(c is contract for c in facts.contracts_in_force):
        return None
    return not_assessed(
        f"The trace does not show whether the contract {contract.name} is about it."
    )


def submitted(facts: Facts, contract: Contract) -> Submitted | None:
    """Return the submission: `run.submit`, a submit step, or a successful tool of `submission`."""
    run = facts.run
    found: list[Submitted] = []
    if run.submission is not None:
        span_id = run.submission.span_id
        found.append(Submitted(place=facts.positions.get(span_id, 0), span_id=span_id))
    for step in run.steps:
        if step.kind == "submit" and step.error_type is None:
            place = facts.positions.get(step.span_id, 0)
            found.append(Submitted(place=place, span_id=step.span_id))
            break
    if "submission" in contract.tools:
        for done in facts.executions:
            if contract.is_submission(done.tool) and not is_failed(done):
                found.append(Submitted(place=done.order, span_id=done.span_id, done=done))
                break
    return min(found, key=lambda one: one.place) if found else None


def is_failed(done: Execution) -> bool:
    """Say whether an execution ended in an error or a cancellation, or was refused.

    An error that came as ordinary text counts too, where the text is recorded.
    """
    if done.call is not None and done.call.is_refused:
        return True
    return done.outcome == "cancelled" or is_failure(done)


def count(
    facts: Facts, clause: Clause, contract: Contract, patterns: tuple[str, ...] | None = None
) -> Count:
    """Count the executions that a clause is about.

    Args:
        facts: The facts of the run.
        clause: The clause; its step, phase and treatment of failures are heeded.
        contract: Its contract.
        patterns: Other names than those of the clause.
    """
    names = clause.patterns(contract) if patterns is None else patterns
    end = submitted(facts, contract) if clause.before or clause.after else None
    sure: list[Execution] = []
    n_failed = 0
    unknown = _unseen(facts, names)
    for done in facts.executions:
        if not matches(names, done.tool) or not _in_step(done, clause, facts):
            continue
        if is_failed(done) and clause.failed != "count":
            n_failed += 1
            continue
        if end is not None:
            if done is end.done:
                continue
            if done.order == end.place:
                unknown = (
                    unknown or f"Whether {done.tool} ran before the submission is not recorded."
                )
                continue
            if (done.order < end.place) is not (clause.before is not None):
                continue
        if _is_served(done, facts) and not _has_execution_behind(done, facts):
            unknown = (
                unknown or f"The execution behind a cached result of {done.tool} is not known."
            )
            continue
        sure.append(done)
    return Count(sure=tuple(sure), n_failed=n_failed, unknown=unknown, names=names)


def _in_step(done: Execution, clause: Clause, facts: Facts) -> bool:
    if clause.step is None:
        return True
    steps = {step.span_id: step for step in facts.run.steps}
    at = done.step_span_id
    for _ in range(len(steps)):
        step = steps.get(at) if at is not None else None
        if step is None:
            return False
        if matches((clause.step,), step.name) or matches((clause.step,), step.kind):
            return True
        at = step.parent_span_id
    return False


def _is_cached(done: Execution) -> bool:
    return done.how == "cache" or done.outcome == "cached"


def _is_served(done: Execution, facts: Facts) -> bool:
    """Say whether a result may have come without an execution of its own.

    The tool's other calls have spans, so one that only messages show did not run as they did.
    """
    if done.how == "messages":
        return any(e.how == "span" and e.tool == done.tool for e in facts.executions)
    return _is_cached(done)


def _has_execution_behind(done: Execution, facts: Facts) -> bool:
    for other in facts.executions:
        if other is done:
            return False
        if other.tool == done.tool and not _is_cached(other) and not is_failed(other):
            unknown = other.arguments is None or done.arguments is None
            if unknown or other.arguments == done.arguments:
                return True
    return False


def _unseen(facts: Facts, names: tuple[str, ...]) -> str:
    """Say why the trace may not show every execution of these tools."""
    run = facts.run
    if not run.is_complete:
        return facts.incomplete.reason
    if not run.chats:
        if not run.tools and "spanwitness" not in run.dialects:
            return "The trace shows neither model calls nor tools."
        return ""
    if any(c.requested is None and c.error_type is None for c in run.chats):
        if run.tools:
            return ""
        return "The calls of the replies are not recorded."
    if not run.tools:
        last = run.chats[-1]
        for call in last.requested or ():
            if call.source == "structured" and matches(names, call.name):
                return f"Whether the last call of {call.name} was executed is not recorded."
    return ""


def at_least(
    facts: Facts, clause: Clause, contract: Contract, counted: Count, *, least: int, what: str
) -> Outcome | None:
    """Return a violation or `not_assessed` when there are too few executions; else `None`."""
    n = len(counted.sure)
    if n >= least:
        return None
    if counted.unknown:
        return not_assessed(counted.unknown)
    failed = f"; {counted.n_failed} failed ones do not count" if counted.n_failed else ""
    found = {0: "was never executed", 1: "was executed once"}.get(n, f"was executed {n} times")
    end = submitted(facts, contract)
    spans = [end.span_id] if end is not None else []
    return violated(
        _sentence(
            f"{what} {found}{_where(clause)}; at least {least} is expected{failed}",
            clause,
        ),
        span_ids=tuple(i for i in (*spans, facts.run.root_span_id) if i),
        evidence=_evidence(clause, counted),
    )


def at_most(facts: Facts, clause: Clause, counted: Count, *, most: int, what: str) -> Outcome:
    """Return a violation when there are too many executions, else what can be said."""
    n = len(counted.sure)
    if n > most:
        limit = "it is forbidden" if most == 0 else f"at most {most} is allowed"
        times = "once" if n == 1 else f"{n} times"
        return violated(
            _sentence(f"{what} was executed {times}{_where(clause)}; {limit}", clause),
            span_ids=tuple(dict.fromkeys(e.span_id for e in counted.sure if e.span_id))[:10],
            evidence=_evidence(clause, counted),
        )
    return not_assessed(counted.unknown) if counted.unknown else facts.nothing_found


def nothing_to_count(facts: Facts, clause: Clause, contract: Contract) -> Outcome | None:
    """Return what a clause says about `after: submit` in a run without a submission."""
    if clause.after is None or submitted(facts, contract) is not None:
        return None
    return NOT_APPLICABLE if facts.run.is_complete else facts.incomplete


def naming(clause: Clause) -> str:
    """Return how a sentence calls what the clause is about."""
    return clause.tool if clause.tool is not None else f"A tool of the group {clause.group}"


def _where(clause: Clause) -> str:
    words = []
    if clause.step is not None:
        words.append(f" in a step {clause.step}")
    if clause.before is not None:
        words.append(" before the submission")
    if clause.after is not None:
        words.append(" after the submission")
    return "".join(words)


def _sentence(text: str, clause: Clause) -> str:
    return f"{text}." if clause.reason is None else f"{text}. Expected because: {clause.reason}"


def _evidence(clause: Clause, counted: Count) -> dict[str, object]:
    found: dict[str, object] = {
        "clause": clause.subject,
        "n_executions": len(counted.sure),
        "n_failed": counted.n_failed,
    }
    if clause.group is not None:
        # The contract is not at hand where a finding is shown.
        found["group_tools"] = list(counted.names[:20])
    for key in ("at_least", "at_most", "before", "after", "step"):
        value = getattr(clause, key)
        if value is not None:
            found[key] = value
    return found
