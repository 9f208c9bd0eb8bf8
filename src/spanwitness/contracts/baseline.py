"""What clean runs of a stack did, for later runs of the same stack to be held against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError

from spanwitness.contracts.strict import Name, Strict, one_or_many
from spanwitness.errors import RuleError

__all__ = ["MIN_RUNS", "SCHEMA", "USUAL_SHARE", "Baseline", "StackBaseline", "load_baseline"]

SCHEMA: Final = "spanwitness.baseline/1"
USUAL_SHARE: Final = 0.95
"""Share of clean runs from which on a tool is usual, and tools are due."""
MIN_RUNS: Final = 20
"""Clean runs below which a baseline says nothing."""
_FEW_SHARE: Final = 0.01

_Count = Annotated[int, Field(ge=0)]


class StackBaseline(Strict):
    """What clean runs of one agent on one stack did."""

    agent: Name | None = None
    """Name of the agent; absent = the runs gave none."""
    stack: Name
    """Stack identity of the runs, as `spanwitness.stack` has it."""
    n_runs: Annotated[int, Field(ge=1)]
    """Clean runs."""
    n_with_tools: _Count
    """Those in which some tool was executed with success."""
    tools: dict[Name, _Count] = Field(default_factory=dict)
    """By tool: clean runs in which it was executed with success."""
    executions: dict[Name, _Count] = Field(default_factory=dict)
    """By number of successful executions in a run (as text): clean runs with that many."""

    @property
    def is_large_enough(self) -> bool:
        """Whether there are enough runs to hold another one against them."""
        return self.n_runs >= MIN_RUNS

    @property
    def makes_tools_due(self) -> bool:
        """Whether so many clean runs used tools that a run without any is amiss."""
        return self.is_large_enough and self.n_with_tools >= USUAL_SHARE * self.n_runs

    @property
    def usual_tools(self) -> tuple[str, ...]:
        """The tools that at least 95 % of the clean runs used, in order of name."""
        return tuple(sorted(t for t, k in self.tools.items() if k >= USUAL_SHARE * self.n_runs))

    @property
    def fewest(self) -> int:
        """Executions that all but at most 1 % of the clean runs reached."""
        seen = 0
        for number in sorted(int(text) for text in self.executions if text.isdecimal()):
            seen += self.executions[str(number)]
            if seen > _FEW_SHARE * self.n_runs:
                return number
        return 0


class Baseline(Strict):
    """What clean runs did, by stack; a run is held only against runs of its own stack."""

    schema_: Annotated[Literal["spanwitness.baseline/1"], Field(alias="schema")] = SCHEMA
    """Name of this form."""
    stacks: Annotated[
        tuple[StackBaseline, ...],
        BeforeValidator(one_or_many, json_schema_input_type=list[StackBaseline]),
    ] = ()
    """One entry for each agent and stack."""

    def of(self, *, agent: str | None, stack: str | None) -> StackBaseline | None:
        """Return the entry of an agent's stack; `None` when there is none, or no stack is known."""
        if stack is None:
            return None
        wanted = (agent or None, stack)
        return next((one for one in self.stacks if (one.agent, one.stack) == wanted), None)

    def as_text(self) -> str:
        """Return the baseline as the JSON text of a file."""
        value = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def load_baseline(path: str | Path, /) -> Baseline:
    """Read the file of a baseline.

    Raises:
        RuleError: It cannot be read, or is no baseline; the file and the key are named.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RuleError(
            f"{path}: cannot be read: {error.strerror}; "
            "'spanwitness learn --baseline-out FILE' writes a baseline"
        ) from None
    except ValueError:
        raise RuleError(f"{path}: is no JSON file in UTF-8") from None
    try:
        return Baseline.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise RuleError(f"{path}: is no baseline of {SCHEMA}: {place}: {first['msg']}") from None
