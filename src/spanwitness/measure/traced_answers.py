"""From stored traces to the tables of repeated answers and of what stood in the window."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spanwitness.measure.table import Table
from spanwitness.measure.traces import Features

if TYPE_CHECKING:
    from spanwitness.measure.traces import TracedRun, TraceLog

__all__ = ["answers_of", "n_without_configuration", "windows_of"]

_CONFIGURATION = "tag:configuration"


def answers_of(
    log: TraceLog, *, configuration: str | None = None, features: Features | None = None
) -> Table:
    """Return a row for each run: its configuration, item, number and answer.

    The answer is what the run submitted, else what it gave back. A run that gave nothing back is
    unparsed; one of which the answer was not recorded (content off) is refused, since digests of
    two processes do not compare. `success` is the run's outcome at `final`, where every run has
    one; `label` and `flagged` are features of the item.

    Args:
        log: The traces.
        configuration: What tells the configuration: a fact, tag, attribute or feature as for
            groups; by default `tag:configuration`, as `experiment.repeat` sets it: then runs
            without it are no repeats and left out (`n_without_configuration`). Where no run has
            it, the stack.
        features: Columns by item, `label` and `flagged` among them.

    Raises:
        TableError: A run names no item, its configuration is not told, or its answer was not
            recorded.
    """
    features = features or Features()
    if log.keep == "steps":
        raise log.refuse("the answers of the runs were not kept: collect(..., keep='answers')")
    runs = _outermost(log)
    if configuration is None:
        tagged = [run for run in runs if features.group(run, _CONFIGURATION) is not None]
        configuration = _CONFIGURATION if tagged else "stack"
        runs = tagged or runs
    outcomes = [log.outcome(run, "final") for run in runs]
    extra = [name for name in ("label", "flagged") if name in features.columns]
    count: dict[tuple[str, str], int] = {}
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    for run, outcome in zip(runs, outcomes, strict=True):
        label = f"run {run.run.run_id}"
        if not run.has_item:
            raise log.refuse("this run names no item_id, so no run repeats it", label)
        name = features.group(run, configuration)
        if name is None:
            raise log.refuse(f"nothing says what {configuration!r} is here", label)
        key = (name, run.item_id)
        count[key] = count.get(key, 0) + 1
        row: dict[str, object] = {"configuration": name, "item_id": run.item_id, "run": count[key],
                                  "answer": _answer(log, run, label)}  # fmt: skip
        row |= {each: features.of(run.item_id, each) for each in extra}
        if None not in outcomes:
            row["success"] = outcome
        rows.append(row)
        labels.append(label)
    if not rows:
        raise log.refuse("there are no runs")
    return Table(source=log.source, columns=tuple(rows[0]), rows=rows, labels=labels)


def n_without_configuration(log: TraceLog) -> int:
    """Return how many runs `answers_of` leaves out by default: those without the tag.

    A run inside of one that has the tag is no run of its own here, and is not counted.

    Args:
        log: The traces.
    """
    features = Features()
    tagged = {
        run.run.run_id for run in _outermost(log) if features.group(run, _CONFIGURATION) is not None
    }
    if not tagged:
        return 0
    return sum(tagged.isdisjoint(run.run_ids) for run in _outermost(log))


def windows_of(log: TraceLog, *, features: Features | None = None) -> Table:
    """Return a row for each label of each run: what its last model call was shown, and the label.

    The label and its quote are features of the item (`label`, `quote`); without them, they are the
    claims that the run submitted, so that it is asked whether what the agent states stood in what
    it saw. `outcome` is the run's outcome at `final`, negated (a wrong answer is the event), where
    every run has one and every item one row: rows of one item are no independent units.

    Args:
        log: The traces, collected with `keep="windows"`.
        features: Columns by item.

    Raises:
        TableError: A run's window or its label is not recorded.
    """
    features = features or Features()
    if log.keep != "windows":
        raise log.refuse("the windows of the runs were not kept: collect(..., keep='windows')")
    has_labels = "label" in features.columns
    runs = _outermost(log)
    outcomes = [log.outcome(run, "final") for run in runs]
    rows: list[dict[str, object]] = []
    labels: list[str] = []
    for run, outcome in zip(runs, outcomes, strict=True):
        name = f"run {run.run.run_id}"
        if run.window is None:
            raise log.refuse("what the model was shown is not recorded whole (content off or cut)",
                             name)  # fmt: skip
        for at, (label, quote) in enumerate(
            _labels(log, run, features, name, has_labels=has_labels)
        ):
            row: dict[str, object] = {
                "item_id": f"{run.item_id}#{run.run.run_id}#{at}", "window": run.window,
                "label": label, "quote": quote,
            }  # fmt: skip
            if None not in outcomes:
                row["outcome"] = not outcome
            rows.append(row)
            labels.append(name)
    if len({run.item_id for run in runs}) < len(rows):
        rows = [{k: v for k, v in row.items() if k != "outcome"} for row in rows]
    if not rows:
        raise log.refuse("no run submitted a claim, and no feature gives a label")
    return Table(source=log.source, columns=tuple(rows[0]), rows=rows, labels=labels)


def _labels(
    log: TraceLog, run: TracedRun, features: Features, name: str, *, has_labels: bool
) -> list[tuple[str, str | None]]:
    if has_labels:
        label = features.of(run.item_id, "label")
        if label is None:
            raise log.refuse(f"no label of item {run.item_id!r} in the features", name)
        return [(label, features.of(run.item_id, "quote"))]
    submission = run.run.submission
    claims = () if submission is None else submission.claims or ()
    return [
        (f"{claim.value} {claim.unit}" if claim.unit else str(claim.value), claim.quote)
        for claim in claims
        if claim.value is not None
    ]


def _outermost(log: TraceLog) -> list[TracedRun]:
    """Return the runs that are no part of another, and those that name an item of their own."""
    return [run for run in log.runs if len(run.run_ids) == 1 or run.run.item_id is not None]


def _answer(log: TraceLog, run: TracedRun, label: str) -> str | None:
    submission = run.run.submission
    if submission is not None and submission.has_answer:
        answer = submission.answer
        if answer is None:
            return None
        if isinstance(answer, str):
            return answer
        return json.dumps(answer, ensure_ascii=False, sort_keys=True, default=str)
    if submission is None and run.run.final_text is not None:
        return run.run.final_text
    if submission is None and (run.run.has_final is False or run.run.error_type is not None):
        return None
    raise log.refuse("its answer was not recorded whole (content off or cut)", label)
