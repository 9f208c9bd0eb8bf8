"""Runs of stored traces as measures need them: their own steps, their answers, their outcomes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from spanwitness.measure.outcomes import Outcomes
from spanwitness.measure.table import TableError, as_table
from spanwitness.model import TextPart, ToolResultPart
from spanwitness.model.steps import group_of, is_group
from spanwitness.normalize import build_runs
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Table
    from spanwitness.model import Part, Run, SpanRecord, Step

    Traces: TypeAlias = Iterable[Iterable[SpanRecord]]
    """The spans of one trace after the other, as `archive.TraceReader` gives them."""

__all__ = ["Features", "Keep", "TraceLog", "TracedRun", "TracedStep", "collect"]

Keep: TypeAlias = Literal["steps", "answers", "windows"]
"""What is kept of runs: the more, the more memory they take."""

_MAX_CHARS: Final = 256
"""Longer attributes are content, and nothing to group by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedRun:
    """A run, without its calls."""

    run: Run
    """Its `steps` are its own, not those of its child runs; it has no chats and no tools."""
    run_ids: tuple[str, ...]
    """Its id and, after it, those of the runs around it."""
    item_id: str
    """The item it works on, else that of the run around it, else the run's own id."""
    has_item: bool
    """Whether an item was named."""
    start_ns: int
    attributes: Mapping[str, object]
    """Short attributes of the resource and of the root span."""
    step_attributes: Mapping[str, Mapping[str, object]]
    """Short attributes of the steps, by span id."""
    window: str | None = None
    """What the run's last model call was shown; only where it was asked for and recorded."""

    @property
    def steps(self) -> Iterator[TracedStep]:
        """Its steps, in order."""
        for step in self.run.steps:
            yield TracedStep(run=self, step=step)


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedStep:
    """A step and its run."""

    run: TracedRun
    step: Step

    @property
    def label(self) -> str:
        """How it is called in a refusal."""
        run = self.run.run
        return f"step {self.step.name!r}, span {self.step.span_id} of run {run.run_id}"


@dataclass(kw_only=True, slots=True)
class TraceLog:
    """What a set of traces holds for the measures."""

    source: str
    """What the traces are from, for refusals."""
    runs: list[TracedRun] = field(default_factory=list)
    """By start time, then id."""
    outcomes: Outcomes = field(default_factory=Outcomes)
    n_traces: int = 0
    keep: Keep = "steps"
    """What was kept of the runs."""

    @property
    def steps(self) -> Iterator[TracedStep]:
        """All steps, run by run."""
        for run in self.runs:
            yield from run.steps

    @property
    def n_without_item(self) -> int:
        """Runs that name no item: each counts as an item of its own."""
        return sum(not run.has_item for run in self.runs)

    def refuse(self, message: str, label: str | None = None) -> TableError:
        """Return the error that names a place in these traces.

        Args:
            message: What is wrong and what would be right.
            label: The step or run; `None` = all of them.
        """
        return TableError(message, source=self.source, name=label)

    def outcome(self, run: TracedRun, checkpoint: str) -> bool | None:
        """Return whether a run succeeded at a checkpoint; `None` = nobody said so.

        Args:
            run: The run.
            checkpoint: The checkpoint.
        """
        item = run.item_id if run.has_item else None
        return self.outcomes.of(run.run_ids, item, checkpoint)


def collect(traces: Traces, *, source: str = "traces", keep: Keep = "steps") -> TraceLog:
    """Read traces, keeping of each run only what measures need.

    Args:
        traces: The spans of one trace after the other.
        source: What they are from, for refusals.
        keep: `steps`, without any content; `answers`, what runs submitted and gave back, too; or
            `windows`, also the text that each run's last model call was shown.

    Raises:
        TableError: Two outcomes contradict each other.
    """
    log = TraceLog(source=source, keep=keep)
    for spans in traces:
        log.n_traces += 1
        kept = []
        for span in spans:
            if own.OUTCOME_SUCCESS in span.attributes:
                log.outcomes.add_span(span)
            else:
                kept.append(span)
        log.runs += _runs(kept, keep)
    log.runs.sort(key=lambda traced: (traced.start_ns, traced.run.run_id))
    return log


