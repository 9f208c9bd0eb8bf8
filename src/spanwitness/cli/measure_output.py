"""Printing what a measure found."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING

import typer

from spanwitness.cli.measure_options import Format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.cli.measure_input import Given
    from spanwitness.measure import MeasureResult

__all__ = ["end", "print_result"]


def print_result(result: MeasureResult, form: Format, part: str | None, *, source: str) -> None:
    """Print a result.

    Args:
        result: The result.
        form: How.
        part: With CSV, which of its tables; `None` = the main one.
        source: What was measured, for the page's head.

    Raises:
        SettingsError: There is no such table.
    """
    if form is Format.json:
        json.dump(result.to_dict(), sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    elif form is Format.csv:
        from spanwitness.measure.result import choose_part

        _write_csv(choose_part(result.parts, part))
    elif form is Format.html:
        from spanwitness.measure.report import render

        sys.stdout.write(render(result.to_dict(), source=source))
    else:
        from spanwitness.cli.measure_text import print_text

        print_text(result)


def end(given: Given | None) -> None:
    """Leave with status 2 where some input could not be read; the rest was measured.

    Raises:
        Exit: It could not.
    """
    if given is not None and given.n_unusable:
        raise typer.Exit(2)


def _write_csv(rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
