"""Ground truth that arrived after the run, joined by run or item and checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.measure.table import TableError, as_table
from spanwitness.normalize.attributes import flag, text
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Table
    from spanwitness.model import SpanRecord

__all__ = ["Outcomes"]

_DEFAULT_CHECKPOINT = "final"


@dataclass(frozen=True, slots=True)
class _Found:
    success: bool
    place: str


class Outcomes:
    """Success bits by (run or item, checkpoint).

    An outcome of a run holds for that run alone and goes before one of its item; an outcome of an
    item holds for all runs of it. Two that contradict each other are refused, two equal ones are
    one.
    """

    def __init__(self) -> None:
        self._by_run: dict[tuple[str, str], _Found] = {}
        self._by_item: dict[tuple[str, str], _Found] = {}

    def __len__(self) -> int:
        return len(self._by_run) + len(self._by_item)

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The checkpoints that some outcome scores, in the order they were first seen."""
        return tuple(dict.fromkeys(key[1] for key in (*self._by_run, *self._by_item)))

    def add_span(self, span: SpanRecord) -> None:
        """Take what `record_outcome` wrote; a span that cannot be read says nothing.

        Args:
            span: A span with `spanwitness.outcome.success`.

        Raises:
            TableError: It contradicts another outcome.
        """
        get = span.attributes.get
        success = flag(get(own.OUTCOME_SUCCESS))
        run_id, item_id = text(get(own.RUN_ID)), text(get(own.ITEM_ID))
        if success is None or (run_id is None and item_id is None):
            return
        checkpoint = text(get(own.OUTCOME_CHECKPOINT)) or _DEFAULT_CHECKPOINT
        place = f"span {span.span_id} of trace {span.trace_id}"
        self._add(run_id, item_id, checkpoint, _Found(success, place), source="outcomes")

    def add_table(self, table: Table | Path | str | Iterable[Mapping[str, object]]) -> None:
        """Take a table of `item_id` or `run_id`, `checkpoint` (empty: `final`) and `success`.

        Args:
            table: A table, its path, or rows.

        Raises:
            TableError: A bit or an id is missing, or an outcome contradicts another one.
        """
        source = as_table(table)
        source.require("success")
        if not {"item_id", "run_id"} & set(source.columns):
            raise source.refuse("outcomes need a column 'item_id' or 'run_id'")
        for row in source:
            run_id, item_id = row.optional_text("run_id"), row.optional_text("item_id")
            if run_id is None and item_id is None:
                raise row.refuse("'item_id' and 'run_id' are both missing")
            checkpoint = row.optional_text("checkpoint") or _DEFAULT_CHECKPOINT
            found = _Found(row.bit("success"), row.name)
            self._add(run_id, item_id, checkpoint, found, source=source.source)

    def _add(
        self,
        run_id: str | None,
        item_id: str | None,
        checkpoint: str,
        found: _Found,
        *,
        source: str,
    ) -> None:
        known = self._by_run if run_id is not None else self._by_item
        key = (run_id or item_id or "", checkpoint)
        before = known.setdefault(key, found)
        if before.success is not found.success:
            whose = f"run {run_id!r}" if run_id is not None else f"item {item_id!r}"
            raise TableError(
                f"the outcome of {whose} at {checkpoint!r} is {found.success} here and "
                f"{before.success} in {before.place}: one of them must go",
                source=source,
                name=found.place,
            )

    def of(self, run_ids: Sequence[str], item_id: str | None, checkpoint: str) -> bool | None:
        """Return whether a run succeeded at a checkpoint; `None` = nobody said so.

        Args:
            run_ids: The run and, after it, those around it.
            item_id: Its item; `None` = it has none.
            checkpoint: The checkpoint.
        """
        for run_id in run_ids:
            found = self._by_run.get((run_id, checkpoint))
            if found is not None:
                return found.success
        found = None if item_id is None else self._by_item.get((item_id, checkpoint))
        return None if found is None else found.success
