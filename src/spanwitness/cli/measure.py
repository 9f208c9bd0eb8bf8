"""`spanwitness measure`: the statistics of many runs; this file only names the measures."""

from __future__ import annotations

import typer

from spanwitness.cli.measure_answers import evidence, provenance, stability
from spanwitness.cli.measure_choices import compare, composition, selection
from spanwitness.cli.measure_steps import paired, verdicts

measure = typer.Typer(
    name="measure",
    help="Measure many runs: paired audits of a step, verdicts, selection, composition, evidence"
    " states, stability, provenance.",
    no_args_is_help=True,
)
for command in (paired, verdicts, compare, selection, composition, evidence, stability, provenance):
    measure.command()(command)
