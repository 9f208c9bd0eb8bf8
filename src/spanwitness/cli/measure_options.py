"""The options that the measures share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Each", "Features", "Form", "Format", "Group", "Input", "Inputs", "Level", "Operation",
    "Outcomes", "Part", "Pool", "Repeated", "RepeatedWord", "Resamples", "Rule", "Seed", "Stack",
    "StepName", "Unequal", "UnequalWord", "chosen",
]  # fmt: skip


class Format(StrEnum):
    """How to print."""

    text = "text"
    json = "json"
    csv = "csv"
    html = "html"


class RepeatedWord(StrEnum):
    """What becomes of a step that a run scored more than once."""

    refuse = "refuse"
    first = "first"
    last = "last"
    each = "each"


class UnequalWord(StrEnum):
    """What becomes of items with unequal runs."""

    refuse = "refuse"
    weigh = "weigh"


Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="A table (.csv, .tsv, .jsonl, .parquet), or stored traces: a file, a folder, or -.",
    ),
]
Form = Annotated[Format, typer.Option("--format", help="How to print.")]
Part = Annotated[str | None, typer.Option(help="With --format csv: which of the result's tables.")]
Level = Annotated[float, typer.Option(help="Probability inside the intervals.")]
Resamples = Annotated[int, typer.Option(min=1, help="Resamples of a bootstrap.")]
Seed = Annotated[int, typer.Option(help="Seed of a bootstrap and of other draws.")]
Group = Annotated[
    str | None,
    typer.Option(
        help="What to group by: a column; in traces also condition, agent, tag:NAME, a feature,"
        " any attribute."
    ),
]
Features = Annotated[
    Path | None, typer.Option(help="With traces: a table of item_id and columns to group by.")
]
Outcomes = Annotated[
    Path | None,
    typer.Option(help="With traces: a table of item_id or run_id, checkpoint, success."),
]
StepName = Annotated[str | None, typer.Option("--step", help="Only this step.")]
Operation = Annotated[str | None, typer.Option(help="Only this operation (a beginning will do).")]
Inputs = Annotated[str | None, typer.Option(help="Only this input configuration.")]
Rule = Annotated[str | None, typer.Option(help="Only this success rule.")]
Stack = Annotated[str | None, typer.Option(help="Only this stack (a beginning will do).")]
Each = Annotated[bool, typer.Option("--each", help="Report every audit there is, side by side.")]
Pool = Annotated[
    list[str] | None,
    typer.Option(help="What may be pooled all the same, such as operation; may be repeated."),
]
Repeated = Annotated[
    RepeatedWord, typer.Option(help="With traces: a step that ran more than once in a run.")
]
Unequal = Annotated[UnequalWord, typer.Option(help="Items with unequal numbers of runs.")]


def chosen(**options: str | None) -> dict[str, str]:
    """Return the options that were given.

    Args:
        options: Values by column; `None` = not given.
    """
    return {name: value for name, value in options.items() if value is not None}
