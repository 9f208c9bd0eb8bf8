"""Tools that a run exposes only before, or only after, its answer is submitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwitness.errors import PhaseError
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.capture.context import RunState
    from spanwitness.capture.spans import Attributes

__all__ = ["PhaseCheck", "check_phase"]

Phase = Literal["before_submit", "after_submit"]


@dataclass(frozen=True, slots=True)
class PhaseCheck:
    """What the rules of a run say about one call."""

    tool: str
    now: Phase
    is_broken: bool
    is_refused: bool

    @property
    def attributes(self) -> Attributes:
        """For the call's span."""
        return {
            own.PHASE: self.now,
            own.PHASE_VIOLATION: self.is_broken,
            own.PHASE_REFUSED: self.is_refused,
        }

    @property
    def error(self) -> PhaseError:
        """What a refused call raises."""
        return PhaseError(f"tool {self.tool!r} is not exposed {self.now.replace('_', ' ')}")


def check_phase(state: RunState | None, tool: str, declared: Phase | None) -> PhaseCheck | None:
    """Check a call against the phases of its run; those of an outer run hold inside it, too.

    Args:
        state: The run.
        tool: Name of the tool.
        declared: The phase that the tool itself declares.

    Returns:
        The first breach, else the last check; `None` when no phase is declared.
    """
    found: PhaseCheck | None = None
    while state is not None:
        allowed = state.phases.get(tool, declared)
        declared = None
        if allowed is not None:
            now: Phase = "after_submit" if state.is_submitted else "before_submit"
            is_broken = now != allowed
            is_refused = is_broken and state.on_violation == "refuse"
            found = PhaseCheck(tool, now, is_broken, is_refused)
            if is_broken:
                break
        state = state.parent
    return found