def _runs(spans: list[SpanRecord], keep: Keep) -> Iterator[TracedRun]:
    by_id = {span.span_id: span for span in spans}
    runs = build_runs(spans)
    by_run = {run.run_id: run for run in runs}
    owner: dict[str, str] = {}
    for run in runs:  # a child run comes after its parent, and its steps are its own
        owner |= dict.fromkeys((step.span_id for step in run.steps), run.run_id)
    for run in runs:
        around = [run]
        while (parent := by_run.get(around[-1].parent_run_id or "")) is not None:
            around.append(parent)
        item = next((each.item_id for each in around if each.item_id is not None), None)
        steps = tuple(step for step in run.steps if owner[step.span_id] == run.run_id)
        root = by_id.get(run.root_span_id)
        yield TracedRun(
            run=_slim(run, steps, keep),
            run_ids=tuple(each.run_id for each in around),
            item_id=run.run_id if item is None else item,
            has_item=item is not None,
            start_ns=0 if root is None else root.start_ns,
            attributes={} if root is None else _short({**root.resource, **root.attributes}),
            step_attributes={
                step.span_id: _short(by_id[step.span_id].attributes)
                for step in steps
                if step.span_id in by_id
            },
            window=_window(run) if keep == "windows" else None,
        )


def _slim(run: Run, steps: tuple[Step, ...], keep: Keep) -> Run:
    slim = msgspec.structs.replace(
        run, chats=(), tools=(), discoveries=(), steps=steps, input_text=None
    )
    if keep == "steps":
        slim = msgspec.structs.replace(slim, submission=None, final_text=None)
    return slim


def _short(attributes: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value
        for name, value in attributes.items()
        if isinstance(value, (bool, int, float))
        or (isinstance(value, str) and len(value) <= _MAX_CHARS)
    }


def _window(run: Run) -> str | None:
    for chat in reversed(run.chats):
        if chat.input_messages is not None and not chat.is_truncated:
            return "\n".join(
                text
                for message in chat.input_messages
                for part in message.parts
                for text in _texts(part)
            )
    return None


def _texts(part: Part) -> Iterator[str]:
    if isinstance(part, TextPart):
        yield part.text
    elif isinstance(part, ToolResultPart):
        yield from (inner.text for inner in part.parts if isinstance(inner, TextPart))
        if part.value is not None:
            yield json.dumps(part.value, ensure_ascii=False, default=str)


class Features:
    """Columns of a table by item, to group by.

    Args:
        table: A table with `item_id` and any other columns; `None` = no features.

    Raises:
        TableError: An item is missing or comes twice.
    """

    def __init__(
        self, table: Table | Path | str | Iterable[Mapping[str, object]] | None = None
    ) -> None:
        self.columns: tuple[str, ...] = ()
        self._rows: dict[str, Mapping[str, str | None]] = {}
        self._source = ""
        if table is None:
            return
        source = as_table(table)
        source.require("item_id")
        self._source = source.source
        self.columns = tuple(name for name in source.columns if name != "item_id")
        for row in source:
            item = row.text("item_id")
            if item in self._rows:
                raise row.refuse(f"item {item!r} comes twice")
            self._rows[item] = {name: row.optional_text(name) for name in self.columns}

    def of(self, item_id: str, name: str) -> str | None:
        """Return a feature of an item; `None` = not known.

        Args:
            item_id: The item.
            name: A column.
        """
        return self._rows.get(item_id, {}).get(name)

    def group(self, traced: TracedStep | TracedRun, name: str) -> str | None:
        """Return what a step or a run is grouped by; `None` where nothing says so.

        A feature of the item goes before the facts of step and run (`condition`, `agent`,
        `tag:NAME`, ...), these before attributes of the step's span, the root span, the resource.

        Args:
            traced: The step, or a run.
            name: The feature, fact or attribute.
        """
        run = traced.run if isinstance(traced, TracedStep) else traced
        if name in self.columns:
            return self.of(run.item_id, name)
        if name == "item_id":
            return run.item_id
        if name == "stack":
            return run.run.stack
        if is_group(name):
            step = traced.step if isinstance(traced, TracedStep) else None
            return group_of(step, run.run, name)
        places: Sequence[Mapping[str, object]] = [run.attributes]
        if isinstance(traced, TracedStep):
            places = [run.step_attributes.get(traced.step.span_id, {}), run.attributes]
        value = next((place[name] for place in places if name in place), None)
        return None if value is None else str(value)
