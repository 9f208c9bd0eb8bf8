"""`spanwitness measure`: the statistics of many runs, from a table."""

from __future__ import annotations

import csv
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.measure import MeasureResult

measure = typer.Typer(
    name="measure",
    help="Measure many runs: paired audits of a step, evidence states, stability, provenance.",
    no_args_is_help=True,
)


class _Format(StrEnum):
    text = "text"
    json = "json"
    csv = "csv"
    html = "html"


class _Unequal(StrEnum):
    refuse = "refuse"
    rarefy = "rarefy"


_Input = Annotated[
    Path, typer.Argument(metavar="INPUT", help="A table: .csv, .tsv, .jsonl or .parquet.")
]
_Form = Annotated[_Format, typer.Option("--format", help="How to print.")]
_Part = Annotated[str | None, typer.Option(help="With --format csv: which of the result's tables.")]
_Level = Annotated[float, typer.Option(help="Probability inside the intervals.")]
_Resamples = Annotated[int, typer.Option(min=1, help="Resamples of a bootstrap.")]
_Seed = Annotated[int, typer.Option(help="Seed of a bootstrap and of other draws.")]


@measure.command()
def paired(  # noqa: PLR0913  one parameter an option
    table: _Input,
    *,
    group: Annotated[str | None, typer.Option(help="A column to audit by.")] = None,
    cost: Annotated[
        float,
        typer.Option(help="What the gain must exceed, as a share of items (0.02 = 2 points)."),
    ] = 0.0,
    pool: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values may be pooled all the same; may be repeated."),
    ] = None,
    never_revises_right: Annotated[
        bool,
        typer.Option("--never-revises-right", help="The protocol leaves right answers alone."),
    ] = False,
    form: _Form = _Format.text,
    part: _Part = None,
    level: _Level = 0.95,
    resamples: _Resamples = 2000,
    seed: _Seed = 5205,
) -> None:
    """Audit a step: what it corrects, what it corrupts, whether it is worth running.

    Columns: item_id, before, after (0 or 1), optionally run, and any features.
    """
    from spanwitness.measure import measure_paired

    result = measure_paired(
        table,
        group=group,
        cost=cost,
        pool=pool or (),
        corruption_possible=not never_revises_right,
        level=level,
        n_resamples=resamples,
        seed=seed,
    )
    _print(result, form, part, source=table.name)


@measure.command()
def evidence(
    table: _Input,
    *,
    baseline: Annotated[str, typer.Option(help="The condition to compare with.")] = "clean",
    plan: Annotated[
        Path | None, typer.Option(help="A table of the planned case_id, condition, stage.")
    ] = None,
    form: _Form = _Format.text,
    part: _Part = None,
    level: _Level = 0.95,
    resamples: _Resamples = 2000,
    seed: _Seed = 5205,
) -> None:
    """Measure how reliable the evidence is that a pipeline's stages receive.

    Columns: case_id, condition, stage, parser_valid, validity_judgment, evidence_adequate,
    audit_detected_degradation, audit_false_assurance, escalation_recovery, optionally status.
    """
    from spanwitness.measure import measure_evidence

    result = measure_evidence(
        table, baseline=baseline, plan=plan, level=level, n_resamples=resamples, seed=seed
    )
    _print(result, form, part, source=table.name)


@measure.command()
def stability(
    table: _Input,
    *,
    unequal_runs: Annotated[
        _Unequal, typer.Option(help="What to do when items have unequal numbers of runs.")
    ] = _Unequal.refuse,
    form: _Form = _Format.text,
    part: _Part = None,
    level: _Level = 0.95,
    resamples: _Resamples = 2000,
    seed: _Seed = 5205,
) -> None:
    """Measure how much repeated runs of an item disagree.

    Columns: configuration, item_id, run, answer, optionally label, flagged.
    """
    from spanwitness.measure import measure_stability

    result = measure_stability(
        table, unequal=unequal_runs.value, level=level, n_resamples=resamples, seed=seed
    )
    _print(result, form, part, source=table.name)


@measure.command()
def provenance(
    table: _Input,
    *,
    form: _Form = _Format.text,
    part: _Part = None,
    level: _Level = 0.95,
    resamples: _Resamples = 2000,
    seed: _Seed = 5205,
) -> None:
    """Tell whether the evidence for a label is in the text a model was shown.

    Columns: window, label, quote, optionally item_id, question, outcome.
    """
    from spanwitness.measure import measure_provenance

    result = measure_provenance(table, level=level, n_resamples=resamples, seed=seed)
    _print(result, form, part, source=table.name)


def _print(result: MeasureResult, form: _Format, part: str | None, *, source: str) -> None:
    if form is _Format.json:
        json.dump(result.to_dict(), sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    elif form is _Format.csv:
        from spanwitness.measure.result import choose_part

        _write_csv(choose_part(result.parts, part))
    elif form is _Format.html:
        from spanwitness.measure.report import render

        sys.stdout.write(render(result.to_dict(), source=source))
    else:
        from spanwitness.cli.measure_text import print_result

        print_result(result)


def _write_csv(rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
