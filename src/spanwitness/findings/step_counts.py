"""Running counts of protocol steps: what they corrected and corrupted, what they accepted.

The same reading as `spanwitness measure paired` over the traces of the same runs
(`spanwitness.model.steps`), so that both tell equal counts. No interval is given: one that is
looked at again and again while counts grow holds less often than it says.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SettingsError
from spanwitness.findings.metrics import OTHER, SCOPE, Fold
from spanwitness.model.digest import digest_text
from spanwitness.model.steps import (
    GROUPS,
    JUDGING_KINDS,
    StepIdentity,
    group_of,
    identity_of,
    is_group,
    pair_of,
)
from spanwitness.stats.paired import PairedCounts
from spanwitness.stats.verdicts import VerdictCounts

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

    from spanwitness.findings.judged import Judged
    from spanwitness.model import Run, Step

__all__ = ["StepCounts", "StepTally", "check_group"]

MAX_TALLIES: Final = 1000
"""Different (identity, group) pairs; what comes after is counted under the step `other`."""
_MAX_TRACES: Final = 10_000
_NO_PAIRS: Final = PairedCounts(n_corrected=0, n_corrupted=0, n_kept_right=0, n_kept_wrong=0)
_NO_VERDICTS: Final = VerdictCounts(
    n_right_accepted=0, n_right_rejected=0, n_wrong_accepted=0, n_wrong_rejected=0
)
_LABELS: Final = ("step", "operation", "inputs", "rule", "stack", "group")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTally:
    """What was counted of one step in one group, so far."""

    identity: StepIdentity
    """What is never pooled: step, operation, inputs, success rule, stack."""
    group: str | None
    """Value of the group; `None` = no group was asked for, or the step does not say."""
    pairs: PairedCounts = _NO_PAIRS
    """Of steps that give an answer; its `correction_rate_raw` and `corruption_rate_raw` are the
    running rates."""
    verdicts: VerdictCounts = _NO_VERDICTS
    """Of steps that give a verdict on an answer, where the step scored that answer."""
    n_unscored: int = 0
    """Executions with a success rule or a declared verdict of which a bit is missing: they failed,
    gave no readable verdict, or their truth is not known yet."""


def check_group(group: str | None) -> None:
    """Refuse a group that steps do not have.

    Args:
        group: Its name; `None` = no groups.

    Raises:
        SettingsError: It is not known.
    """
    if group is not None and not is_group(group):
        raise SettingsError(
            f"step_group={group!r} is none of {', '.join(GROUPS)} and not `tag:NAME`"
        )


class StepCounts:
    """A sink that counts the steps of judged runs, and tells them as metrics.

    Args:
        provider: Makes the meter.
        group: What to group by: one of `spanwitness.model.steps.GROUPS`, or `tag:NAME`; `None` = no
            groups.

    Raises:
        SettingsError: The group is not known.
    """

    def __init__(self, provider: MeterProvider, *, group: str | None = None) -> None:
        check_group(group)
        self._group = group
        self._lock = threading.Lock()
        self._tallies: dict[tuple[StepIdentity, str | None], StepTally] = {}
        self._inner: OrderedDict[str, set[str]] = OrderedDict()
        """Steps that were counted, by trace, in traces with runs inside of runs; the last ones."""
        meter = provider.get_meter(SCOPE)
        self._fold = {label: Fold() for label in _LABELS}
        self._transitions = meter.create_counter(
            "spanwitness.step.transitions",
            unit="{step}",
            description="Answers that went through a step, by success before and after.",
        )
        self._verdicts = meter.create_counter(
            "spanwitness.step.verdicts",
            unit="{step}",
            description="Verdicts of a step, by the success of what was judged.",
        )
        self._unscored = meter.create_counter(
            "spanwitness.step.unscored",
            unit="{step}",
            description="Executions of a scored step of which a success bit or verdict is missing.",
        )

    def __call__(self) -> tuple[StepTally, ...]:
        """Return the running totals, by step and group, in the order they were first seen."""
        with self._lock:
            return tuple(self._tallies.values())

    def take(self, judged: Judged) -> None:
        """Count the steps of one judged run; those of a child run are counted once, with it."""
        run = judged.run
        if judged.is_update or not run.steps:
            return
        with self._lock:
            counted = self._counted(run)
            for step in run.steps:
                if counted is not None:
                    if step.span_id in counted:
                        continue
                    counted.add(step.span_id)
                self._count(step, run)

    def _counted(self, run: Run) -> set[str] | None:
        """Return the steps of the trace that were counted; `None` where no run holds another."""
        if run.parent_run_id is None and not run.child_run_ids:
            return self._inner.get(run.trace_id)
        counted = self._inner.setdefault(run.trace_id, set())
        if len(self._inner) > _MAX_TRACES:
            self._inner.popitem(last=False)
        return counted

    def _count(self, step: Step, run: Run) -> None:
        is_judging = step.kind in JUDGING_KINDS
        if not _is_scored(step, is_judging=is_judging):
            return
        group = None if self._group is None else group_of(step, run, self._group)
        key = (identity_of(step, run), group)
        if key not in self._tallies and len(self._tallies) >= MAX_TALLIES:
            key = (StepIdentity(step=OTHER), None)
        tally = self._tallies.get(key) or StepTally(identity=key[0], group=key[1])
        labels = self._labels(*key)
        if is_judging:
            truth, verdict = step.success_before, step.verdict
            if truth is None or verdict is None or step.error_type is not None:
                tally = replace(tally, n_unscored=tally.n_unscored + 1)
                self._unscored.add(1, labels)
            else:
                more = VerdictCounts.from_bits([(truth, verdict)])
                tally = replace(tally, verdicts=tally.verdicts + more)
                word = "accepted" if verdict else "rejected"
                self._verdicts.add(1, {**labels, "truth": _word(truth), "verdict": word})
        else:
            pair = pair_of(step)
            if pair is None:
                tally = replace(tally, n_unscored=tally.n_unscored + 1)
                self._unscored.add(1, labels)
            else:
                pairs = PairedCounts.from_bits([(pair.before, pair.after)])
                tally = replace(tally, pairs=tally.pairs + pairs)
                moved = {"from": _word(pair.before), "to": _word(pair.after)}
                self._transitions.add(1, {**labels, **moved})
        self._tallies[key] = tally

    def _labels(self, identity: StepIdentity, group: str | None) -> dict[str, str]:
        """Bounded labels; the stack is long, so that its digest stands for it."""
        stack = None if identity.stack is None else digest_text(identity.stack)
        values = (identity.step, identity.operation, identity.inputs, identity.rule, stack, group)
        return {
            label: self._fold[label](value)
            for label, value in zip(_LABELS, values, strict=True)
            if value is not None
        }


def _is_scored(step: Step, *, is_judging: bool) -> bool:
    if is_judging:
        return step.declares_verdict or step.verdict is not None
    bits = (step.success_rule, step.success_before, step.success_after)
    return any(bit is not None for bit in bits)


def _word(bit: bool) -> str:  # noqa: FBT001
    return "right" if bit else "wrong"
