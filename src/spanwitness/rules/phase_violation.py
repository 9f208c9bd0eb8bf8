"""`phase_violation`: a tool ran outside the phase that exposes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import NOT_APPLICABLE, rule, violated
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("phase_violation", severity="error", fault="harness", needs=EXECUTIONS)
def phase_violation(facts: Facts) -> Outcome:
    """A tool that is exposed only before, or only after, the submission ran in the other phase.

    Claims: A tool's body ran outside its declared phase. A call that the phase guard refused, so
        that the body did not run, is reported at `info`: the phase itself was not broken.
    Needs: Tool spans of this package in a run that declares phases.
    Not assessed when: The run declares phases, none is seen broken, and spans are missing.
    Can be wrong: Code that reaches the same data without the decorated tool is not seen.
    """
    tools = facts.run.tools
    broken = [t for t in tools if t.is_phase_violation or t.is_refused]
    if not broken:
        if not any(t.phase is not None for t in tools):
            return NOT_APPLICABLE
        return facts.nothing_found
    ran = [t for t in broken if not t.is_refused]
    shown = ran or broken
    names = sorted({t.name for t in shown})
    told = "ran" if ran else "was refused"
    return violated(
        f"{', '.join(names)} {told} outside the phase that exposes it ({len(shown)} calls).",
        span_ids=tuple(t.span_id for t in shown[:10]),
        evidence={
            "tools": list(names),
            "n_calls": len(ran),
            "n_refused": len(broken) - len(ran),
            "phase": shown[0].phase,
        },
        severity=None if ran else "info",
        fault=None if ran else "reasoning",
    )
