"""Where a claim went wrong: the fault by elimination, from the state of its receipt.

The table `RUBRIC` is tried from top to bottom, and the first line that fits decides.
`docs/faults.md` shows the same table; a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.rules.failures import is_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from spanwitness.model import AssessedClaim, Execution
    from spanwitness.model.verdict import Fault, ReasoningKind
    from spanwitness.rules.facts import Facts

__all__ = [
    "RUBRIC", "Attribution", "Circumstances", "attribute", "attributed", "circumstances", "is_read",
]  # fmt: skip


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a claim and of the run around it."""

    state: str
    """State of the receipt; see `model.ClaimState`."""
    is_complete: bool = True
    """Whether the trace is whole."""
    is_elsewhere: bool = False
    """Its support comes from another document, row or field than it is about."""
    omits_condition: bool = False
    """A condition that stands beside the value in the evidence is missing from the answer."""
    n_reads: int = 0
    """Reading executions, failed ones included."""
    n_fruitful: int = 0
    """Those that returned something."""
    asked: str = "unknown"
    """Whether the reads asked for what the run is about: `subject`, `other`, `unknown`."""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at fault for a claim."""

    line: str
    """Id of the line of the rubric that decided."""
    fault: Fault | None
    """`None` = nobody: the claim is supported."""
    kind: ReasoningKind | None = None


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the rubric."""

    id: str
    when: str
    """What has to be the case, in words."""
    fits: Callable[[Circumstances], bool]
    fault: Fault | None
    kind: ReasoningKind | None = None


_SUPPORTED: Final = frozenset({"in_window", "derivable"})
_LOST: Final = frozenset({"absent", "self_sourced"})

RUBRIC: tuple[Line, ...] = (
    Line(
        id="not_decidable",
        when="the state is `not_decidable` or `untraceable`: the reason stands in the receipt",
        fits=lambda c: c.state in ("not_decidable", "untraceable"),
        fault="undetermined",
    ),
    Line(
        id="not_delivered",
        when="a tool returned the support, and no request of the run carried it",
        fits=lambda c: c.state == "not_delivered",
        fault="harness",
    ),
    Line(
        id="left_window",
        when="an earlier request carried the support, and the one that was answered did not",
        fits=lambda c: c.state == "left_window",
        fault="harness",
    ),
    Line(
        id="wrong_source",
        when="it is supported, by another document, row or field than it is about",
        fits=lambda c: c.state in _SUPPORTED and c.is_elsewhere,
        fault="reasoning",
        kind="selection",
    ),
    Line(
        id="condition_omitted",
        when="it is supported, and a condition that stands beside the value is not told",
        fits=lambda c: c.state in _SUPPORTED and c.omits_condition,
        fault="reasoning",
        kind="condition_omission",
    ),
    Line(
        id="supported",
        when="it is supported",
        fits=lambda c: c.state in _SUPPORTED,
        fault=None,
    ),
    Line(
        id="trace_incomplete",
        when="it stands nowhere, and the trace has a hole",
        fits=lambda c: not c.is_complete,
        fault="undetermined",
    ),
    Line(
        id="nothing_read",
        when="it stands nowhere, and nothing was read",
        fits=lambda c: c.n_reads == 0,
        fault="reasoning",
        kind="skipped_verification",
    ),
    Line(
        id="asked_for_another",
        when="it stands nowhere, and the reads asked for something else than the run's subject",
        fits=lambda c: c.asked == "other",
        fault="reasoning",
        kind="selection",
    ),
    Line(
        id="not_in_result",
        when="it stands nowhere, the reads asked for the run's subject, and none returned it",
        fits=lambda c: c.asked == "subject",
        fault="tool",
    ),
    Line(
        id="reads_gave_nothing",
        when="it stands nowhere, and every read failed or gave nothing: the answer went on without",
        fits=lambda c: c.n_fruitful == 0,
        fault="reasoning",
        kind="skipped_verification",
    ),
    Line(
        id="invented",
        when="it stands nowhere, though something was read",
        fits=lambda c: c.state in _LOST,
        fault="reasoning",
    ),
)


def attribute(around: Circumstances) -> Attribution:
    """Return the first line of the rubric that fits."""
    for line in RUBRIC:
        if line.fits(around):
            return Attribution(line=line.id, fault=line.fault, kind=line.kind)
    raise AssertionError(f"no line of the rubric fits the state {around.state!r}")


def circumstances(
    facts: Facts, claim: AssessedClaim, *, omits_condition: bool = False
) -> Circumstances:
    """Put together what is known of a claim and of its run."""
    reads = [e for e in facts.executions if is_read(facts, e)]
    return Circumstances(
        state=claim.receipt.state,
        is_complete=facts.run.is_complete,
        omits_condition=omits_condition,
        n_reads=len(reads),
        n_fruitful=sum(e.outcome in ("value", "cached") and not is_failure(e) for e in reads),
        asked=_asked(facts, reads),
    )


def attributed(
    facts: Facts, *, elsewhere: Collection[str] = (), without_condition: Collection[int] = ()
) -> tuple[AssessedClaim, ...]:
    """Return the claims of the answer, each with who is at fault for it.

    Args:
        facts: The facts of the run.
        elsewhere: Spans whose results are about another thing than was asked for.
        without_condition: `id` of the claims that are told without a condition beside them.
    """
    found: list[AssessedClaim] = []
    common: Circumstances | None = None
    for claim in facts.claims:
        places = claim.receipt.places
        common = common or circumstances(facts, claim)
        around = msgspec.structs.replace(
            common,
            state=claim.receipt.state,
            is_elsewhere=bool(places) and all(p.span_id in elsewhere for p in places),
            omits_condition=id(claim) in without_condition,
        )
        who = attribute(around)
        found.append(
            msgspec.structs.replace(
                claim, fault=who.fault, fault_kind=who.kind, attribution=who.line
            )
        )
    return tuple(found)


def is_read(facts: Facts, execution: Execution) -> bool:
    """Say whether an execution looks something up, as far as its declaration and name tell."""
    return (
        execution.side != "output"
        and execution.tool not in facts.output_tools
        and facts.effect_of(execution) != "write"
    )


def _asked(facts: Facts, reads: list[Execution]) -> str:
    """Say what the reads asked for, against the declared subject; a guess blames nobody."""
    from spanwitness.rules.identity import names_another, names_subject

    subject = facts.run.subject
    if subject is None or not reads:
        return "unknown"
    texts = [e.arguments for e in reads if e.arguments is not None]
    if any(names_subject(text, subject) for text in texts):
        return "subject"
    return "other" if texts and all(names_another(text, subject) for text in texts) else "unknown"
