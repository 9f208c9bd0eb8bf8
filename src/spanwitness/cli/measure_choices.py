"""`spanwitness measure compare`, `selection` and `composition`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.cli import measure_options as opt  # noqa: TC001  typer evaluates them
from spanwitness.cli.measure_options import Format, RepeatedWord, chosen
from spanwitness.cli.measure_output import end, print_result
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from spanwitness.measure import TracedTable, TraceLog

__all__ = ["compare", "composition", "selection"]


class _EventWord(StrEnum):
    success = "success"
    corrupted = "corrupted"
    corrected = "corrected"


def compare(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    by: Annotated[
        str,
        typer.Option(
            help="What tells the configurations apart: a column; in traces also inputs, operation,"
            " stack, condition, tag:NAME, any attribute."
        ),
    ] = "configuration",
    first: Annotated[str | None, typer.Option(help="The configuration to compare with.")] = None,
    second: Annotated[str | None, typer.Option(help="The other one.")] = None,
    event: Annotated[
        _EventWord,
        typer.Option(help="Counted: success after, corrupted (of right), corrected (of wrong)."),
    ] = _EventWord.success,
    step: opt.StepName = None,
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
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Compare two configurations on the same items: paired difference, discordant pairs, McNemar.

    Columns of a table: item_id, the configuration, after (or success), and before for corrupted and
    corrected. A one-sided audit is --event corrupted.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import audit_across, measure_comparison, read_table

    given = read_log(source, outcomes=outcomes) if is_traces(source) else None
    result = audit_across(
        read_table(source)
        if given is None
        else _compared(
            given.log, by=by, event=event, before=before, after=after, features=features,
            repeated=repeated,
        ),
        lambda table: measure_comparison(
            table,
            by=by,
            first=first,
            second=second,
            event=event.value,
            pool=pool or (),
            level=level,
            n_resamples=resamples,
            seed=seed,
        ),
        select=chosen(step=step),
        pool=pool or (),
    )  # fmt: skip
    print_result(result, form, part, source=source.name)
    end(given)


def _compared(
    log: TraceLog,
    *,
    by: str,
    event: _EventWord,
    before: str | None,
    after: str | None,
    features: Path | None,
    repeated: RepeatedWord,
) -> TracedTable:
    """Take the success after a step alone where nothing else is asked for."""
    from spanwitness.measure import Features, pairs_of, successes_of
    from spanwitness.measure.item_rows import SEPARATE

    group, columns = (None if by in SEPARATE else by), Features(features)
    if event is _EventWord.success and before is None:
        return successes_of(log, checkpoint=after, group=group, features=columns)
    return pairs_of(
        log,
        before=before,
        after=after,
        group=group,
        features=columns,
        repeated=repeated.value,
    )


def selection(  # noqa: PLR0913  one parameter an option
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
    outcomes: opt.Outcomes = None,
    features: opt.Features = None,
    repeated: opt.Repeated = RepeatedWord.refuse,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Audit a choice among candidates: first position, anchor, oracle headroom, strata.

    A table has a row a candidate: item_id, position (as presented, from 0), candidate, right,
    anchor, chosen (0 or 1), optionally order (standard, or the name of a shuffle).
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import (
        Features,
        audit_each,
        choices_of,
        measure_selection,
        read_table,
    )

    given = read_log(source, outcomes=outcomes) if is_traces(source) else None
    result = audit_each(
        read_table(source)
        if given is None
        else choices_of(
            given.log, group=group, features=Features(features), repeated=repeated.value
        ),
        lambda table: measure_selection(
            table,
            group=group,
            pool=pool or (),
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


def composition(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    stages: Annotated[
        str | None,
        typer.Option(
            help="In order, with commas: columns of bits (else e0,e1,e2); in traces, steps."
        ),
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(help="With traces: comma-separated checkpoints of outcomes, in order."),
    ] = None,
    group: opt.Group = None,
    fold: Annotated[
        str | None,
        typer.Option(help="What tells the held-out folds; else two halves of the items."),
    ] = None,
    operation: opt.Operation = None,
    inputs: opt.Inputs = None,
    rule: opt.Rule = None,
    stack: opt.Stack = None,
    each: opt.Each = False,
    pool: opt.Pool = None,
    outcomes: opt.Outcomes = None,
    features: opt.Features = None,
    repeated: opt.Repeated = RepeatedWord.refuse,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Compare chained with direct transitions of several steps, and test whether they chain.

    Columns of a table: item_id, bits e0, e1, e2, ..., optionally run, a group, a fold.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import (
        Features,
        audit_each,
        measure_composition,
        read_table,
        sequences_of,
    )

    names = None if stages is None else [name.strip() for name in stages.split(",")]
    given = read_log(source, outcomes=outcomes) if is_traces(source) else None
    if given is None and checkpoints is not None:
        raise SettingsError("--checkpoints is for traces: of a table, say --stages")
    result = audit_each(
        read_table(source)
        if given is None
        else sequences_of(
            given.log,
            steps=names,
            checkpoints=None
            if checkpoints is None
            else [name.strip() for name in checkpoints.split(",")],
            group=group,
            fold=fold,
            features=Features(features),
            repeated=repeated.value,
        ),
        lambda table: measure_composition(
            table,
            stages=names if given is None else None,
            group=group,
            fold=fold,
            pool=pool or (),
            level=level,
            n_resamples=resamples,
            seed=seed,
        ),
        select=chosen(operation=operation, inputs=inputs, rule=rule, stack=stack),
        pool=pool or (),
        each=each,
    )
    print_result(result, form, part, source=source.name)
    end(given)
