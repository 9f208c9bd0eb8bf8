"""`spanwitness measure paired` and `verdicts`: what a step does to answers, or says of them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import Annotated

import typer

from spanwitness.cli import measure_options as opt  # noqa: TC001  typer evaluates them
from spanwitness.cli.measure_options import Format, RepeatedWord, UnequalWord, chosen
from spanwitness.cli.measure_output import end, print_result
from spanwitness.errors import SettingsError

__all__ = ["paired", "verdicts"]


def paired(  # noqa: PLR0913  one parameter an option
    source: Annotated[
        Path | None,
        typer.Argument(metavar="INPUT", help="A table, or stored traces; none with --totals."),
    ] = None,
    *,
    group: opt.Group = None,
    cost: Annotated[
        float,
        typer.Option(help="What the gain must exceed, as a share of items (0.02 = 2 points)."),
    ] = 0.0,
    never_revises_right: Annotated[
        bool,
        typer.Option("--never-revises-right", help="The protocol leaves right answers alone."),
    ] = False,
    step: opt.StepName = None,
    operation: opt.Operation = None,
    inputs: opt.Inputs = None,
    rule: opt.Rule = None,
    stack: opt.Stack = None,
    each: opt.Each = False,
    pool: opt.Pool = None,
    before: Annotated[
        str | None, typer.Option(help="With traces: checkpoint of the outcomes before.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(help="With traces: checkpoint of the outcomes after.")
    ] = None,
    outcomes: opt.Outcomes = None,
    features: opt.Features = None,
    repeated: opt.Repeated = RepeatedWord.refuse,
    unequal_runs: opt.Unequal = UnequalWord.refuse,
    mixture: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP=WEIGHT,...",
            help="With --group: predict the change for this mixture of groups; weights sum to 1.",
        ),
    ] = None,
    totals: Annotated[
        str | None,
        typer.Option(
            metavar="N,BEFORE,AFTER",
            help="Bounds on the flows from totals alone: items, successes before, after.",
        ),
    ] = None,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Audit a step: what it corrects, what it corrupts, whether it is worth running.

    Columns of a table: item_id, before, after (0 or 1), optionally run, and any features. In traces
    a step scores itself (success= of @sw.step), or outcomes recorded later do.
    """
    if totals is not None:
        _print_bounds(source, totals, form, part, corruption_possible=not never_revises_right)
        return
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import Features, audit_each, measure_paired, pairs_of, read_table

    path, weights = _given(source), _weights(mixture, group)
    given = read_log(path, outcomes=outcomes) if is_traces(path) else None
    result = audit_each(
        read_table(path)
        if given is None
        else pairs_of(
            given.log,
            before=before,
            after=after,
            group=group,
            features=Features(features),
            repeated=repeated.value,
        ),
        lambda table: measure_paired(
            table,
            group=group,
            cost=cost,
            pool=pool or (),
            corruption_possible=not never_revises_right,
            unequal=unequal_runs.value,
            mixture=weights,
            level=level,
            n_resamples=resamples,
            seed=seed,
        ),
        select=chosen(step=step, operation=operation, inputs=inputs, rule=rule, stack=stack),
        pool=pool or (),
        each=each,
    )
    print_result(result, form, part, source=path.name)
    end(given)


def verdicts(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    group: opt.Group = None,
    step: opt.StepName = None,
    operation: opt.Operation = None,
    inputs: opt.Inputs = None,
    rule: opt.Rule = None,
    stack: opt.Stack = None,
    each: opt.Each = False,
    pool: opt.Pool = None,
    truth: Annotated[
        str, typer.Option(help="With traces: checkpoint of the outcome of what was judged.")
    ] = "final",
    outcomes: opt.Outcomes = None,
    features: opt.Features = None,
    repeated: opt.Repeated = RepeatedWord.refuse,
    unequal_runs: opt.Unequal = UnequalWord.refuse,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Tell what a verdict step accepts and rejects: false positives, false negatives, acceptance.

    Columns of a table: item_id, right, accepted (0 or 1), optionally run, and any features.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import (
        Features,
        audit_each,
        measure_verdicts,
        read_table,
        verdicts_of,
    )

    given = read_log(source, outcomes=outcomes) if is_traces(source) else None
    result = audit_each(
        read_table(source)
        if given is None
        else verdicts_of(
            given.log,
            truth=truth,
            group=group,
            features=Features(features),
            repeated=repeated.value,
        ),
        lambda table: measure_verdicts(
            table,
            group=group,
            pool=pool or (),
            unequal=unequal_runs.value,
            level=level,
            n_resamples=resamples,
            seed=seed,
        ),
        select=chosen(step=step, operation=operation, inputs=inputs, rule=rule, stack=stack),
        pool=pool or (),
        each=each,
    )
    print_result(result, form, part, source=source.name)
    end(given)


def _weights(mixture: str | None, group: str | None) -> dict[str, float] | None:
    if mixture is None:
        return None
    if group is None:
        raise SettingsError("--mixture tells weights of groups: say --group too")
    weights: dict[str, float] = {}
    for piece in mixture.split(","):
        name, _, weight = piece.rpartition("=")
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            name = ""
        if not name:
            raise SettingsError(f"--mixture {mixture!r}: give weights, as easy=0.2,hard=0.8")
    return weights


def _given(source: Path | None) -> Path:
    if source is None:
        raise SettingsError("measure paired needs INPUT: a table or stored traces, or --totals")
    return source


def _print_bounds(
    source: Path | None, totals: str, form: Format, part: str | None, *, corruption_possible: bool
) -> None:
    from spanwitness.measure import measure_totals

    if source is not None:
        raise SettingsError("--totals stands alone: give no INPUT")
    numbers = [text.strip() for text in totals.split(",")]
    if len(numbers) != 3 or not all(text.isdecimal() for text in numbers):
        raise SettingsError(
            f"--totals {totals!r}: give three counts, as 200,191,195 (items, right before, after)"
        )
    n_pairs, n_before, n_after = map(int, numbers)
    result = measure_totals(
        n_pairs=n_pairs,
        n_right_before=n_before,
        n_right_after=n_after,
        corruption_possible=corruption_possible,
    )
    print_result(result, form, part, source=f"totals {totals}")
