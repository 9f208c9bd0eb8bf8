"""What a contract is: the same pydantic models for YAML and for code.

A contract says what is expected of a run: which tools it must, may and must not have executed, how
often, in which order, and before which event. Unknown keys are errors, and values are not coerced
(a version is a text, a count is a whole number).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, field_validator, model_validator

from spanwitness.contracts.baseline import Baseline
from spanwitness.contracts.names import matches, overlap, suggestion
from spanwitness.contracts.scope import scope_of
from spanwitness.contracts.strict import Name, Names, Strict, fail, one_or_many
from spanwitness.model.verdict import Severity  # noqa: TC001  pydantic reads the annotation

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Self

    from spanwitness.contracts.scope import ScopeWord
    from spanwitness.model import Run

ClauseName: TypeAlias = Literal[
    "navigation_bypassed",
    "verification_skipped",
    "required_tool_missing",
    "forbidden_tool",
    "out_of_order",
    "count_out_of_range",
    "tool_not_offered",
    "argument_not_given",
    "below_baseline",
]

SUBMIT = "submit"
"""The submission as an event: `run.submit`, a step of kind `submit`, or a tool of `submission`."""

KNOWN_GROUPS = {
    "submission": "a successful call of one of these is the submission",
    "write": "they change something, whatever effect their spans declare",
    "output": "they only carry the structured answer; calling one is no use of a tool",
    "terminal": "they end the run, so that nobody waits for their results",
}
"""Groups with a meaning of their own; all other group names are free."""

_COUNTED = {"group", "tool", "at_least", "before", "after", "step", "failed"}
_SHARED = {"rule", "severity", "reason"}
CLAUSE_KEYS: dict[ClauseName, set[str]] = {
    "navigation_bypassed": _COUNTED,
    "verification_skipped": _COUNTED,
    "required_tool_missing": _COUNTED,
    "forbidden_tool": {"group", "tool", "before", "after", "step", "failed"},
    "out_of_order": {"first", "then", "step", "failed"},
    "count_out_of_range": _COUNTED | {"at_most"},
    "tool_not_offered": {"group", "tool"},
    "argument_not_given": {"group", "tool", "argument"},
    "below_baseline": {"group", "tool"},
}
"""Which keys a clause of each rule may have, besides `rule`, `severity` and `reason`."""


def _is_read(value: object) -> object:
    if isinstance(value, str):
        raise fail("the path of a baseline is read by contracts.load; give it the contract")
    return value


class When(Strict):
    """Which runs a contract is about: all given conditions must be met, each by any of its values.

    Values of every key but `input_matches` are names; globs allowed.
    """

    agent: Names | None = None
    """Name of the agent; a run without one is matched by its own or its service's name."""
    workflow: Names | None = None
    """Name of the workflow."""
    step: Names | None = None
    """The run holds a step of this name or kind."""
    tag: Names | None = None
    """The run carries this tag."""
    offered: Names | None = None
    """A tool of this name was offered in some request of the run."""
    executed: Names | None = None
    """A tool of this name was executed in the run."""
    input_matches: Name | None = None
    """Regular expression that is found somewhere in the run's input text."""

    @field_validator("input_matches")
    @classmethod
    def _is_expression(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise fail(f"{value!r} is no regular expression: {error}") from None
        return value


class Clause(Strict):
    """One expectation; `rule` names the rule that a broken one violates.

    Executions count, whatever shows them (a span, the provider, the messages); requests alone do
    not, nor do failed executions, unless `failed: count` says so.
    """

    rule: ClauseName
    """The contract rule that judges this clause."""
    group: Name | None = None
    """A group of `tools`; every tool of it counts."""
    tool: Name | None = None
    """One tool, or a glob, instead of a group."""
    at_least: Annotated[int, Field(ge=1)] | None = None
    """Fewest executions; 1 when a rule needs one and none is given."""
    at_most: Annotated[int, Field(ge=0)] | None = None
    """Most executions."""
    argument: Name | None = None
    """`argument_not_given`: the argument whose values must stand in what the model was given."""
    first: Name | None = None
    """`out_of_order`: a tool, a glob or a group that must have been executed before any `then`."""
    then: Name | None = None
    """`out_of_order`: a tool, a glob, a group, or `submit` for the submission."""
    before: Literal["submit"] | None = None
    """Count only what was executed before the submission, or, without one, before the run ended."""
    after: Literal["submit"] | None = None
    """Count only what was executed after the submission; without one there is nothing to count."""
    step: Name | None = None
    """Count only what was executed inside steps of this name or kind (glob)."""
    failed: Literal["count", "ignore"] = "ignore"
    """Whether executions that ended in an error count."""
    severity: Severity | None = None
    """Severity of a violation; the rule's own when absent."""
    reason: Name | None = None
    """Why this is expected; added to the sentence that a reviewer reads."""

    @model_validator(mode="after")
    def _fits_its_rule(self) -> Self:
        allowed = CLAUSE_KEYS[self.rule]
        for key in sorted(self.model_fields_set - _SHARED - allowed):
            if getattr(self, key) is not None:
                keys = ", ".join(sorted(allowed))
                raise fail(f"{key!r} has no meaning for {self.rule}; its keys: {keys}", key=key)
        if self.rule == "out_of_order":
            self._check_order()
        elif self.group is not None and self.tool is not None:
            raise fail("give 'group' or 'tool', not both", key="tool")
        elif self.group is None and self.tool is None and self.rule != "below_baseline":
            raise fail(f"{self.rule} needs exactly one of 'group' and 'tool'")
        if self.before is not None and self.after is not None:
            raise fail("give 'before' or 'after', not both", key="after")
        if self.rule == "count_out_of_range":
            self._check_range()
        if self.rule == "argument_not_given" and self.argument is None:
            raise fail("argument_not_given needs 'argument'")
        return self

    def _check_order(self) -> None:
        for key in ("first", "then"):
            if getattr(self, key) is None:
                raise fail(f"out_of_order needs {key!r}: a tool, a glob or a group")
        if self.first == self.then:
            raise fail("'first' and 'then' name the same tool", key="then")
        if self.first == SUBMIT:
            raise fail(
                "'first' cannot be the submission; use forbidden_tool with 'after: submit'",
                key="first",
            )

    def _check_range(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise fail("count_out_of_range needs 'at_least', 'at_most' or both")
        if self.at_most is not None and (self.at_least or 0) > self.at_most:
            raise fail(
                f"'at_least' ({self.at_least}) is above 'at_most' ({self.at_most})", key="at_least"
            )

    def patterns(self, contract: Contract) -> tuple[str, ...]:
        """Return the names and globs that the clause counts; empty = it names none."""
        if self.tool is not None:
            return (self.tool,)
        return contract.tools[self.group] if self.group is not None else ()

    @property
    def subject(self) -> str:
        """What the clause is about, as it was written: a group, a tool, or an order."""
        if self.rule == "below_baseline":
            return self.group or self.tool or "baseline"
        if self.argument is not None:
            return f"{self.group or self.tool}.{self.argument}"
        return self.group or self.tool or f"{self.first} before {self.then}"


class Contract(Strict):
    """What is expected of the runs it applies to."""

    contract: Name
    """Its name; it stands on every verdict of its clauses."""
    version: Name
    """Its version, a text: write `"1"`."""
    description: Name | None = None
    """For people."""
    when: When | None = None
    """Which runs it is about; absent = every run."""
    tools: dict[Name, Names] = Field(default_factory=dict)
    """Named groups of tools; a tool may stand in several groups. Known groups: `submission` (a
    successful call is the submission), `write` (they change something), `output` (they only carry
    the structured answer), `terminal` (they end the run; nobody waits for their results)."""
    actions: dict[Name, Names] = Field(default_factory=dict)
    """By write tool (glob): the words by which an answer claims that the tool did its work, such as
    `send_email: [sent, emailed]`."""
    expect: Annotated[
        tuple[Clause, ...],
        BeforeValidator(one_or_many, json_schema_input_type=list[Clause]),
    ] = ()
    """The clauses."""
    baseline: Annotated[
        Baseline | None,
        BeforeValidator(_is_read, json_schema_input_type=Name | Baseline | None),
    ] = None
    """What clean runs of each stack did, for `below_baseline`: the path of a file that `spanwitness
    learn --baseline-out` wrote, relative to the contract's file, or its content."""
    conditions: dict[Name, Names] = Field(default_factory=dict)
    """By field of the answer (glob, `"*"` for every claim): words that name a load-bearing
    condition, such as `supply_current: [VDD, "25 °C"]`. Where one stands beside the value in the
    evidence, the answer has to tell it."""
    stages: Names | None = None
    """Names of the steps that every case passes; a case that lacks one is incomplete."""
    max_turns: Annotated[int, Field(ge=1)] | None = None
    """Cap on model turns, where the harness declares none itself."""
    allowed_terminations: Names | None = None
    """Ways to stop (as the harness spells them) that are fine although they look like a cap."""
    models: dict[Name, Names] = Field(default_factory=dict)
    """By requested model name: names under which a provider may answer for it (an alias or a
    deployment's name), globs allowed."""

    @field_validator("tools")
    @classmethod
    def _groups_are_sound(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for group, names in value.items():
            if group == SUBMIT:
                raise fail("'submit' is the event; call the group 'submission'", key=group)
            for position, name in enumerate(names):
                if name in names[:position]:
                    raise fail(f"{name!r} stands twice in the group; remove one", key=group)
        return value

    @model_validator(mode="after")
    def _clauses_fit_the_groups(self) -> Self:
        for position, clause in enumerate(self.expect):
            if clause.group is not None and clause.group not in self.tools:
                raise fail(
                    f"no group {clause.group!r} in 'tools'; {suggestion(clause.group, self.tools)}",
                    key=f"expect.{position}.group",
                )
            if clause.rule == "below_baseline" and self.baseline is None:
                raise fail("below_baseline needs the contract's 'baseline'", key="expect")
            self._check_overlap(clause, position)
        self._check_contradictions()
        return self

    def _check_overlap(self, clause: Clause, position: int) -> None:
        if clause.first is None or clause.then is None or clause.then == SUBMIT:
            return
        both = overlap(self.named(clause.first), self.named(clause.then))
        if both is not None:
            raise fail(
                f"{both!r} is covered by both 'first' ({clause.first}) and 'then' ({clause.then});"
                " name tools or groups that do not overlap",
                key=f"expect.{position}.then",
            )

    def _check_contradictions(self) -> None:
        forbidden = [
            c
            for c in self.expect
            if c.rule == "forbidden_tool" and not (c.before or c.after or c.step)
        ]
        for position, clause in enumerate(self.expect):
            if clause.rule != "required_tool_missing":
                continue
            wanted = clause.patterns(self)
            for other in forbidden:
                banned = other.patterns(self)
                if all(name in banned or matches(banned, name) for name in wanted):
                    raise fail(
                        f"{clause.subject!r} is required here and forbidden by another clause",
                        key=f"expect.{position}",
                    )

    @property
    def name(self) -> str:
        """The contract's name."""
        return self.contract

    @property
    def makes_tools_due(self) -> bool:
        """Whether some clause needs at least one execution in every run the contract applies to."""
        return any(
            c.rule in ("navigation_bypassed", "required_tool_missing")
            or (c.rule == "count_out_of_range" and c.at_least is not None)
            for c in self.expect
        )

    def named(self, word: str) -> tuple[str, ...]:
        """Return the tools of a group, or the word itself when it is a tool or a glob."""
        return self.tools.get(word, (word,))

    def in_group(self, group: str, tool: str) -> bool:
        """Say whether a tool stands in a group; a group that is not declared holds nothing."""
        patterns = self.tools.get(group)
        return patterns is not None and matches(patterns, tool)

    def is_submission(self, tool: str) -> bool:
        """Say whether a successful call of this tool is the submission."""
        return self.in_group("submission", tool)

    def is_write(self, tool: str) -> bool:
        """Say whether the contract declares that this tool changes something."""
        return self.in_group("write", tool) or bool(self.action_words(tool))

    def is_output(self, tool: str) -> bool:
        """Say whether the contract declares that this tool only carries the structured answer."""
        return self.in_group("output", tool)

    def is_terminal(self, tool: str) -> bool:
        """Say whether the contract declares that nobody waits for this tool's result."""
        return self.in_group("terminal", tool) or self.is_submission(tool)

    def action_words(self, tool: str) -> tuple[str, ...]:
        """Return the words by which an answer claims this tool's work; empty when none declared."""
        return tuple(
            w for glob, words in self.actions.items() if matches((glob,), tool) for w in words
        )

    def condition_words(self, field: str | None) -> tuple[str, ...]:
        """Return the words of load-bearing conditions of a field; `None` = a claim without one."""
        return tuple(
            word
            for glob, words in self.conditions.items()
            if glob == "*" or (field is not None and matches((glob,), field))
            for word in words
        )

    def scope(self, run: Run, *, executed: Collection[str] | None = None) -> ScopeWord:
        """Say whether the contract is about a run.

        Args:
            run: The run.
            executed: Names of the tools that the run executed, where they are known already.

        Returns:
            `yes`, `no`, or `unknown` when the trace does not show what a condition asks for.
        """
        return scope_of(self.when, run, executed=executed) if self.when is not None else "yes"

    def applies_to(self, run: Run) -> bool:
        """Say whether the contract is, or may be, about a run.

        True also where the trace cannot tell (`scope` gives `unknown`): its clauses are then
        `not_assessed`, for a contract that quietly applies to nothing would look like a clean run.
        """
        return self.scope(run) != "no"

    def as_json(self) -> dict[str, JsonValue]:
        """Return the contract as JSON values, without what was left at its default."""
        dumped: dict[str, JsonValue] = self.model_dump(mode="json", exclude_defaults=True)
        return dumped
