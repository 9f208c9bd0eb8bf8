"""What a protocol step is never pooled over, and the one reading of its success bits.

Live counters and stored audits both read steps through this file, so that they tell the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from spanwitness.model.run import Run, Step

__all__ = [
    "GROUPS",
    "JUDGING_KINDS",
    "StepIdentity",
    "StepPair",
    "group_of",
    "identity_of",
    "is_group",
    "pair_of",
]

JUDGING_KINDS: Final = frozenset({"verify", "audit"})
"""Steps that give a verdict on an answer and change nothing: never counted as corrections."""

GROUPS: Final = (
    "condition", "case_id", "inputs", "kind", "item_id", "agent", "workflow", "service", "subject",
    "conversation_id",
)  # fmt: skip
"""Facts of a step or its run that it may be grouped by; also `tag:NAME`."""

_TAG: Final = "tag:"


class StepIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two executions of a step comparable. They are pooled only if all are equal."""

    step: str
    """Its name."""
    operation: str | None = None
    """Digest of model, instruction, decoding, output form and tools."""
    inputs: str | None = None
    """Label of the input configuration."""
    rule: str | None = None
    """The success rule, `name@version`."""
    stack: str | None = None
    """Stack of the run."""


class StepPair(msgspec.Struct, frozen=True):
    """Success before and after a step."""

    before: bool
    after: bool


def identity_of(step: Step, run: Run) -> StepIdentity:
    """Return what a step may be pooled with.

    Args:
        step: The step.
        run: The innermost run around it.
    """
    return StepIdentity(
        step=step.name,
        operation=step.operation,
        inputs=step.inputs,
        rule=step.success_rule,
        stack=run.stack,
    )


def pair_of(step: Step) -> StepPair | None:
    """Return the success bits that the step itself scored; `None` where one of them is missing.

    A step that raised has no answer after it, whatever else it says.

    Args:
        step: A step that is none of `JUDGING_KINDS`.
    """
    before, after = step.success_before, step.success_after
    if before is None or after is None or step.error_type is not None:
        return None
    return StepPair(before, after)


def is_group(name: str) -> bool:
    """Say whether a name is one of `GROUPS` or `tag:NAME`.

    Args:
        name: The name.
    """
    return name in GROUPS or (name.startswith(_TAG) and len(name) > len(_TAG))


def group_of(step: Step | None, run: Run, name: str) -> str | None:
    """Return what a step is grouped by; `None` where step and run do not say.

    Args:
        step: The step; `None` = only the run is asked.
        run: The innermost run around it.
        name: One of `GROUPS`, or `tag:NAME` for the value of a tag `NAME=value` or `NAME:value`.
    """
    if name.startswith(_TAG):
        return _tag_value(run.tags, name.removeprefix(_TAG))
    holder: object = step if name in ("condition", "case_id", "inputs", "kind") else run
    found = getattr(holder, name, None) if name in GROUPS else None
    return found if isinstance(found, str) else None


def _tag_value(tags: tuple[str, ...], name: str) -> str | None:
    for tag in tags:
        if tag.startswith(name) and tag[len(name) : len(name) + 1] in ("=", ":"):
            return tag[len(name) + 1 :]
    return None
