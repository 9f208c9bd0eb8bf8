"""Which claims of an answer nothing supports, and whether they are enough to call it ungrounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.rules.attribution import is_read
from spanwitness.rules.differences import Amounts
from spanwitness.rules.failures import is_success
from spanwitness.rules.replies import reply_texts

if TYPE_CHECKING:
    from spanwitness.model import AssessedClaim
    from spanwitness.rules.facts import Facts

__all__ = ["Unsupported", "answer_spans", "rests_on_evidence", "unsupported_claims"]

_DECIDED: Final = frozenset(
    {"in_window", "derivable", "not_delivered", "left_window", "absent", "self_sourced"}
)
_MOST: Final = 1e12
"""Larger numbers are no amounts."""
_VALUES: Final = frozenset({"number", "date", "identifier"})


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of the claims of an answer."""

    claims: tuple[AssessedClaim, ...] = ()
    """Claims that stand nowhere."""
    declared: tuple[AssessedClaim, ...] = ()
    """Those of them that the caller declared, or that are fields of a submitted answer."""
    n_assessable: int = 0
    n_undecided: int = 0
    reason: str = ""
    """Why some could not be decided."""
    span_ids: tuple[str, ...] = ()
    is_submitted: bool = False
    """Whether the answer was submitted: then its only value counts too."""

    @property
    def is_violated(self) -> bool:
        """Whether a declared one, or at least half of those that are looked at, stand nowhere."""
        n, least = len(self.claims), 1 if self.is_submitted else 2
        return bool(self.declared) or (self.n_assessable >= least and 2 * n >= self.n_assessable)

    @property
    def told(self) -> str:
        """The counts in words: `2 of 3 claims stand nowhere in the evidence`."""
        n = len(self.claims)
        verb = "stands" if n == 1 else "stand"
        return f"{n} of {self.n_assessable} claims {verb} nowhere in the evidence"


def unsupported_claims(facts: Facts) -> Unsupported:
    """Sort the claims of the answer by whether anything supports them.

    Values count (numbers, dates, identifiers); weak ones, names, texts and quotations do not.
    """
    values = [c for c in facts.claims if c.kind in _VALUES and not c.receipt.is_weak]
    decided = [c for c in values if c.receipt.state in _DECIDED]
    absent = tuple(c for c in decided if _is_absent(facts, c))
    if absent:
        absent = _not_calculated(facts, absent)
    undecided = [c for c in values if c.receipt.state == "not_decidable"]
    return Unsupported(
        claims=absent,
        declared=tuple(c for c in absent if is_declared(facts, c)),
        n_assessable=len(decided),
        n_undecided=len(undecided),
        reason=next((c.receipt.reason for c in undecided if c.receipt.reason), ""),
        span_ids=answer_spans(facts),
        is_submitted=facts.run.submission is not None and facts.run.submission.has_answer,
    )


def _is_absent(facts: Facts, claim: AssessedClaim) -> bool:
    """Say whether a claim rests on nothing; what a call was done with is a fact of the run."""
    state = claim.receipt.state
    if state != "self_sourced":
        return state == "absent"
    done = (
        facts.execution_of.get(p.call_id or "")
        for p in claim.receipt.places
        if p.source == "arguments"
    )
    return not any(e is not None and is_success(e) for e in done)


def _not_calculated(facts: Facts, absent: tuple[AssessedClaim, ...]) -> tuple[AssessedClaim, ...]:
    """Leave out amounts that may be a sum or a difference of two values of the results."""
    amounts = Amounts(facts)
    return tuple(
        c
        for c in absent
        if is_declared(facts, c)
        or not isinstance(c.claim.value, (int, float))
        or not abs(c.claim.value) < _MOST
        or not amounts.may_give(float(c.claim.value))
    )


def is_declared(facts: Facts, claim: AssessedClaim) -> bool:
    """Say whether a claim was declared as one, or is a field of a submitted answer."""
    if claim.origin == "declared":
        return True
    submitted = facts.run.submission
    return claim.origin == "field" and submitted is not None and submitted.has_answer


def rests_on_evidence(facts: Facts) -> bool:
    """Say whether the answer is meant to rest on evidence: something was read, or had to be.

    General knowledge and mental arithmetic need no receipt: where tools are optional and none was
    used, and for a text that is submitted where there was no tool at all.
    """
    if any(is_read(facts, e) for e in facts.executions):
        return True
    submitted = facts.run.submission
    if submitted is not None and submitted.claims:
        return True
    if not facts.offering:
        return False
    return facts.due.word == "yes" or (submitted is not None and submitted.has_answer)


def answer_spans(facts: Facts) -> tuple[str, ...]:
    """Return the span of the reply that gave the answer; the root's where none shows it."""
    for chat in reversed(facts.replies):
        if reply_texts(chat) or any(c.name in facts.output_tools for c in chat.requested or ()):
            return (chat.span_id,)
    return (facts.run.root_span_id,)
