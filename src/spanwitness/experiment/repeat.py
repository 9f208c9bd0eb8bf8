"""The same items run again and again, each as a run of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from spanwitness.capture.run import run as open_run
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["RepeatedRun", "repeat"]

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatedRun(Generic[ItemT]):
    """One run of one item: a row of the table that `measure stability` reads."""

    configuration: str
    item_id: str
    run: int
    """From 1."""
    answer: object
    """What the agent gave; `None` where it raised."""
    error: Exception | None
    run_id: str
    """By which the run is found in the traces, and by which an outcome may be recorded later."""

    def to_row(self) -> dict[str, object]:
        """Return the row: `configuration`, `item_id`, `run`, `answer` (empty: none was given)."""
        answer = self.answer
        return {
            "configuration": self.configuration,
            "item_id": self.item_id,
            "run": self.run,
            "answer": None if answer is None else str(answer),
        }


def repeat(
    agent: Callable[[ItemT], object],
    items: Mapping[str, ItemT],
    *,
    n_runs: int,
    configuration: str,
) -> Iterator[RepeatedRun[ItemT]]:
    """Run every item `n_runs` times, each inside a run of its own, and give each result at once.

    All items have their first run before any has its second, so that what drifts with time (a
    server's load, a model's version) does not fall on single items. An item that raises gives a
    result with the error and no answer: it counts as unparsed, and the other items go on.

    Args:
        agent: Takes an item and gives its answer; what it does inside is traced as always.
        items: The items by their id.
        n_runs: Runs of each item; wobble depends on it, so it is the same for all.
        configuration: Name of what is run (model, prompt, tools); it becomes a tag of each run.

    Raises:
        SettingsError: There is no item, or fewer than two runs of each, which show no wobble.
    """
    if not items:
        raise SettingsError("repeat needs at least one item")
    if n_runs < 2:
        raise SettingsError(
            f"n_runs is {n_runs}: two runs of an item are the fewest that can differ"
        )
    return _repeat(agent, items, n_runs, configuration)


def _repeat(
    agent: Callable[[ItemT], object], items: Mapping[str, ItemT], n_runs: int, configuration: str
) -> Iterator[RepeatedRun[ItemT]]:
    for number in range(1, n_runs + 1):
        for item_id, item in items.items():
            answer: object = None
            error: Exception | None = None
            tags = (f"configuration:{configuration}",)
            run = open_run("repeat", item_id=item_id, tags=tags)
            try:
                with run:
                    answer = agent(item)
                    run.submit(answer)
            except Exception as raised:  # noqa: BLE001  the agent's, handed on in the result
                error = raised
            yield RepeatedRun(
                configuration=configuration,
                item_id=item_id,
                run=number,
                answer=None if error is not None else answer,
                error=error,
                run_id=run.id,
            )
